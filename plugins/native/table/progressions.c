/* New arrays of numbers: progressions, one number, the unit matrix. */
#include "table.h"

#include <float.h>
#include <math.h>

/* What is computed here; the rest is the reference's. */
typedef enum { OTHER, SINGLE, DOUBLE, LONG } number_type;

static number_type
type_of(PyObject *dtype)
{
    if (dtype == NULL || !PyArray_DescrCheck(dtype) ||
        !PyArray_ISNBO(((PyArray_Descr *)dtype)->byteorder)) {
        return OTHER;
    }
    switch (((PyArray_Descr *)dtype)->type_num) {
    case NPY_FLOAT:
        return SINGLE;
    case NPY_DOUBLE:
        return DOUBLE;
    case NPY_LONG:
        return sizeof(npy_long) == sizeof(npy_int64) ? LONG : OTHER;
    default:
        return OTHER;
    }
}

/* Write element `i`: `whole` into integers, `number` into others. */
static inline void
write_number(void *data, npy_intp i, number_type type, npy_intp whole, double number)
{
    if (type == LONG) {
        ((npy_intp *)data)[i] = whole;
    }
    else if (type == SINGLE) {
        ((float *)data)[i] = (float)number;
    }
    else {
        ((double *)data)[i] = number;
    }
}

/* ---- progressions ---------------------------------------------------------------------------- */

/* The numbers of a range of ints; -1 for one that the reference refuses or counts. */
static npy_intp
length_of_ints(npy_intp start, npy_intp end, npy_intp step)
{
    npy_intp distance, up = step > 0;
    if (step == 0 || step == NPY_MIN_INTP || __builtin_sub_overflow(end, start, &distance) ||
        distance == NPY_MIN_INTP || (distance != 0 && (distance > 0) != up)) {
        return -1;
    }
    npy_intp whole = distance / step;
    return whole + (whole * step != distance);
}

static npy_intp
length_of_numbers(double start, double end, double step)
{
    double steps = (end - start) / step; /* negative: the reference refuses it */
    return steps >= 0 && steps < (double)(NPY_MAX_INTP / 16) ? (npy_intp)ceil(steps) : -1;
}

/* start + i * step in double precision, in the order of the reference: what is 0 is not added. */
static inline double
number_at(npy_intp i, double start, double step)
{
    double number = (double)i * step;
    return start == 0 ? number : number + start;
}

COMPUTE(arange)
{
    npy_intp first, last, stride, length;
    double start, end, step;
    number_type type = type_of(arguments[3]);
    int are_ints = read_int(arguments[0], &first) && read_int(arguments[1], &last) &&
                   read_int(arguments[2], &stride);
    if (type == OTHER || (!are_ints && type == LONG) || !read_number(arguments[0], &start) ||
        !read_number(arguments[1], &end) || !read_number(arguments[2], &step)) {
        return NULL;
    }
    length = are_ints ? length_of_ints(first, last, stride) : length_of_numbers(start, end, step);
    PyArrayObject *made = length < 0 ? NULL : new_of_dtype((PyArray_Descr *)arguments[3], 1, &length);
    if (made == NULL) {
        return NULL;
    }
    void *data = PyArray_DATA(made);
    for (npy_intp i = 0; i < length; i++) {
        npy_intp whole = type == LONG ? first + i * stride : 0;
        write_number(data, i, type, whole, number_at(i, start, step));
    }
    return (PyObject *)made;
}

/* Whether a number is a float, or an int that is one without rounding. */
static int
read_exact(PyObject *object, double *number)
{
    const double most = 4503599627370496.; /* 2**52: sums and differences are exact too */
    return read_number(object, number) &&
           (PyFloat_CheckExact(object) || (*number >= -most && *number <= most));
}

/* From the nearer end, so that both ends are exact. */
COMPUTE(linspace)
{
    double start, end;
    npy_intp steps;
    number_type type = type_of(arguments[3]);
    if ((type != SINGLE && type != DOUBLE) || !read_exact(arguments[0], &start) ||
        !read_exact(arguments[1], &end) || !read_size(arguments[2], &steps)) {
        return NULL;
    }
    PyArrayObject *made = new_of_dtype((PyArray_Descr *)arguments[3], 1, &steps);
    if (made == NULL) {
        return NULL;
    }
    void *data = PyArray_DATA(made);
    npy_intp near = steps - steps / 2;
    double step = steps < 2 ? 0 : (end - start) / (double)(steps - 1);
    for (npy_intp i = 0; i < steps; i++) {
        double number = steps < 2    ? start
                        : i < near ? start + (double)i * step
                                   : end - (double)(steps - 1 - i) * step;
        write_number(data, i, type, 0, number);
    }
    return (PyObject *)made;
}

/* ---- one number, and the unit matrix --------------------------------------------------------- */

COMPUTE(full)
{
    npy_intp dims[NPY_MAXDIMS], whole = 0;
    double number = 0;
    number_type type = type_of(arguments[2]);
    int ndim = read_ints(arguments[0], dims);
    int is_held = type == LONG ? read_int(arguments[1], &whole)
                               : type != OTHER && read_number(arguments[1], &number);
    if (ndim < 0 || !is_held ||
        (type == SINGLE && isfinite(number) && fabs(number) > (double)FLT_MAX)) {
        return NULL;
    }
    PyArrayObject *made = new_of_dtype((PyArray_Descr *)arguments[2], ndim, dims);
    npy_intp size = made == NULL ? 0 : PyArray_SIZE(made);
    void *data = made == NULL ? NULL : PyArray_DATA(made);
    for (npy_intp i = 0; i < size; i++) {
        write_number(data, i, type, whole, number);
    }
    return (PyObject *)made;
}

COMPUTE(scalar_tensor)
{
    PyObject *size = PyTuple_New(0), *const args[] = {size, arguments[0], arguments[1]};
    PyObject *made = size == NULL ? NULL : full(args, 0);
    Py_XDECREF(size);
    return made;
}

COMPUTE(eye)
{
    npy_intp dims[2];
    number_type type = type_of(arguments[1]);
    if (type == OTHER || !read_size(arguments[0], &dims[0])) {
        return NULL;
    }
    dims[1] = dims[0];
    if (!is_addressable(2, dims, sizeof(double))) {
        return NULL;
    }
    Py_INCREF(arguments[1]); /* it takes a reference */
    PyArrayObject *made =
        (PyArrayObject *)PyArray_Zeros(2, dims, (PyArray_Descr *)arguments[1], 0);
    for (npy_intp i = 0; made != NULL && i < dims[0]; i++) {
        write_number(PyArray_GETPTR2(made, i, i), 0, type, 1, 1);
    }
    return (PyObject *)made;
}

#define ROW(operator, compute, ...) \
    {operator, "table/progressions.c", __LINE__, compute, {__VA_ARGS__, "dtype"}, 0}
const kernel_row progression_rows[] = {
    ROW("arange.start_step", arange, "start", "end", "step"),
    ROW("linspace", linspace, "start", "end", "steps"),
    ROW("full", full, "size", "fill_value"),
    ROW("eye", eye, "n"),
    ROW("scalar_tensor", scalar_tensor, "s"),
    {NULL},
};

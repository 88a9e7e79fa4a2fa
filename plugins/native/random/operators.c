/* Operators of random numbers, as rows of the kernel table: they hold the lock of the generator of a
 * call, by default that of its arrays (`SOURCE`), and draw from it. Parameters that are not valid,
 * other dtypes and generators, and arrays that are not in C order are the reference's. */
#include "twister.h"

#include <float.h>
#include <math.h>

/* Integers of ranges from here on take a pair of words; see drawn_numbers.py. */
#define LONG_RANGE ((npy_uint64)1 << 28)

/* ---- generators ------------------------------------------------------------------------------ */

enum { DEFAULT_GENERATOR, DEVICE, NATIVE, BITS, LOCK, KEPT, ACQUIRE, RELEASE, NAMES };
static PyObject *interned[NAMES];

static PyObject *
name_of(int which)
{
    static const char *const names[] = {"_default_generator", "device", "_native", "bits", "lock",
                                        "kept", "acquire", "release"};
    if (interned[which] == NULL) {
        interned[which] = PyUnicode_InternFromString(names[which]);
    }
    return interned[which];
}

/* A new reference; NULL without an exception where there is none. */
static PyObject *
attribute(PyObject *object, int which)
{
    PyObject *name = object == NULL ? NULL : name_of(which);
    PyObject *found = name == NULL ? NULL : PyObject_GetAttr(object, name);
    PyErr_Clear();
    return found;
}

/* The generator of a call, None for the default one: of the class and on the device of that. A new
 * reference; NULL for another one. */
static PyObject *
generator_of(PyObject *arrays, PyObject *given)
{
    PyObject *usual = attribute(arrays, DEFAULT_GENERATOR);
    if (usual == NULL || !is_given(given)) {
        return usual;
    }
    PyObject *device = attribute(usual, DEVICE);
    PyObject *own = Py_IS_TYPE(given, Py_TYPE(usual)) ? attribute(given, DEVICE) : NULL;
    int is_here = own != NULL && device != NULL && PyObject_RichCompareBool(own, device, Py_EQ) > 0;
    PyErr_Clear();
    Py_XDECREF(own);
    Py_XDECREF(device);
    Py_DECREF(usual);
    return is_here ? Py_NewRef(given) : NULL;
}

/* Call a method of a lock. Return 0, or -1 with an exception. */
static int
call_lock(PyObject *lock, int method)
{
    PyObject *name = name_of(method);
    PyObject *done = name == NULL ? NULL : PyObject_CallMethodNoArgs(lock, name);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The numbers of a draw in the state of a MersenneTwister, whose second normal number it keeps. */
static PyObject *
draw_normal(PyObject *native, PyObject **args)
{
    PyObject *kept = attribute(native, KEPT);
    args[5] = kept;
    PyObject *both = kept == NULL ? NULL : normal_numbers(args, 0), *made = NULL;
    if (both != NULL && (PyTuple_GET_ITEM(both, 1) == kept ||
                         PyObject_SetAttr(native, name_of(KEPT), PyTuple_GET_ITEM(both, 1)) == 0)) {
        made = Py_NewRef(PyTuple_GET_ITEM(both, 0));
    }
    Py_XDECREF(both);
    Py_XDECREF(kept);
    return made;
}

/* Draw numbers for a size or an array by a function of draws.c, whose other arguments follow. */
static PyObject *
draw(PyObject *const *arguments, PyObject *given, bound_kernel *numbers, PyObject **args)
{
    PyObject *generator = generator_of(arguments[SOURCE], given);
    PyObject *native = attribute(generator, NATIVE), *made = NULL;
    PyObject *lock = attribute(native, LOCK);
    args[0] = attribute(native, BITS);
    if (lock != NULL && args[0] != NULL && call_lock(lock, ACQUIRE) == 0) {
        made = numbers == normal_numbers ? draw_normal(native, args) : numbers(args, 0);
        PyObject *raised = made == NULL ? take_raised() : NULL;
        if (call_lock(lock, RELEASE) < 0) {
            Py_CLEAR(made);
        }
        else if (raised != NULL) {
            set_raised(Py_NewRef(raised));
        }
        Py_XDECREF(raised);
    }
    Py_XDECREF(args[0]);
    Py_XDECREF(lock);
    Py_XDECREF(native);
    Py_XDECREF(generator);
    return made;
}

/* ---- numbers of a floating-point dtype ------------------------------------------------------- */

/* The precision of an array or a dtype; -1 for another one. */
static int
precision_as(PyObject *object)
{
    if (object == NULL || !PyArray_DescrCheck(object)) {
        return precision_of(object);
    }
    PyArray_Descr *dtype = (PyArray_Descr *)object;
    return !PyDataType_ISNOTSWAPPED(dtype)   ? -1
           : dtype->type_num == NPY_FLOAT    ? 0
           : dtype->type_num == NPY_DOUBLE   ? 1
                                             : -1;
}

static PyObject *
draw_uniform(
    PyObject *const *arguments, PyObject *given, PyObject *like, PyObject *dtype, PyObject *low,
    PyObject *high)
{
    int precision = precision_as(dtype);
    double limit = precision ? DBL_MAX : FLT_MAX, from, to;
    if (precision < 0 || !read_number(low, &from) || !read_number(high, &to) || !(from <= to) ||
        !(fabs(from) <= limit && fabs(to) <= limit && to - from <= limit)) {
        return NULL;
    }
    PyObject *args[ARGUMENTS] = {NULL, like, precision ? Py_True : Py_False, low, high};
    return draw(arguments, given, uniform_numbers, args);
}

static PyObject *
draw_normals(
    PyObject *const *arguments, PyObject *given, PyObject *like, PyObject *dtype, PyObject *mean,
    PyObject *std)
{
    int precision = precision_as(dtype);
    double width;
    PyObject *blocks = PyLong_FromLong(1), *made = NULL;
    if (blocks != NULL && precision >= 0 && read_number(std, &width) && width >= 0) {
        PyObject *args[ARGUMENTS] = {NULL, like, precision ? Py_True : Py_False, mean, std, NULL,
                                     blocks};
        made = draw(arguments, given, normal_numbers, args);
    }
    Py_XDECREF(blocks);
    return made;
}

typedef PyObject *number_drawer(
    PyObject *const *arguments, PyObject *given, PyObject *like, PyObject *dtype, PyObject *first,
    PyObject *second);

/* Uniform or normal numbers from 0 on and 1 wide. */
static PyObject *
draw_standard(
    PyObject *const *arguments, PyObject *given, int is_normal, PyObject *like, PyObject *dtype)
{
    PyObject *zero = PyLong_FromLong(0), *one = PyLong_FromLong(1), *made = NULL;
    number_drawer *drawer = is_normal ? draw_normals : draw_uniform;
    if (zero != NULL && one != NULL) {
        made = drawer(arguments, given, like, dtype, zero, one);
    }
    Py_XDECREF(zero);
    Py_XDECREF(one);
    return made;
}

COMPUTE_OF(of_size, is_normal)
{
    return draw_standard(arguments, NULL, is_normal, arguments[0], arguments[1]);
}

COMPUTE_OF(of_array, is_normal)
{
    PyObject *dtype = is_given(arguments[1]) ? arguments[1] : arguments[0];
    return plain_array(arguments[0]) == NULL || is_given(arguments[2])
               ? NULL
               : draw_standard(arguments, NULL, is_normal, arguments[0], dtype);
}

COMPUTE_OF(into_array, is_normal)
{
    number_drawer *drawer = is_normal ? draw_normals : draw_uniform;
    return drawer(
        arguments, arguments[3], arguments[0], arguments[0], arguments[1], arguments[2]);
}

COMPUTE(normal_of_size)
{
    return draw_normals(
        arguments, arguments[3], arguments[2], arguments[4], arguments[0], arguments[1]);
}

COMPUTE(exponential_into)
{
    int precision = precision_of(arguments[0]);
    double rate;
    if (precision < 0 || !read_number(arguments[1], &rate) || !(rate > 0)) {
        return NULL;
    }
    PyObject *args[ARGUMENTS] = {
        NULL, arguments[0], precision ? Py_True : Py_False, arguments[1]};
    return draw(arguments, arguments[2], waiting_times, args);
}

/* ---- numbers of other dtypes ----------------------------------------------------------------- */

/* The numbers in the type of an array. Takes the reference to them. */
static PyObject *
as_type_of(PyObject *numbers, PyArrayObject *like)
{
    if (numbers == NULL || PyArray_TYPE((PyArrayObject *)numbers) == PyArray_TYPE(like)) {
        return numbers;
    }
    PyObject *made = PyArray_CastToType(
        (PyArrayObject *)numbers, PyArray_DescrFromType(PyArray_TYPE(like)), 0);
    Py_DECREF(numbers);
    return made;
}

COMPUTE(bernoulli_into)
{
    PyArrayObject *x = plain_array(arguments[0]);
    double chance;
    if (x == NULL || !PyArray_ISNOTSWAPPED(x) || !read_number(arguments[1], &chance) ||
        !(0 <= chance && chance <= 1)) {
        return NULL;
    }
    PyObject *args[ARGUMENTS] = {NULL, arguments[0], arguments[1]};
    return as_type_of(draw(arguments, arguments[2], choices, args), x);
}

/* Write 1 for the numbers that are below a chance, else 0. */
#define CHOOSE_BY(type)                                                                           \
    for (npy_intp i = 0; i < size; i++) {                                                         \
        ((type *)numbers)[i] = ((type *)numbers)[i] < ((const type *)chances)[i];                 \
    }

COMPUTE(bernoulli_of_chances)
{
    PyObject *made = are_chances(arguments[0]) == 1
                         ? draw_standard(arguments, arguments[1], 0, arguments[0], arguments[0])
                         : NULL;
    if (made == NULL) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)made);
    void *numbers = PyArray_DATA((PyArrayObject *)made);
    const void *chances = PyArray_DATA((PyArrayObject *)arguments[0]);
    if (precision_of(made)) {
        CHOOSE_BY(double)
    }
    else {
        CHOOSE_BY(float)
    }
    return made;
}

/* The bits of the integers that a dtype has all of, without a sign; 0 for dtypes of other kinds. */
static int
integer_bits(PyObject *object)
{
    PyArrayObject *x = plain_array(object);
    int precision = precision_of(object);
    if (precision >= 0) {
        return precision ? DBL_MANT_DIG : FLT_MANT_DIG;
    }
    return x != NULL && PyArray_ISINTEGER(x) && PyArray_ISNOTSWAPPED(x)
               ? 8 * (int)PyArray_ITEMSIZE(x) - PyArray_ISSIGNED(x)
               : 0;
}

/* Integers of a width from `low` on, in the dtype of an array. */
static PyObject *
integers_like(
    PyObject *const *arguments, PyObject *given, npy_int64 low, npy_uint64 width, int paired)
{
    PyObject *first = PyLong_FromLongLong(low), *made = NULL;
    PyObject *count = first == NULL ? NULL : PyLong_FromUnsignedLongLong(width);
    if (count != NULL) {
        PyObject *args[ARGUMENTS] = {NULL, arguments[0], first, count, paired ? Py_True : Py_False};
        made = as_type_of(
            draw(arguments, given, integers_below, args), (PyArrayObject *)arguments[0]);
    }
    Py_XDECREF(first);
    Py_XDECREF(count);
    return made;
}

/* Integers from 0 to the greatest up to which the dtype has all. */
COMPUTE(integers_into)
{
    int bits = integer_bits(arguments[0]), is_float = precision_of(arguments[0]) >= 0;
    return bits == 0 ? NULL
                     : integers_like(
                           arguments, arguments[1], 0,
                           ((npy_uint64)1 << (bits > 63 ? 63 : bits)) + (npy_uint64)is_float,
                           PyArray_ITEMSIZE((PyArrayObject *)arguments[0]) == 8);
}

/* Integers from one bound up to another, which the dtype has all of. */
static PyObject *
integers_between(PyObject *const *arguments, PyObject *given, npy_intp low, PyObject *end)
{
    int bits = integer_bits(arguments[0]), is_float = precision_of(arguments[0]) >= 0;
    npy_intp high;
    if (bits == 0 || !read_int(end, &high) || low >= high) {
        return NULL;
    }
    int is_signed = is_float || PyArray_ISSIGNED((PyArrayObject *)arguments[0]);
    npy_uint64 greatest = bits > 62 ? NPY_MAX_INT64 : ((npy_uint64)1 << bits) - !is_float;
    npy_uint64 least = is_signed ? (npy_uint64)1 << (bits > 62 ? 62 : bits) : 0;
    npy_uint64 width = (npy_uint64)high - (npy_uint64)low;
    return (low < 0 ? 0 - (npy_uint64)low > least : (npy_uint64)low > greatest) ||
                   (high > 0 && (npy_uint64)high - 1 > greatest)
               ? NULL
               : integers_like(arguments, given, low, width, width >= LONG_RANGE);
}

COMPUTE(integers_to)
{
    return integers_between(arguments, arguments[2], 0, arguments[1]);
}

COMPUTE(integers_from)
{
    npy_intp low;
    return read_int(arguments[1], &low)
               ? integers_between(arguments, arguments[3], low, arguments[2])
               : NULL;
}

/* New integers of a size, of int64, from a bound or 0 on. */
COMPUTE_OF(integers_of_size, has_low)
{
    PyObject *const *rest = arguments + 1 + has_low; /* size, dtype and generator */
    npy_intp low = 0, high;
    PyObject *zero = PyLong_FromLong(0), *count = NULL, *made = NULL;
    int is_int64 = !is_given(rest[1]) || (PyArray_DescrCheck(rest[1]) &&
                                          ((PyArray_Descr *)rest[1])->type_num == NPY_INT64);
    if (zero != NULL && is_int64 && rest[0] != NULL && (!has_low || read_int(arguments[0], &low)) &&
        read_int(rest[-1], &high) && low < high) {
        npy_uint64 width = (npy_uint64)high - (npy_uint64)low;
        count = PyLong_FromUnsignedLongLong(width);
        PyObject *args[ARGUMENTS] = {
            NULL, rest[0], has_low ? arguments[0] : zero, count,
            width >= LONG_RANGE ? Py_True : Py_False};
        made = count == NULL ? NULL : draw(arguments, rest[2], integers_below, args);
    }
    Py_XDECREF(zero);
    Py_XDECREF(count);
    return made;
}

COMPUTE(permuted)
{
    PyObject *dtype = arguments[1];
    npy_intp count;
    if (!read_size(arguments[0], &count) || count >= UINT32_MAX / 20 ||
        (is_given(dtype) && !(PyArray_DescrCheck(dtype) &&
                              ((PyArray_Descr *)dtype)->type_num == NPY_INT64))) {
        return NULL;
    }
    PyObject *size = PyTuple_Pack(1, arguments[0]), *made = NULL;
    if (size != NULL) {
        PyObject *args[ARGUMENTS] = {NULL, size, Py_False};
        made = draw(arguments, arguments[2], permutation, args);
        Py_DECREF(size);
    }
    return made;
}

#define ROW(operator, compute, which, ...)                                                        \
    {operator, "random/operators.c", __LINE__, compute, {__VA_ARGS__}, .variant = which,           \
     .draws = 1}
const kernel_row drawing_rows[] = {
    ROW("bernoulli", bernoulli_of_chances, 0, "self", "generator"),
    ROW("bernoulli_.float", bernoulli_into, 0, "self", "p", "generator"),
    ROW("exponential_", exponential_into, 0, "self", "lambd", "generator"),
    ROW("normal.float_float", normal_of_size, 0, "mean", "std", "size", "generator", "dtype"),
    ROW("normal_", into_array, 1, "self", "mean", "std", "generator"),
    ROW("rand", of_size, 0, "size", "dtype"),
    ROW("rand_like", of_array, 0, "self", "dtype", "memory_format"),
    ROW("randint", integers_of_size, 0, "high", "size", "dtype", "generator"),
    ROW("randint.low", integers_of_size, 1, "low", "high", "size", "dtype", "generator"),
    ROW("randn", of_size, 1, "size", "dtype"),
    ROW("randn_like", of_array, 1, "self", "dtype", "memory_format"),
    ROW("random_", integers_into, 0, "self", "generator"),
    ROW("random_.from", integers_from, 0, "self", "from", "to", "generator"),
    ROW("random_.to", integers_to, 0, "self", "to", "generator"),
    ROW("randperm", permuted, 0, "n", "dtype", "generator"),
    ROW("uniform_", into_array, 0, "self", "from", "to", "generator"),
    {NULL},
};

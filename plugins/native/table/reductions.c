/* Reductions as operators: sums, means, products, extrema, variances and norms. */
#include "integers.h"

#include <math.h>

/* Columns side by side that are combined faster where they are than in a copy: fewer are not. */
enum { LEAST_COLUMNS = 16 };

/* ---- axes ------------------------------------------------------------------------------------ */

typedef struct {
    PyArrayObject *array; /* that of the call; once read, aligned and held */
    int precision;
    npy_uint64 mask; /* of the axes that are reduced */
} reduced;

/* Take the array of a call, whose shape is known then. Return whether it is one of single or double
 * precision. */
static int
take_array(PyObject *object, reduced *read)
{
    read->array = (PyArrayObject *)object;
    read->precision = precision_of(object);
    return read->precision >= 0;
}

/* Hold the array that was taken, or an aligned copy. Return whether there is one; 0 has an
 * exception. */
static int
read_array(reduced *read)
{
    PyObject *array = (PyObject *)read->array;
    read->array = PyArray_ISALIGNED(read->array) ? (PyArrayObject *)Py_NewRef(array)
                                                 : in_c_order(array);
    return read->array != NULL;
}

/* Read the axes of a reduction: None, an int, or several; no axes are all. Return whether they are
 * axes of an array, each named once. */
static int
read_axes(PyObject *object, reduced *read)
{
    int ndim = PyArray_NDIM(read->array), axis;
    npy_uint64 all = ndim == 64 ? ~(npy_uint64)0 : ((npy_uint64)1 << ndim) - 1;
    if (!is_given(object)) {
        read->mask = all;
        return 1;
    }
    read->mask = 0;
    if (PyLong_CheckExact(object)) {
        if (!read_axis(object, ndim, &axis)) {
            return 0;
        }
        read->mask = ndim == 0 ? 0 : (npy_uint64)1 << axis;
        return 1;
    }
    if (!PyTuple_Check(object) && !PyList_CheckExact(object)) {
        return 0;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (ndim == 0 && count > 1) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!read_axis(PySequence_Fast_GET_ITEM(object, i), ndim, &axis)) {
            return 0;
        }
        npy_uint64 bit = (npy_uint64)1 << axis;
        if (read->mask & bit) {
            return 0;
        }
        read->mask |= ndim == 0 ? 0 : bit;
    }
    read->mask = count == 0 ? all : read->mask;
    return 1;
}

/* Add an axis behind those of a kind that are there: to the last of these, if it is the one before
 * in the array and its elements go on where those of that one end. Return whether all that follow
 * each other are one. */
static int
add_axis(reduction_axis *axes, int *count, npy_intp size, npy_intp step, int goes_on)
{
    if (goes_on && axes[*count - 1].step == step * size) {
        axes[*count - 1].size *= size;
        axes[*count - 1].step = step;
        return 1;
    }
    axes[(*count)++] = (reduction_axis){size, step, 0};
    return !goes_on;
}

/* The axes of an array in the order in which a reduction goes through them: as they are, or if all
 * are reduced, those of greater steps first, so that memory is read as it lies. */
static void
order_axes(const reduced *read, int *order)
{
    int ndim = PyArray_NDIM(read->array), keeps_some = 0;
    for (int i = 0; i < ndim; i++) {
        order[i] = i;
        keeps_some |= PyArray_DIM(read->array, i) != 1 && !(read->mask >> i & 1);
    }
    for (int i = 1; i < ndim && !keeps_some; i++) {
        npy_intp step = Py_ABS(PyArray_STRIDE(read->array, i));
        int at = i;
        for (; at > 0 && Py_ABS(PyArray_STRIDE(read->array, order[at - 1])) < step; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* Lay out the axes of a reduction. Those of a kind that follow each other are one: of reduced ones
 * that decides in which order elements are combined, and kept ones may stand apart if there are
 * columns of memory to combine together. Return 0 if the memory has no steps for that, or there are
 * too many axes: it has to be copied. */
static int
lay_out(const reduced *read, reduction *axes)
{
    int ndim = PyArray_NDIM(read->array), before = -1, stand_apart = 0, order[NPY_MAXDIMS];
    npy_intp item = PyArray_ITEMSIZE(read->array);
    axes->kept_count = axes->reduced_count = 0;
    axes->elements = 1;
    order_axes(read, order);
    for (int k = 0; k < ndim; k++) {
        int i = order[k];
        npy_intp size = PyArray_DIM(read->array, i), stride = PyArray_STRIDE(read->array, i);
        int is_reduced = read->mask >> i & 1;
        if (size == 1) {
            continue;
        }
        if (axes->kept_count == MOST_REDUCED_AXES || axes->reduced_count == MOST_REDUCED_AXES) {
            return 0;
        }
        axes->elements *= is_reduced ? size : 1;
        reduction_axis *list = is_reduced ? axes->reduced : axes->kept;
        int *count = is_reduced ? &axes->reduced_count : &axes->kept_count;
        int fits = stride % item == 0 &&
                   add_axis(list, count, size, stride / item, before == is_reduced);
        if (!fits && (is_reduced || stride % item != 0)) {
            return 0;
        }
        stand_apart |= !fits;
        before = is_reduced;
    }
    for (int i = 0; i < axes->kept_count && stand_apart; i++) {
        stand_apart = axes->kept[i].step != 1 || axes->kept[i].size < LEAST_COLUMNS;
    }
    if (stand_apart) {
        return 0;
    }
    reduction_axis one = {1, 1, 0};
    axes->row = axes->reduced_count ? axes->reduced[--axes->reduced_count] : one;
    npy_intp step = 1;
    for (int i = axes->kept_count - 1; i >= 0; i--) {
        axes->kept[i].step_of_result = step;
        step *= axes->kept[i].size;
    }
    return 1;
}

/* A new array of a precision for the result. */
static PyArrayObject *
array_of_results(const reduced *read, int keeps)
{
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i < PyArray_NDIM(read->array); i++) {
        int is_reduced = read->mask >> i & 1;
        if (!is_reduced || keeps) {
            shape[ndim++] = is_reduced ? 1 : PyArray_DIM(read->array, i);
        }
    }
    return new_array(ndim, shape, read->precision);
}

/* How many elements are combined into one. */
static npy_intp
count_combined(const reduced *read)
{
    npy_intp count = 1;
    for (int i = 0; i < PyArray_NDIM(read->array); i++) {
        count *= read->mask >> i & 1 ? PyArray_DIM(read->array, i) : 1;
    }
    return count;
}

/* Write the reduction of an array with elements. Return 0, or -1 with an exception. */
static int
reduce_into(reduced *read, reduction_kind kind, double number, PyArrayObject *result)
{
    reduction axes;
    int is_laid_out = lay_out(read, &axes);
    if (!is_laid_out) {
        PyArrayObject *copied = in_c_order((PyObject *)read->array);
        if (copied == NULL) {
            return -1;
        }
        Py_SETREF(read->array, copied);
        is_laid_out = lay_out(read, &axes);
    }
    if (!is_laid_out) {
        PyErr_SetString(
            PyExc_RuntimeError, "a reduction takes arrays of at most 64 dimensions; flatten some");
        return -1;
    }
    void *to = PyArray_DATA(result);
    const void *from = PyArray_DATA(read->array);
    reduction_kernel *kernel = kernels_in_force->reductions->of[read->precision];
    RELEASED(PyArray_SIZE(read->array), kernel(kind, to, from, &axes, number));
    return 0;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* What nothing is combined into; NaN where the reference says so. */
static double
number_of_nothing(reduction_kind kind)
{
    switch (kind) {
    case REDUCTION_SUM:
    case REDUCTION_NAN_SUM:
    case REDUCTION_NORM:
    case REDUCTION_SUM_OF_SIZES:
        return 0;
    case REDUCTION_PRODUCT:
        return 1;
    default:
        return NAN;
    }
}

/* The array of a call in a type, as which it is reduced by a loop of NumPy; NULL without an exception
 * for what is no array of integers, truth values or, if `of_any`, numbers, and for other arguments.
 * A new reference. */
static PyArrayObject *
read_in_type(
    PyObject *object, int type, int of_any, PyObject *dims, PyObject *keepdim, reduced *read,
    int *keeps)
{
    read->array = plain_array(object);
    return read->array != NULL &&
                   (PyArray_ISINTEGER(read->array) || PyArray_ISBOOL(read->array) ||
                    (of_any && PyArray_ISNUMBER(read->array))) &&
                   read_optional_flag(keepdim, keeps) && read_axes(dims, read)
               ? in_type(read->array, type < 0 ? PyArray_TYPE(read->array) : type)
               : NULL;
}

/* The same of integers and truth values, whose sums and products are of int64. */
static PyObject *
reduce_other(reduction_kind kind, PyObject *object, PyObject *dims, PyObject *keepdim)
{
    reduced read;
    kind = kind == REDUCTION_NAN_SUM ? REDUCTION_SUM : kind;
    int keeps, adds = kind == REDUCTION_SUM || kind == REDUCTION_PRODUCT;
    if (!(adds || kind == REDUCTION_GREATEST || kind == REDUCTION_LEAST)) {
        return NULL;
    }
    PyArrayObject *array =
        read_in_type(object, adds ? NPY_INT64 : -1, 0, dims, keepdim, &read, &keeps);
    if (array == NULL) {
        return NULL;
    }
    integer_loop loop = kind == REDUCTION_SUM       ? INTEGER_add
                        : kind == REDUCTION_PRODUCT ? INTEGER_multiply
                        : kind == REDUCTION_LEAST   ? INTEGER_minimum
                                                    : INTEGER_maximum;
    PyObject *made = !adds && PyArray_SIZE(array) == 0
                         ? NULL
                         : reduce_integers(loop, array, read.mask, keeps);
    Py_DECREF(array);
    return made;
}

/* A copy of an array of single or double precision, integers or truth values in the dtype of a call:
 * one of the first two. NULL without an exception for others. */
static PyObject *
in_dtype(PyObject *object, PyObject *dtype)
{
    PyArrayObject *array = plain_array(object);
    int type = PyArray_DescrCheck(dtype) ? ((PyArray_Descr *)dtype)->type_num : NPY_VOID;
    return array != NULL && (type == NPY_FLOAT || type == NPY_DOUBLE) &&
                   (precision_of(object) >= 0 || PyArray_ISINTEGER(array) || PyArray_ISBOOL(array))
               ? (PyObject *)in_type(array, type)
               : NULL;
}

/* The reduction of an array over axes. */
static PyObject *
reduce(
    reduction_kind kind, PyObject *array, PyObject *dims, PyObject *keepdim, PyObject *dtype)
{
    reduced read;
    double of_nothing = number_of_nothing(kind);
    int keeps;
    if (is_given(dtype) && plain_array(array) != NULL && !is_dtype_of(dtype, array)) {
        PyObject *cast = in_dtype(array, dtype);
        PyObject *made = cast == NULL ? NULL : reduce(kind, cast, dims, keepdim, NULL);
        Py_XDECREF(cast);
        return made;
    }
    if (!take_array(array, &read)) {
        PyArrayObject *other = plain_array(array);
        int is_wrong = is_given(dtype) && other != NULL && PyArray_TYPE(other) != NPY_INT64;
        return is_wrong ? NULL : reduce_other(kind, array, dims, keepdim);
    }
    if (!read_optional_flag(keepdim, &keeps) || !read_axes(dims, &read)) {
        return NULL;
    }
    int is_empty = PyArray_SIZE(read.array) == 0;
    if ((is_empty && isnan(of_nothing)) || !read_array(&read)) {
        return NULL;
    }
    PyArrayObject *result = array_of_results(&read, keeps);
    if (result != NULL && is_empty) {
        npy_intp size = PyArray_SIZE(result);
        for (npy_intp i = 0; i < size; i++) {
            if (read.precision) {
                ((double *)PyArray_DATA(result))[i] = of_nothing;
            }
            else {
                ((float *)PyArray_DATA(result))[i] = (float)of_nothing;
            }
        }
    }
    else if (result != NULL && reduce_into(&read, kind, 0, result) < 0) {
        Py_CLEAR(result);
    }
    Py_DECREF(read.array);
    return (PyObject *)result;
}

COMPUTE_OF(over_axes, kind)
{
    return reduce(kind, arguments[0], arguments[1], arguments[2], arguments[3]);
}

/* The same of axes that have to be given; of one axis, if that is an int. */
COMPUTE_OF(over_given_axes, kind)
{
    return is_given(arguments[1]) && (kind != REDUCTION_PRODUCT || PyLong_CheckExact(arguments[1]))
               ? over_axes(arguments, kind)
               : NULL;
}

COMPUTE_OF(over_all, kind)
{
    return reduce(kind, arguments[0], NULL, NULL, arguments[1]);
}

COMPUTE(extremes)
{
    PyObject *const over[] = {arguments[0], arguments[1], arguments[2], NULL};
    PyObject *least = over_axes(over, REDUCTION_LEAST);
    PyObject *greatest = least == NULL ? NULL : over_axes(over, REDUCTION_GREATEST);
    results both = {0};
    if (least != NULL) {
        add_result(&both, (PyArrayObject *)least);
        add_result(&both, (PyArrayObject *)greatest);
    }
    return least == NULL ? NULL : tuple_of(&both);
}

/* The Euclidean norm; others are the reference's. That of one number is its size, which the root of
 * its square may not be. */
COMPUTE(norm)
{
    double order = 2;
    if (arguments[1] != NULL &&
        (!read_number(arguments[1], &order) || (order != 2 && order != 1 && order != INFINITY))) {
        return NULL;
    }
    reduced read;
    if (!take_array(arguments[0], &read) || !read_axes(arguments[2], &read) ||
        count_combined(&read) == 1) {
        return NULL;
    }
    reduction_kind kind = order == 2   ? REDUCTION_NORM
                          : order == 1 ? REDUCTION_SUM_OF_SIZES
                                       : REDUCTION_GREATEST_SIZE;
    return reduce(kind, arguments[0], arguments[2], arguments[3], arguments[4]);
}

/* Replace numbers of a result by their roots. Return whether all are finite: of an infinite square
 * the root may be finite. */
static int
take_roots(PyArrayObject *result)
{
    int is_finite = 1;
    npy_intp size = PyArray_SIZE(result);
    if (PyArray_TYPE(result) == NPY_DOUBLE) {
        double *numbers = PyArray_DATA(result);
        for (npy_intp i = 0; i < size; i++) {
            numbers[i] = sqrt(numbers[i]);
            is_finite &= isfinite(numbers[i]) != 0;
        }
    }
    else {
        float *numbers = PyArray_DATA(result);
        for (npy_intp i = 0; i < size; i++) {
            numbers[i] = sqrtf(numbers[i]);
            is_finite &= isfinite(numbers[i]) != 0;
        }
    }
    return is_finite;
}

/* The variance, or the root of it, with the mean. */
enum { IS_ROOT = 1, WITH_MEAN = 2 };

COMPUTE(variance)
{
    double correction = 1;
    reduced read;
    int keeps;
    if (!take_array(arguments[0], &read) ||
        (is_given(arguments[2]) && !read_number(arguments[2], &correction)) ||
        !read_optional_flag(arguments[3], &keeps) || !read_axes(arguments[1], &read)) {
        return NULL;
    }
    double freedom = (double)count_combined(&read) - correction;
    if (PyArray_SIZE(read.array) == 0 || !(freedom > 0) || !read_array(&read)) {
        return NULL;
    }
    PyArrayObject *made = array_of_results(&read, keeps);
    int failed = made == NULL || reduce_into(&read, REDUCTION_VARIANCE, freedom, made) < 0;
    if (failed || (variant & IS_ROOT && !take_roots(made))) {
        Py_CLEAR(made);
    }
    Py_DECREF(read.array);
    if (made == NULL || !(variant & WITH_MEAN)) {
        return (PyObject *)made;
    }
    results both = {0};
    add_result(&both, made);
    add_result(
        &both, (PyArrayObject *)reduce(
                   REDUCTION_MEAN, arguments[0], arguments[1], arguments[3], NULL));
    return tuple_of(&both);
}

/* The sum of a broadcast array over what was broadcast, in the shape before. */
COMPUTE(sum_to)
{
    PyObject *shape = arguments[1];
    reduced read;
    if (shape == NULL || !PyTuple_Check(shape) || plain_array(arguments[0]) == NULL) {
        return NULL;
    }
    int is_read = take_array(arguments[0], &read);
    int ndim = PyArray_NDIM(read.array), lead = ndim - (int)PyTuple_GET_SIZE(shape);
    npy_intp sizes[NPY_MAXDIMS];
    int fits = lead >= 0, is_same = lead == 0;
    read.mask = 0;
    for (int i = 0; fits && i < ndim; i++) {
        npy_intp size = PyArray_DIM(read.array, i);
        if (i >= lead) {
            fits = read_size(PyTuple_GET_ITEM(shape, i - lead), sizes + i - lead) &&
                   (sizes[i - lead] == size || sizes[i - lead] == 1);
        }
        if (fits && (i < lead || sizes[i - lead] != size)) {
            read.mask |= (npy_uint64)1 << i;
            is_same = 0;
        }
    }
    if (fits && is_same) {
        return Py_NewRef(arguments[0]);
    }
    if (!fits || !is_read || PyArray_SIZE(read.array) == 0 || !read_array(&read)) {
        return NULL;
    }
    PyArrayObject *result = new_array(ndim - lead, sizes, read.precision);
    if (result != NULL && reduce_into(&read, REDUCTION_SUM, 0, result) < 0) {
        Py_CLEAR(result);
    }
    Py_DECREF(read.array);
    return (PyObject *)result;
}

/* How many elements are not zero. */
COMPUTE(count_nonzero)
{
    reduced read;
    int keeps;
    PyArrayObject *array = read_in_type(arguments[0], -1, 1, arguments[1], NULL, &read, &keeps);
    if (array == NULL) {
        return NULL;
    }
    PyObject *result = NULL;
    if (!is_given(arguments[1])) {
        npy_intp count = PyArray_CountNonzero(array);
        result = count < 0 ? NULL : PyArray_SimpleNew(0, NULL, NPY_INT64);
        if (result != NULL) {
            *(npy_int64 *)PyArray_DATA((PyArrayObject *)result) = count;
        }
    }
    else {
        PyArrayObject *truth = in_type(array, NPY_BOOL);
        PyArrayObject *numbers = truth == NULL ? NULL : in_type(truth, NPY_INT64);
        Py_XDECREF(truth);
        result = numbers == NULL ? NULL : reduce_integers(INTEGER_add, numbers, read.mask, 0);
        Py_XDECREF(numbers);
    }
    Py_DECREF(array);
    return result;
}

/* Whether any, or all, of the elements over some axes are true: of uint8 PyTorch's is one too. */
COMPUTE_OF(truth, of_all)
{
    reduced read;
    int keeps;
    PyArrayObject *array =
        read_in_type(arguments[0], NPY_BOOL, 1, arguments[1], arguments[2], &read, &keeps);
    if (array == NULL || PyArray_TYPE(read.array) == NPY_UBYTE) {
        Py_XDECREF(array);
        return NULL;
    }
    PyObject *result = reduce_integers(
        of_all ? INTEGER_logical_and : INTEGER_logical_or, array, read.mask, keeps);
    Py_DECREF(array);
    return result;
}

/* The same of a list of axes, of which none are no axes. */
COMPUTE_OF(truth_over, of_all)
{
    PyObject *dims = arguments[1];
    return dims != NULL && PyTuple_Check(dims) && PyTuple_GET_SIZE(dims) == 0
               ? NULL
               : truth(arguments, of_all);
}

#define ROW(operator, compute, halves, widened, variant, ...)                                     \
    {operator, "table/reductions.c", __LINE__, compute, {__VA_ARGS__}, halves, widened, variant}
#define COUNT(operator, compute, variant, ...) ROW(operator, compute, 1, NULL, variant, __VA_ARGS__)
#define SUM(operator, compute, variant, ...) ROW(operator, compute, 0, "1x", variant, __VA_ARGS__)
#define VARIANCE(operator, widened, variant) \
    ROW(operator, variance, 0, widened, variant, "self", "dim", "correction", "keepdim")
#define OVER "self", "dim", "keepdim"
const kernel_row reduction_rows[] = {
    COUNT("all", truth, 1, "self"),
    COUNT("all.dim", truth, 1, OVER),
    COUNT("all.dims", truth_over, 1, OVER),
    COUNT("any", truth, 0, "self"),
    COUNT("any.dim", truth, 0, OVER),
    COUNT("any.dims", truth_over, 0, OVER),
    SUM("amax", over_axes, REDUCTION_GREATEST, OVER),
    SUM("amin", over_axes, REDUCTION_LEAST, OVER),
    ROW("aminmax", extremes, 0, "1xx", 0, OVER),
    COUNT("count_nonzero", count_nonzero, 0, "self", "dim"),
    COUNT("count_nonzero.dim_IntList", count_nonzero, 0, "self", "dim"),
    SUM("linalg_vector_norm", norm, 0, "self", "ord", "dim", "keepdim", "dtype"),
    SUM("logsumexp", over_given_axes, REDUCTION_LOG_SUM_EXP, OVER),
    SUM("max", over_all, REDUCTION_GREATEST, "self"),
    SUM("mean", over_all, REDUCTION_MEAN, "self", "dtype"),
    SUM("mean.dim", over_axes, REDUCTION_MEAN, OVER, "dtype"),
    SUM("min", over_all, REDUCTION_LEAST, "self"),
    SUM("nansum", over_axes, REDUCTION_NAN_SUM, OVER, "dtype"),
    SUM("prod", over_all, REDUCTION_PRODUCT, "self", "dtype"),
    SUM("prod.dim_int", over_given_axes, REDUCTION_PRODUCT, OVER, "dtype"),
    VARIANCE("std.correction", "1x", IS_ROOT),
    VARIANCE("std_mean.correction", "1xx", IS_ROOT | WITH_MEAN),
    SUM("sum", over_all, REDUCTION_SUM, "self", "dtype"),
    SUM("sum.dim_IntList", over_axes, REDUCTION_SUM, OVER, "dtype"),
    SUM("sum_to", sum_to, 0, "x", "shape"),
    VARIANCE("var.correction", "1x", 0),
    VARIANCE("var_mean.correction", "1xx", WITH_MEAN),
    {NULL},
};

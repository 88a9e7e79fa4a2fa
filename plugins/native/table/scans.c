/* Running sums, products and extrema as operators. */
#include "indexed.h"

/* Whether an object is an array with elements and axes, one of which is given. */
static int
read_array(PyObject *const *arguments, int *axis)
{
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    return is_array(arguments[0]) && PyArray_SIZE(array) > 0 && PyArray_NDIM(array) > 0 &&
           read_axis(arguments[1], PyArray_NDIM(array), axis);
}

/* An array in C order with the dtype that its sums have: int64 of integers, its own of others, or
 * the one that is asked for, if that holds all its numbers. NULL with an exception, or without. */
static PyArrayObject *
as_summed(PyArrayObject *array, PyObject *dtype)
{
    char kind = PyArray_DESCR(array)->kind;
    PyArray_Descr *wanted;
    if (is_given(dtype)) {
        if (!PyArray_DescrCheck(dtype)) {
            return NULL;
        }
        wanted = (PyArray_Descr *)Py_NewRef(dtype);
    }
    else if (kind == 'b' || kind == 'i' || kind == 'u') {
        wanted = PyArray_DescrFromType(NPY_INT64);
    }
    else {
        return in_c_order((PyObject *)array);
    }
    if (wanted == NULL || !PyArray_CanCastTypeTo(
                              PyArray_DESCR(array), wanted, NPY_SAFE_CASTING)) {
        Py_XDECREF(wanted);
        return NULL;
    }
    return (PyArrayObject *)PyArray_FromArray(array, wanted, NPY_ARRAY_CARRAY_RO);
}

/* Which running values are computed. */
typedef enum { SUM, PRODUCT, GREATEST, LEAST } scan_kind;

COMPUTE_OF(running, kind)
{
    int axis;
    running_kernel *const *kernels =
        kind == SUM ? kernels_in_force->scans->sum : kernels_in_force->scans->product;
    if (!read_array(arguments, &axis)) {
        return NULL;
    }
    PyArrayObject *x = as_summed((PyArrayObject *)arguments[0], arguments[2]), *result = NULL;
    int type = x == NULL ? -1 : type_of(x);
    if (type >= 0 && kernels[type] != NULL && (result = empty_like((PyObject *)x)) != NULL) {
        axis_sizes along = sizes_around(x, axis);
        const void *from = PyArray_DATA(x);
        void *to = PyArray_DATA(result);
        RELEASED(
            PyArray_SIZE(x), kernels[type](to, from, along.outer, along.length, along.inner));
    }
    Py_XDECREF(x);
    return (PyObject *)result;
}

COMPUTE_OF(extremum, kind)
{
    int axis;
    running_extremum *const *kernels =
        kind == GREATEST ? kernels_in_force->scans->greatest : kernels_in_force->scans->least;
    if (!read_array(arguments, &axis)) {
        return NULL;
    }
    int type = type_of((PyArrayObject *)arguments[0]);
    if (type < 0 || kernels[type] == NULL) {
        return NULL;
    }
    PyArrayObject *x = in_c_order(arguments[0]);
    if (x == NULL) {
        return NULL;
    }
    results made = {0};
    void *to = add_result(&made, empty_like((PyObject *)x));
    int64_t *at = add_result(
        &made, (PyArrayObject *)PyArray_EMPTY(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64, 0));
    if (!made.failed) {
        axis_sizes along = sizes_around(x, axis);
        const void *from = PyArray_DATA(x);
        RELEASED(
            PyArray_SIZE(x), kernels[type](to, at, from, along.outer, along.length, along.inner));
    }
    Py_DECREF(x);
    return tuple_of(&made);
}

#define ROW(operator, compute, kind, ...)                                                         \
    {operator, "table/scans.c", __LINE__, compute, {__VA_ARGS__}, 1, NULL, kind}
const kernel_row scan_rows[] = {
    ROW("cumsum", running, SUM, "self", "dim", "dtype"),
    ROW("cumprod", running, PRODUCT, "self", "dim", "dtype"),
    ROW("cummax", extremum, GREATEST, "self", "dim"),
    ROW("cummin", extremum, LEAST, "self", "dim"),
    {NULL},
};

/* Extrema along an axis with their indices, as operators: NumPy finds the indices. */
#include "table.h"

typedef enum { GREATEST, LEAST } extremum_kind;

/* Whether arguments are an array with elements that have an order, one of its axes, and a flag or
 * nothing. Without an axis, all elements are along one, if `of_all`. */
static int
read_arguments(PyObject *const *arguments, int of_all, int *axis, int *keeps)
{
    PyArrayObject *array = plain_array(arguments[0]);
    if (array == NULL || PyArray_ISCOMPLEX(array) || !PyArray_ISNOTSWAPPED(array) ||
        PyArray_SIZE(array) == 0 || !read_optional_flag(arguments[2], keeps)) {
        return 0;
    }
    if (of_all && !is_given(arguments[1])) {
        *axis = NPY_RAVEL_AXIS;
        return PyArray_NDIM(array) > 0 && !*keeps;
    }
    return PyArray_NDIM(array) > 0 && read_axis(arguments[1], PyArray_NDIM(array), axis);
}

/* A new array of int64 in C order with the index along an axis for each of the other elements, which
 * has no such axis. */
static PyArrayObject *
indices_along(extremum_kind kind, PyArrayObject *array, int axis)
{
    int ndim = PyArray_NDIM(array);
    if (axis != NPY_RAVEL_AXIS && PyArray_DIM(array, axis) == 1) { /* NumPy would call a function for each */
        npy_intp shape[NPY_MAXDIMS];
        for (int i = 0; i < ndim; i++) {
            shape[i - (i > axis)] = PyArray_DIM(array, i);
        }
        return (PyArrayObject *)PyArray_ZEROS(ndim - 1, shape, NPY_INT64, 0);
    }
    PyObject *found = kind == GREATEST ? PyArray_ArgMax(array, axis, NULL)
                                       : PyArray_ArgMin(array, axis, NULL);
    if (found == NULL) {
        return NULL;
    }
    PyObject *indices = PyArray_FROM_OTF(found, NPY_INT64, NPY_ARRAY_IN_ARRAY);
    Py_DECREF(found);
    return (PyArrayObject *)indices;
}

/* The elements of an array at indices along an axis, which they lack. */
static PyArrayObject *
elements_at(PyArrayObject *array, PyArrayObject *indices, int axis)
{
    PyArrayObject *made = (PyArrayObject *)PyArray_EMPTY(
        PyArray_NDIM(indices), PyArray_DIMS(indices), PyArray_TYPE(array), 0);
    if (made == NULL) {
        return NULL;
    }
    npy_intp index[NPY_MAXDIMS] = {0}, item = PyArray_ITEMSIZE(array), size = PyArray_SIZE(made);
    const npy_int64 *at = PyArray_DATA(indices);
    const char *from = PyArray_BYTES(array);
    char *to = PyArray_BYTES(made);
    for (npy_intp i = 0; i < size; i++) {
        memcpy(to + i * item, from + at[i] * PyArray_STRIDE(array, axis), (size_t)item);
        for (int j = PyArray_NDIM(array) - 1; j >= 0; j--) {
            if (j == axis) {
                continue;
            }
            from += PyArray_STRIDE(array, j);
            if (++index[j] < PyArray_DIM(array, j)) {
                break;
            }
            from -= index[j] * PyArray_STRIDE(array, j);
            index[j] = 0;
        }
    }
    return made;
}

/* The array itself, or a view with an axis of one element more. Takes the reference. */
static PyObject *
with_axis(PyArrayObject *array, int axis, int keeps)
{
    if (array == NULL || !keeps) {
        return (PyObject *)array;
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i <= PyArray_NDIM(array); i++) {
        shape[i] = i == axis ? 1 : PyArray_DIM(array, ndim++);
    }
    PyArray_Dims sizes = {shape, ndim + 1};
    PyObject *made = PyArray_Newshape(array, &sizes, NPY_CORDER);
    Py_DECREF(array);
    return made;
}

COMPUTE_OF(index_of, kind)
{
    int axis, keeps;
    if (!read_arguments(arguments, 1, &axis, &keeps)) {
        return NULL;
    }
    return with_axis(indices_along(kind, (PyArrayObject *)arguments[0], axis), axis, keeps);
}

COMPUTE_OF(extremum_along, kind)
{
    int axis, keeps;
    if (!read_arguments(arguments, 0, &axis, &keeps)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    PyArrayObject *indices = indices_along(kind, array, axis);
    PyArrayObject *values = indices == NULL ? NULL : elements_at(array, indices, axis);
    results made = {0};
    add_result(&made, (PyArrayObject *)with_axis(values, axis, keeps));
    add_result(&made, (PyArrayObject *)with_axis(indices, axis, keeps));
    return tuple_of(&made);
}

#define ROW(operator, compute, kind)                                                              \
    {operator, "table/extrema.c", __LINE__, compute, {"self", "dim", "keepdim"}, 1, NULL, kind}
const kernel_row extremum_rows[] = {
    ROW("argmax", index_of, GREATEST),
    ROW("argmin", index_of, LEAST),
    ROW("max.dim", extremum_along, GREATEST),
    ROW("min.dim", extremum_along, LEAST),
    {NULL},
};

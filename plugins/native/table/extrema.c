/* Extrema along an axis with their indices, as operators: NumPy finds the indices. */
#include "table.h"

typedef PyObject *finder(PyArrayObject *, int, PyArrayObject *);

static PyObject *
find_greatest(PyArrayObject *array, int axis, PyArrayObject *out)
{
    return PyArray_ArgMax(array, axis, out);
}

static PyObject *
find_least(PyArrayObject *array, int axis, PyArrayObject *out)
{
    return PyArray_ArgMin(array, axis, out);
}

/* Whether arguments are an array of single or double precision with elements, one of its axes, and
 * a flag or nothing. */
static int
read_arguments(PyObject *const *arguments, int *axis, int *keeps)
{
    *keeps = 0;
    return precision_of(arguments[0]) >= 0 && PyArray_SIZE((PyArrayObject *)arguments[0]) > 0 &&
           PyArray_NDIM((PyArrayObject *)arguments[0]) > 0 &&
           read_axis(arguments[1], PyArray_NDIM((PyArrayObject *)arguments[0]), axis) &&
           (arguments[2] == NULL || read_flag(arguments[2], keeps));
}

/* A new array of int64 with the index along an axis for each of the other elements, which has the
 * axis with one element. */
static PyArrayObject *
indices_along(finder *find, PyArrayObject *array, int axis)
{
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(array), (size_t)PyArray_NDIM(array) * sizeof *shape);
    shape[axis] = 1;
    PyArrayObject *made =
        (PyArrayObject *)PyArray_EMPTY(PyArray_NDIM(array), shape, NPY_INT64, 0);
    PyObject *found = made == NULL ? NULL : find(array, axis, NULL);
    PyArrayObject *indices = NULL;
    if (found != NULL) {
        indices = (PyArrayObject *)PyArray_FROM_OTF(found, NPY_INT64, NPY_ARRAY_IN_ARRAY);
    }
    Py_XDECREF(found);
    if (indices == NULL) {
        Py_CLEAR(made);
        return NULL;
    }
    memcpy(PyArray_DATA(made), PyArray_DATA(indices), (size_t)PyArray_NBYTES(made));
    Py_DECREF(indices);
    return made;
}

/* The elements of an array at indices along an axis. */
static PyArrayObject *
elements_at(PyArrayObject *array, PyArrayObject *indices, int axis)
{
    int ndim = PyArray_NDIM(array);
    PyArrayObject *made = (PyArrayObject *)PyArray_EMPTY(
        ndim, PyArray_DIMS(indices), PyArray_TYPE(array), 0);
    if (made == NULL) {
        return NULL;
    }
    npy_intp index[NPY_MAXDIMS] = {0}, item = PyArray_ITEMSIZE(array);
    const npy_int64 *at = PyArray_DATA(indices);
    const char *from = PyArray_BYTES(array);
    char *to = PyArray_BYTES(made);
    for (npy_intp i = 0; i < PyArray_SIZE(made); i++) {
        memcpy(to + i * item, from + at[i] * PyArray_STRIDE(array, axis), (size_t)item);
        for (int j = ndim - 1; j >= 0; j--) {
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

/* The array itself, or a view without an axis of one element, unless it `keeps` that. Takes the
 * reference. */
static PyObject *
without_axis(PyArrayObject *array, int axis, int keeps)
{
    if (array == NULL || keeps) {
        return (PyObject *)array;
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (i != axis) {
            shape[ndim++] = PyArray_DIM(array, i);
        }
    }
    PyArray_Dims sizes = {shape, ndim};
    PyObject *made = PyArray_Newshape(array, &sizes, NPY_CORDER);
    Py_DECREF(array);
    return made;
}

static PyObject *
index_of(finder *find, PyObject *const *arguments)
{
    int axis, keeps;
    if (!read_arguments(arguments, &axis, &keeps)) {
        return NULL;
    }
    return without_axis(indices_along(find, (PyArrayObject *)arguments[0], axis), axis, keeps);
}

static PyObject *
extremum_along(finder *find, PyObject *const *arguments)
{
    int axis, keeps;
    if (!read_arguments(arguments, &axis, &keeps)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    PyArrayObject *indices = indices_along(find, array, axis);
    PyArrayObject *values = indices == NULL ? NULL : elements_at(array, indices, axis);
    PyObject *results[2] = {
        without_axis(values, axis, keeps), without_axis(indices, axis, keeps)};
    return tuple_of(results, 2, results[0] == NULL || results[1] == NULL);
}

static PyObject *
argmax(PyObject *const *arguments)
{
    return index_of(find_greatest, arguments);
}

static PyObject *
argmin(PyObject *const *arguments)
{
    return index_of(find_least, arguments);
}

static PyObject *
max_along(PyObject *const *arguments)
{
    return extremum_along(find_greatest, arguments);
}

static PyObject *
min_along(PyObject *const *arguments)
{
    return extremum_along(find_least, arguments);
}

#define ROW(operator, compute)                                                                    \
    {operator, "table/extrema.c", __LINE__, compute, {"self", "dim", "keepdim"}, 0}
const kernel_row extremum_rows[] = {
    ROW("argmax", argmax),
    ROW("argmin", argmin),
    ROW("max.dim", max_along),
    ROW("min.dim", min_along),
    {NULL},
};

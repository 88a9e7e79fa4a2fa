/* Arrays of images and volumes whose channels come last in memory. */
#include "table.h"

/* Set the axes from the outermost in memory to the channels. */
static void
set_order(int ndim, npy_intp *order)
{
    order[0] = 0;
    for (int i = 1; i < ndim - 1; i++) {
        order[i] = i + 1;
    }
    order[ndim - 1] = 1;
}

int
is_channels_last(PyArrayObject *array)
{
    int ndim = PyArray_NDIM(array);
    if (ndim < 4 || ndim > 5 || PyArray_SIZE(array) == 0 || PyArray_STRIDE(array, 1) == 0) {
        return 0;
    }
    npy_intp order[5], least = 0;
    set_order(ndim, order);
    for (int i = ndim - 1; i >= 0; i--) {
        npy_intp stride = PyArray_STRIDE(array, (int)order[i]);
        /* Where nothing but samples is told apart, C order is meant. */
        if (stride < least || (i == 0 && least == PyArray_STRIDE(array, 1))) {
            return 0;
        }
        least = stride * PyArray_DIM(array, (int)order[i]);
    }
    return 1;
}

int
is_channels_last_alone(PyArrayObject *array)
{
    int ndim = PyArray_NDIM(array);
    if (ndim < 4 || ndim > 5 || PyArray_IS_C_CONTIGUOUS(array)) {
        return 0;
    }
    npy_intp order[5], step = PyArray_ITEMSIZE(array);
    set_order(ndim, order);
    for (int i = ndim - 1; i >= 0; i--) {
        npy_intp size = PyArray_DIM(array, (int)order[i]);
        if (size != 1 && PyArray_STRIDE(array, (int)order[i]) != step) {
            return is_channels_last(array);
        }
        step *= size;
    }
    return 1;
}

PyArrayObject *
in_channels_last(PyObject *array)
{
    PyArrayObject *turned = with_channels_last((PyArrayObject *)array);
    PyArrayObject *made = turned == NULL ? NULL : in_c_order((PyObject *)turned);
    Py_XDECREF(turned);
    return made;
}

/* Set the strides of an array whose channels come last in memory. */
static void
set_strides(int ndim, const npy_intp *shape, npy_intp item, npy_intp *strides)
{
    npy_intp order[NPY_MAXDIMS], step = item;
    set_order(ndim, order);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= shape[order[i]];
    }
}

PyArrayObject *
new_channels_last(int ndim, const npy_intp *shape, PyArray_Descr *dtype)
{
    npy_intp strides[NPY_MAXDIMS];
    set_strides(ndim, shape, PyDataType_ELSIZE(dtype), strides);
    Py_INCREF(dtype);
    return (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, shape, strides, NULL, 0, NULL);
}

PyArrayObject *
in_format(PyObject *array, int is_last)
{
    return is_last ? in_channels_last(array) : in_c_order(array);
}

PyArrayObject *
new_in_format(int ndim, const npy_intp *shape, PyArray_Descr *dtype, int is_last)
{
    if (is_last) {
        return new_channels_last(ndim, shape, dtype);
    }
    Py_INCREF(dtype); /* which the next call takes */
    return (PyArrayObject *)PyArray_Empty(ndim, shape, dtype, 0);
}

PyObject *
laid_in_channels_last(PyObject *array)
{
    PyArrayObject *given = (PyArrayObject *)array;
    int ndim = PyArray_NDIM(given);
    npy_intp strides[NPY_MAXDIMS];
    set_strides(ndim, PyArray_DIMS(given), PyArray_ITEMSIZE(given), strides);
    /* Strides of axes of one element count too: they tell the format of what is computed of it. */
    if (memcmp(strides, PyArray_STRIDES(given), (size_t)ndim * sizeof *strides) == 0) {
        return Py_NewRef(array);
    }
    PyArrayObject *laid = in_channels_last(array);
    if (laid == NULL) {
        return NULL;
    }
    Py_INCREF(PyArray_DESCR(given));
    PyObject *view = PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DESCR(given), ndim, PyArray_DIMS(given), strides,
        PyArray_DATA(laid), NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL || PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)laid) < 0) {
        if (view == NULL) {
            Py_DECREF(laid); /* which the call takes otherwise */
        }
        Py_CLEAR(view);
    }
    return view;
}

PyArrayObject *
with_channels_last(PyArrayObject *array)
{
    npy_intp order[NPY_MAXDIMS];
    set_order(PyArray_NDIM(array), order);
    PyArray_Dims axes = {order, PyArray_NDIM(array)};
    return (PyArrayObject *)PyArray_Transpose(array, &axes);
}

PyArrayObject *
with_channels_second(PyArrayObject *array)
{
    int ndim = PyArray_NDIM(array);
    npy_intp order[NPY_MAXDIMS] = {0, ndim - 1};
    for (int i = 2; i < ndim; i++) {
        order[i] = i - 1;
    }
    PyArray_Dims axes = {order, ndim};
    PyObject *turned = PyArray_Transpose(array, &axes);
    Py_DECREF(array);
    return (PyArrayObject *)turned;
}

int
are_channels_last(PyObject *list)
{
    for (npy_intp i = 0; i < PyList_GET_SIZE(list); i++) {
        PyArrayObject *x = plain_array(PyList_GET_ITEM(list, i));
        if (x == NULL || PyArray_IS_C_CONTIGUOUS(x) || !is_channels_last(x)) {
            return 0;
        }
    }
    return 1;
}

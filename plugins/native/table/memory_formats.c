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

PyArrayObject *
in_channels_last(PyObject *array)
{
    npy_intp order[NPY_MAXDIMS];
    set_order(PyArray_NDIM((PyArrayObject *)array), order);
    PyArray_Dims axes = {order, PyArray_NDIM((PyArrayObject *)array)};
    PyObject *turned = PyArray_Transpose((PyArrayObject *)array, &axes);
    PyArrayObject *made = turned == NULL ? NULL : in_c_order(turned);
    Py_XDECREF(turned);
    return made;
}

PyArrayObject *
new_channels_last(int ndim, const npy_intp *shape, PyArray_Descr *dtype)
{
    npy_intp order[NPY_MAXDIMS], strides[NPY_MAXDIMS], step = PyDataType_ELSIZE(dtype);
    set_order(ndim, order);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= shape[order[i]];
    }
    Py_INCREF(dtype);
    return (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, shape, strides, NULL, 0, NULL);
}

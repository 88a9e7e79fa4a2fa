/* What bound kernels read their arguments with. */
#include "table.h"

int
precision_of(PyObject *object)
{
    if (object == NULL || !PyArray_CheckExact(object) ||
        !PyArray_ISNOTSWAPPED((PyArrayObject *)object)) {
        return -1;
    }
    switch (PyArray_TYPE((PyArrayObject *)object)) {
    case NPY_FLOAT:
        return 0;
    case NPY_DOUBLE:
        return 1;
    default:
        return -1;
    }
}

int
have_one_shape(PyObject *first, PyObject *second)
{
    return PyArray_SAMESHAPE((PyArrayObject *)first, (PyArrayObject *)second);
}

int
read_axis(PyObject *object, int ndim, int *axis)
{
    if (object == NULL || !PyLong_CheckExact(object)) {
        return 0;
    }
    int overflow;
    long value = PyLong_AsLongAndOverflow(object, &overflow);
    int count = ndim == 0 ? 1 : ndim;
    if (overflow != 0 || value < -count || value >= count) {
        return 0;
    }
    *axis = (int)(value < 0 ? value + count : value);
    return 1;
}

PyArrayObject *
in_c_order(PyObject *array)
{
    return (PyArrayObject *)PyArray_FromArray(
        (PyArrayObject *)array, NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

PyArrayObject *
empty_like(PyObject *array)
{
    PyArrayObject *model = (PyArrayObject *)array;
    return (PyArrayObject *)PyArray_EMPTY(
        PyArray_NDIM(model), PyArray_DIMS(model), PyArray_TYPE(model), 0);
}

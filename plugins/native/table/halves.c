/* Operators on arrays of half precision, computed in single precision and rounded once. */
#include "table.h"

/* A copy in another dtype, in the same order in memory. */
static PyArrayObject *
converted(PyArrayObject *array, PyArray_Descr *dtype)
{
    Py_INCREF(dtype);
    PyArrayObject *made =
        (PyArrayObject *)PyArray_NewLikeArray(array, NPY_KEEPORDER, dtype, 0);
    if (made != NULL && PyArray_CopyInto(made, array) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* The result of an operator with its arrays in another dtype: takes the reference. */
static PyObject *
narrowed(PyObject *result, PyArray_Descr *dtype)
{
    if (result == NULL || result == Py_None) {
        return result;
    }
    PyObject *made = NULL;
    if (PyArray_Check(result)) {
        made = (PyObject *)converted((PyArrayObject *)result, dtype);
    }
    else if (PyTuple_Check(result)) {
        PyObject *parts[MOST_PARAMETERS];
        int count = (int)PyTuple_GET_SIZE(result), failed = 0;
        for (int i = 0; i < count; i++) {
            parts[i] = narrowed(Py_NewRef(PyTuple_GET_ITEM(result, i)), dtype);
            failed |= parts[i] == NULL;
        }
        made = tuple_of(parts, count, failed);
    }
    Py_DECREF(result);
    return made;
}

PyObject *
in_single(bound_kernel *compute, PyObject *const *arguments, int count)
{
    PyArray_Descr *own = NULL;
    for (int i = 0; i < count && own == NULL; i++) {
        if (arguments[i] != NULL && PyArray_CheckExact(arguments[i]) &&
            half_of((PyArrayObject *)arguments[i]) >= 0) {
            own = PyArray_DESCR((PyArrayObject *)arguments[i]);
        }
    }
    if (own == NULL) {
        return compute(arguments);
    }
    PyArray_Descr *single = PyArray_DescrFromType(NPY_FLOAT);
    PyObject *wide[MOST_PARAMETERS], *result = NULL;
    int fits = 1;
    for (int i = 0; i < count; i++) {
        PyObject *each = arguments[i];
        if (each == NULL || !PyArray_CheckExact(each)) {
            wide[i] = Py_XNewRef(each);
            continue;
        }
        fits = fits && PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)each), own);
        wide[i] = fits ? (PyObject *)converted((PyArrayObject *)each, single) : NULL;
        fits = fits && wide[i] != NULL;
    }
    if (fits) {
        result = narrowed(compute(wide), own);
    }
    for (int i = 0; i < count; i++) {
        Py_XDECREF(wide[i]);
    }
    Py_DECREF(single);
    return result;
}

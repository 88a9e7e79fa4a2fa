/* What bound kernels read their arguments with. */
#include "table.h"

enum { LEAST_TRANSPOSED = 1 << 10 }; /* elements from which NumPy copies more slowly */

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
half_of_dtype(PyArray_Descr *dtype)
{
    if (dtype->type_num == NPY_HALF) {
        return 0;
    }
    if (dtype->type_num < NPY_USERDEF || PyDataType_ELSIZE(dtype) != 2) {
        return -1;
    }
    const char *name = dtype->typeobj->tp_name, *last = strrchr(name, '.');
    return strcmp(last == NULL ? name : last + 1, "bfloat16") == 0 ? 1 : -1;
}

int
half_of(PyArrayObject *array)
{
    return half_of_dtype(PyArray_DESCR(array));
}

int
is_given(PyObject *object)
{
    return object != NULL && object != Py_None;
}

int
is_dtype_of(PyObject *object, PyObject *array)
{
    return object != NULL && PyArray_DescrCheck(object) &&
           PyArray_EquivTypes((PyArray_Descr *)object, PyArray_DESCR((PyArrayObject *)array));
}

PyArrayObject *
plain_array(PyObject *object)
{
    return object != NULL && PyArray_CheckExact(object) ? (PyArrayObject *)object : NULL;
}

int
says_its_order(PyArrayObject *array)
{
    int is_c = PyArray_IS_C_CONTIGUOUS(array), is_fortran = PyArray_IS_F_CONTIGUOUS(array);
    for (int i = 0; i < PyArray_NDIM(array) && !is_c; i++) {
        int is_told = PyArray_STRIDE(array, i) != 0 && !(is_fortran && PyArray_DIM(array, i) == 1);
        for (int k = 0; k < i; k++) {
            is_told &= PyArray_STRIDE(array, i) != PyArray_STRIDE(array, k);
        }
        if (!is_told) {
            return 0;
        }
    }
    return 1;
}

int
have_one_shape(PyObject *first, PyObject *second)
{
    return PyArray_SAMESHAPE((PyArrayObject *)first, (PyArrayObject *)second);
}

int
has_shape(PyObject *array, int ndim, const npy_intp *shape)
{
    return PyArray_NDIM((PyArrayObject *)array) == ndim &&
           PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)array), shape, ndim);
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

int
read_optional_axis(PyObject *object, int ndim, int *axis)
{
    return object == NULL || read_axis(object, ndim, axis);
}

/* The axis along which elements of 4 or 8 bytes lie side by side, where that is not the last one
 * and all others have steps of whole elements; -1 if there is none, or the array is small. */
static int
axis_to_transpose(PyArrayObject *array)
{
    npy_intp item = PyArray_ITEMSIZE(array);
    int last = PyArray_NDIM(array) - 1, found = -1;
    if ((item != 4 && item != 8) || PyArray_SIZE(array) < LEAST_TRANSPOSED ||
        !PyArray_ISALIGNED(array) || !PyTypeNum_ISNUMBER(PyArray_TYPE(array)) ||
        PyArray_IS_C_CONTIGUOUS(array)) {
        return -1;
    }
    for (int i = 0; i <= last; i++) {
        if (PyArray_STRIDE(array, i) % item != 0) {
            return -1;
        }
        if (i < last && PyArray_STRIDE(array, i) == item && PyArray_DIM(array, i) > 1) {
            found = i;
        }
    }
    return found;
}

/* Write an array into one in C order: matrices of an axis, whose elements lie side by side, and the
 * last one. */
static void
transpose_into(PyArrayObject *result, PyArrayObject *array, int axis)
{
    int last = PyArray_NDIM(array) - 1;
    npy_intp item = PyArray_ITEMSIZE(array), index[NPY_MAXDIMS] = {0};
    transposition *transpose = kernels_in_force->copies->transpose[item == 8];
    const char *from = PyArray_BYTES(array);
    char *to = PyArray_BYTES(result);
    for (int i = 0; i >= 0;) {
        transpose(
            to, from, PyArray_DIM(array, axis), PyArray_DIM(array, last),
            PyArray_STRIDE(array, last) / item, PyArray_STRIDE(result, axis) / item);
        for (i = last - 1; i >= 0; i--) { /* the next matrix */
            if (i == axis) {
                continue;
            }
            from += PyArray_STRIDE(array, i);
            to += PyArray_STRIDE(result, i);
            if (++index[i] < PyArray_DIM(array, i)) {
                break;
            }
            from -= index[i] * PyArray_STRIDE(array, i);
            to -= index[i] * PyArray_STRIDE(result, i);
            index[i] = 0;
        }
    }
}

axis_sizes
sizes_around(PyArrayObject *array, int axis)
{
    axis_sizes along = {1, 1, 1};
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp *size = i < axis ? &along.outer : i == axis ? &along.length : &along.inner;
        *size *= PyArray_DIM(array, i);
    }
    return along;
}

PyArrayObject *
in_c_order(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int axis = axis_to_transpose(array);
    if (axis < 0) {
        return (PyArrayObject *)PyArray_FromArray(
            array, NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    }
    PyArrayObject *result = empty_like(object);
    if (result != NULL) {
        RELEASED(PyArray_SIZE(array), transpose_into(result, array, axis));
    }
    return result;
}

PyArrayObject *
empty_like(PyObject *array)
{
    PyArrayObject *model = (PyArrayObject *)array;
    return (PyArrayObject *)PyArray_EMPTY(
        PyArray_NDIM(model), PyArray_DIMS(model), PyArray_TYPE(model), 0);
}

PyArrayObject *
new_of_dtype(PyArray_Descr *dtype, int ndim, const npy_intp *shape)
{
    if (!is_addressable(ndim, shape, PyDataType_ELSIZE(dtype))) {
        return NULL;
    }
    Py_INCREF(dtype); /* which the next call takes */
    return (PyArrayObject *)PyArray_Empty(ndim, shape, dtype, 0);
}

PyArrayObject *
new_array(int ndim, const npy_intp *shape, int precision)
{
    return (PyArrayObject *)PyArray_EMPTY(ndim, shape, precision ? NPY_DOUBLE : NPY_FLOAT, 0);
}

int
take_operand(operands *taken, PyObject *object, int precision, npy_intp size, const void **data)
{
    if (precision_of(object) != precision || PyArray_SIZE((PyArrayObject *)object) != size ||
        taken->failed) {
        return 0;
    }
    PyArrayObject *array = in_c_order(object);
    if (array == NULL) {
        taken->failed = 1;
        return 0;
    }
    taken->held[taken->count++] = array;
    *data = PyArray_DATA(array);
    return 1;
}

int
take_optional(operands *taken, PyObject *object, int precision, npy_intp size, const void **data)
{
    *data = NULL;
    return object == Py_None || take_operand(taken, object, precision, size, data);
}

void
release_operands(operands *taken)
{
    while (taken->count > 0) {
        Py_DECREF(taken->held[--taken->count]);
    }
}

int
read_number(PyObject *object, double *number)
{
    if (object != NULL && PyFloat_CheckExact(object)) {
        *number = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (object == NULL || !PyLong_CheckExact(object)) {
        return 0;
    }
    *number = PyLong_AsDouble(object);
    if (*number == -1 && PyErr_Occurred() != NULL) {
        PyErr_Clear(); /* too large for a double */
        return 0;
    }
    return 1;
}

int
read_int(PyObject *object, npy_intp *value)
{
    if (object == NULL || !PyLong_CheckExact(object)) {
        return 0;
    }
    int overflow;
    *value = PyLong_AsLongAndOverflow(object, &overflow);
    return !overflow;
}

int
read_ints(PyObject *object, npy_intp *values)
{
    if (object == NULL || !PyTuple_Check(object) || PyTuple_GET_SIZE(object) > NPY_MAXDIMS) {
        return -1;
    }
    int count = (int)PyTuple_GET_SIZE(object);
    for (int i = 0; i < count; i++) {
        if (!read_int(PyTuple_GET_ITEM(object, i), &values[i])) {
            return -1;
        }
    }
    return count;
}

int
read_size(PyObject *object, npy_intp *size)
{
    if (object == NULL || !PyLong_CheckExact(object)) {
        return 0;
    }
    *size = PyLong_AsSsize_t(object);
    if (*size == -1 && PyErr_Occurred() != NULL) {
        PyErr_Clear();
    }
    return *size >= 0;
}

int
read_flag(PyObject *object, int *flag)
{
    *flag = object == Py_True;
    return object == Py_True || object == Py_False;
}

int
read_optional_flag(PyObject *object, int *flag)
{
    *flag = 0;
    return object == NULL || read_flag(object, flag);
}

int
read_flags(PyObject *object, int count, int *flags)
{
    if (object == NULL || !(PyTuple_Check(object) || PyList_CheckExact(object)) ||
        PySequence_Fast_GET_SIZE(object) != count) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (!read_flag(PySequence_Fast_GET_ITEM(object, i), flags + i)) {
            return 0;
        }
    }
    return 1;
}

void *
add_result(results *made, PyArrayObject *array)
{
    made->failed |= array == NULL;
    made->made[made->count++] = (PyObject *)array;
    return array == NULL ? NULL : PyArray_DATA(array);
}

void *
add_none(results *made)
{
    made->made[made->count++] = NULL;
    return NULL;
}

PyObject *
tuple_of(results *made)
{
    PyObject *tuple = made->failed ? NULL : PyTuple_New(made->count);
    for (int i = 0; i < made->count; i++) {
        PyObject *each = made->made[i];
        if (tuple == NULL) {
            Py_XDECREF(each);
        }
        else {
            PyTuple_SET_ITEM(tuple, i, each == NULL ? Py_NewRef(Py_None) : each);
        }
    }
    return tuple;
}

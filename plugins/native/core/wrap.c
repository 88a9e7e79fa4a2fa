/* The instruction WRAP: a tensor around an array, or a list of tensors around arrays. */
#include "route.h"
#include "slots.h"

static int
is_zero_dim(const module_state *state, PyObject *array)
{
    if (LIKELY(PyArray_Check(array))) {
        return PyArray_NDIM((PyArrayObject *)array) == 0;
    }
    PyObject *ndim = PyObject_GetAttr(array, state->str_ndim);
    int has_dims = ndim == NULL ? -1 : PyObject_IsTrue(ndim);
    Py_XDECREF(ndim);
    return has_dims < 0 ? -1 : !has_dims;
}

/* Set the error for an array of a dtype that the backend has not. */
static void
raise_unknown_dtype(PyObject *unknown, PyObject *array)
{
    if (unknown == Py_None || !PyErr_ExceptionMatches(PyExc_KeyError)) {
        return;
    }
    PyErr_Clear();
    PyObject *error = PyObject_CallOneArg(unknown, array);
    if (error != NULL && PyExceptionInstance_Check(error)) {
        set_raised(error);
        return;
    }
    if (error != NULL) {
        PyErr_Format(PyExc_TypeError, "exceptions must derive from BaseException, not %R", error);
        Py_DECREF(error);
    }
}

/* The signature of a dtype that is not the usual one: base | bits of the dtype | no dimensions. */
static PyObject *
general_signature(PyObject *const *objects, PyObject *array, PyObject *dtype, int zero_dim)
{
    PyObject *bits = PyObject_GetItem(objects[WRAP_DTYPE_BITS], dtype);
    if (bits == NULL) {
        raise_unknown_dtype(objects[WRAP_UNKNOWN], array);
        return NULL;
    }
    PyObject *signature = PyNumber_Or(objects[WRAP_BASE], bits);
    Py_DECREF(bits);
    if (signature != NULL && zero_dim) {
        Py_SETREF(signature, PyNumber_Or(signature, objects[WRAP_ZERO_DIM]));
    }
    return signature;
}

static PyObject *
signature_of(const module_state *state, const instruction *in, PyObject *array)
{
    PyObject *const *objects = in->objects;
    int zero_dim = is_zero_dim(state, array);
    if (zero_dim < 0) {
        return NULL;
    }
    PyObject *usual = objects[zero_dim ? WRAP_SIGNATURE_0D : WRAP_SIGNATURE];
    if (in->flags & WRAP_IS_KNOWN) {
        return Py_NewRef(usual);
    }
    PyObject *dtype = PyArray_Check(array)
                          ? Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)array))
                          : PyObject_GetAttr(array, state->str_dtype);
    if (dtype == NULL) {
        return NULL;
    }
    PyObject *signature = dtype == objects[WRAP_DTYPE]
                              ? Py_NewRef(usual)
                              : general_signature(objects, array, dtype, zero_dim);
    Py_DECREF(dtype);
    return signature;
}

/* Let a new tensor share storage and version counter of `shared`. */
static int
share_memory(const module_state *state, const instruction *in, PyObject *tensor, PyObject *shared)
{
    PyObject *storage = tensor_slot(state, shared, state->tensor_storage);
    if (storage == NULL) {
        return -1;
    }
    storage = storage == Py_None ? PyObject_CallOneArg(in->objects[WRAP_SHARE], shared)
                                 : Py_NewRef(storage);
    if (storage == NULL) {
        return -1;
    }
    set_slot(tensor, state->tensor_storage, storage);
    PyObject *counter = tensor_slot(state, shared, state->tensor_counter);
    if (counter == NULL) {
        return -1;
    }
    if (counter == Py_None) {
        counter = new_counter(state, state->zero);
        if (counter == NULL) {
            return -1;
        }
        set_slot(shared, state->tensor_counter, counter);
    }
    PyObject *own = in->flags & WRAP_IS_WRITABLE
                        ? PyObject_CallNoArgs(in->objects[WRAP_WRITABLE])
                        : Py_NewRef(SLOT(shared, state->tensor_counter));
    if (own == NULL) {
        return -1;
    }
    set_slot(tensor, state->tensor_counter, own);
    return 0;
}

/* A tensor around an array, whose reference is stolen; it may be NULL. */
static PyObject *
wrapped(const module_state *state, PyObject **registers, const instruction *in, PyObject *array)
{
    PyObject *signature = array == NULL ? NULL : signature_of(state, in, array);
    if (signature == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    PyObject *tensor = new_tensor(state, array, signature, in->objects[WRAP_OUTPUT_NR]);
    if (tensor != NULL && in->flags & WRAP_IS_SHARED) {
        PyObject *shared = register_value(registers, in->c);
        if (shared == NULL || share_memory(state, in, tensor, shared) < 0) {
            Py_CLEAR(tensor);
        }
    }
    return tensor;
}

/* The array of what a kernel returned, a new reference. */
static PyObject *
lifted(const instruction *in, PyObject *array)
{
    PyObject *const *objects = in->objects;
    return objects[WRAP_LIFT] == Py_None || (PyObject *)Py_TYPE(array) == objects[WRAP_ARRAY_TYPE]
               ? Py_NewRef(array)
               : PyObject_CallOneArg(objects[WRAP_LIFT], array);
}

static PyObject *
wrapped_list(
    const module_state *state, PyObject **registers, const instruction *in, PyObject *given)
{
    PyObject *arrays = PySequence_Fast(given, "a kernel returned no list of arrays");
    Py_ssize_t count = arrays == NULL ? 0 : PySequence_Fast_GET_SIZE(arrays);
    PyObject *list = arrays == NULL ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *array = lifted(in, PySequence_Fast_GET_ITEM(arrays, i));
        PyObject *tensor = wrapped(state, registers, in, array);
        if (tensor == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, tensor);
    }
    Py_XDECREF(arrays);
    return list;
}

int
do_wrap(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *array = register_value(registers, in->b), *result = NULL;
    if (array == NULL) {
        return -1;
    }
    if (in->flags & WRAP_IS_LIST) {
        result = wrapped_list(state, registers, in, array);
    }
    else if ((array = lifted(in, array)) != NULL) {
        set_register(registers, in->b, array);
        result = wrapped(state, registers, in, Py_NewRef(array));
    }
    if (result == NULL) {
        return -1;
    }
    set_register(registers, in->a, result);
    return 0;
}

/* The kernel of autocast: an operator called on tensors that are cast first.
 *
 * It takes plain tensors of the cpu, and values that hold no tensors. Calls with others, such as lists
 * of tensors and tensors of subclasses and transforms, are the Python kernel's. */
#include "entry.h"
#include "slots.h"

/* Whether instances of a class of tensors, such as Parameter, have the dtype of their array. */
static int
has_plain_dtype(const module_state *state, PyTypeObject *type)
{
    if (type == state->tensor_type) {
        return 1;
    }
    PyObject *plain = PyObject_GetAttr((PyObject *)state->tensor_type, state->str_dtype);
    PyObject *own = plain == NULL ? NULL : PyObject_GetAttr((PyObject *)type, state->str_dtype);
    Py_XDECREF(plain);
    Py_XDECREF(own);
    PyErr_Clear(); /* an attribute that cannot be read is the Python kernel's */
    return own != NULL && own == plain;
}

/* Whether a value is to be cast to `wanted`; -1 for one that is the Python kernel's. */
static int
is_to_be_cast(const module_state *state, PyObject *value, PyObject *wanted, long long eligible)
{
    if (is_plain_value(value)) {
        return 0;
    }
    if (!is_tensor(state, value)) {
        return PyList_Check(value) || PyTuple_Check(value) ? -1 : 0;
    }
    PyObject *number = SLOT(value, state->tensor_signature);
    PyObject *array = SLOT(value, state->tensor_array);
    if (array == NULL || !PyArray_CheckExact(array) || !has_plain_dtype(state, Py_TYPE(value))) {
        return -1;
    }
    int overflow = 1;
    long long signature = number == NULL ? 0 : PyLong_AsLongLongAndOverflow(number, &overflow);
    unsigned long long dtype = (unsigned long long)(signature & state->dtype_mask);
    if (overflow || dtype == 0 || !(signature & state->cpu_bit) ||
        (signature & state->overrides_bit)) {
        return -1;
    }
    return (signature & eligible) != 0 && state->dtype_by_bit[__builtin_ctzll(dtype)] != wanted;
}

/* The dtype that the innermost autocast computes in, a new reference; NULL if none was set. */
static PyObject *
dtype_in_force(PyObject *parts)
{
    PyObject *dtypes;
    if (PyContextVar_Get(PyTuple_GET_ITEM(parts, CAST_DTYPES), NULL, &dtypes) < 0) {
        return NULL;
    }
    PyObject *device = PyTuple_GET_ITEM(parts, CAST_DEVICE), *dtype = NULL;
    if (dtypes != NULL && PyDict_CheckExact(dtypes)) {
        dtype = Py_XNewRef(PyDict_GetItemWithError(dtypes, device));
    }
    Py_XDECREF(dtypes);
    return dtype;
}

/* The call of the operator in the state without autocast. */
static PyObject *
call_without(const module_state *state, PyObject *parts, PyObject *const *args, size_t nargsf,
             PyObject *names)
{
    PyObject *before, *result = NULL;
    if (PyContextVar_Get(state->state_variable, NULL, &before) < 0 || before == NULL) {
        return NULL;
    }
    PyObject *after = PyObject_GetItem(PyTuple_GET_ITEM(parts, CAST_STATE), before);
    if (after != NULL && put(state->state_variable, after) == 0) {
        result = PyObject_Vectorcall(PyTuple_GET_ITEM(parts, CAST_CALLED), args, nargsf, names);
        if (put_back(state->state_variable, before) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(after);
    Py_DECREF(before);
    return result;
}

PyObject *
call_cast(const module_state *state, PyObject *parts, PyObject *const *args, Py_ssize_t given,
          PyObject *names)
{
    PyObject *values[MAX_PARAMETERS], *wanted = PyTuple_GET_ITEM(parts, CAST_WANTED);
    Py_ssize_t count = given + (names == NULL ? 0 : PyTuple_GET_SIZE(names)), cast = 0;
    int is_known[MAX_PARAMETERS], failed = 0;
    long long eligible = PyLong_AsLongLong(PyTuple_GET_ITEM(parts, CAST_ELIGIBLE));
    if (count > MAX_PARAMETERS || (eligible == -1 && PyErr_Occurred())) {
        return NULL;
    }
    wanted = wanted == Py_None ? dtype_in_force(parts) : Py_NewRef(wanted);
    if (wanted == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        is_known[i] = is_to_be_cast(state, args[i], wanted, eligible);
        failed = is_known[i] < 0;
    }
    for (; cast < count && !failed; cast++) {
        PyObject *given_to_cast[2] = {args[cast], wanted};
        values[cast] = is_known[cast] ? PyObject_Vectorcall(PyTuple_GET_ITEM(parts, CAST_CONVERT),
                                                            given_to_cast, 1,
                                                            PyTuple_GET_ITEM(parts, CAST_NAMES))
                                      : Py_NewRef(args[cast]);
        if (values[cast] == NULL) {
            failed = 1;
            break;
        }
    }
    PyObject *result =
        failed ? NULL : call_without(state, parts, values, (size_t)given, names);
    while (cast > 0) {
        Py_DECREF(values[--cast]);
    }
    Py_DECREF(wanted);
    return result;
}

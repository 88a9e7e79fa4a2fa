/* Plain subclasses of Tensor: `as_subclass`, `_make_subclass`, and the `__torch_function__` of plain
 * tensors, by which the results of functions are instances of the class again. */
#include "entry.h"
#include "slots.h"

/* An instance of `cls` that shares data and graph with `view`, a plain tensor that was made for it. */
static PyObject *
instance_of(const module_state *state, PyObject *cls, PyObject *view)
{
    PyObject *none = PyTuple_New(0), *bits = PyObject_GetAttr(cls, state->str__class_bits);
    PyObject *signature = stored(view, state->tensor_signature), *made = NULL;
    signature = bits == NULL || signature == NULL ? NULL : PyNumber_Or(signature, bits);
    if (none != NULL && signature != NULL) {
        made = PyBaseObject_Type.tp_new((PyTypeObject *)cls, none, NULL);
    }
    const Py_ssize_t slots[] = {state->tensor_array, state->tensor_grad_fn,
                                state->tensor_output_nr, state->tensor_storage,
                                state->tensor_counter, state->tensor_meta};
    for (size_t i = 0; made != NULL && i < sizeof(slots) / sizeof(slots[0]); i++) {
        PyObject *value = stored(view, slots[i]);
        if (value == NULL) {
            Py_CLEAR(made);
            break;
        }
        set_slot(made, slots[i], Py_NewRef(value));
    }
    if (made != NULL) {
        set_slot(made, state->tensor_signature, Py_NewRef(signature));
    }
    Py_XDECREF(none);
    Py_XDECREF(bits);
    Py_XDECREF(signature);
    return made;
}

/* Whether `tensor` is plain, and `cls` a subclass that may have what it is made of; 0 also with an
 * exception. */
static int
may_become(const module_state *state, PyObject *tensor, PyObject *cls)
{
    if (Py_TYPE(tensor) != state->tensor_type || is_quiet(state) != QUIET || !PyType_Check(cls) ||
        cls == (PyObject *)state->tensor_type ||
        !PyType_IsSubtype((PyTypeObject *)cls, state->tensor_base_type)) {
        return 0;
    }
    PyObject *taken = PyObject_GetAttr(cls, state->str__taken_slots);
    int is_free = taken != NULL && PyTuple_CheckExact(taken) && PyTuple_GET_SIZE(taken) == 0;
    Py_XDECREF(taken);
    return is_free;
}

/* The instance of `cls` around what `operator`, alias or detach, makes of a tensor; where `required` is
 * not NULL, after that was told so. */
static PyObject *
made_of_view(const module_state *state, PyObject *operator, PyObject *tensor, PyObject *cls,
             PyObject *required)
{
    PyObject *view = PyObject_CallOneArg(operator, tensor), *made = NULL;
    if (view != NULL && Py_TYPE(view) == state->tensor_type &&
        (required == NULL || PyObject_SetAttr(view, state->str_requires_grad, required) == 0)) {
        made = instance_of(state, cls, view);
    }
    Py_XDECREF(view);
    return made;
}

PyObject *
view_as_subclass(const module_state *state, PyObject *parts, PyObject *const *args,
                 Py_ssize_t given, PyObject *names)
{
    if (given != 2 || names != NULL || !may_become(state, args[0], args[1])) {
        return NULL;
    }
    return made_of_view(state, PyTuple_GET_ITEM(parts, 0), args[0], args[1], NULL);
}

PyObject *
leaf_of_subclass(const module_state *state, PyObject *parts, PyObject *const *args,
                 Py_ssize_t given, PyObject *names)
{
    if (given < 2 || given > 3 || names != NULL || !may_become(state, args[1], args[0])) {
        return NULL;
    }
    PyObject *required = given == 3 && args[2] != Py_False ? args[2] : NULL;
    return made_of_view(state, PyTuple_GET_ITEM(parts, 0), args[1], args[0], required);
}

static PyObject *
as_instance(const module_state *state, PyObject *functions, PyObject *result, PyObject *cls)
{
    int is_made = is_plain_value(result) || PyTuple_Check(result);
    for (Py_ssize_t i = 0; PyTuple_Check(result) && is_made && i < PyTuple_GET_SIZE(result); i++) {
        is_made = is_plain_value(PyTuple_GET_ITEM(result, i)); /* as of a Size */
    }
    if (is_made) {
        return Py_NewRef(result);
    }
    PyObject *made = NULL;
    if (may_become(state, result, cls)) {
        made = made_of_view(state, PyTuple_GET_ITEM(functions, HANDLER_ALIAS), result, cls, NULL);
    }
    if (made == NULL && !PyErr_Occurred()) {
        PyObject *convert = PyTuple_GET_ITEM(functions, HANDLER_CONVERT);
        made = PyObject_CallFunctionObjArgs(convert, result, cls, NULL);
    }
    return made;
}

/* Whether the results of `func` stay as they are: getters alone are among those. */
static int
is_unwrapped(PyObject *functions, PyObject *func)
{
    if (Py_TYPE(func) != &_PyMethodWrapper_Type) {
        return 0;
    }
    PyObject *set = PyObject_CallNoArgs(PyTuple_GET_ITEM(functions, HANDLER_UNWRAPPED));
    int found = set == NULL ? -1 : PySet_Contains(set, func);
    Py_XDECREF(set);
    return found;
}

PyObject *
handle_as_plain(const module_state *state, PyObject *functions, PyObject *const *args,
                Py_ssize_t given, PyObject *names)
{
    if (given != HANDLER_ARGUMENTS || names != NULL) {
        return NULL;
    }
    PyObject *cls = args[0], *func = args[1], *types = args[2], *before;
    PyObject *kwargs = args[4] == Py_None ? NULL : args[4];
    if (!PyTuple_CheckExact(types) || !PyTuple_CheckExact(args[3]) ||
        (kwargs != NULL && !PyDict_CheckExact(kwargs)) || state->torch_function_off == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        int is_base = PyTuple_GET_ITEM(types, i) == cls
                          ? 1
                          : PyObject_IsSubclass(cls, PyTuple_GET_ITEM(types, i));
        if (is_base <= 0) {
            return is_base < 0 ? NULL : Py_NewRef(Py_NotImplemented);
        }
    }
    if (PyContextVar_Get(state->state_variable, NULL, &before) < 0 || before == NULL) {
        return NULL;
    }
    PyObject *after = PyObject_GetItem(state->torch_function_off, before), *result = NULL;
    if (after != NULL && put(state->state_variable, after) == 0) {
        result = PyObject_Call(func, args[3], kwargs);
        if (put_back(state->state_variable, before) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(after);
    Py_DECREF(before);
    int stays = result == NULL ? -1 : is_unwrapped(functions, func);
    if (stays == 0 && cls != (PyObject *)state->tensor_type) {
        Py_SETREF(result, as_instance(state, functions, result, cls));
    }
    else if (stays < 0) {
        Py_CLEAR(result);
    }
    return result;
}

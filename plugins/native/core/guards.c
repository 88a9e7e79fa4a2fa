/* Entering and leaving a `StateGuard`: one step each, which no signal can split.
 *
 * A signal's handler runs between instructions of Python code, so it finds the state of before and a
 * guard that was not entered, or the state of after and what the guard has to restore. */
#include "entry.h"
#include "slots.h"

static int
is_guard(const module_state *state, PyObject *object)
{
    return state->guard_type != NULL && PyObject_TypeCheck(object, state->guard_type);
}

PyObject *
enter_guard(const module_state *state, PyObject *guard)
{
    PyObject *transition = is_guard(state, guard) ? SLOT(guard, state->guard_transition) : NULL;
    PyObject *now, *after = NULL, *saved = NULL, *token = NULL;
    if (transition == NULL || PyContextVar_Get(state->state_variable, NULL, &now) < 0) {
        return NULL;
    }
    Py_INCREF(transition);
    after = PyObject_GetItem(transition, now); /* Python code the first time: nothing is done yet */
    if (after != NULL && SLOT(guard, state->guard_previous) != NULL) {
        saved = PyTuple_Pack(2, now, SLOT(guard, state->guard_previous));
    }
    if (saved != NULL) {
        token = PyContextVar_Set(state->state_variable, after);
    }
    if (token != NULL) {
        set_slot(guard, state->guard_previous, Py_NewRef(saved));
        Py_DECREF(token);
    }
    Py_XDECREF(saved);
    Py_XDECREF(after);
    Py_DECREF(transition);
    Py_DECREF(now);
    return token == NULL ? NULL : Py_NewRef(Py_None);
}

PyObject *
leave_guard(const module_state *state, PyObject *guard)
{
    PyObject *saved = is_guard(state, guard) ? SLOT(guard, state->guard_previous) : NULL;
    if (saved == NULL || !PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != 2) {
        return NULL; /* it was not entered: the Python method raises */
    }
    PyObject *token = PyContextVar_Set(state->state_variable, PyTuple_GET_ITEM(saved, 0));
    if (token == NULL) {
        return NULL;
    }
    Py_DECREF(token);
    set_slot(guard, state->guard_previous, Py_NewRef(PyTuple_GET_ITEM(saved, 1)));
    return Py_NewRef(Py_None);
}

/* set_guard(StateGuard, context variable of the dispatch state) */
PyObject *
set_guard(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *type, *variable;
    if (!PyArg_ParseTuple(
            args, "O!O!:set_guard", &PyType_Type, &type, &PyContextVar_Type, &variable) ||
        find_offset((PyTypeObject *)type, "_transition", &state->guard_transition) < 0 ||
        find_offset((PyTypeObject *)type, "_previous", &state->guard_previous) < 0) {
        return NULL;
    }
    Py_XSETREF(state->state_variable, Py_NewRef(variable));
    Py_XSETREF(state->guard_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

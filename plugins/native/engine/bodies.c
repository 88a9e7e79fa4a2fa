/* What nodes compute: their formulas over arrays, in Python until a class of nodes has run often,
 * then as programs. */
#include "backward.h"

#include "../core/route.h"

#define FEW_OUTPUTS 8

/* Items of a body, a tuple. */
enum {
    BODY_KERNELS,  /* that it was made for */
    BODY_ROUTE,    /* or None: the formula stays Python */
    BODY_VARIADIC, /* whether its last argument is a tuple of all further gradients */
    BODY_FREED,    /* offsets of the slots that are freed, or None */
    BODY_RELEASED, /* what they hold then */
};

PyObject *
body_of(array_loop *loop)
{
    const module_state *state = loop->state;
    PyObject *type = (PyObject *)Py_TYPE(loop->node);
    PyObject *found = PyDict_GetItemWithError(state->bodies, type);
    if (found != NULL && PyTuple_Check(found)) {
        if (PyTuple_GET_ITEM(found, BODY_KERNELS) == loop->kernels) {
            return Py_NewRef(found);
        }
        found = NULL; /* registrations have changed what it calls */
    }
    if (found == NULL && PyErr_Occurred()) {
        return NULL;
    }
    long runs = found == NULL ? 0 : PyLong_AsLong(found);
    PyObject *next;
    if (runs < state->runs_in_python) {
        next = PyLong_FromLong(runs + 1);
    }
    else {
        next = PyObject_CallFunctionObjArgs(state->lower_body, type, loop->kernels, NULL);
    }
    if (next == NULL || PyDict_SetItem(state->bodies, type, next) < 0) {
        Py_XDECREF(next);
        return NULL;
    }
    if (PyTuple_Check(next)) {
        return next;
    }
    Py_DECREF(next);
    return NULL;
}

/* What node, kernels and edges in args make of the gradients behind them: `count` words, with room
 * for another one. */
static PyObject *
call_body(const module_state *state, PyObject *body, PyObject **args, Py_ssize_t count)
{
    PyObject *route = body == NULL ? Py_None : PyTuple_GET_ITEM(body, BODY_ROUTE);
    Py_ssize_t taken = route == Py_None ? 0 : ((const Route *)route)->argument_count + 1;
    int is_variadic = body != NULL && PyTuple_GET_ITEM(body, BODY_VARIADIC) == Py_True;
    if (route == Py_None || (is_variadic ? count + 1 < taken : count != taken)) {
        return PyObject_VectorcallMethod(state->str_apply_arrays, args, (size_t)count, NULL);
    }
    args[1] = args[0]; /* a program has its kernels */
    if (!is_variadic) {
        return route_vectorcall(route, args + 1, (size_t)taken - 1, NULL);
    }
    PyObject *rest = tuple_of_items(args + taken - 1, count + 1 - taken);
    args[taken - 1] = rest;
    PyObject *grads =
        rest == NULL ? NULL : route_vectorcall(route, args + 1, (size_t)taken - 1, NULL);
    Py_XDECREF(rest);
    return grads;
}

PyObject *
gradients_of_node(array_loop *loop, PyObject *body)
{
    PyObject *fixed[4 + FEW_OUTPUTS], **args = fixed;
    PyObject *const *given = &loop->arrived;
    Py_ssize_t count = 1;
    if (PyList_CheckExact(loop->arrived)) {
        count = PyList_GET_SIZE(loop->arrived);
        given = &PyList_GET_ITEM(loop->arrived, 0);
        if (count > FEW_OUTPUTS) {
            args = PyMem_Malloc((4 + count) * sizeof(PyObject *));
            if (args == NULL) {
                return PyErr_NoMemory();
            }
        }
    }
    args[0] = loop->node;
    args[1] = loop->kernels;
    args[2] = loop->edges;
    memcpy(args + 3, given, count * sizeof(PyObject *));
    PyObject *grads = call_body(loop->state, body, args, 3 + count);
    if (args != fixed) {
        PyMem_Free(args);
    }
    return grads;
}

int
release_saved(array_loop *loop, PyObject *body)
{
    PyObject *freed = body == NULL ? Py_None : PyTuple_GET_ITEM(body, BODY_FREED);
    if (freed == Py_None) {
        return drop_result(
            PyObject_CallMethodNoArgs(loop->node, loop->state->str__release_saved));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(freed); i++) {
        Py_ssize_t offset = PyLong_AsSsize_t(PyTuple_GET_ITEM(freed, i));
        set_slot(loop->node, offset, Py_NewRef(PyTuple_GET_ITEM(body, BODY_RELEASED)));
    }
    return 0;
}

/* Instructions that read what nodes saved. */
#include "route.h"
#include "slots.h"

/* The node in register b, which must be of the class that the offsets are of. */
static PyObject *
node_of(PyObject *const *registers, const instruction *in)
{
    PyObject *node = register_value(registers, in->b);
    if (node != NULL && UNLIKELY((PyObject *)Py_TYPE(node) != in->objects[0])) {
        return PyErr_Format(PyExc_TypeError, "a program for nodes of %R got one of %.100s",
                            in->objects[0], Py_TYPE(node)->tp_name);
    }
    return node;
}

int
do_load(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = node_of(registers, in);
    PyObject *value = node == NULL ? NULL : stored(node, in->slot);
    if (value == NULL) {
        return -1;
    }
    set_register(registers, in->a, Py_NewRef(value));
    return 0;
}

/* Whether two versions are equal: 1, 0 or -1. */
static int
is_version(const module_state *state, PyObject *counter, PyObject *expected)
{
    PyObject *version = value_of_counter(state, counter);
    int is_same = version == NULL ? -1
                  : version == expected
                      ? 1
                      : PyObject_RichCompareBool(version, expected, Py_EQ);
    Py_XDECREF(version);
    return is_same;
}

int
do_load_saved(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = node_of(registers, in);
    if (node == NULL) {
        return -1;
    }
    PyObject *tensor = Py_XNewRef(SLOT(node, in->slot)), *array = NULL;
    if (LIKELY(tensor != NULL && is_tensor(state, tensor))) {
        PyObject *counter = held_slot(state, tensor, state->tensor_counter);
        PyObject *expected = Py_XNewRef(SLOT(node, in->slot2));
        int is_same = counter == NULL ? -1 : counter == Py_None;
        if (is_same == 0 && expected != NULL) {
            is_same = is_version(state, counter, expected);
        }
        Py_XDECREF(counter);
        Py_XDECREF(expected);
        if (is_same > 0) {
            array = held_slot(state, tensor, state->tensor_array);
            is_same = array == NULL ? -1 : 1;
        }
        if (is_same < 0) {
            Py_DECREF(tensor);
            return -1;
        }
    }
    Py_XDECREF(tensor);
    if (UNLIKELY(array == NULL)) {
        array = PyObject_CallOneArg(in->objects[1], node);
        if (array == NULL) {
            return -1;
        }
    }
    set_register(registers, in->a, array);
    return 0;
}

int
is_written(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *counter = register_value(registers, in->a);
    PyObject *expected = counter == NULL ? NULL : register_value(registers, in->b);
    int is_same = expected == NULL ? -1 : is_version(state, counter, expected);
    return is_same < 0 ? -1 : !is_same;
}

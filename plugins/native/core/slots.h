/* Slots of Python classes, read and written by the offsets of their member descriptors. */
#ifndef DOVETAIL_SLOTS_H
#define DOVETAIL_SLOTS_H

#include "native.h"

/* The slot of an object; the object must be of the class that the offset was taken from. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Returns NULL with an AttributeError. */
PyObject *empty_slot(PyObject *object);

/* Store a value, whose reference is stolen. */
static inline void
set_slot(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    Py_XSETREF(SLOT(object, offset), value);
}

static inline int
is_tensor(const module_state *state, PyObject *object)
{
    return Py_TYPE(object) == state->tensor_type ||
           PyObject_TypeCheck(object, state->tensor_base_type);
}

/* Borrowed value of a slot; NULL with AttributeError if it is empty. */
static inline PyObject *
stored(PyObject *object, Py_ssize_t offset)
{
    PyObject *value = SLOT(object, offset);
    return LIKELY(value != NULL) ? value : empty_slot(object);
}

/* Borrowed value of a slot of a tensor. NULL with TypeError or AttributeError if `object` is no
 * tensor, or the slot is empty. */
PyObject *tensor_slot(const module_state *state, PyObject *object, Py_ssize_t offset);

/* The same as a new reference: needed where Python code, which may store another value, can run
 * before the value is used. */
static inline PyObject *
held_slot(const module_state *state, PyObject *object, Py_ssize_t offset)
{
    return Py_XNewRef(tensor_slot(state, object, offset));
}

/* Whether an int, such as a signature, has one of `bits`. Return -1 with an exception. */
int has_bits(PyObject *number, long long bits);

/* The number that a version counter holds, a new reference. */
PyObject *value_of_counter(const module_state *state, PyObject *counter);

/* The version of a tensor, a new reference. */
PyObject *version_of(const module_state *state, PyObject *tensor);

/* Count up the version of a tensor. */
int count_write(const module_state *state, PyObject *tensor);

/* A new VersionCounter. */
PyObject *new_counter(const module_state *state, PyObject *value);

/* A new tensor that no node records yet, and that shares no memory. The references of `array` and
 * `signature` are stolen. */
PyObject *new_tensor(
    const module_state *state, PyObject *array, PyObject *signature, PyObject *output_nr);

/* A new tuple of items. */
static inline PyObject *
tuple_of_items(PyObject *const *items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    }
    return tuple;
}

/* A new instance of `type`, a Python class without __new__ and __init__, with empty slots. */
static inline PyObject *
bare_instance(PyTypeObject *type)
{
    return type->tp_alloc(type, 0);
}

#endif

/* Slots of Python classes: the classes that the core knows, and what their slots hold. */
#include "slots.h"

PyObject *
empty_slot(PyObject *object)
{
    return PyErr_Format(
        PyExc_AttributeError, "a slot of %.100s was never stored", Py_TYPE(object)->tp_name);
}

PyObject *
tensor_slot(const module_state *state, PyObject *object, Py_ssize_t offset)
{
    if (UNLIKELY(!is_tensor(state, object))) {
        return PyErr_Format(
            PyExc_TypeError, "a route takes tensors, not %.100s", Py_TYPE(object)->tp_name);
    }
    return stored(object, offset);
}

PyObject *
new_tensor(const module_state *state, PyObject *array, PyObject *signature, PyObject *output_nr)
{
    PyObject *tensor = bare_instance(state->tensor_type);
    if (tensor == NULL) {
        Py_DECREF(array);
        Py_DECREF(signature);
        return NULL;
    }
    SLOT(tensor, state->tensor_array) = array;
    SLOT(tensor, state->tensor_signature) = signature;
    SLOT(tensor, state->tensor_grad_fn) = Py_NewRef(Py_None);
    SLOT(tensor, state->tensor_output_nr) = Py_NewRef(output_nr);
    SLOT(tensor, state->tensor_storage) = Py_NewRef(Py_None);
    SLOT(tensor, state->tensor_counter) = Py_NewRef(Py_None);
    SLOT(tensor, state->tensor_meta) = Py_NewRef(Py_None);
    return tensor;
}

int
has_bits(PyObject *number, long long bits)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (LIKELY(!overflow)) {
        return value == -1 && PyErr_Occurred() ? -1 : (value & bits) != 0;
    }
    PyObject *mask = PyLong_FromLongLong(bits);
    PyObject *common = mask == NULL ? NULL : PyNumber_And(number, mask);
    Py_XDECREF(mask);
    if (common == NULL) {
        return -1;
    }
    int found = PyObject_IsTrue(common);
    Py_DECREF(common);
    return found;
}

PyObject *
value_of_counter(const module_state *state, PyObject *counter)
{
    if (LIKELY(Py_TYPE(counter) == state->counter_type)) {
        PyObject *value = SLOT(counter, state->counter_value);
        if (LIKELY(value != NULL)) {
            return Py_NewRef(value);
        }
    }
    return PyObject_GetAttr(counter, state->str_value);
}

PyObject *
version_of(const module_state *state, PyObject *tensor)
{
    PyObject *counter = held_slot(state, tensor, state->tensor_counter);
    if (counter == NULL) {
        return NULL;
    }
    PyObject *version =
        counter == Py_None ? Py_NewRef(state->zero) : value_of_counter(state, counter);
    Py_DECREF(counter);
    return version;
}

PyObject *
new_counter(const module_state *state, PyObject *value)
{
    PyObject *counter = bare_instance(state->counter_type);
    if (counter != NULL) {
        SLOT(counter, state->counter_value) = Py_NewRef(value);
    }
    return counter;
}

int
count_write(const module_state *state, PyObject *tensor)
{
    PyObject *counter = tensor_slot(state, tensor, state->tensor_counter);
    if (counter == NULL) {
        return -1;
    }
    if (counter == Py_None) {
        counter = new_counter(state, state->one);
        if (counter == NULL) {
            return -1;
        }
        set_slot(tensor, state->tensor_counter, counter);
        return 0;
    }
    Py_INCREF(counter);
    PyObject *value = value_of_counter(state, counter);
    PyObject *next = value == NULL ? NULL : PyNumber_Add(value, state->one);
    Py_XDECREF(value);
    int failed = next == NULL ? -1 : PyObject_SetAttr(counter, state->str_value, next);
    Py_XDECREF(next);
    Py_DECREF(counter);
    return failed;
}

/* ---- the classes ----------------------------------------------------------------------------- */

int
find_offset(PyTypeObject *type, const char *name, Py_ssize_t *offset)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, name);
    if (descriptor == NULL) {
        return -1;
    }
    int is_slot = Py_TYPE(descriptor) == &PyMemberDescr_Type &&
                  ((PyMemberDescrObject *)descriptor)->d_member->type == T_OBJECT_EX;
    if (is_slot) {
        *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }
    else {
        PyErr_Format(PyExc_TypeError, "%.100s has no slot %s", type->tp_name, name);
    }
    Py_DECREF(descriptor);
    return is_slot ? 0 : -1;
}

/* Whether instances may be allocated without a call of the class. */
static int
is_bare(PyTypeObject *type)
{
    return type->tp_new == PyBaseObject_Type.tp_new && type->tp_init == PyBaseObject_Type.tp_init;
}

static int
take_class(PyObject *object, PyTypeObject **kept)
{
    if (!PyType_Check(object)) {
        PyErr_Format(PyExc_TypeError, "expected a class, not %R", object);
        return -1;
    }
    Py_XSETREF(*kept, (PyTypeObject *)Py_NewRef(object));
    return 0;
}

/* set_classes(TensorBase, Tensor, VersionCounter, state_variable, SCALAR_BITS) */
PyObject *
set_classes(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *base, *tensor, *counter, *variable, *bits;
    if (!PyArg_ParseTuple(args, "OOOOO!:set_classes", &base, &tensor, &counter, &variable, &PyDict_Type, &bits)) {
        return NULL;
    }
    if (!PyContextVar_CheckExact(variable)) {
        return PyErr_Format(PyExc_TypeError, "expected a ContextVar, not %R", variable);
    }
    if (take_class(base, &state->tensor_base_type) < 0 ||
        take_class(tensor, &state->tensor_type) < 0 ||
        take_class(counter, &state->counter_type) < 0) {
        return NULL;
    }
    Py_XSETREF(state->state_variable, Py_NewRef(variable));
    Py_XSETREF(state->scalar_bits, Py_NewRef(bits));
    PyTypeObject *type = state->tensor_type;
    /* Its __new__ is for users: it makes the data. */
    if (!PyType_IsSubtype(type, state->tensor_base_type) || type->tp_init != PyBaseObject_Type.tp_init) {
        return PyErr_Format(PyExc_TypeError, "%R is no subclass of %R without __init__", tensor, base);
    }
    if (find_offset(type, "array", &state->tensor_array) < 0 ||
        find_offset(type, "_signature", &state->tensor_signature) < 0 ||
        find_offset(type, "_grad_fn", &state->tensor_grad_fn) < 0 ||
        find_offset(type, "output_nr", &state->tensor_output_nr) < 0 ||
        find_offset(type, "_storage", &state->tensor_storage) < 0 ||
        find_offset(type, "_counter", &state->tensor_counter) < 0 ||
        find_offset(type, "_meta", &state->tensor_meta) < 0 ||
        find_offset(state->counter_type, "value", &state->counter_value) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* slot_offset(cls, name): the offset of a slot; TypeError if the attribute is no slot. */
PyObject *
slot_offset(PyObject *module, PyObject *args)
{
    PyTypeObject *type;
    const char *name;
    Py_ssize_t offset;
    if (!PyArg_ParseTuple(args, "O!s:slot_offset", &PyType_Type, &type, &name) ||
        find_offset(type, name, &offset) < 0) {
        return NULL;
    }
    return PyLong_FromSsize_t(offset);
}

/* is_bare_class(cls): whether its instances may be allocated without a call of it. */
PyObject *
is_bare_class(PyObject *module, PyObject *object)
{
    if (!PyType_Check(object)) {
        return PyErr_Format(PyExc_TypeError, "expected a class, not %R", object);
    }
    return PyBool_FromLong(is_bare((PyTypeObject *)object));
}

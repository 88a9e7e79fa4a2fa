/* `Function.apply` of plain calls: the node, its edges, `forward` without grad mode, one new tensor
 * as its result. What becomes of other outputs, Python says. */
#include "entry.h"
#include "slots.h"

#define MAX_GIVEN 15 /* arguments that are passed on without memory of their own */

static inline PyObject *
part(PyObject *parts, int which)
{
    return PyTuple_GET_ITEM(parts, which);
}

/* Set an attribute of a node by its descriptor. Return 0, or -1 with an exception. */
static int
store(PyObject *parts, int which, PyObject *node, PyObject *value)
{
    PyObject *descriptor = part(parts, which);
    descrsetfunc set = Py_TYPE(descriptor)->tp_descr_set;
    if (set == NULL) {
        PyErr_Format(PyExc_TypeError, "expected the descriptor of a slot, not %R", descriptor);
        return -1;
    }
    return set(descriptor, node, value);
}

/* The edge of a tensor, None if it does not require grad; NULL without an exception for a tensor of a
 * transform. */
static PyObject *
edge_of_input(const module_state *state, PyObject *parts, PyObject *tensor)
{
    PyObject *number = tensor_slot(state, tensor, state->tensor_signature);
    int overflow = 0;
    long long signature = number == NULL ? -1 : PyLong_AsLongLongAndOverflow(number, &overflow);
    long long wrapped = PyLong_AsLongLong(part(parts, APPLY_WRAPPED_BIT));
    if (overflow || (signature == -1 && PyErr_Occurred()) || (signature & wrapped)) {
        return NULL;
    }
    if (!(signature & state->grad_bit)) {
        return Py_NewRef(Py_None);
    }
    if (signature & state->view_bit) {
        return PyObject_CallOneArg(part(parts, APPLY_EDGE), tensor);
    }
    PyObject *grad_fn = held_slot(state, tensor, state->tensor_grad_fn);
    if (grad_fn == NULL) {
        return NULL;
    }
    PyObject *edge = grad_fn != Py_None ? edge_to_node(state, tensor, grad_fn)
                                        : edge_to_leaf(state, tensor, part(parts, APPLY_LEAF_EDGE));
    Py_DECREF(grad_fn);
    return edge;
}

/* Set next_edges of a node, and the places of what is no tensor among the arguments. Return whether
 * an argument requires grad; -1 with an exception, or without one for what Python has to do. */
static int
set_edges(const module_state *state, PyObject *parts, PyObject *node, PyObject *const *args,
          Py_ssize_t count)
{
    PyObject *edges[MAX_GIVEN], *others[MAX_GIVEN];
    Py_ssize_t edge_count = 0, other_count = 0;
    int recording = 0;
    for (Py_ssize_t i = 0; i < count && recording >= 0; i++) {
        int is_input = is_tensor(state, args[i]);
        PyObject *found = is_input ? edge_of_input(state, parts, args[i]) : PyLong_FromSsize_t(i);
        if (found == NULL) {
            recording = -1;
        }
        else if (is_input) {
            recording |= found != Py_None;
            edges[edge_count++] = found;
        }
        else {
            others[other_count++] = found;
        }
    }
    PyObject *next = recording < 0 ? NULL : tuple_of_items(edges, edge_count);
    PyObject *places = next == NULL ? NULL : tuple_of_items(others, other_count);
    while (edge_count > 0) {
        Py_DECREF(edges[--edge_count]);
    }
    while (other_count > 0) {
        Py_DECREF(others[--other_count]);
    }
    if (places == NULL) {
        Py_XDECREF(next);
        return -1;
    }
    PyObject *nothing = PyTuple_New(0);
    if (nothing == NULL || store(parts, APPLY_EDGES, node, next) < 0 ||
        store(parts, APPLY_PLACES, node, places) < 0 ||
        store(parts, APPLY_BACKEND, node, Py_None) < 0 ||
        store(parts, APPLY_HOOKS, node, Py_None) < 0 ||
        store(parts, APPLY_MADE, node, nothing) < 0) {
        recording = -1;
    }
    Py_XDECREF(nothing);
    Py_DECREF(places);
    Py_DECREF(next);
    return recording;
}

/* Call a method of the Function by its name. */
static PyObject *
call_named(PyObject *cls, PyObject *name, PyObject *const *args, Py_ssize_t count)
{
    PyObject *method = PyObject_GetAttr(cls, name);
    PyObject *result = method == NULL ? NULL : PyObject_Vectorcall(method, args, (size_t)count, NULL);
    Py_XDECREF(method);
    return result;
}

/* What `forward` returns; where there is one, `setup_context` has seen it. `given` is a new node and
 * the arguments. */
static PyObject *
run_forward(const module_state *state, PyObject *cls, PyObject *const *given, Py_ssize_t count,
            PyObject *inputs, int has_setup_context)
{
    if (!has_setup_context) {
        return call_named(cls, state->str_forward, given, count + 1);
    }
    PyObject *output = call_named(cls, state->str_forward, given + 1, count);
    if (output != NULL) {
        PyObject *const told[] = {given[0], inputs, output};
        PyObject *done = call_named(cls, state->str_setup_context, told, 3);
        if (done == NULL) {
            Py_CLEAR(output);
        }
        Py_XDECREF(done);
    }
    return output;
}

/* Whether an attribute of the context is None: 1, 0 or -1. */
static int
is_unset(PyObject *node, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(node, name);
    Py_XDECREF(value);
    return value == NULL ? -1 : value == Py_None;
}

/* Whether `output` is one new tensor, which is the result as it is: 1, 0 or -1. */
static int
is_new(const module_state *state, PyObject *node, PyObject *output, PyObject *inputs)
{
    if (!is_tensor(state, output)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        if (PyTuple_GET_ITEM(inputs, i) == output) {
            return 0;
        }
    }
    PyObject *signature = tensor_slot(state, output, state->tensor_signature);
    int is_of_graph =
        signature == NULL ? -1 : has_bits(signature, state->grad_bit | state->view_bit);
    if (is_of_graph != 0) {
        return is_of_graph < 0 ? -1 : 0;
    }
    int is_plain = is_unset(node, state->str_dirty_tensors);
    return is_plain > 0 ? is_unset(node, state->str_non_differentiable) : is_plain;
}

/* Make a node the maker of a new tensor: 1; 0 for a tensor that Python has to look at, and -1. */
static int
become_maker(const module_state *state, PyObject *parts, PyObject *node, PyObject *output)
{
    PyObject *array = stored(output, state->tensor_array);
    PyObject *signature = array == NULL ? NULL : stored(output, state->tensor_signature);
    PyObject *storage = signature == NULL ? NULL : stored(output, state->tensor_storage);
    long long bits = PyLong_AsLongLong(part(parts, APPLY_DIFFERENTIABLE));
    int is_differentiable = storage == NULL ? -1 : has_bits(signature, bits);
    if (is_differentiable <= 0 || storage != Py_None || !PyArray_CheckExact(array)) {
        return is_differentiable < 0 ? -1 : 0;
    }
    PyObject *metadata = described_array(state, (PyArrayObject *)array);
    PyObject *made = metadata == NULL ? NULL : PyTuple_Pack(1, signature);
    PyObject *grad = made == NULL ? NULL : PyLong_FromLongLong(state->grad_bit);
    PyObject *recorded = grad == NULL ? NULL : PyNumber_Or(signature, grad);
    int failed = recorded == NULL || store(parts, APPLY_METADATA, node, metadata) < 0 ||
                 store(parts, APPLY_MADE, node, made) < 0;
    if (!failed) {
        set_slot(output, state->tensor_grad_fn, Py_NewRef(node));
        set_slot(output, state->tensor_signature, Py_NewRef(recorded));
        PyObject *saved = PyObject_CallMethodOneArg(node, state->str__keep_saved, output);
        failed = saved == NULL;
        Py_XDECREF(saved);
    }
    Py_XDECREF(recorded);
    Py_XDECREF(grad);
    Py_XDECREF(made);
    Py_XDECREF(metadata);
    return failed ? -1 : 1;
}

/* The result of the call; the reference to what `forward` returned is taken. */
static PyObject *
finish(const module_state *state, PyObject *parts, PyObject *node, PyObject *output,
       PyObject *inputs, int recording)
{
    int is_done = is_new(state, node, output, inputs);
    if (recording && is_done >= 0) {
        PyObject *number = PyObject_CallNoArgs(part(parts, APPLY_COUNT));
        int failed = number == NULL ? -1 : store(parts, APPLY_NUMBER, node, number);
        Py_XDECREF(number);
        is_done = failed ? -1 : is_done ? become_maker(state, parts, node, output) : 0;
    }
    if (is_done > 0) {
        return output;
    }
    PyObject *result = NULL;
    if (is_done == 0) {
        result = PyObject_CallFunctionObjArgs(part(parts, APPLY_WRAP), node, output, inputs,
                                              recording ? Py_True : Py_False, NULL);
    }
    Py_DECREF(output);
    return result;
}

/* Whether calls record in a dispatch state: 1, 0; -1 where Python has to look. */
static int
records(const module_state *state, PyObject *before)
{
    int overflow;
    long long value = before == NULL ? -1 : PyLong_AsLongLongAndOverflow(before, &overflow);
    return value == 0 ? 1 : value == state->quiet_state ? 0 : -1;
}

PyObject *
apply_function(const module_state *state, PyObject *parts, PyObject *const *args, Py_ssize_t given,
               PyObject *names)
{
    PyObject *before, *result = NULL;
    if (names != NULL || given < 1 || given > MAX_GIVEN || !PyType_Check(args[0]) ||
        PyContextVar_Get(state->state_variable, NULL, &before) < 0) {
        return NULL;
    }
    int is_recorded = records(state, before);
    PyObject *noted =
        is_recorded < 0 ? NULL : PyObject_GetAttr(args[0], state->str__plain_call);
    int is_plain = noted != NULL && PyTuple_CheckExact(noted) && PyTuple_GET_SIZE(noted) == 2;
    PyObject *node = is_plain ? PyObject_CallNoArgs(PyTuple_GET_ITEM(noted, 0)) : NULL;
    PyObject *inputs = node == NULL ? NULL : tuple_of_items(args + 1, given - 1);
    int recording = inputs == NULL ? -1 : set_edges(state, parts, node, args + 1, given - 1);
    if (recording >= 0 && put(state->state_variable, part(parts, APPLY_NO_GRAD)) == 0) {
        PyObject *told[MAX_GIVEN] = {node};
        for (Py_ssize_t i = 1; i < given; i++) {
            told[i] = args[i];
        }
        int has_setup = PyTuple_GET_ITEM(noted, 1) == Py_True;
        PyObject *output = run_forward(state, args[0], told, given - 1, inputs, has_setup);
        if (put_back(state->state_variable, before) < 0) {
            Py_CLEAR(output);
        }
        if (output != NULL) {
            result = finish(state, parts, node, output, inputs, recording && is_recorded);
        }
    }
    Py_XDECREF(inputs);
    Py_XDECREF(node);
    Py_XDECREF(noted);
    Py_XDECREF(before);
    return result;
}

/* Gradients of a node that ran, brought to where its edges lead. */
#include "backward.h"

/* Add `grad`, whose reference is stolen, to what a dict holds for `target`. */
static int
add_in(const module_state *state, PyObject *dict, PyObject *target, PyObject *grad)
{
    PyObject *held = Py_XNewRef(PyDict_GetItemWithError(dict, target));
    if (held == NULL && PyErr_Occurred()) {
        Py_DECREF(grad);
        return -1;
    }
    int failed = add_gradient(state, &held, grad) < 0 ? -1 : PyDict_SetItem(dict, target, held);
    Py_XDECREF(held);
    return failed;
}

/* Whether a gradient has the shape and dtype of metadata: 1, 0 or -1. */
static int
fits(const module_state *state, PyObject *metadata, PyObject *grad)
{
    if (!PyTuple_CheckExact(metadata) || PyTuple_GET_SIZE(metadata) != 2) {
        return 0;
    }
    PyObject *shape = PyTuple_GET_ITEM(metadata, 0), *dtype = PyTuple_GET_ITEM(metadata, 1);
    if (LIKELY(PyArray_CheckExact(grad)) && PyTuple_Check(shape)) {
        PyArrayObject *array = (PyArrayObject *)grad;
        return dtype == (PyObject *)PyArray_DESCR(array)
                   ? is_tuple_of(shape, PyArray_NDIM(array), PyArray_DIMS(array))
                   : 0;
    }
    PyObject *own_shape = PyObject_GetAttr(grad, state->str_shape);
    PyObject *own_dtype = own_shape == NULL ? NULL : PyObject_GetAttr(grad, state->str_dtype);
    int same = own_dtype == NULL ? -1 : PyObject_RichCompareBool(own_shape, shape, Py_EQ);
    same = same > 0 ? own_dtype == dtype : same;
    Py_XDECREF(own_shape);
    Py_XDECREF(own_dtype);
    return same;
}

/* Call what fits a gradient to its target, or brings it to a leaf: (first, node, index, ...). */
static PyObject *
call_with_index(PyObject *function, PyObject **args, Py_ssize_t count, int at, Py_ssize_t index)
{
    PyObject *number = args[at] = PyLong_FromSsize_t(index);
    PyObject *result =
        number == NULL ? NULL : PyObject_Vectorcall(function, args, (size_t)count, NULL);
    Py_XDECREF(number);
    return result;
}

/* The gradient, whose reference is stolen, as `target` wants it: shape and dtype of metadata. */
static PyObject *
conformed(array_loop *loop, Py_ssize_t index, PyObject *grad, PyObject *target, PyObject *metadata)
{
    int does = fits(loop->state, metadata, grad);
    if (LIKELY(does != 0)) {
        if (does < 0) {
            Py_CLEAR(grad);
        }
        return grad;
    }
    PyObject *args[] = {loop->node, NULL, grad, target, metadata, loop->backend, loop->kernels};
    PyObject *fitted = call_with_index(loop->state->fit_gradient, args, 7, 1, index);
    Py_DECREF(grad);
    return fitted;
}

static int
push_node(array_loop *loop, PyObject *target)
{
    long long number;
    if (sequence_number(loop->state, target, &number) < 0) {
        return -1;
    }
    return push_ready(&loop->ready, number, target);
}

/* Add `grad`, whose reference is stolen, to what waits at one output of a node with several. */
static int
gather(array_loop *loop, Py_ssize_t index, PyObject *edge, PyObject *grad, PyObject *metadata)
{
    PyObject *target = PyTuple_GET_ITEM(edge, 0), *gathered, *one = NULL;
    Py_ssize_t count = PyList_GET_SIZE(metadata), output = -1;
    if (PyTuple_GET_SIZE(edge) > 1) {
        output = PyLong_AsSsize_t(PyTuple_GET_ITEM(edge, 1));
    }
    if (output < 0 || output >= count) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_IndexError, "a node with %zd outputs has none %zd", count, output);
        }
        Py_DECREF(grad);
        return -1;
    }
    grad = conformed(loop, index, grad, target, PyList_GET_ITEM(metadata, output));
    if (grad == NULL) {
        return -1;
    }
    gathered = Py_XNewRef(PyDict_GetItemWithError(loop->buffers, target));
    int failed = gathered == NULL && (PyErr_Occurred() || push_node(loop, target) < 0);
    if (!failed && (gathered == NULL || !PyList_CheckExact(gathered))) {
        Py_XSETREF(gathered, PyList_New(count));
        for (Py_ssize_t i = 0; gathered != NULL && i < count; i++) {
            PyList_SET_ITEM(gathered, i, Py_NewRef(Py_None));
        }
        failed = gathered == NULL || PyDict_SetItem(loop->buffers, target, gathered) < 0;
    }
    if (failed) {
        Py_DECREF(grad);
    }
    else {
        one = Py_NewRef(PyList_GET_ITEM(gathered, output));
        failed = add_gradient(loop->state, &one, grad) < 0;
        if (failed) {
            Py_XDECREF(one);
        }
        else {
            PyList_SetItem(gathered, output, one);
        }
    }
    Py_XDECREF(gathered);
    return failed ? -1 : 0;
}

/* Bring `grad`, whose reference is stolen, to a leaf. */
static int
to_leaf(array_loop *loop, Py_ssize_t index, PyObject *target, PyObject *grad)
{
    module_state *state = loop->state;
    int waits = loop->captures != Py_None ? 1 : has_no_gradient(state, target);
    if (waits) {
        if (waits > 0) {
            return add_in(state, loop->leaves, target, grad);
        }
        Py_DECREF(grad);
        return -1;
    }
    int failed;
    if (SLOT(target, state->node_array_backend) == loop->backend) {
        failed = accumulate(state, target, grad);
        int hooks = failed ? -1 : has_hooks(state, target);
        if (hooks <= 0) {
            return hooks;
        }
        PyObject *args[] = {loop->task, target};
        failed = show_waiting(loop, index);
        return failed ? -1
                      : drop_result(PyObject_Vectorcall(state->call_hooks_of_leaf, args, 2, NULL));
    }
    PyObject *args[] = {loop->task, loop->node, NULL, target, grad};
    failed = show_waiting(loop, index);
    if (!failed) {
        failed = drop_result(call_with_index(state->bring_to_leaf, args, 5, 2, index));
    }
    Py_DECREF(grad);
    return failed;
}

/* Put `grad`, whose reference is stolen, to a node with one output. */
static int
to_node(array_loop *loop, PyObject *target, PyObject *grad)
{
    const module_state *state = loop->state;
    if (target == loop->following) {
        return add_gradient(state, &loop->arrived, grad);
    }
    if (target == loop->second) {
        return add_gradient(state, &loop->waiting, grad);
    }
    if (PyDict_GET_SIZE(loop->buffers) > 0) {
        int is_there = PyDict_Contains(loop->buffers, target);
        if (is_there > 0) {
            return add_in(state, loop->buffers, target, grad);
        }
        if (is_there < 0) {
            Py_DECREF(grad);
            return -1;
        }
    }
    target = Py_NewRef(target);
    long long number, best;
    int failed = 0;
    if (loop->following == NULL) {
        swap(&target, &loop->following);
        swap(&grad, &loop->arrived);
    }
    else {
        failed = sequence_number(state, target, &number) < 0 ||
                 sequence_number(state, loop->following, &best) < 0;
        if (!failed && number > best) {
            swap(&target, &loop->following);
            swap(&grad, &loop->arrived);
            number = best;
        }
        if (!failed && loop->second == NULL) {
            swap(&target, &loop->second);
            swap(&grad, &loop->waiting);
        }
        else if (!failed) {
            failed = sequence_number(state, loop->second, &best) < 0;
            if (!failed && number > best) {
                swap(&target, &loop->second);
                swap(&grad, &loop->waiting);
                number = best;
            }
            failed = failed || push_ready(&loop->ready, number, target) < 0 ||
                     PyDict_SetItem(loop->buffers, target, grad) < 0;
        }
    }
    Py_XDECREF(target);
    Py_XDECREF(grad);
    return failed ? -1 : 0;
}

/* Note that no gradient comes along one edge to a node: it runs all the same. */
static int
to_undefined(array_loop *loop, PyObject *target)
{
    if (PyObject_TypeCheck(target, loop->state->leaf_type) || target == loop->following ||
        target == loop->second) {
        return 0;
    }
    int is_there = PyDict_Contains(loop->buffers, target);
    if (is_there) {
        return is_there < 0 ? -1 : 0;
    }
    return push_node(loop, target) < 0 ? -1 : PyDict_SetItem(loop->buffers, target, Py_None);
}

static int
follow(array_loop *loop, Py_ssize_t index, PyObject *edge, PyObject *grad)
{
    module_state *state = loop->state;
    if (!PyTuple_Check(edge) || PyTuple_GET_SIZE(edge) < 1) {
        PyErr_Format(PyExc_TypeError, "an edge of a graph is a tuple, not %R", edge);
        return -1;
    }
    PyObject *target = PyTuple_GET_ITEM(edge, 0);
    if (loop->kept != Py_None) {
        int is_kept = PySet_Contains(loop->kept, target);
        if (is_kept <= 0) {
            return is_kept;
        }
    }
    PyObject *metadata = node_slot(state, target, state->node_input_metadata);
    if (metadata == NULL) {
        return -1;
    }
    if (grad == Py_None) {
        return to_undefined(loop, target);
    }
    Py_INCREF(grad);
    if (PyList_CheckExact(metadata)) {
        return gather(loop, index, edge, grad, metadata);
    }
    Py_INCREF(metadata);
    grad = conformed(loop, index, grad, target, metadata);
    Py_DECREF(metadata);
    if (grad == NULL) {
        return -1;
    }
    return PyObject_TypeCheck(target, state->leaf_type) ? to_leaf(loop, index, target, grad)
                                                        : to_node(loop, target, grad);
}

static int
is_sequence(PyObject *object)
{
    return PyTuple_Check(object) || PyList_Check(object);
}

/* Bring every gradient to the node that its edge leads to. */
int
distribute(array_loop *loop)
{
    if (!is_sequence(loop->edges) || !is_sequence(loop->grads)) {
        PyErr_SetString(PyExc_TypeError, "a node has to return a tuple of gradients");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(loop->edges); i++) {
        PyObject *edge = PySequence_Fast_GET_ITEM(loop->edges, i);
        if (edge == Py_None) {
            continue;
        }
        if (i >= PySequence_Fast_GET_SIZE(loop->grads)) {
            PyErr_SetString(PyExc_IndexError, "a node returned fewer gradients than it has edges");
            return -1;
        }
        if (follow(loop, i, edge, PySequence_Fast_GET_ITEM(loop->grads, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

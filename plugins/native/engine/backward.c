/* The engine's loop over arrays of NumPy, as autograd's run_on_arrays.py has it, in whose words the
 * comments explain it. What may lead to code of the user is called there. */
#include "backward.h"

#define NODES_A_TURN 1024 /* after which other threads get theirs */

/* Take what arrived at a node out of the buffers. */
static int
take_buffer(array_loop *loop, PyObject *node)
{
    PyObject *held = Py_XNewRef(PyDict_GetItemWithError(loop->buffers, node));
    if (held == NULL || PyDict_DelItem(loop->buffers, node) < 0) {
        Py_XDECREF(held);
        if (!PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, node);
        }
        return -1;
    }
    Py_XSETREF(loop->arrived, held);
    return 0;
}

/* Choose the node that runs next, with what arrived there: 1; 0 if none is left; -1. */
static int
choose(array_loop *loop)
{
    PyObject *next;
    if (loop->following == NULL) {
        if (loop->ready.count == 0) {
            return 0;
        }
        next = pop_ready(&loop->ready);
        if (take_buffer(loop, next) < 0) {
            Py_DECREF(next);
            return -1;
        }
    }
    else {
        long long number = 0;
        if (loop->ready.count > 0 && sequence_number(loop->state, loop->following, &number) < 0) {
            return -1;
        }
        if (loop->ready.count > 0 && loop->ready.nodes[0].number > number) {
            if (PyDict_SetItem(loop->buffers, loop->following, loop->arrived) < 0) {
                return -1;
            }
            next = pop_ready(&loop->ready);
            if (push_ready(&loop->ready, number, loop->following) < 0 ||
                take_buffer(loop, next) < 0) {
                Py_DECREF(next);
                return -1;
            }
            Py_CLEAR(loop->following);
        }
        else {
            next = loop->following;
            loop->following = NULL;
        }
    }
    Py_SETREF(loop->node, next);
    PyObject *edges = node_slot(loop->state, next, loop->state->node_next_edges);
    if (edges == NULL) {
        return -1;
    }
    Py_SETREF(loop->edges, Py_NewRef(edges));
    return 1;
}

/* Run the node on tensors; 1 if its gradients are arrays again, 0 if the run ended over tensors. */
static int
run_on_tensors(array_loop *loop)
{
    const module_state *state = loop->state;
    PyObject *held = loop->arrived; /* nothing else may hold what a Function gets */
    loop->arrived = NULL;
    if (show_waiting(loop, -1) < 0) {
        Py_DECREF(held);
        return -1;
    }
    if (held != Py_None && !PyList_CheckExact(held)) {
        PyObject *list = PyList_New(1);
        if (list == NULL) {
            Py_DECREF(held);
            return -1;
        }
        PyList_SET_ITEM(list, 0, held);
        held = list;
    }
    PyObject *args[] = {loop->task, loop->node, held};
    PyObject *tensors = PyObject_Vectorcall(state->run_on_tensors, args, 3, NULL);
    Py_DECREF(held);
    PyObject *edges =
        tensors == NULL ? NULL : node_slot(state, loop->node, state->node_next_edges);
    if (edges == NULL) {
        Py_XDECREF(tensors);
        return -1;
    }
    Py_SETREF(loop->edges, Py_NewRef(edges));
    PyObject *asked[] = {loop->task, tensors};
    loop->grads = PyObject_Vectorcall(state->arrays_of_task, asked, 2, NULL);
    if (loop->grads != Py_None) {
        Py_DECREF(tensors);
        return loop->grads == NULL ? -1 : 1;
    }
    int failed = (loop->second != NULL &&
                  PyDict_SetItem(loop->buffers, loop->second, loop->waiting) < 0) ||
                 PyDict_Update(loop->buffers, loop->leaves) < 0;
    PyObject *last[] = {loop->task, loop->node, loop->edges, tensors, loop->buffers};
    failed = failed ? -1 : drop_result(PyObject_Vectorcall(state->leave_arrays, last, 5, NULL));
    Py_DECREF(tensors);
    return failed;
}

/* Run the node that was chosen: as run_on_tensors. */
static int
run_node(array_loop *loop)
{
    const module_state *state = loop->state;
    int runs = SLOT(loop->node, state->node_array_backend) == loop->backend &&
               loop->arrived != Py_None;
    if (runs && loop->captures != Py_None) {
        int is_captured = PyDict_Contains(loop->captures, loop->node);
        if (is_captured < 0) {
            return -1;
        }
        runs = !is_captured;
    }
    if (!runs) {
        return run_on_tensors(loop);
    }
    PyObject *body = body_of(loop);
    if (body == NULL && PyErr_Occurred()) {
        return -1;
    }
    loop->grads = gradients_of_node(loop, body);
    if (loop->grads == NULL) {
        Py_XDECREF(body);
        if (!PyErr_ExceptionMatches(state->no_array_kernel)) {
            return -1;
        }
        PyErr_Clear();
        return run_on_tensors(loop);
    }
    Py_CLEAR(loop->arrived);
    int failed = loop->keep_graph ? 0 : release_saved(loop, body);
    Py_XDECREF(body);
    return failed ? -1 : 1;
}

/* Complete the first gradients of leaves. */
static int
complete_leaves(array_loop *loop)
{
    module_state *state = loop->state;
    while (PyDict_GET_SIZE(loop->leaves) > 0) {
        PyObject *last = PyObject_CallMethodNoArgs(loop->leaves, state->str_popitem);
        if (last == NULL) {
            return -1;
        }
        PyObject *leaf = Py_NewRef(PyTuple_GET_ITEM(last, 0));
        PyObject *grad = Py_NewRef(PyTuple_GET_ITEM(last, 1));
        Py_DECREF(last);
        int failed = 0;
        if (loop->captures == Py_None &&
            SLOT(leaf, state->node_array_backend) == loop->backend) {
            failed = accumulate(state, leaf, grad);
            Py_DECREF(leaf);
            if (failed) {
                return -1;
            }
            continue;
        }
        PyObject *args[] = {loop->task, leaf, grad, loop->leaves};
        failed = drop_result(PyObject_Vectorcall(state->complete_leaf, args, 4, NULL));
        Py_DECREF(leaf);
        Py_DECREF(grad);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

static int
run_loop(array_loop *loop)
{
    PyObject *first = loop->grads; /* held by the caller */
    unsigned long count = 0;
    for (;;) {
        swap(&loop->following, &loop->second);
        swap(&loop->arrived, &loop->waiting);
        if (distribute(loop) < 0) {
            return -1;
        }
        Py_CLEAR(loop->grads);
        int chosen = choose(loop);
        if (chosen <= 0) {
            if (chosen < 0) {
                return -1;
            }
            break;
        }
        if (PyErr_CheckSignals() < 0) {
            return -1;
        }
        if (++count % NODES_A_TURN == 0) {
            Py_BEGIN_ALLOW_THREADS;
            Py_END_ALLOW_THREADS;
        }
        int goes_on = run_node(loop);
        if (goes_on <= 0) {
            return goes_on;
        }
    }
    /* Else no leaf could take over what frames further out hold. */
    if (PyList_CheckExact(first) && PyList_SetSlice(first, 0, PY_SSIZE_T_MAX, NULL) < 0) {
        return -1;
    }
    return complete_leaves(loop);
}

/* Whether the task says yes to a question: 1, 0 or -1. */
static int
says(const array_loop *loop, PyObject *name)
{
    PyObject *answer = PyObject_GetAttr(loop->task, name);
    int is_yes = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return is_yes;
}

/* Read what the task says of the run: new references. Nothing is asked once an exception is set,
 * which what runs in Python may clear: an interrupt would be lost. */
static int
read_task(array_loop *loop)
{
    const module_state *state = loop->state;
    PyObject *side = PyObject_GetAttr(loop->task, state->str_side);
    loop->backend = side == NULL ? NULL : PyObject_GetAttr(side, state->str_backend);
    Py_XDECREF(side);
    if (loop->backend == NULL) {
        return -1;
    }
    loop->kernels = PyObject_CallOneArg(state->kernel_namespace, loop->backend);
    if (loop->kernels == NULL) {
        return -1;
    }
    loop->captures = PyObject_GetAttr(loop->task, state->str_captures);
    loop->keep_graph = loop->captures == NULL ? -1 : says(loop, state->str_keep_graph);
    int prunes = loop->keep_graph < 0 ? -1 : says(loop, state->str_prunes);
    if (prunes < 0) {
        return -1;
    }
    loop->kept = prunes ? PyObject_GetAttr(loop->task, state->str_kept) : Py_NewRef(Py_None);
    return loop->kept == NULL ? -1 : 0;
}

/* run_backward(task, node, edges, grads) */
PyObject *
run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    module_state *state = PyModule_GetState(module);
    if (count != 4 || state->node_type == NULL) {
        PyErr_SetString(PyExc_TypeError, "run_backward takes 4 arguments, after set_engine");
        return NULL;
    }
    array_loop loop = {
        .state = state,
        .task = args[0],
        .buffers = PyDict_New(),
        .leaves = PyDict_New(),
        .node = Py_NewRef(args[1]),
        .edges = Py_NewRef(args[2]),
        .grads = Py_NewRef(args[3]),
    };
    int failed = loop.buffers == NULL || loop.leaves == NULL || read_task(&loop) < 0 ||
                 run_loop(&loop) < 0;
    clear_ready(&loop.ready);
    PyObject *held[] = {
        loop.buffers, loop.leaves, loop.following, loop.arrived, loop.second, loop.waiting,
        loop.node,    loop.edges,  loop.grads,     loop.backend, loop.kernels, loop.captures,
        loop.kept,
    };
    for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
        Py_XDECREF(held[i]);
    }
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* set_engine(Node, AccumulateGrad, parts, runs_in_python): the classes; a dict of what the loop
 * calls; and after how many runs of a class of nodes its formula becomes a program. */
PyObject *
set_engine(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *node, *leaf, *parts;
    if (!PyArg_ParseTuple(
            args, "O!O!O!l:set_engine", &PyType_Type, &node, &PyType_Type, &leaf, &PyDict_Type,
            &parts, &state->runs_in_python)) {
        return NULL;
    }
    const struct {
        const char *name;
        PyObject **kept;
    } taken[] = {
#define TAKE(name) {#name, &state->name}
        TAKE(add_loop),           TAKE(arrays_of_task),  TAKE(bring_to_leaf),
        TAKE(call_hooks_of_leaf), TAKE(complete_leaf),   TAKE(copy_for_leaf),
        TAKE(fit_gradient),       TAKE(kernel_namespace), TAKE(leave_arrays),
        TAKE(lower_body),
        TAKE(no_array_kernel),    TAKE(run_on_tensors),
#undef TAKE
    };
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
        PyObject *part = PyDict_GetItemString(parts, taken[i].name);
        if (part == NULL) {
            return PyErr_Format(PyExc_KeyError, "the engine has no %s", taken[i].name);
        }
        Py_XSETREF(*taken[i].kept, Py_NewRef(part));
    }
    if (Py_TYPE(state->add_loop) != state->ufunc_loop_type) {
        PyErr_SetString(PyExc_TypeError, "add_loop has to be a UfuncLoop");
        return NULL;
    }
    const struct {
        PyObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {node, "next_edges", &state->node_next_edges},
        {node, "sequence_nr", &state->node_sequence_nr},
        {node, "input_metadata", &state->node_input_metadata},
        {node, "_array_backend", &state->node_array_backend},
        {leaf, "array_type", &state->leaf_array_type},
        {leaf, "lock", &state->leaf_lock},
        {leaf, "meta", &state->leaf_meta},
        {leaf, "plain_signature", &state->leaf_signature},
        {leaf, "strides", &state->leaf_strides},
    };
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        if (find_offset((PyTypeObject *)slots[i].type, slots[i].name, slots[i].offset) < 0) {
            return NULL;
        }
    }
    PyDict_Clear(state->bodies);
    Py_XSETREF(state->leaf_type, (PyTypeObject *)Py_NewRef(leaf));
    Py_XSETREF(state->node_type, (PyTypeObject *)Py_NewRef(node));
    Py_RETURN_NONE;
}

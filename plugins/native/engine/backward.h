/* The loop of the engine over arrays of NumPy: what its files share. */
#ifndef DOVETAIL_BACKWARD_H
#define DOVETAIL_BACKWARD_H

#include "../core/native.h"
#include "../core/sizes.h"
#include "../core/slots.h"

/* The nodes that are ready: a heap, the highest sequence number first. */
typedef struct {
    long long number;
    PyObject *node;
} ready_node;

typedef struct {
    ready_node *nodes;
    Py_ssize_t count, room;
} ready_heap;

typedef struct {
    module_state *state;
    PyObject *task; /* borrowed from the caller */
    PyObject *backend, *kernels, *captures, *kept;
    int keep_graph;
    ready_heap ready;
    PyObject *buffers, *leaves;                       /* dicts */
    PyObject *following, *arrived, *second, *waiting; /* the best two nodes, or NULL */
    PyObject *node, *edges, *grads;                   /* what runs or ran last */
} array_loop;

static inline void
swap(PyObject **one, PyObject **other)
{
    PyObject *held = *one;
    *one = *other;
    *other = held;
}

/* Drop the result of a call: 0, or -1 if there is none. */
static inline int
drop_result(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Borrowed value of a slot of a node; NULL with an exception. */
PyObject *node_slot(const module_state *state, PyObject *node, Py_ssize_t offset);

/* ready.c */
int sequence_number(const module_state *state, PyObject *node, long long *number);
int push_ready(ready_heap *heap, long long number, PyObject *node);
PyObject *pop_ready(ready_heap *heap); /* a new reference */
void clear_ready(ready_heap *heap);

/* Let the task show what waits, while code of the user may run. */
int show_waiting(array_loop *loop, Py_ssize_t index);

/* arrivals.c: bring every gradient of the node that ran to the node that its edge leads to. */
int distribute(array_loop *loop);

/* bodies.c: a new reference, or NULL, which is no error unless an exception is set. */
PyObject *body_of(array_loop *loop);
PyObject *gradients_of_node(array_loop *loop, PyObject *body);
int release_saved(array_loop *loop, PyObject *body);

/* leaves.c: `grad` is stolen. */
int has_no_gradient(const module_state *state, PyObject *leaf);
int has_hooks(const module_state *state, PyObject *leaf);
int accumulate(module_state *state, PyObject *leaf, PyObject *grad);

/* Put a sum in the place of *sum, or `grad`, which is stolen, if nothing is there. */
int add_gradient(const module_state *state, PyObject **sum, PyObject *grad);

#endif

/* The nodes that are ready, and what a run shows of those that wait. */
#include "backward.h"

PyObject *
node_slot(const module_state *state, PyObject *node, Py_ssize_t offset)
{
    if (UNLIKELY(!PyObject_TypeCheck(node, state->node_type))) {
        return PyErr_Format(
            PyExc_TypeError, "a graph is made of nodes, not %.100s", Py_TYPE(node)->tp_name);
    }
    return stored(node, offset);
}

int
sequence_number(const module_state *state, PyObject *node, long long *number)
{
    PyObject *found = node_slot(state, node, state->node_sequence_nr);
    *number = found == NULL ? -1 : PyLong_AsLongLong(found);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

int
push_ready(ready_heap *heap, long long number, PyObject *node)
{
    if (heap->count == heap->room) {
        Py_ssize_t room = heap->room ? 2 * heap->room : 16;
        ready_node *nodes = PyMem_Realloc(heap->nodes, room * sizeof(ready_node));
        if (nodes == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        heap->nodes = nodes;
        heap->room = room;
    }
    Py_ssize_t at = heap->count++;
    for (; at > 0 && heap->nodes[(at - 1) / 2].number < number; at = (at - 1) / 2) {
        heap->nodes[at] = heap->nodes[(at - 1) / 2];
    }
    heap->nodes[at] = (ready_node){number, Py_NewRef(node)};
    return 0;
}

PyObject *
pop_ready(ready_heap *heap)
{
    PyObject *first = heap->nodes[0].node;
    ready_node last = heap->nodes[--heap->count];
    Py_ssize_t at = 0;
    for (Py_ssize_t below = 1; below < heap->count; below = 2 * at + 1) {
        if (below + 1 < heap->count && heap->nodes[below + 1].number > heap->nodes[below].number) {
            below++;
        }
        if (heap->nodes[below].number <= last.number) {
            break;
        }
        heap->nodes[at] = heap->nodes[below];
        at = below;
    }
    if (heap->count > 0) {
        heap->nodes[at] = last;
    }
    return first;
}

void
clear_ready(ready_heap *heap)
{
    for (Py_ssize_t i = 0; i < heap->count; i++) {
        Py_DECREF(heap->nodes[i].node);
    }
    PyMem_Free(heap->nodes);
}

int
show_waiting(array_loop *loop, Py_ssize_t index)
{
#define OR_NONE(object) ((object) == NULL ? Py_None : (object))
    PyObject *ahead = Py_BuildValue(
        "(OOOOOOOn)", loop->buffers, loop->leaves, OR_NONE(loop->following),
        OR_NONE(loop->arrived), OR_NONE(loop->second), OR_NONE(loop->waiting), loop->edges, index);
#undef OR_NONE
    int failed = ahead == NULL ? -1
                               : PyObject_SetAttr(loop->task, loop->state->str_arrays, ahead);
    Py_XDECREF(ahead);
    return failed;
}

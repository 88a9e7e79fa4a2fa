/* Instructions that record: edges, nodes and what these save. */
#include "entry.h"
#include "route.h"
#include "sizes.h"
#include "slots.h"

/* ---- edges ----------------------------------------------------------------------------------- */

PyObject *
edge_to_node(const module_state *state, PyObject *tensor, PyObject *node)
{
    PyObject *number = tensor_slot(state, tensor, state->tensor_output_nr);
    return number == NULL ? NULL : PyTuple_Pack(2, node, number);
}

/* The edge to a leaf: (accumulator, 0, leaf). `leaf_edge` makes the accumulator. */
PyObject *
edge_to_leaf(const module_state *state, PyObject *tensor, PyObject *leaf_edge)
{
    PyObject *meta = held_slot(state, tensor, state->tensor_meta);
    if (meta == NULL) {
        return NULL;
    }
    PyObject *node = meta == Py_None ? Py_NewRef(meta)
                                     : PyObject_GetAttr(meta, state->str_accumulator);
    Py_DECREF(meta);
    if (node == NULL) {
        return NULL;
    }
    if (node != Py_None) {
        PyObject *edge = PyTuple_Pack(3, node, state->zero, tensor);
        Py_DECREF(node);
        return edge;
    }
    Py_DECREF(node);
    return PyObject_CallOneArg(leaf_edge, tensor);
}

/* What says what a view is a view of: a borrowed reference; NULL with an exception. */
static PyObject *
meta_of_view(const module_state *state, PyObject *tensor)
{
    PyObject *meta = tensor_slot(state, tensor, state->tensor_meta);
    if (meta != NULL && Py_TYPE(meta) != state->view_type) {
        PyErr_Format(PyExc_TypeError, "the meta of a view is a %.100s", Py_TYPE(meta)->tp_name);
        return NULL;
    }
    return meta;
}

/* Whether a view with a node was written, or its base was, since the node was noted: 1, 0, -1. */
static int
is_outdated_view(const module_state *state, PyObject *tensor)
{
    PyObject *meta = meta_of_view(state, tensor);
    PyObject *noted = meta == NULL ? NULL : Py_XNewRef(stored(meta, state->view_version));
    PyObject *version = noted == NULL ? NULL : version_of(state, tensor);
    int differs = version == NULL ? -1 : PyObject_RichCompareBool(version, noted, Py_NE);
    Py_XDECREF(noted);
    Py_XDECREF(version);
    return differs;
}

/* Whether a view without a node may require grad: its base may, or it was made to: 1, 0, -1. */
static int
may_require_grad(const module_state *state, PyObject *tensor, long long grad_bit)
{
    PyObject *meta = meta_of_view(state, tensor);
    PyObject *base = meta == NULL ? NULL : stored(meta, state->view_base);
    PyObject *signature =
        base == NULL ? NULL : tensor_slot(state, base, state->tensor_signature);
    int has_grad = signature == NULL ? -1 : has_bits(signature, grad_bit);
    if (has_grad != 0) {
        return has_grad;
    }
    PyObject *own = PyObject_GetAttr(meta, state->str_requires_grad);
    has_grad = own == NULL ? -1 : PyObject_IsTrue(own);
    Py_XDECREF(own);
    return has_grad;
}

/* The edge of a tensor whose node, or None, is `grad_fn`. */
static PyObject *
edge_of(const module_state *state, const instruction *in, PyObject *tensor, PyObject *grad_fn)
{
    PyObject *signature = tensor_slot(state, tensor, state->tensor_signature);
    if (signature == NULL) {
        return NULL;
    }
    int requires_grad = in->flags == EDGE_RECORDED ? 1 : has_bits(signature, in->slot);
    int is_view = in->flags >= EDGE_OF_VIEW ? has_bits(signature, in->bits) : 0;
    if (requires_grad < 0 || is_view < 0) {
        return NULL;
    }
    if (is_view && grad_fn == Py_None) {
        requires_grad = may_require_grad(state, tensor, in->slot);
        if (requires_grad <= 0) {
            return requires_grad < 0 ? NULL : Py_NewRef(Py_None);
        }
    }
    if (is_view) {
        int is_outdated = grad_fn == Py_None ? 1 : is_outdated_view(state, tensor);
        if (is_outdated) {
            return is_outdated < 0 ? NULL : PyObject_CallOneArg(in->objects[1], tensor);
        }
    }
    if (grad_fn != Py_None) {
        return edge_to_node(state, tensor, grad_fn);
    }
    return requires_grad ? edge_to_leaf(state, tensor, in->objects[0]) : Py_NewRef(Py_None);
}

/* The edge of a tensor; where it is asked for, None of anything else. */
static PyObject *
edge_of_value(const module_state *state, const instruction *in, PyObject *value)
{
    if (in->flags >= EDGE_ASKED && !is_tensor(state, value)) {
        Py_RETURN_NONE;
    }
    PyObject *grad_fn = held_slot(state, value, state->tensor_grad_fn);
    PyObject *edge = grad_fn == NULL ? NULL : edge_of(state, in, value, grad_fn);
    Py_XDECREF(grad_fn);
    return edge;
}

/* The tuple of edges of a list; of None an empty one. */
static PyObject *
edges_of_list(const module_state *state, const instruction *in, PyObject *values)
{
    PyObject *items = values == Py_None ? PyTuple_New(0) : PySequence_Tuple(values);
    PyObject *edges = items == NULL ? NULL : PyTuple_New(PyTuple_GET_SIZE(items));
    for (Py_ssize_t i = 0; edges != NULL && i < PyTuple_GET_SIZE(items); i++) {
        PyObject *edge = edge_of_value(state, in, PyTuple_GET_ITEM(items, i));
        if (edge == NULL) {
            Py_CLEAR(edges);
            break;
        }
        PyTuple_SET_ITEM(edges, i, edge);
    }
    Py_XDECREF(items);
    return edges;
}

int
do_find_edge(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *value = register_value(registers, in->b);
    PyObject *edge = value == NULL                ? NULL
                     : in->flags == EDGE_OF_LIST ? edges_of_list(state, in, value)
                                                  : edge_of_value(state, in, value);
    if (edge == NULL) {
        return -1;
    }
    set_register(registers, in->a, edge);
    return 0;
}

int
has_edge(const module_state *state, PyObject *const *registers, const instruction *in)
{
    for (int i = 0; i < in->operand_count; i++) {
        PyObject *edge = register_value(registers, in->operands[i].reg);
        if (edge == NULL) {
            return -1;
        }
        if (in->operands[i].kind != OPERAND_SPREAD) {
            if (edge != Py_None) {
                return 1;
            }
            continue;
        }
        int found = 0;
        for (Py_ssize_t k = 0; !found && PyTuple_Check(edge) && k < PyTuple_GET_SIZE(edge); k++) {
            found = PyTuple_GET_ITEM(edge, k) != Py_None;
        }
        if (found) {
            return 1;
        }
    }
    return 0;
}

/* The tuple of all edges of a node. */
static PyObject *
collected_edges(PyObject *const *registers, const instruction *in)
{
    Py_ssize_t count = 0;
    for (int i = 0; i < in->operand_count; i++) {
        PyObject *edge = register_value(registers, in->operands[i].reg);
        if (edge == NULL) {
            return NULL;
        }
        int spreads = in->operands[i].kind == OPERAND_SPREAD;
        if (spreads && !PyTuple_Check(edge)) {
            return PyErr_Format(PyExc_TypeError, "expected a tuple of edges, not %R", edge);
        }
        count += spreads ? PyTuple_GET_SIZE(edge) : 1;
    }
    PyObject *edges = PyTuple_New(count);
    if (edges == NULL) {
        return NULL;
    }
    Py_ssize_t at = 0;
    for (int i = 0; i < in->operand_count; i++) {
        PyObject *edge = registers[in->operands[i].reg];
        if (in->operands[i].kind != OPERAND_SPREAD) {
            PyTuple_SET_ITEM(edges, at++, Py_NewRef(edge));
            continue;
        }
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(edge); k++) {
            PyTuple_SET_ITEM(edges, at++, Py_NewRef(PyTuple_GET_ITEM(edge, k)));
        }
    }
    return edges;
}

/* set_view_class(DifferentiableViewMeta) */
PyObject *
set_view_class(PyObject *module, PyObject *type)
{
    module_state *state = PyModule_GetState(module);
    if (!PyType_Check(type)) {
        return PyErr_Format(PyExc_TypeError, "expected a class, not %R", type);
    }
    if (find_offset((PyTypeObject *)type, "base", &state->view_base) < 0 ||
        find_offset((PyTypeObject *)type, "creation_meta", &state->view_creation) < 0 ||
        find_offset((PyTypeObject *)type, "attr_version", &state->view_version) < 0) {
        return NULL;
    }
    Py_XSETREF(state->view_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

/* Set base and creation_meta of the meta of a view of `source`. */
static int
describe_view(const module_state *state, const instruction *in, PyObject *meta, PyObject *source)
{
    PyObject *creation = in->objects[0];
    if (in->flags & VIEW_OF_VIEW) {
        PyObject *viewed = meta_of_view(state, source);
        if (viewed == NULL) {
            return -1;
        }
        source = stored(viewed, state->view_base);
        creation = creation == Py_None ? stored(viewed, state->view_creation) : creation;
    }
    else if (creation == Py_None) {
        creation = in->objects[1];
    }
    if (source == NULL || creation == NULL) {
        return -1;
    }
    set_slot(meta, state->view_base, Py_NewRef(source));
    set_slot(meta, state->view_creation, Py_NewRef(creation));
    return 0;
}

static int
mark_view(const module_state *state, const instruction *in, PyObject *view, PyObject *source)
{
    PyObject *version = version_of(state, view);
    PyObject *meta = version == NULL ? NULL : PyObject_CallNoArgs((PyObject *)state->view_type);
    if (meta == NULL || describe_view(state, in, meta, source) < 0) {
        Py_XDECREF(version);
        Py_XDECREF(meta);
        return -1;
    }
    set_slot(meta, state->view_version, version);
    set_slot(view, state->tensor_meta, meta);
    return 0;
}

int
do_mark_view(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *view = register_value(registers, in->a);
    PyObject *source = view == NULL ? NULL : register_value(registers, in->b);
    if (source == NULL) {
        return -1;
    }
    if (!(in->flags & VIEW_IS_LIST)) {
        return mark_view(state, in, view, source);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(view); i++) { /* which WRAP has made */
        if (mark_view(state, in, PyList_GET_ITEM(view, i), source) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Whether every array that was promoted is still that of its tensor: 1, 0 or -1. */
static int
is_uncast(const module_state *state, PyObject *const *registers, const instruction *in)
{
    if (in->object_count <= NODE_UNCAST) {
        return 1;
    }
    PyObject *pairs = in->objects[NODE_UNCAST];
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(pairs); i += 2) {
        PyObject *array = register_value(registers, (uint8_t)PyBytes_AS_STRING(pairs)[i]);
        PyObject *tensor = register_value(registers, (uint8_t)PyBytes_AS_STRING(pairs)[i + 1]);
        if (array == NULL || tensor == NULL) {
            return -1;
        }
        PyObject *own = tensor_slot(state, tensor, state->tensor_array);
        if (own != array) {
            return own == NULL ? -1 : 0;
        }
    }
    return 1;
}

static int
fill_node(const module_state *state, PyObject **registers, const instruction *in, PyObject *node)
{
    PyObject *const *objects = in->objects;
    PyObject *edges = collected_edges(registers, in);
    if (edges == NULL) {
        return -1;
    }
    set_slot(node, in->slot, edges);
    PyObject *numbers = objects[NODE_NUMBERS];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++) {
        PyObject *number = PyIter_Next(objects[NODE_SEQUENCE]);
        if (number == NULL) {
            return -1;
        }
        set_slot(node, PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i)), number);
    }
    int keeps_backend = is_uncast(state, registers, in);
    if (keeps_backend < 0) {
        return -1;
    }
    set_slot(node, in->slot2, Py_NewRef(keeps_backend ? objects[NODE_BACKEND] : Py_None));
    set_slot(node, in->target, Py_NewRef(Py_None));
    PyObject *makes = objects[NODE_MAKES];
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(makes); i++) {
        PyObject *tensor = register_value(registers, (uint8_t)PyBytes_AS_STRING(makes)[i]);
        if (tensor == NULL || tensor_slot(state, tensor, state->tensor_array) == NULL) {
            return -1;
        }
        set_slot(tensor, state->tensor_grad_fn, Py_NewRef(node));
    }
    return 0;
}

int
do_node(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = bare_instance((PyTypeObject *)in->objects[NODE_CLASS]);
    if (node == NULL) {
        return -1;
    }
    if (fill_node(state, registers, in, node) < 0) {
        Py_DECREF(node);
        return -1;
    }
    set_register(registers, in->a, node);
    return 0;
}

/* (shape, dtype) of an array of NumPy's. Those of recent nodes are kept, since most nodes describe
 * what others do, and a graph then has two objects less for each. */
PyObject *
described_array(const module_state *state, PyArrayObject *array)
{
    const int ndim = PyArray_NDIM(array);
    const npy_intp *dims = PyArray_DIMS(array);
    PyObject *dtype = (PyObject *)PyArray_DESCR(array);
    Py_ssize_t place = place_among(DESCRIPTIONS, (uintptr_t)dtype >> 4, ndim, dims);
    PyObject *kept = PyList_GET_ITEM(state->descriptions, place);
    if (kept != Py_None && PyTuple_GET_ITEM(kept, 1) == dtype &&
        is_tuple_of(PyTuple_GET_ITEM(kept, 0), ndim, dims) == 1) {
        return Py_NewRef(kept);
    }
    PyObject *shape = PyArray_IntTupleFromIntp(ndim, dims);
    PyObject *made = shape == NULL ? NULL : PyTuple_Pack(2, shape, dtype);
    Py_XDECREF(shape);
    if (made != NULL) {
        PyList_SetItem(state->descriptions, place, Py_NewRef(made));
    }
    return made;
}

/* (shape, dtype) of an array. */
static PyObject *
described(const module_state *state, PyObject *array)
{
    if (LIKELY(PyArray_CheckExact(array))) {
        return described_array(state, (PyArrayObject *)array);
    }
    PyObject *shape = PyObject_GetAttr(array, state->str_shape);
    PyObject *dtype = shape == NULL ? NULL : PyObject_GetAttr(array, state->str_dtype);
    PyObject *both = dtype == NULL ? NULL : PyTuple_Pack(2, shape, dtype);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return both;
}

/* The description of an array, or the list of those of a list of arrays. */
static PyObject *
described_operand(const module_state *state, PyObject *const *registers, const operand *each)
{
    PyObject *array = operand_value(state, registers, each);
    if (array == NULL || each->kind != OPERAND_ARRAYS) {
        PyObject *description = array == NULL ? NULL : described(state, array);
        Py_XDECREF(array);
        return description;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(array); i++) { /* a new list */
        PyObject *description = described(state, PyList_GET_ITEM(array, i));
        if (description == NULL) {
            Py_DECREF(array);
            return NULL;
        }
        PyList_SetItem(array, i, description);
    }
    return array;
}

int
do_describe(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = register_value(registers, in->a), *described_all;
    if (node == NULL) {
        return -1;
    }
    if (in->operand_count == 1) {
        described_all = described_operand(state, registers, in->operands);
    }
    else {
        described_all = PyList_New(in->operand_count);
        for (int i = 0; described_all != NULL && i < in->operand_count; i++) {
            PyObject *one = described_operand(state, registers, &in->operands[i]);
            if (one == NULL) {
                Py_CLEAR(described_all);
                break;
            }
            PyList_SET_ITEM(described_all, i, one);
        }
    }
    if (described_all == NULL) {
        return -1;
    }
    set_slot(node, in->slot, described_all);
    return 0;
}

/* ---- what a node saves ----------------------------------------------------------------------- */

int
do_save_tensor(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = register_value(registers, in->a);
    PyObject *tensor = node == NULL ? NULL : register_value(registers, in->b);
    if (tensor == NULL) {
        return -1;
    }
    PyObject *version = in->flags ? Py_XNewRef(register_value(registers, in->c))
                                  : version_of(state, tensor);
    if (version == NULL) {
        return -1;
    }
    set_slot(node, in->slot, Py_NewRef(tensor));
    set_slot(node, in->slot2, version);
    return 0;
}

int
do_save_result(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = register_value(registers, in->a);
    PyObject *tensor = node == NULL ? NULL : register_value(registers, in->b);
    PyObject *array = tensor == NULL ? NULL : register_value(registers, in->c);
    if (array == NULL || tensor_slot(state, tensor, state->tensor_array) == NULL) {
        return -1;
    }
    PyObject *counter = new_counter(state, state->zero);
    PyObject *saved = counter == NULL ? NULL : PyTuple_Pack(3, array, counter, state->zero);
    if (saved == NULL) {
        Py_XDECREF(counter);
        return -1;
    }
    set_slot(tensor, state->tensor_counter, counter);
    set_slot(node, in->slot, saved);
    return 0;
}

/* Make a node that of a tensor; number: of the result, or None for the one that the tensor has. */
static int
attach(const module_state *state, const instruction *in, PyObject *node, PyObject *tensor,
       PyObject *number)
{
    PyObject *signature = tensor_slot(state, tensor, state->tensor_signature);
    int is_differentiable = signature == NULL ? -1 : has_bits(signature, in->bits);
    if (is_differentiable <= 0) {
        return is_differentiable;
    }
    PyObject *recorded = PyNumber_Or(signature, in->objects[1]);
    if (recorded == NULL) {
        return -1;
    }
    set_slot(tensor, state->tensor_grad_fn, Py_NewRef(node));
    if (number != Py_None) {
        set_slot(tensor, state->tensor_output_nr, Py_NewRef(number));
    }
    set_slot(tensor, state->tensor_signature, recorded);
    return 0;
}

int
do_attach(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = register_value(registers, in->a);
    PyObject *result = node == NULL ? NULL : register_value(registers, in->b);
    if (result == NULL || !in->flags) {
        return result == NULL ? -1 : attach(state, in, node, result, in->objects[0]);
    }
    PyObject *items = PySequence_Fast(result, "a kernel returned no list of tensors");
    int failed = items == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; !failed && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *number = PyLong_FromSsize_t(i), *tensor = PySequence_Fast_GET_ITEM(items, i);
        failed = number == NULL ? -1 : attach(state, in, node, tensor, number);
        Py_XDECREF(number);
    }
    Py_XDECREF(items);
    return failed;
}

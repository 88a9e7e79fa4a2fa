/* Leaves: gradients that become or join `.grad`, as AccumulateGrad.accumulate_array does it. */
#include "backward.h"

int
add_gradient(const module_state *state, PyObject **sum, PyObject *grad)
{
    if (*sum != NULL && *sum != Py_None) {
        PyObject *operands[2] = {*sum, grad};
        PyObject *both = PyObject_Vectorcall(state->add_loop, operands, 2, NULL);
        Py_DECREF(grad);
        grad = both;
    }
    if (grad == NULL) {
        return -1;
    }
    Py_XSETREF(*sum, grad);
    return 0;
}

/* An attribute of the leaf's AutogradMeta: a new reference. */
static PyObject *
of_meta(const module_state *state, PyObject *leaf, PyObject *name)
{
    PyObject *meta = node_slot(state, leaf, state->leaf_meta);
    return meta == NULL ? NULL : PyObject_GetAttr(meta, name);
}

int
has_hooks(const module_state *state, PyObject *leaf)
{
    PyObject *hooks = of_meta(state, leaf, state->str_post_accumulate);
    int has_any = hooks == NULL ? -1 : PyObject_IsTrue(hooks);
    Py_XDECREF(hooks);
    return has_any;
}

int
has_no_gradient(const module_state *state, PyObject *leaf)
{
    PyObject *present = of_meta(state, leaf, state->str_grad);
    Py_XDECREF(present);
    return present == NULL ? -1 : present == Py_None;
}

/* Let Python do it. The method counts references: with these it takes over nothing. */
static int
accumulate_in_python(const module_state *state, PyObject *leaf, PyObject *grad)
{
    PyObject *shared = PyTuple_Pack(3, grad, grad, grad);
    int failed = shared == NULL ? -1
                                : drop_result(PyObject_CallMethodOneArg(
                                      leaf, state->str_accumulate_array, grad));
    Py_XDECREF(shared);
    Py_DECREF(grad);
    return failed;
}

/* Whether the strides of an array are those of a tuple. */
static int
has_strides(PyArrayObject *array, PyObject *strides)
{
    return is_tuple_of(strides, PyArray_NDIM(array), PyArray_STRIDES(array)) == 1;
}

/* The array that may become the gradient: a new reference; NULL if only a copy may. */
static PyObject *
owned(PyObject *grad, PyObject *strides)
{
    PyArrayObject *array = (PyArrayObject *)grad;
    PyObject *base = PyArray_BASE(array);
    if (Py_REFCNT(grad) > 1 || !has_strides(array, strides)) {
        return NULL;
    }
    if (base == NULL) {
        return Py_NewRef(grad);
    }
    if (!PyArray_CheckExact(base) || Py_REFCNT(base) > 1) {
        return NULL;
    }
    /* A view of a whole array, as two transpositions make it, counts as that array; the base of
     * what as_strided made is of raw bytes. */
    PyArrayObject *whole = (PyArrayObject *)base;
    int is_same = PyArray_SAMESHAPE(whole, array) &&
                  PyArray_DESCR(whole) == PyArray_DESCR(array) && has_strides(whole, strides);
    return is_same ? Py_NewRef(base) : NULL;
}

/* A copy laid out as the leaf: in C order unless its dimensions lie otherwise. */
static PyObject *
copied(const module_state *state, PyObject *leaf, PyObject *grad, PyObject *strides)
{
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(strides); i++) {
        Py_ssize_t outer = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i - 1));
        if (outer < PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i))) {
            return PyObject_CallFunctionObjArgs(state->copy_for_leaf, leaf, grad, NULL);
        }
    }
    return PyArray_NewCopy((PyArrayObject *)grad, NPY_CORDER);
}

/* Make an array the gradient of a leaf that has none. */
static int
begin(const module_state *state, PyObject *leaf, PyObject *meta, PyObject *grad)
{
    PyObject *strides = SLOT(leaf, state->leaf_strides);
    PyObject *array = owned(grad, strides);
    if (array == NULL) {
        array = copied(state, leaf, grad, strides);
    }
    if (array == NULL) {
        return -1;
    }
    PyObject *signature = Py_NewRef(SLOT(leaf, state->leaf_signature));
    PyObject *tensor = new_tensor(state, array, signature, state->zero);
    int failed = tensor == NULL ? -1 : PyObject_SetAttr(meta, state->str_grad, tensor);
    Py_XDECREF(tensor);
    return failed;
}

/* Add an array to the gradient there is, in place. */
static int
join(const module_state *state, PyObject *present, PyObject *grad)
{
    PyObject *array = held_slot(state, present, state->tensor_array);
    if (array == NULL) {
        return -1;
    }
    PyObject *operands[] = {array, grad, array};
    int is_mine;
    PyObject *sum = ufunc_loop_compute(state->add_loop, operands, 2, state->names_of_out, &is_mine);
    if (!is_mine) {
        sum = PyNumber_InPlaceAdd(array, grad);
    }
    int failed = drop_result(sum);
    Py_DECREF(array);
    return failed ? -1 : count_write(state, present);
}

/* Whether C code does what accumulate_array does with a gradient there is, or None: 1, 0 or -1. */
static int
is_simple(const module_state *state, PyObject *leaf, PyObject *present, PyObject *grad)
{
    if (present == Py_None) {
        return 1;
    }
    if (Py_TYPE(present) != state->tensor_type) {
        return 0;
    }
    PyObject *array = tensor_slot(state, present, state->tensor_array);
    PyObject *own = tensor_slot(state, present, state->tensor_signature);
    if (array == NULL || own == NULL) {
        return -1;
    }
    if (!PyArray_CheckExact(array) ||
        !PyArray_SAMESHAPE((PyArrayObject *)array, (PyArrayObject *)grad)) {
        return 0;
    }
    return PyObject_RichCompareBool(own, SLOT(leaf, state->leaf_signature), Py_EQ);
}

int
accumulate(module_state *state, PyObject *leaf, PyObject *grad)
{
    PyObject *meta, *lock, *strides = SLOT(leaf, state->leaf_strides);
    int is_known = Py_TYPE(leaf) == state->leaf_type && PyArray_CheckExact(grad) &&
                   SLOT(leaf, state->leaf_array_type) == (PyObject *)&PyArray_Type &&
                   strides != NULL && PyTuple_CheckExact(strides);
    if (!is_known) {
        return accumulate_in_python(state, leaf, grad);
    }
    meta = node_slot(state, leaf, state->leaf_meta);
    lock = meta == NULL ? NULL : node_slot(state, leaf, state->leaf_lock);
    if (lock == NULL || SLOT(leaf, state->leaf_signature) == NULL ||
        drop_result(PyObject_CallMethodNoArgs(lock, state->str_acquire)) < 0) {
        Py_DECREF(grad);
        return -1;
    }
    Py_INCREF(meta);
    Py_INCREF(lock);
    PyObject *present = PyObject_GetAttr(meta, state->str_grad);
    int simple = present == NULL ? -1 : is_simple(state, leaf, present, grad), failed = simple < 0;
    if (simple > 0) {
        failed = present == Py_None ? begin(state, leaf, meta, grad) : join(state, present, grad);
    }
    PyObject *raised = failed ? take_raised() : NULL;
    int is_stuck = drop_result(PyObject_CallMethodNoArgs(lock, state->str_release));
    if (raised != NULL) {
        set_raised(raised);
    }
    Py_XDECREF(present);
    Py_DECREF(meta);
    Py_DECREF(lock);
    if (simple == 0 && !is_stuck) {
        return accumulate_in_python(state, leaf, grad);
    }
    Py_DECREF(grad);
    return failed || is_stuck ? -1 : 0;
}

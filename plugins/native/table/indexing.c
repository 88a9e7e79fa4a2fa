/* Elements and slices at indices, as operators. */
#include "indexed.h"

/* The values that are read, a new array of their shape. Takes the call's references. Without values
 * no index is looked at: the reference does so. */
static PyObject *
read_values(indexed_call *call, int ndim, const npy_intp *shape)
{
    PyObject *result = NULL;
    if (call->x != NULL && call->index != NULL && count_values(&call->elements) > 0 &&
        (call->values = new_of_dtype(PyArray_DESCR(call->x), ndim, shape)) != NULL) {
        npy_intp step = PyArray_ITEMSIZE(call->x);
        for (int i = ndim - 1; i >= 0; i--) {
            call->elements.value_steps[i] = step;
            step *= shape[i];
        }
        if (run_indexed(kernels_in_force->indexing->read[size_class(call->x)], call)) {
            result = Py_NewRef((PyObject *)call->values);
        }
    }
    release_call(call);
    return result;
}

/* The slices of x at an index along an axis. */
static PyObject *
slices_at(PyObject *x, int axis, PyObject *index)
{
    indexed_call call = {0};
    if (PyArray_NDIM((PyArrayObject *)x) + PyArray_NDIM((PyArrayObject *)index) >
        MOST_INDEXED_AXES) {
        return NULL;
    }
    if ((call.index = as_index(index)) == NULL) {
        return NULL;
    }
    call.x = (PyArrayObject *)Py_NewRef(x);
    replace_axis(&call.elements, call.x, axis, call.index);
    npy_intp shape[MOST_INDEXED_AXES];
    memcpy(shape, call.elements.shape, sizeof shape);
    return read_values(&call, call.elements.ndim, shape);
}

/* index_select(self, dim, index) */
COMPUTE(index_select)
{
    int axis;
    PyObject *x = arguments[0], *index = arguments[2];
    if (!is_array(x) || !is_index(index) || PyArray_NDIM((PyArrayObject *)x) == 0 ||
        PyArray_NDIM((PyArrayObject *)index) > 1 ||
        !read_axis(arguments[1], PyArray_NDIM((PyArrayObject *)x), &axis)) {
        return NULL;
    }
    PyObject *line = as_vector(index);
    PyObject *result = line == NULL ? NULL : slices_at(x, axis, line);
    Py_XDECREF(line);
    return result;
}

/* embedding(weight, indices, …) */
COMPUTE(embedding)
{
    if (!is_array(arguments[0]) || !is_index(arguments[1]) ||
        PyArray_NDIM((PyArrayObject *)arguments[0]) != 2) {
        return NULL;
    }
    return slices_at(arguments[0], 0, arguments[1]);
}

/* gather(self, dim, index) */
COMPUTE(gather)
{
    int axis;
    PyArrayObject *x = (PyArrayObject *)arguments[0], *index = (PyArrayObject *)arguments[2];
    indexed_call call = {0};
    if (!read_places(arguments[0], arguments[1], arguments[2], &axis) ||
        (call.index = as_index(arguments[2])) == NULL) {
        return NULL;
    }
    call.x = (PyArrayObject *)Py_NewRef((PyObject *)x);
    follow_index(&call.elements, x, axis, call.index);
    return read_values(&call, PyArray_NDIM(index), PyArray_DIMS(index));
}

/* arrays.take_along_axis(arr, indices, axis), without broadcasting. */
COMPUTE(take_along_axis)
{
    PyObject *x = arguments[0], *index = arguments[1], *axis = arguments[2];
    int place;
    if (!read_places(x, axis, index, &place) ||
        !is_within((PyArrayObject *)x, (PyArrayObject *)index, place)) {
        return NULL;
    }
    return gather((PyObject *const[]){x, axis, index}, 0);
}

/* take(self, index) */
COMPUTE(take)
{
    PyArrayObject *index = (PyArrayObject *)arguments[1];
    indexed_call call = {0};
    if (!is_array(arguments[0]) || !is_index(arguments[1]) || PyArray_ITEMSIZE(index) != 8 ||
        (call.x = in_c_order(arguments[0])) == NULL) {
        return NULL;
    }
    call.index = (PyArrayObject *)Py_NewRef((PyObject *)index);
    for (int i = 0; i < PyArray_NDIM(index); i++) {
        add_axis(&call.elements, PyArray_DIM(index, i), 0, PyArray_STRIDE(index, i));
    }
    count_along(&call.elements, PyArray_ITEMSIZE(call.x), PyArray_SIZE(call.x), 1);
    return read_values(&call, PyArray_NDIM(index), PyArray_DIMS(index));
}

/* Whether the axes of an array of which a key takes all, or if `key` is NULL all of its axes, have
 * several elements and ever smaller steps. */
static int
has_falling_steps(PyArrayObject *array, const index_key *key)
{
    npy_intp before = NPY_MAX_INTP;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (key != NULL && key->of[i] != NULL) {
            continue;
        }
        npy_intp step = Py_ABS(PyArray_STRIDE(array, i));
        if (PyArray_DIM(array, i) < 2 || step == 0 || step >= before) {
            return 0;
        }
        before = step;
    }
    return 1;
}

/* Whether the elements at a key lie in C order, as far as can be told soon. */
static int
gives_c_order(PyArrayObject *x, const index_key *key)
{
    PyArrayObject *one = key->of[key->first];
    int are_c = 1, are_alike = 1;
    for (int i = key->first; i <= key->last; i++) {
        are_c &= key->of[i] == NULL || PyArray_IS_C_CONTIGUOUS(key->of[i]);
        are_alike &= key->of[i] == NULL || PyArray_SAMESHAPE(key->of[i], one);
    }
    return are_c && (PyArray_IS_C_CONTIGUOUS(x) ||
                     (are_alike && PyArray_NDIM(x) - key->count + PyArray_NDIM(one) <= 1) ||
                     (are_alike && has_falling_steps(one, NULL) && has_falling_steps(x, key)));
}

/* index.Tensor(self, indices). What is not in C order has a memory order of its own, which the
 * reference knows. */
COMPUTE(index_elements)
{
    index_key key;
    if (!is_array(arguments[0]) || !read_key(arguments[1], (PyArrayObject *)arguments[0], &key) ||
        !gives_c_order((PyArrayObject *)arguments[0], &key)) {
        return NULL;
    }
    indexed_call call = {.x = (PyArrayObject *)Py_NewRef(arguments[0])};
    if (!take_key(&call, &key)) {
        release_call(&call);
        return NULL;
    }
    npy_intp shape[MOST_INDEXED_AXES];
    memcpy(shape, call.elements.shape, sizeof shape);
    return read_values(&call, call.elements.ndim, shape);
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "table/indexing.c", __LINE__, compute, {__VA_ARGS__}, 1}
const kernel_row indexing_rows[] = {
    ROW("index_select", index_select, "self", "dim", "index"),
    ROW("embedding", embedding, "weight", "indices", "padding_idx", "scale_grad_by_freq", "sparse"),
    ROW("gather", gather, "self", "dim", "index", "sparse_grad"),
    ROW("take", take, "self", "index"),
    ROW("index.Tensor", index_elements, "self", "indices"),
    ROW("arrays.take_along_axis", take_along_axis, "arr", "indices", "axis"),
    {NULL},
};

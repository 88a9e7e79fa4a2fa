/* Where elements are, and which are the greatest: topk, sort, nonzero, searchsorted, bincount, equal.
 *
 * Numbers are compared as sortable keys: 64-bit integers in the same order, in which NaN is the
 * greatest number and zeros of both signs are one. */
#include <math.h>

#include "table.h"

static PyArrayObject *
behaved_array(PyObject *object)
{
    PyArrayObject *x = plain_array(object);
    return x != NULL && PyArray_ISBEHAVED_RO(x) ? x : NULL;
}

/* ---- sortable keys --------------------------------------------------------------------------- */

static inline int64_t
key_of_double(double number)
{
    if (isnan(number)) {
        return INT64_MAX;
    }
    number += 0.0; /* -0.0 becomes 0.0 */
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* Whether `key_at` knows a dtype. */
static int
has_keys(int type)
{
    return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_INT64 || type == NPY_INT32;
}

static inline int64_t
key_at(const char *element, int type)
{
    switch (type) {
    case NPY_FLOAT:
        return key_of_double(*(const float *)element);
    case NPY_DOUBLE:
        return key_of_double(*(const double *)element);
    case NPY_INT32:
        return *(const int32_t *)element;
    default:
        return *(const int64_t *)element;
    }
}

/* ---- the greatest ---------------------------------------------------------------------------- */

typedef struct {
    int64_t key;
    npy_intp index;
} candidate;

/* Whether one comes before another: it is greater, or as great and first. */
static inline int
precedes(candidate one, candidate other)
{
    return one.key > other.key || (one.key == other.key && one.index < other.index);
}

/* Let the candidate at `at` sink in a heap whose root comes last. */
static void
sink(candidate *heap, npy_intp count, npy_intp at)
{
    candidate moved = heap[at];
    for (npy_intp child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && precedes(heap[child], heap[child + 1])) {
            child++;
        }
        if (!precedes(moved, heap[child])) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

enum { SHORT_ROW = 32 }; /* rows that are sorted faster by insertion */

/* Find the `k` greatest of `length` keys, in order: of as great ones the first. */
static void
find_greatest(candidate *heap, npy_intp k, const int64_t *keys, npy_intp length)
{
    if (k == length && length <= SHORT_ROW) {
        for (npy_intp i = 0; i < length; i++) {
            npy_intp at = i;
            for (; at > 0 && keys[i] > heap[at - 1].key; at--) {
                heap[at] = heap[at - 1];
            }
            heap[at] = (candidate){keys[i], i};
        }
        return;
    }
    for (npy_intp i = 0; i < k; i++) {
        heap[i] = (candidate){keys[i], i};
    }
    for (npy_intp i = k / 2; i-- > 0;) {
        sink(heap, k, i);
    }
    for (npy_intp i = k; i < length; i++) {
        if (keys[i] > heap[0].key) {
            heap[0] = (candidate){keys[i], i};
            sink(heap, k, 0);
        }
    }
    for (npy_intp count = k; count-- > 1;) {
        candidate last = heap[0];
        heap[0] = heap[count];
        heap[count] = last;
        sink(heap, count, 0);
    }
}

/* Rows of elements along an axis, of which the greatest or least are taken. */
typedef struct {
    const char *from;
    char *values;
    int64_t *indices;
    axis_sizes sizes;
    npy_intp k, item;
    int type, is_largest;
    int64_t *keys;
    candidate *heap;
} selection;

static void
select_row(const selection *s, npy_intp outer, npy_intp inner)
{
    npy_intp step = s->sizes.inner * s->item, length = s->sizes.length;
    const char *from = s->from + (outer * length * s->sizes.inner + inner) * s->item;
    const int64_t turned = s->is_largest ? 0 : -1; /* all bits: the least become the greatest */
    for (npy_intp i = 0; i < length; i++) {
        s->keys[i] = key_at(from + i * step, s->type) ^ turned;
    }
    find_greatest(s->heap, s->k, s->keys, length);
    npy_intp at = outer * s->k * s->sizes.inner + inner;
    for (npy_intp i = 0; i < s->k; i++, at += s->sizes.inner) {
        s->indices[at] = s->heap[i].index;
        memcpy(s->values + at * s->item, from + s->heap[i].index * step, (size_t)s->item);
    }
}

static void
select_rows(const selection *s)
{
    for (npy_intp outer = 0; outer < s->sizes.outer; outer++) {
        for (npy_intp inner = 0; inner < s->sizes.inner; inner++) {
            select_row(s, outer, inner);
        }
    }
}

/* The `k` greatest or least along an axis, in order, and their indices. */
static PyObject *
selected(PyArrayObject *x, int axis, npy_intp k, int is_largest)
{
    npy_intp dims[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(x);
    PyArrayObject *own = in_c_order((PyObject *)x);
    memcpy(dims, PyArray_DIMS(x), sizeof *dims * (size_t)ndim);
    dims[axis] = k;
    PyArrayObject *values = new_of_dtype(PyArray_DESCR(x), ndim, dims);
    PyArrayObject *indices = (PyArrayObject *)PyArray_SimpleNew(ndim, dims, NPY_INT64);
    selection s = {
        .sizes = sizes_around(x, axis),
        .k = k,
        .item = PyArray_ITEMSIZE(x),
        .type = PyArray_TYPE(x),
        .is_largest = is_largest,
        .keys = PyMem_Malloc(sizeof(int64_t) * (size_t)PyArray_DIM(x, axis)),
        .heap = PyMem_Malloc(sizeof(candidate) * (size_t)k),
    };
    PyObject *result = NULL;
    if (s.keys == NULL || s.heap == NULL) {
        PyErr_NoMemory();
    }
    else if (own != NULL && values != NULL && indices != NULL) {
        s.from = PyArray_BYTES(own);
        s.values = PyArray_BYTES(values);
        s.indices = PyArray_DATA(indices);
        RELEASED(PyArray_SIZE(x), select_rows(&s));
        result = PyTuple_Pack(2, values, indices);
    }
    PyMem_Free(s.keys);
    PyMem_Free(s.heap);
    Py_XDECREF(own);
    Py_XDECREF(values);
    Py_XDECREF(indices);
    return result;
}

/* ---- places ---------------------------------------------------------------------------------- */

static PyObject *
nonzero(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = behaved_array(arguments[0]);
    if (x == NULL || PyArray_NDIM(x) == 0) {
        return NULL;
    }
    PyObject *places = PyArray_Nonzero(x); /* an array of int64 for each axis */
    if (places == NULL) {
        return NULL;
    }
    int ndim = PyArray_NDIM(x);
    npy_intp count = PyArray_SIZE((PyArrayObject *)PyTuple_GET_ITEM(places, 0));
    npy_intp dims[2] = {count, ndim};
    /* Axis by axis, as in PyTorch. */
    PyArrayObject *made = (PyArrayObject *)PyArray_EMPTY(2, dims, NPY_INT64, 1);
    for (int axis = 0; made != NULL && axis < ndim; axis++) {
        PyArrayObject *own = in_c_order(PyTuple_GET_ITEM(places, axis));
        if (own == NULL) {
            Py_CLEAR(made);
            break;
        }
        memcpy(PyArray_BYTES(made) + axis * count * (npy_intp)sizeof(int64_t), PyArray_DATA(own),
               (size_t)count * sizeof(int64_t));
        Py_DECREF(own);
    }
    Py_DECREF(places);
    return (PyObject *)made;
}

/* A sorted sequence, and whether places are behind equal elements. */
typedef struct {
    const char *data;
    npy_intp length, item;
    int type, is_behind;
} sequence;

/* How many elements of a sequence come before a key. */
static npy_intp
place_of(const sequence *sorted, int64_t key)
{
    npy_intp first = 0, length = sorted->length;
    while (length > 0) {
        npy_intp half = length / 2;
        int64_t middle = key_at(sorted->data + (first + half) * sorted->item, sorted->type);
        if (middle < key || (sorted->is_behind && middle == key)) {
            first += half + 1;
            length -= half + 1;
        }
        else {
            length = half;
        }
    }
    return first;
}

static void
find_places(int64_t *places, const sequence *sorted, const char *values, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        places[i] = place_of(sorted, key_at(values + i * sorted->item, sorted->type));
    }
}

static PyObject *
searchsorted(PyObject *const *arguments, int variant)
{
    PyArrayObject *own = behaved_array(arguments[0]), *values = behaved_array(arguments[1]);
    int is_narrow = 0, is_behind = 0;
    if (own == NULL || values == NULL || PyArray_NDIM(own) != 1 ||
        PyArray_TYPE(own) != PyArray_TYPE(values) || !has_keys(PyArray_TYPE(values)) ||
        !PyArray_IS_C_CONTIGUOUS(own) || !PyArray_IS_C_CONTIGUOUS(values) ||
        !read_optional_flag(arguments[2], &is_narrow) || is_narrow ||
        !read_optional_flag(arguments[3], &is_behind) || is_given(arguments[4]) ||
        is_given(arguments[5])) {
        return NULL;
    }
    const sequence sorted = {
        PyArray_BYTES(own), PyArray_SIZE(own), PyArray_ITEMSIZE(own), PyArray_TYPE(own), is_behind};
    PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(
        PyArray_NDIM(values), PyArray_DIMS(values), NPY_INT64);
    if (made != NULL) {
        int64_t *places = PyArray_DATA(made);
        const char *from = PyArray_BYTES(values);
        RELEASED(PyArray_SIZE(values), find_places(places, &sorted, from, PyArray_SIZE(values)));
    }
    return (PyObject *)made;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static PyObject *
bincount(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = behaved_array(arguments[0]);
    npy_intp bins = 0;
    if (x == NULL || PyArray_NDIM(x) != 1 || PyArray_TYPE(x) != NPY_INT64 ||
        PyArray_SIZE(x) == 0 || !PyArray_IS_C_CONTIGUOUS(x) || is_given(arguments[1]) ||
        (arguments[2] != NULL && !read_size(arguments[2], &bins))) {
        return NULL;
    }
    const int64_t *numbers = PyArray_DATA(x);
    npy_intp size = PyArray_SIZE(x);
    for (npy_intp i = 0; i < size; i++) {
        if (numbers[i] < 0 || numbers[i] == INT64_MAX) {
            return NULL;
        }
        bins = numbers[i] >= bins ? numbers[i] + 1 : bins;
    }
    if (!is_addressable(1, &bins, sizeof(int64_t))) {
        return NULL;
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_ZEROS(1, &bins, NPY_INT64, 0);
    int64_t *counts = made == NULL ? NULL : PyArray_DATA(made);
    for (npy_intp i = 0; counts != NULL && i < size; i++) {
        counts[numbers[i]]++;
    }
    return (PyObject *)made;
}

/* ---- equal ----------------------------------------------------------------------------------- */

static PyObject *
equal(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = behaved_array(arguments[0]), *other = behaved_array(arguments[1]);
    if (x == NULL || other == NULL || PyArray_TYPE(x) != PyArray_TYPE(other) ||
        !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(other)) {
        return NULL;
    }
    if (!PyArray_SAMESHAPE(x, other)) {
        Py_RETURN_FALSE;
    }
    npy_intp size = PyArray_SIZE(x), i = 0;
    int type = PyArray_TYPE(x);
    if (type == NPY_FLOAT) {
        const float *first = PyArray_DATA(x), *second = PyArray_DATA(other);
        while (i < size && first[i] == second[i]) {
            i++;
        }
        return PyBool_FromLong(i == size);
    }
    if (type == NPY_DOUBLE) {
        const double *first = PyArray_DATA(x), *second = PyArray_DATA(other);
        while (i < size && first[i] == second[i]) {
            i++;
        }
        return PyBool_FromLong(i == size);
    }
    if (!PyTypeNum_ISINTEGER(type)) {
        return NULL;
    }
    return PyBool_FromLong(
        memcmp(PyArray_DATA(x), PyArray_DATA(other), (size_t)PyArray_NBYTES(x)) == 0);
}

/* An array whose elements have keys, and an axis of it, the last one by default; NULL if it has no
 * elements or axes. */
static PyArrayObject *
array_and_axis(PyObject *array, PyObject *dim, int *axis)
{
    PyArrayObject *x = behaved_array(array);
    int ndim = x == NULL ? 0 : PyArray_NDIM(x);
    *axis = ndim - 1;
    return ndim > 0 && PyArray_SIZE(x) > 0 && has_keys(PyArray_TYPE(x)) &&
                   read_optional_axis(dim, ndim, axis)
               ? x
               : NULL;
}

static PyObject *
topk(PyObject *const *arguments, int variant)
{
    npy_intp k;
    int axis, is_largest = 1;
    PyArrayObject *x = array_and_axis(arguments[0], arguments[2], &axis);
    if (x == NULL || arguments[1] == NULL || !read_int(arguments[1], &k) ||
        (arguments[3] != NULL && !read_flag(arguments[3], &is_largest)) || k < 1 ||
        k > PyArray_DIM(x, axis)) {
        return NULL;
    }
    return selected(x, axis, k, is_largest);
}

enum { MOST_IN_HEAP = 512 }; /* of more elements NumPy's sort is faster, if rows are not short */

static PyObject *
sort(PyObject *const *arguments, int variant)
{
    int axis, is_descending = 0;
    PyArrayObject *x = array_and_axis(arguments[0], arguments[1], &axis);
    if (x == NULL ||
        (PyArray_DIM(x, axis) > SHORT_ROW && PyArray_SIZE(x) > MOST_IN_HEAP) ||
        !read_optional_flag(arguments[2], &is_descending)) {
        return NULL;
    }
    return selected(x, axis, PyArray_DIM(x, axis), is_descending);
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "table/searching.c", __LINE__, compute, {__VA_ARGS__}}
const kernel_row searching_rows[] = {
    ROW("sort", sort, "self", "dim", "descending"),
    ROW("topk", topk, "self", "k", "dim", "largest", "sorted"),
    ROW("nonzero", nonzero, "self"),
    ROW("searchsorted.Tensor", searchsorted, "sorted_sequence", "self", "out_int32", "right", "side",
        "sorter"),
    ROW("bincount", bincount, "self", "weights", "minlength"),
    ROW("equal", equal, "self", "other"),
    {NULL},
};

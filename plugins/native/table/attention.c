/* Attention as an operator: the scores of some queries at a time stay in the cache. Products are
 * BLAS's. */
#include "table.h"

#include <math.h>

enum {
    MOST_SCORES = 1 << 15, /* of the queries that are computed together: half of the second cache */
    MANY_QUERIES = 16,     /* from which keys are turned: BLAS multiplies by a view more slowly */
    PITCH = 16,            /* elements that divide the rows of scores: a register of them */
};

/* Sizes of the arrays, and how scores are scaled; whether a query sees later keys. */
typedef struct {
    npy_intp queries, keys, features, width, pitch;
    double scale;
    int is_causal;
} attention_sizes;

/* A matrix of an array for each head: its first element, and steps in bytes. */
static matrices
head_of(PyArrayObject *array, const npy_intp *index)
{
    int last = PyArray_NDIM(array) - 1;
    matrices found = {
        PyArray_BYTES(array), 0, PyArray_STRIDE(array, last - 1), PyArray_STRIDE(array, last)};
    for (int i = 0; i < last - 1; i++) {
        found.data += index[i] * PyArray_STRIDE(array, i);
    }
    return found;
}

/* Write the results of one head, whose keys are (features, keys). */
static void
attend(
    const ufunc_loop *loop, weighing_kernel *weigh, const attention_sizes *sizes, char *scores,
    matrices query, matrices key, matrices value, char *means, char *logarithms, npy_intp item)
{
    npy_intp fitting = MOST_SCORES / sizes->pitch, most = fitting < 1 ? 1 : fitting, rows;
    matrices product = {scores, 0, sizes->pitch * item, item};
    for (npy_intp start = 0; start < sizes->queries; start += rows) {
        rows = sizes->queries - start < most ? sizes->queries - start : most;
        npy_intp seen = sizes->is_causal && start + rows < sizes->keys ? start + rows : sizes->keys;
        npy_intp first = sizes->is_causal && start + 1 < sizes->keys ? start + 1 : sizes->keys;
        npy_intp pitch = (seen + PITCH - 1) / PITCH * PITCH;
        product.row = pitch * item;
        multiply_matrices(
            loop, (product_sizes){1, rows, sizes->features, seen}, query, key, product);
        RELEASED(
            rows * pitch, weigh(
                              scores, logarithms + start * item, sizes->scale, rows, pitch, first,
                              sizes->is_causal, seen));
        matrices result = {means + start * sizes->width * item, 0, sizes->width * item, item};
        multiply_matrices(
            loop, (product_sizes){1, rows, seen, sizes->width}, product, value, result);
        query.data += rows * query.row;
    }
}

/* Attend for all heads. Return 0, or -1 with an exception. */
static int
attend_all(
    const ufunc_loop *loop, int precision, const attention_sizes *sizes, PyArrayObject *query,
    PyArrayObject *key, PyArrayObject *value, PyArrayObject *means, PyArrayObject *logarithms)
{
    npy_intp item = PyArray_ITEMSIZE(query), index[NPY_MAXDIMS] = {0};
    npy_intp fitting = MOST_SCORES / sizes->pitch;
    npy_intp rows = fitting < 1 ? 1 : fitting < sizes->queries ? fitting : sizes->queries;
    char *scores = PyMem_RawMalloc((size_t)(rows * sizes->pitch * item));
    if (scores == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    char *to = PyArray_BYTES(means), *log = PyArray_BYTES(logarithms);
    for (int i = 0; i >= 0;) {
        attend(
            loop, kernels_in_force->softmax->weigh[precision], sizes, scores,
            head_of(query, index), head_of(key, index), head_of(value, index), to, log, item);
        to += sizes->queries * sizes->width * item;
        log += sizes->queries * item;
        for (i = PyArray_NDIM(query) - 3; i >= 0; i--) { /* the next head */
            if (++index[i] < PyArray_DIM(query, i)) {
                break;
            }
            index[i] = 0;
        }
    }
    PyMem_RawFree(scores);
    return 0;
}

/* The array itself if BLAS reads its matrices, else a copy: a new reference. */
static PyArrayObject *
for_blas(PyArrayObject *array)
{
    int last = PyArray_NDIM(array) - 1;
    npy_intp item = PyArray_ITEMSIZE(array), row = PyArray_STRIDE(array, last - 1);
    int is_read = PyArray_ISBEHAVED_RO(array) && PyArray_STRIDE(array, last) == item &&
                  row % item == 0 && row / item >= PyArray_DIM(array, last);
    return is_read ? (PyArrayObject *)Py_NewRef((PyObject *)array) : in_c_order((PyObject *)array);
}

/* The transposes of the matrices of keys, which are copied for many queries. */
static PyArrayObject *
turned_keys(PyArrayObject *key, npy_intp queries)
{
    int last = PyArray_NDIM(key) - 1;
    PyArrayObject *own = queries < MANY_QUERIES
                             ? for_blas(key)
                             : (PyArrayObject *)Py_NewRef((PyObject *)key);
    PyObject *view = own == NULL ? NULL : PyArray_SwapAxes(own, last, last - 1);
    Py_XDECREF(own);
    if (view == NULL || queries < MANY_QUERIES) {
        return (PyArrayObject *)view;
    }
    PyArrayObject *made = in_c_order(view);
    Py_DECREF(view);
    return made;
}

/* Whether arrays have the same sizes but for those of the last axes. */
static int
have_same_heads(PyObject *first, PyObject *second)
{
    PyArrayObject *x = (PyArrayObject *)first, *y = (PyArrayObject *)second;
    int ndim = PyArray_NDIM(x);
    return ndim == PyArray_NDIM(y) &&
           memcmp(PyArray_DIMS(x), PyArray_DIMS(y), (size_t)(ndim - 2) * sizeof(npy_intp)) == 0;
}

/* Read the sizes of a call without mask and dropout, of which none is 0. Return whether it is one
 * that this computes. */
static int
read_attention(PyObject *const *arguments, int precision, attention_sizes *sizes)
{
    PyObject *query = arguments[0], *key = arguments[1], *value = arguments[2];
    double dropout = 0;
    if (precision < 0 || precision_of(key) != precision || precision_of(value) != precision ||
        PyArray_NDIM((PyArrayObject *)query) < 2 || !have_same_heads(query, key) ||
        !have_same_heads(query, value) || is_given(arguments[5]) ||
        (arguments[3] != NULL && !read_number(arguments[3], &dropout)) || dropout != 0 ||
        !read_optional_flag(arguments[4], &sizes->is_causal)) {
        return 0;
    }
    int last = PyArray_NDIM((PyArrayObject *)query) - 1;
    sizes->queries = PyArray_DIM((PyArrayObject *)query, last - 1);
    sizes->features = PyArray_DIM((PyArrayObject *)query, last);
    sizes->keys = PyArray_DIM((PyArrayObject *)key, last - 1);
    sizes->width = PyArray_DIM((PyArrayObject *)value, last);
    sizes->pitch = (sizes->keys + PITCH - 1) / PITCH * PITCH;
    sizes->scale = 1 / sqrt((double)sizes->features);
    return PyArray_DIM((PyArrayObject *)key, last) == sizes->features &&
           PyArray_DIM((PyArrayObject *)value, last - 1) == sizes->keys &&
           PyArray_SIZE((PyArrayObject *)query) > 0 && PyArray_SIZE((PyArrayObject *)value) > 0 &&
           (!is_given(arguments[6]) || read_number(arguments[6], &sizes->scale));
}

/* _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, attn_mask,
 * scale): means, logarithms. */
COMPUTE(attention)
{
    int precision = precision_of(arguments[0]);
    attention_sizes sizes;
    ufunc_loop loop;
    if (!read_attention(arguments, precision, &sizes) ||
        !find_product_loop(precision ? NPY_DOUBLE : NPY_FLOAT, &loop)) {
        return NULL;
    }
    PyArrayObject *given = (PyArrayObject *)arguments[0];
    npy_intp shape[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(given);
    memcpy(shape, PyArray_DIMS(given), (size_t)ndim * sizeof *shape);
    shape[ndim - 1] = sizes.width;
    PyArrayObject *query = for_blas(given);
    PyArrayObject *key = turned_keys((PyArrayObject *)arguments[1], sizes.queries);
    PyArrayObject *value = for_blas((PyArrayObject *)arguments[2]);
    PyArrayObject *means = new_array(ndim, shape, precision);
    PyArrayObject *logarithms = new_array(ndim - 1, shape, precision);
    results made = {
        .failed = query == NULL || key == NULL || value == NULL || means == NULL ||
                  logarithms == NULL};
    made.failed = made.failed || attend_all(
                                     &loop, precision, &sizes, query, key, value, means,
                                     logarithms) < 0;
    add_result(&made, means);
    add_result(&made, logarithms);
    Py_XDECREF(query);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return tuple_of(&made);
}

const kernel_row attention_rows[] = {
    {"_scaled_dot_product_flash_attention_for_cpu",
     "table/attention.c",
     __LINE__,
     attention,
     {"query", "key", "value", "dropout_p", "is_causal", "attn_mask", "scale"},
     0,
     "3x1"},
    {NULL},
};

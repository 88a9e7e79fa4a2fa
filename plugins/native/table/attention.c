/* Attention and its gradients as operators: the scores of some queries at a time stay in the cache.
 * Products are BLAS's. */
#include "table.h"

#include <math.h>

enum {
    MOST_SCORES = 1 << 15, /* of the queries that are computed together: half of the second cache */
    MANY_QUERIES = 16,     /* from which keys are turned: BLAS multiplies by a view more slowly */
    PITCH = 16,            /* elements that divide the rows of scores: a register of them */
};

/* What a call reads, and the means that it writes; keys and values also with their rows as columns,
 * as BLAS reads them. */
enum { GRAD, QUERY, KEY, TURNED_KEY, VALUE, TURNED_VALUE, MASK, MEANS, OPERANDS };

/* Sizes of the arrays, how scores are scaled, references to operands, of which some are NULL, and
 * the matrices of one head. */
typedef struct {
    npy_intp queries, keys, features, width;
    double scale;
    int precision, is_causal; /* whether a query sees no later keys */
    PyArrayObject *operands[OPERANDS]; /* a mask is of truth values, or of numbers to add */
    npy_intp mask_strides[NPY_MAXDIMS];
    matrices head[OPERANDS];
} attention_call;

/* Memory for the scores of some queries and, backward, for their gradients before and after the
 * softmax, for a product, and for logarithms that nobody reads. */
typedef struct {
    npy_intp rows;
    char *scores, *grads, *slopes, *product, *logarithms;
} workspace;

/* Set the matrices of a head: their first elements, and steps in bytes. */
static void
set_head(attention_call *call, const npy_intp *index)
{
    int ndim = PyArray_NDIM(call->operands[QUERY]);
    for (int which = 0; which < OPERANDS; which++) {
        PyArrayObject *array = call->operands[which];
        if (array == NULL) {
            continue;
        }
        const npy_intp *strides = which == MASK ? call->mask_strides : PyArray_STRIDES(array);
        matrices found = {PyArray_BYTES(array), 0, strides[ndim - 2], strides[ndim - 1]};
        for (int i = 0; i < ndim - 2; i++) {
            found.data += index[i] * strides[i];
        }
        call->head[which] = found;
    }
}

/* Go to the next head. Return 0 after the last. */
static int
advance_head(attention_call *call, npy_intp *index)
{
    for (int i = PyArray_NDIM(call->operands[QUERY]) - 3; i >= 0; i--) {
        if (++index[i] < PyArray_DIM(call->operands[QUERY], i)) {
            return 1;
        }
        index[i] = 0;
    }
    return 0;
}

static void
release(attention_call *call)
{
    for (int which = 0; which < OPERANDS; which++) {
        Py_XDECREF(call->operands[which]);
    }
}

/* A matrix from a row on, and one in new memory. */
static matrices
from_row(matrices x, npy_intp row)
{
    x.data += row * x.row;
    return x;
}

static matrices
in_rows(char *data, npy_intp columns, npy_intp item)
{
    return (matrices){data, 0, columns * item, item};
}

/* How many keys the queries before `stop` see. */
static npy_intp
seen_by(const attention_call *call, npy_intp stop)
{
    return call->is_causal && stop < call->keys ? stop : call->keys;
}

/* Write the weights of some queries, in rows `pitch` elements apart, and their logarithms. */
static void
weigh(
    const ufunc_loop *loop, const attention_call *call, npy_intp start, npy_intp rows,
    npy_intp pitch, char *scores, char *logarithms)
{
    const softmax_kernels *kernels = kernels_in_force->softmax;
    npy_intp first = seen_by(call, start + 1), seen = seen_by(call, start + rows);
    double scale = call->scale;
    multiply_matrices(
        loop, (product_sizes){1, rows, call->features, seen},
        from_row(call->head[QUERY], start), call->head[TURNED_KEY],
        in_rows(scores, pitch, call->head[QUERY].column));
    if (call->operands[MASK] != NULL) {
        matrices mask = from_row(call->head[MASK], start);
        int is_truth = PyArray_TYPE(call->operands[MASK]) == NPY_BOOL;
        RELEASED(
            rows * seen,
            kernels->cover[call->precision](
                scores, mask.data, mask.row, mask.column, is_truth, scale, rows, pitch, seen));
        scale = 1;
    }
    RELEASED(
        rows * pitch,
        kernels->weigh[call->precision](
            scores, logarithms, scale, rows, pitch, first, call->is_causal, seen));
}

/* Write the results of one head. */
static void
attend(
    const ufunc_loop *loop, const attention_call *call, const workspace *room, char *logarithms)
{
    npy_intp item = call->head[QUERY].column, rows;
    for (npy_intp start = 0; start < call->queries; start += rows) {
        rows = call->queries - start < room->rows ? call->queries - start : room->rows;
        npy_intp seen = seen_by(call, start + rows), pitch = (seen + PITCH - 1) / PITCH * PITCH;
        weigh(loop, call, start, rows, pitch, room->scores, logarithms + start * item);
        multiply_matrices(
            loop, (product_sizes){1, rows, seen, call->width}, in_rows(room->scores, pitch, item),
            call->head[VALUE], from_row(call->head[MEANS], start));
    }
}

/* to += from; to *= factor. */
static void
accumulate(int precision, char *to, const char *from, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        if (precision == 0) {
            ((float *)to)[i] += ((const float *)from)[i];
        }
        else {
            ((double *)to)[i] += ((const double *)from)[i];
        }
    }
}

static void
rescale(int precision, char *to, double factor, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        if (precision == 0) {
            ((float *)to)[i] *= (float)factor;
        }
        else {
            ((double *)to)[i] *= factor;
        }
    }
}

/* Write the gradients of one head's queries, and add those of its keys and values; those of queries
 * and keys are not scaled yet. */
static void
attend_backward(
    const ufunc_loop *loop, const attention_call *call, const workspace *room, char *to_query,
    char *to_key, char *to_value)
{
    softmax_kernel *backward = kernels_in_force->softmax->of[call->precision][SOFTMAX_BACKWARD];
    npy_intp item = call->head[QUERY].column, features = call->features, width = call->width, rows;
    for (npy_intp start = 0; start < call->queries; start += rows) {
        rows = call->queries - start < room->rows ? call->queries - start : room->rows;
        npy_intp seen = seen_by(call, start + rows);
        matrices weights = in_rows(room->scores, seen, item);
        matrices slopes = in_rows(room->slopes, seen, item);
        matrices grad = from_row(call->head[GRAD], start);
        weigh(loop, call, start, rows, seen, room->scores, room->logarithms);
        multiply_matrices(
            loop, (product_sizes){1, rows, width, seen}, grad, call->head[TURNED_VALUE],
            in_rows(room->grads, seen, item));
        RELEASED(
            rows * seen, backward(room->slopes, room->grads, room->scores, rows, seen, 1));
        multiply_matrices(
            loop, (product_sizes){1, rows, seen, features}, slopes, call->head[KEY],
            in_rows(to_query + start * features * item, features, item));
        multiply_matrices(
            loop, (product_sizes){1, seen, rows, features}, transposed(slopes),
            from_row(call->head[QUERY], start), in_rows(room->product, features, item));
        accumulate(call->precision, to_key, room->product, seen * features);
        multiply_matrices(
            loop, (product_sizes){1, seen, rows, width}, transposed(weights), grad,
            in_rows(room->product, width, item));
        accumulate(call->precision, to_value, room->product, seen * width);
    }
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

/* The transposes of matrices, which are copied for many queries. */
static PyArrayObject *
turned(PyArrayObject *array, npy_intp queries)
{
    int last = PyArray_NDIM(array) - 1;
    PyArrayObject *own = queries < MANY_QUERIES
                             ? for_blas(array)
                             : (PyArrayObject *)Py_NewRef((PyObject *)array);
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

/* Read a mask that may be absent. Return whether it is one for the scores; 0 may have an exception. */
static int
read_mask(PyObject *given, PyArrayObject *query, attention_call *call)
{
    if (!is_given(given)) {
        return 1;
    }
    PyArrayObject *mask = plain_array(given);
    int ndim = PyArray_NDIM(query), type = call->precision ? NPY_DOUBLE : NPY_FLOAT;
    if (mask == NULL || PyArray_NDIM(mask) > ndim ||
        (PyArray_TYPE(mask) != NPY_BOOL && PyArray_TYPE(mask) != type)) {
        return 0;
    }
    for (int i = 0, own = PyArray_NDIM(mask) - ndim; i < ndim; i++, own++) {
        npy_intp size = i == ndim - 1 ? call->keys : PyArray_DIM(query, i);
        npy_intp dim = own < 0 ? 1 : PyArray_DIM(mask, own);
        if (dim != 1 && dim != size) {
            return 0;
        }
    }
    mask = PyArray_ISBEHAVED_RO(mask) ? (PyArrayObject *)Py_NewRef(given) : in_c_order(given);
    for (int i = 0, own = PyArray_NDIM(mask) - ndim; mask != NULL && i < ndim; i++, own++) {
        int is_spread = own < 0 || PyArray_DIM(mask, own) == 1;
        call->mask_strides[i] = is_spread ? 0 : PyArray_STRIDE(mask, own);
    }
    call->operands[MASK] = mask;
    return mask != NULL;
}

/* Whether the means lie in memory as the queries of several heads do, not in C order: as the rule of
 * the operator in `kernel_support/result_orders.py` says. */
static int
follows_queries(PyObject *const *arguments)
{
    PyArrayObject *query = (PyArrayObject *)arguments[0], *key = (PyArrayObject *)arguments[1];
    PyArrayObject *value = (PyArrayObject *)arguments[2], *mask = plain_array(arguments[5]);
    npy_intp item = PyArray_ITEMSIZE(query);
    return PyArray_NDIM(query) == 4 && (mask == NULL || PyArray_NDIM(mask) % 2 == 0) && PyArray_DIM(query, 3) == PyArray_DIM(value, 3) &&
           PyArray_STRIDE(query, 3) == item && PyArray_STRIDE(key, 3) == item &&
           PyArray_STRIDE(value, 3) == item && !PyArray_IS_C_CONTIGUOUS(query);
}

/* Read the sizes of a call, of which none is 0, and its mask. Return whether it is one that this
 * computes; 0 may have an exception. */
static int
read_attention(
    PyObject *const *operands, PyObject *is_causal, PyObject *mask, PyObject *scale,
    attention_call *call)
{
    PyObject *first = operands[0], *second = operands[1], *third = operands[2];
    PyArrayObject *query = (PyArrayObject *)first, *key = (PyArrayObject *)second;
    PyArrayObject *value = (PyArrayObject *)third;
    call->precision = precision_of(first);
    if (call->precision < 0 || precision_of(second) != call->precision ||
        precision_of(third) != call->precision || PyArray_NDIM(query) < 2 ||
        !have_same_heads(first, second) || !have_same_heads(first, third) ||
        !read_optional_flag(is_causal, &call->is_causal)) {
        return 0;
    }
    int last = PyArray_NDIM(query) - 1;
    call->queries = PyArray_DIM(query, last - 1);
    call->features = PyArray_DIM(query, last);
    call->keys = PyArray_DIM(key, last - 1);
    call->width = PyArray_DIM(value, last);
    call->scale = 1 / sqrt((double)call->features);
    return PyArray_DIM(key, last) == call->features &&
           PyArray_DIM(value, last - 1) == call->keys && PyArray_SIZE(query) > 0 &&
           PyArray_SIZE(value) > 0 && (!is_given(scale) || read_number(scale, &call->scale)) &&
           read_mask(mask, query, call);
}

/* Find memory for as many queries as fit: for `blocks` of scores, and for a product if it is more
 * than one. Return 0, or -1 with an exception. */
static int
make_room(workspace *room, const attention_call *call, npy_intp item, int blocks)
{
    npy_intp pitch = (call->keys + PITCH - 1) / PITCH * PITCH, fitting = MOST_SCORES / pitch;
    room->rows = fitting < 1 ? 1 : fitting < call->queries ? fitting : call->queries;
    npy_intp block = room->rows * pitch * item;
    npy_intp wide = call->features < call->width ? call->width : call->features;
    npy_intp more = blocks > 1 ? call->keys * wide * item : 0;
    room->scores = PyMem_RawMalloc((size_t)(blocks * block + more + room->rows * item));
    if (room->scores == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    room->grads = room->scores + block;
    room->slopes = room->grads + block;
    room->product = room->scores + blocks * block;
    room->logarithms = room->product + more;
    return 0;
}

/* _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, attn_mask,
 * scale): means, logarithms. */
COMPUTE(attention)
{
    attention_call call = {0};
    ufunc_loop loop;
    double dropout = 0;
    if ((arguments[3] != NULL && !read_number(arguments[3], &dropout)) || dropout != 0 ||
        !read_attention(arguments, arguments[4], arguments[5], arguments[6], &call)) {
        return NULL;
    }
    PyArrayObject *query = (PyArrayObject *)arguments[0];
    int follows = follows_queries(arguments);
    if (follows && !says_its_order(query)) {
        release(&call);
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS], index[NPY_MAXDIMS] = {0}, item = PyArray_ITEMSIZE(query);
    int ndim = PyArray_NDIM(query);
    memcpy(shape, PyArray_DIMS(query), (size_t)ndim * sizeof *shape);
    shape[ndim - 1] = call.width;
    call.operands[QUERY] = for_blas(query);
    call.operands[TURNED_KEY] = turned((PyArrayObject *)arguments[1], call.queries);
    call.operands[VALUE] = for_blas((PyArrayObject *)arguments[2]);
    results made = {
        .failed = call.operands[QUERY] == NULL || call.operands[TURNED_KEY] == NULL ||
                  call.operands[VALUE] == NULL};
    PyArrayObject *means =
        follows ? (PyArrayObject *)PyArray_NewLikeArray(query, NPY_KEEPORDER, NULL, 0)
                : new_array(ndim, shape, call.precision);
    call.operands[MEANS] = (PyArrayObject *)Py_XNewRef((PyObject *)means);
    add_result(&made, means);
    char *logarithms = add_result(&made, new_array(ndim - 1, shape, call.precision));
    workspace room = {0};
    made.failed = made.failed || !find_product_loop(call.precision ? NPY_DOUBLE : NPY_FLOAT, &loop) ||
                  make_room(&room, &call, item, 1) < 0;
    for (int more = !made.failed; more; more = advance_head(&call, index)) {
        set_head(&call, index);
        attend(&loop, &call, &room, logarithms);
        logarithms += call.queries * item;
    }
    PyMem_RawFree(room.scores);
    release(&call);
    return tuple_of(&made);
}

/* A new array of zeros with the shape of another one. */
static PyArrayObject *
zeros_like(PyObject *array)
{
    PyArrayObject *model = (PyArrayObject *)array;
    return (PyArrayObject *)PyArray_Zeros(
        PyArray_NDIM(model), PyArray_DIMS(model),
        (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(model)), 0);
}

/* attention_backward(grad, query, key, value, output, logsumexp, is_causal, attn_mask, scale, mask):
 * the gradients of query, key and value, and None. That of a mask is the reference's. */
COMPUTE(attention_backward)
{
    attention_call call = {0};
    ufunc_loop loop;
    int asked[4];
    PyArrayObject *query = (PyArrayObject *)arguments[1], *grad = (PyArrayObject *)arguments[0];
    if (!read_flags(arguments[9], 4, asked) ||
        !read_attention(arguments + 1, arguments[6], arguments[7], arguments[8], &call)) {
        return NULL;
    }
    int last = PyArray_NDIM(query) - 1;
    PyArrayObject *mask = call.operands[MASK];
    if ((asked[3] && mask != NULL && PyArray_TYPE(mask) != NPY_BOOL) ||
        precision_of(arguments[0]) != call.precision ||
        !have_same_heads(arguments[0], arguments[1]) ||
        PyArray_DIM(grad, last - 1) != call.queries || PyArray_DIM(grad, last) != call.width) {
        release(&call);
        return NULL;
    }
    npy_intp index[NPY_MAXDIMS] = {0}, item = PyArray_ITEMSIZE(query);
    call.operands[GRAD] = for_blas(grad);
    call.operands[QUERY] = for_blas(query);
    call.operands[KEY] = for_blas((PyArrayObject *)arguments[2]);
    call.operands[TURNED_KEY] = turned((PyArrayObject *)arguments[2], call.queries);
    call.operands[TURNED_VALUE] = turned((PyArrayObject *)arguments[3], call.queries);
    results made = {
        .failed = call.operands[GRAD] == NULL || call.operands[QUERY] == NULL ||
                  call.operands[KEY] == NULL || call.operands[TURNED_KEY] == NULL ||
                  call.operands[TURNED_VALUE] == NULL};
    char *to_query = add_result(&made, empty_like(arguments[1]));
    char *to_key = add_result(&made, zeros_like(arguments[2]));
    char *to_value = add_result(&made, zeros_like(arguments[3]));
    add_none(&made);
    workspace room = {0};
    made.failed = made.failed || !find_product_loop(call.precision ? NPY_DOUBLE : NPY_FLOAT, &loop) ||
                  make_room(&room, &call, item, 3) < 0;
    for (int more = !made.failed; more; more = advance_head(&call, index)) {
        set_head(&call, index);
        attend_backward(&loop, &call, &room, to_query, to_key, to_value);
        rescale(call.precision, to_query, call.scale, call.queries * call.features);
        rescale(call.precision, to_key, call.scale, call.keys * call.features);
        to_query += call.queries * call.features * item;
        to_key += call.keys * call.features * item;
        to_value += call.keys * call.width * item;
    }
    PyMem_RawFree(room.scores);
    release(&call);
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
    {"attention_backward",
     "table/attention.c",
     __LINE__,
     attention_backward,
     {"grad", "query", "key", "value", "output", "logsumexp", "is_causal", "attn_mask", "scale",
      "mask"},
     0,
     "5xxxx"},
    {NULL},
};

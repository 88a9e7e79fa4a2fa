/* Integers and truth values by the inner loops of NumPy's ufuncs, for the tables of operators. */
#include "integers.h"

#define NAME_OF(name) #name,
static const char *const names[] = {INTEGER_LOOPS_OF(NAME_OF)};

/* Found with the first use, and kept. */
static PyUFuncObject *ufuncs[INTEGER_LOOPS];
static ufunc_loop loops[INTEGER_LOOPS][NPY_ULONGLONG + 1];

static const ufunc_loop *
loop_of(integer_loop which, int type)
{
    ufunc_loop *loop = &loops[which][type];
    return loop->function != NULL || find_ufunc_loop(names[which], &ufuncs[which], type, loop)
               ? loop
               : NULL;
}

PyArrayObject *
integers_of(PyObject *object)
{
    PyArrayObject *array = plain_array(object);
    return array != NULL && PyArray_ISINTEGER(array) && PyArray_ISNOTSWAPPED(array) ? array : NULL;
}

PyArrayObject *
in_type(PyArrayObject *array, int type)
{
    if (type == NPY_BOOL && (PyArray_ISFLOAT(array) || PyArray_ISCOMPLEX(array))) {
        PyObject *zero = PyLong_FromLong(0); /* NumPy warns of NaN that becomes a truth value */
        PyObject *truth =
            zero == NULL ? NULL : PyObject_RichCompare((PyObject *)array, zero, Py_NE);
        Py_XDECREF(zero);
        return truth == NULL ? NULL : (PyArrayObject *)PyArray_EnsureArray(truth);
    }
    return (PyArrayObject *)PyArray_FromArray(
        array, PyArray_DescrFromType(type),
        NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Write what nothing is combined into: of an extremum the number that no other exceeds. */
static void
fill_with_nothing(integer_loop which, PyArrayObject *made)
{
    npy_intp item = PyArray_ITEMSIZE(made), size = PyArray_SIZE(made);
    npy_uint64 least = PyArray_ISSIGNED(made) ? (npy_uint64)1 << (8 * item - 1) : 0;
    npy_uint64 nothing = which == INTEGER_maximum   ? least
                         : which == INTEGER_minimum ? (PyArray_ISBOOL(made) ? 1 : least - 1)
                                                    : which == INTEGER_multiply ||
                                                          which == INTEGER_logical_and;
    for (npy_intp i = 0; i < size; i++) { /* the first bytes are the lowest */
        memcpy(PyArray_BYTES(made) + i * item, &nothing, (size_t)item);
    }
}

/* Set the axes of an array and of what its elements are combined into, from the outermost in memory to
 * the innermost; those that one step goes through are one. Return their number, which is at least 1. */
static int
join_axes(
    PyArrayObject *array, const npy_intp *steps, npy_intp *dims, npy_intp *from, npy_intp *to)
{
    int count = 0, last = 0;
    dims[0] = 1;
    from[0] = to[0] = 0;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        npy_intp stride = PyArray_STRIDE(array, axis);
        if (PyArray_DIM(array, axis) == 1) {
            continue;
        }
        int at = count++;
        for (; at > 0 && Py_ABS(from[at - 1]) < Py_ABS(stride); at--) {
            dims[at] = dims[at - 1];
            from[at] = from[at - 1];
            to[at] = to[at - 1];
        }
        dims[at] = PyArray_DIM(array, axis);
        from[at] = stride;
        to[at] = steps[axis];
    }
    for (int i = 1; i < count; i++) {
        int is_one = from[last] == from[i] * dims[i] && to[last] == to[i] * dims[i];
        npy_intp size = is_one ? dims[last] * dims[i] : dims[i];
        last += !is_one;
        dims[last] = size;
        from[last] = from[i];
        to[last] = to[i];
    }
    return last + 1;
}

/* Combine the elements of an array into others, whose steps are 0 along the axes that are reduced. */
static void
combine(const ufunc_loop *loop, PyArrayObject *array, char *to, const npy_intp *steps)
{
    npy_intp dims[NPY_MAXDIMS], from[NPY_MAXDIMS], into[NPY_MAXDIMS], index[NPY_MAXDIMS] = {0};
    int inner = join_axes(array, steps, dims, from, into) - 1, at;
    char *element = PyArray_BYTES(array);
    do {
        char *data[] = {to, element, to};
        npy_intp row[] = {into[inner], from[inner], into[inner]};
        loop->function(data, &dims[inner], row, loop->data);
        for (at = inner - 1; at >= 0; at--) {
            element += from[at];
            to += into[at];
            if (++index[at] < dims[at]) {
                break;
            }
            element -= dims[at] * from[at];
            to -= dims[at] * into[at];
            index[at] = 0;
        }
    } while (at >= 0);
}

PyObject *
reduce_integers(integer_loop which, PyArrayObject *array, npy_uint64 mask, int keeps)
{
    const ufunc_loop *loop = loop_of(which, PyArray_TYPE(array));
    npy_intp shape[NPY_MAXDIMS], steps[NPY_MAXDIMS] = {0}, step = PyArray_ITEMSIZE(array);
    int ndim = PyArray_NDIM(array), kept = 0;
    for (int i = 0; i < ndim; i++) {
        int is_reduced = mask >> i & 1;
        if (!is_reduced || keeps) {
            shape[kept++] = is_reduced ? 1 : PyArray_DIM(array, i);
        }
    }
    for (int i = ndim - 1; i >= 0; i--) {
        int is_reduced = mask >> i & 1;
        steps[i] = is_reduced ? 0 : step;
        step *= is_reduced ? 1 : PyArray_DIM(array, i);
    }
    PyArrayObject *made =
        loop == NULL ? NULL : (PyArrayObject *)PyArray_EMPTY(kept, shape, PyArray_TYPE(array), 0);
    if (made != NULL) {
        fill_with_nothing(which, made);
    }
    if (made != NULL && PyArray_SIZE(array) > 0) {
        RELEASED(PyArray_SIZE(array), combine(loop, array, PyArray_BYTES(made), steps));
    }
    return (PyObject *)made;
}

/* ---- elements -------------------------------------------------------------------------------- */

static void
run_loop(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const ufunc_loop *loop = context;
    loop->function((char **)data, &length, steps, loop->data);
}

/* The loops of a quotient that is rounded towards zero, and the size of an element. */
typedef struct {
    const ufunc_loop *rest, *difference, *quotient;
    npy_intp item;
} truncation;

/* The quotient of what the remainder leaves, which is exact. */
static void
run_truncation(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const truncation *call = context;
    npy_int64 room[ROOM];
    char *part = (char *)room;
    npy_intp item = call->item;
    for (npy_intp start = 0; start < length; start += ROOM) {
        npy_intp count = length - start < ROOM ? length - start : ROOM;
        char *x = data[0] + start * steps[0], *y = data[1] + start * steps[1];
        char *rest[] = {x, y, part}, *whole[] = {x, part, part};
        char *last[] = {part, y, data[2] + start * steps[2]};
        run_loop(call->rest, rest, (npy_intp[]){steps[0], steps[1], item}, count);
        run_loop(call->difference, whole, (npy_intp[]){steps[0], item, item}, count);
        run_loop(call->quotient, last, (npy_intp[]){item, steps[1], steps[2]}, count);
    }
}

/* An array of no axes with a number of the dtype of another one; NULL for a number that it cannot
 * hold. A new reference. */
static PyArrayObject *
number_of_dtype(PyObject *number, PyArrayObject *array)
{
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(array), 0, NULL);
    if (made != NULL && PyArray_SETITEM(made, PyArray_DATA(made), number) < 0) {
        PyErr_Clear();
        Py_CLEAR(made);
    }
    return made;
}

/* Compute a function of rows for integers and what `of_integers` takes beside them. */
static PyObject *
evaluate_integers(
    row_function *function, const void *context, int divides, PyArrayObject *first,
    PyObject *other, PyObject *out)
{
    int type = PyArray_TYPE(first);
    PyArrayObject *second = other != NULL && PyLong_CheckExact(other)
                                ? number_of_dtype(other, first)
                                : (PyArrayObject *)Py_XNewRef((PyObject *)integers_of(other));
    PyArrayObject *to = integers_of(out);
    PyObject *made = NULL;
    if (context != NULL && second != NULL && PyArray_TYPE(second) == type &&
        (out == NULL || (to != NULL && PyArray_TYPE(to) == type && PyArray_ISWRITEABLE(to))) &&
        (!divides || PyArray_CountNonzero(second) == PyArray_SIZE(second))) {
        row_call call = {function, context, 2, {first, second}, to, PyArray_DESCR(first), 1};
        made = compute_rows(&call);
    }
    Py_XDECREF(second);
    return made;
}

PyObject *
of_integers(integer_loop which, PyObject *first, PyObject *other, PyObject *out)
{
    PyArrayObject *array = integers_of(first);
    return array == NULL ? NULL
                         : evaluate_integers(
                               run_loop, loop_of(which, PyArray_TYPE(array)),
                               which >= INTEGER_remainder && which <= INTEGER_floor_divide, array,
                               other, out);
}

PyObject *
truncated_quotient(PyObject *first, PyObject *other, PyObject *out)
{
    PyArrayObject *array = integers_of(first);
    if (array == NULL) {
        return NULL;
    }
    int type = PyArray_TYPE(array);
    truncation call = {
        loop_of(INTEGER_fmod, type), loop_of(INTEGER_subtract, type),
        loop_of(INTEGER_floor_divide, type), PyArray_ITEMSIZE(array)};
    return call.rest == NULL || call.difference == NULL || call.quotient == NULL
               ? NULL
               : evaluate_integers(run_truncation, &call, 1, array, other, out);
}

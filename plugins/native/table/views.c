/* Views: arrays over the memory of another, with other sizes and strides.
 *
 * They are those that NumPy makes for the reference: the same sizes, strides, flags and base. What
 * NumPy or the reference refuses is the reference's, and views of arrays whose strides must be
 * looked at, as new ones without elements have none. */
#include "table.h"

/* A view of `base` as another dtype, to which it takes the reference, that begins `offset` bytes behind
 * it; strides may be NULL for C order. */
static PyObject *
view_as(PyArrayObject *base, PyArray_Descr *dtype, int ndim, const npy_intp *dims,
        const npy_intp *strides, npy_intp offset)
{
    PyObject *view = PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, dims, strides, PyArray_BYTES(base) + offset,
        PyArray_FLAGS(base) & NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL) {
        return NULL;
    }
    Py_INCREF(base);
    if (PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)base) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    return view;
}

static PyObject *
view_of(PyArrayObject *base, int ndim, const npy_intp *dims, const npy_intp *strides,
        npy_intp offset)
{
    PyArray_Descr *dtype = PyArray_DESCR(base);
    Py_INCREF(dtype);
    return view_as(base, dtype, ndim, dims, strides, offset);
}

COMPUTE(view)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], known = 1;
    int ndim = read_ints(arguments[1], dims), unknown = -1;
    if (x == NULL || ndim < 0 || !PyArray_IS_C_CONTIGUOUS(x)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE(x);
    for (int i = 0; i < ndim; i++) {
        if (dims[i] == -1 && unknown < 0) {
            unknown = i;
        }
        else if (dims[i] <= 0 || known > size / dims[i]) {
            return NULL;
        }
        else {
            known *= dims[i];
        }
    }
    if (unknown >= 0) {
        dims[unknown] = size / known;
        known *= dims[unknown];
    }
    if (known != size || size == 0) {
        return NULL;
    }
    /* Axes of one element may have any stride, which the new ones follow. */
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int i = PyArray_NDIM(x) - 1; i >= 0; i--) {
        if (PyArray_STRIDE(x, i) != step) {
            return NULL;
        }
        step *= PyArray_DIM(x, i);
    }
    return view_of(x, ndim, dims, NULL, 0);
}

/* Pairs in memory of NumPy's own that begin a whole number of pairs behind its start. */
COMPUTE(pairs_as_complex)
{
    int precision = precision_of(arguments[0]);
    PyArrayObject *x = (PyArrayObject *)arguments[0], *owner = x;
    int last = precision < 0 ? -1 : PyArray_NDIM(x) - 1;
    if (last < 0 || PyArray_DIM(x, last) != 2 || PyArray_STRIDE(x, last) != PyArray_ITEMSIZE(x) ||
        PyArray_SIZE(x) == 0) {
        return NULL;
    }
    while (PyArray_BASE(owner) != NULL && PyArray_CheckExact(PyArray_BASE(owner))) {
        owner = (PyArrayObject *)PyArray_BASE(owner);
    }
    npy_intp pair = 2 * PyArray_ITEMSIZE(x), offset = PyArray_BYTES(x) - PyArray_BYTES(owner);
    for (int i = 0; i < last; i++) {
        offset |= PyArray_DIM(x, i) == 1 ? 0 : PyArray_STRIDE(x, i) % pair;
    }
    return PyArray_BASE(owner) != NULL || offset % pair != 0
               ? NULL
               : view_as(
                     x, PyArray_DescrFromType(precision ? NPY_CDOUBLE : NPY_CFLOAT), last,
                     PyArray_DIMS(x), PyArray_STRIDES(x), 0);
}

/* A view of all of an array, which is the array itself: its tensor is another. */
COMPUTE(alias)
{
    return Py_XNewRef((PyObject *)plain_array(arguments[0]));
}

COMPUTE(t)
{
    PyArrayObject *x = plain_array(arguments[0]);
    return x == NULL || PyArray_NDIM(x) > 2 ? NULL : PyArray_Transpose(x, NULL);
}

COMPUTE(transpose)
{
    PyArrayObject *x = plain_array(arguments[0]);
    int first, second;
    if (x == NULL || PyArray_NDIM(x) == 0 || !read_axis(arguments[1], PyArray_NDIM(x), &first) ||
        !read_axis(arguments[2], PyArray_NDIM(x), &second)) {
        return NULL;
    }
    return PyArray_SwapAxes(x, first, second);
}

COMPUTE(permute)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp order[NPY_MAXDIMS];
    int seen[NPY_MAXDIMS] = {0};
    int count = read_ints(arguments[1], order);
    if (x == NULL || count != PyArray_NDIM(x)) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        order[i] += order[i] < 0 ? count : 0;
        if (order[i] < 0 || order[i] >= count || seen[order[i]]++) {
            return NULL;
        }
    }
    PyArray_Dims dims = {order, count};
    return PyArray_Transpose(x, &dims);
}

/* Copy sizes and strides of `x` to `ndim` axes: without axis `dropped`, if that is one. */
static int
copy_axes(PyArrayObject *x, int dropped, npy_intp *dims, npy_intp *strides)
{
    int ndim = 0;
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        if (i != dropped) {
            dims[ndim] = PyArray_DIM(x, i);
            strides[ndim++] = PyArray_STRIDE(x, i);
        }
    }
    return ndim;
}

COMPUTE(select_index)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], index;
    int axis;
    if (x == NULL || PyArray_NDIM(x) == 0 || !read_axis(arguments[1], PyArray_NDIM(x), &axis) ||
        !read_int(arguments[2], &index)) {
        return NULL;
    }
    npy_intp size = PyArray_DIM(x, axis);
    if (index < -size || index >= size) {
        return NULL;
    }
    index += index < 0 ? size : 0;
    int ndim = copy_axes(x, axis, dims, strides);
    return view_of(x, ndim, dims, strides, index * PyArray_STRIDE(x, axis));
}

/* Read an end of a slice: `absent` for None and for none. */
static int
read_end(PyObject *object, npy_intp absent, npy_intp *value)
{
    if (!is_given(object)) {
        *value = absent;
        return 1;
    }
    return read_int(object, value);
}

COMPUTE(slice)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], start, end, step = 1;
    int axis = 0, is_read = x != NULL && PyArray_NDIM(x) > 0;
    is_read = is_read && read_optional_axis(arguments[1], PyArray_NDIM(x), &axis);
    is_read = is_read && read_end(arguments[2], 0, &start);
    is_read = is_read && read_end(arguments[3], PY_SSIZE_T_MAX, &end);
    is_read = is_read && (arguments[4] == NULL || read_int(arguments[4], &step));
    if (!is_read || step <= 0 || PyArray_SIZE(x) == 0) {
        return NULL;
    }
    int ndim = copy_axes(x, -1, dims, strides);
    dims[axis] = PySlice_AdjustIndices(dims[axis], &start, &end, step);
    npy_intp offset = start * strides[axis];
    if (dims[axis] == 0 || __builtin_mul_overflow(strides[axis], step, &strides[axis])) {
        return NULL;
    }
    return view_of(x, ndim, dims, strides, offset);
}

COMPUTE(unsqueeze)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int axis;
    if (x == NULL || PyArray_NDIM(x) >= NPY_MAXDIMS || PyArray_SIZE(x) == 0 ||
        !read_axis(arguments[1], PyArray_NDIM(x) + 1, &axis)) {
        return NULL;
    }
    int ndim = copy_axes(x, -1, dims, strides) + 1;
    for (int i = ndim - 1; i > axis; i--) {
        dims[i] = dims[i - 1];
        strides[i] = strides[i - 1];
    }
    dims[axis] = 1;
    strides[axis] = axis + 1 < ndim ? dims[axis + 1] * strides[axis + 1] : PyArray_ITEMSIZE(x);
    return view_of(x, ndim, dims, strides, 0);
}

COMPUTE(squeeze)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; x != NULL && i < PyArray_NDIM(x); i++) {
        if (PyArray_DIM(x, i) != 1) {
            dims[ndim] = PyArray_DIM(x, i);
            strides[ndim++] = PyArray_STRIDE(x, i);
        }
    }
    return x == NULL ? NULL : view_of(x, ndim, dims, strides, 0);
}

COMPUTE(squeeze_axis)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int axis;
    if (x == NULL || PyArray_NDIM(x) == 0 || !read_axis(arguments[1], PyArray_NDIM(x), &axis)) {
        return NULL;
    }
    int ndim = copy_axes(x, PyArray_DIM(x, axis) == 1 ? axis : -1, dims, strides);
    return view_of(x, ndim, dims, strides, 0);
}

COMPUTE(expand)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int ndim = read_ints(arguments[1], dims), repeats = 0, is_kept = 0;
    int added = x == NULL ? 0 : ndim - PyArray_NDIM(x);
    if (x == NULL || added < 0 || PyArray_SIZE(x) == 0) {
        return NULL;
    }
    for (int i = ndim - 1; i >= 0; i--) {
        npy_intp own = i < added ? 1 : PyArray_DIM(x, i - added);
        npy_intp inner = i == ndim - 1 ? PyArray_ITEMSIZE(x) : dims[i + 1] * strides[i + 1];
        if (dims[i] == -1 && i >= added) {
            dims[i] = own;
            is_kept = 1;
        }
        if (dims[i] != own && (dims[i] <= 0 || own != 1)) {
            return NULL;
        }
        repeats |= dims[i] > own;
        strides[i] = dims[i] != own ? 0 : i < added ? inner : PyArray_STRIDE(x, i - added);
    }
    if (!is_addressable(ndim, dims, PyArray_ITEMSIZE(x))) {
        return NULL;
    }
    if (added == 0 && !repeats && !is_kept) { /* as the reference */
        return Py_NewRef((PyObject *)x);
    }
    PyObject *view = view_of(x, ndim, dims, strides, 0);
    if (view != NULL && repeats) {
        PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
    }
    return view;
}

COMPUTE(diagonal)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], offset = 0;
    int first = 0, second = 1, ndim = 0;
    if (x == NULL || PyArray_NDIM(x) < 2 || PyArray_SIZE(x) == 0 ||
        (arguments[1] != NULL && !read_int(arguments[1], &offset)) ||
        !read_optional_axis(arguments[2], PyArray_NDIM(x), &first) ||
        !read_optional_axis(arguments[3], PyArray_NDIM(x), &second) || first == second) {
        return NULL;
    }
    npy_intp rows = PyArray_DIM(x, first), columns = PyArray_DIM(x, second);
    if (offset <= -rows || offset >= columns) {
        return NULL;
    }
    npy_intp start = offset < 0 ? -offset * PyArray_STRIDE(x, first)
                                : offset * PyArray_STRIDE(x, second);
    rows += offset < 0 ? offset : 0;
    columns -= offset > 0 ? offset : 0;
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        if (i != first && i != second) {
            dims[ndim] = PyArray_DIM(x, i);
            strides[ndim++] = PyArray_STRIDE(x, i);
        }
    }
    dims[ndim] = rows < columns ? rows : columns;
    strides[ndim++] = PyArray_STRIDE(x, first) + PyArray_STRIDE(x, second);
    return view_of(x, ndim, dims, strides, start);
}

/* The array that owns the memory of another, and has no gaps; NULL for other memory. */
static PyArrayObject *
owner_of(PyArrayObject *array)
{
    while (PyArray_BASE(array) != NULL && PyArray_CheckExact(PyArray_BASE(array))) {
        array = (PyArrayObject *)PyArray_BASE(array);
    }
    return PyArray_BASE(array) == NULL && PyArray_ISONESEGMENT(array) ? array : NULL;
}

COMPUTE(as_strided)
{
    PyArrayObject *x = plain_array(arguments[0]), *owner = x == NULL ? NULL : owner_of(x);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], first;
    int ndim = read_ints(arguments[1], dims), repeats = 0;
    if (owner == NULL || ndim < 0 || read_ints(arguments[2], strides) != ndim ||
        PyArray_ISWRITEABLE(x) != PyArray_ISWRITEABLE(owner)) {
        return NULL;
    }
    npy_intp item = PyArray_ITEMSIZE(x), whole = PyArray_NBYTES(owner) / item;
    npy_intp own = (PyArray_BYTES(x) - PyArray_BYTES(owner)) / item;
    if (!is_given(arguments[3])) {
        first = own;
    }
    else if (!read_size(arguments[3], &first)) {
        return NULL;
    }
    npy_intp last = first;
    for (int i = 0; i < ndim; i++) {
        npy_intp reach;
        if (dims[i] <= 0 || strides[i] < 0 ||
            __builtin_mul_overflow(dims[i] - 1, strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last)) {
            return NULL;
        }
        repeats |= strides[i] == 0 && dims[i] > 1;
    }
    if (last >= whole || !is_addressable(ndim, dims, item)) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) { /* those of axes of one element may go beyond the memory */
        if (__builtin_mul_overflow(strides[i], item, &strides[i])) {
            return NULL;
        }
    }
    PyObject *view = view_of(x, ndim, dims, strides, (first - own) * item);
    if (view != NULL && repeats) {
        PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
    }
    return view;
}

COMPUTE(unfold)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], size, step;
    int axis;
    if (x == NULL || PyArray_NDIM(x) == 0 || PyArray_NDIM(x) >= NPY_MAXDIMS ||
        PyArray_SIZE(x) == 0 || !read_axis(arguments[1], PyArray_NDIM(x), &axis) ||
        arguments[2] == NULL || !read_size(arguments[2], &size) || arguments[3] == NULL ||
        !read_int(arguments[3], &step) || step <= 0 || size > PyArray_DIM(x, axis)) {
        return NULL;
    }
    int ndim = copy_axes(x, -1, dims, strides);
    dims[ndim] = size;
    strides[ndim] = strides[axis];
    dims[axis] = (dims[axis] - size) / step + 1;
    if (__builtin_mul_overflow(strides[axis], step, &strides[axis])) {
        return NULL;
    }
    return view_of(x, ndim + 1, dims, strides, 0);
}

/* ---- lists of views -------------------------------------------------------------------------- */

/* Make a list of views of pieces of an axis, of `lengths`, or of all one length if `length` is not
 * negative; without the axis if it is dropped. */
static PyObject *
pieces_of(
    PyArrayObject *x, int axis, npy_intp count, npy_intp length, const npy_intp *lengths, int drop)
{
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], start = 0;
    npy_intp size = PyArray_DIM(x, axis), step = PyArray_STRIDE(x, axis);
    int ndim = copy_axes(x, drop ? axis : -1, dims, strides);
    /* Views without elements are the reference's: NumPy's strides and flags are not the tensor's. */
    PyObject *pieces = PyArray_SIZE(x) == 0 ? NULL : PyList_New(count);
    for (npy_intp i = 0; pieces != NULL && i < count; i++) {
        npy_intp own = length < 0 ? lengths[i] : length < size - start ? length : size - start;
        if (!drop) {
            dims[axis] = own;
        }
        PyObject *piece = own == 0 ? NULL : view_of(x, ndim, dims, strides, start * step);
        if (piece == NULL) {
            Py_CLEAR(pieces);
            break;
        }
        PyList_SET_ITEM(pieces, i, piece);
        start += own;
    }
    return pieces;
}

enum { LONGEST_LIST = 1 << 16 }; /* for longer ones the reference asks for room first */

COMPUTE(unbind)
{
    PyArrayObject *x = plain_array(arguments[0]);
    int axis = 0;
    if (x == NULL || PyArray_NDIM(x) == 0 ||
        !read_optional_axis(arguments[1], PyArray_NDIM(x), &axis) ||
        PyArray_DIM(x, axis) > LONGEST_LIST) {
        return NULL;
    }
    return pieces_of(x, axis, PyArray_DIM(x, axis), 1, NULL, 1);
}

COMPUTE(split)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp length;
    int axis = 0;
    if (x == NULL || PyArray_NDIM(x) == 0 || arguments[1] == NULL ||
        !read_int(arguments[1], &length) || length <= 0 ||
        !read_optional_axis(arguments[2], PyArray_NDIM(x), &axis)) {
        return NULL;
    }
    npy_intp size = PyArray_DIM(x, axis), count = size == 0 ? 1 : (size - 1) / length + 1;
    return count > LONGEST_LIST ? NULL : pieces_of(x, axis, count, length, NULL, 0);
}

COMPUTE(split_with_sizes)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp lengths[NPY_MAXDIMS], whole = 0;
    int axis = 0, count = read_ints(arguments[1], lengths);
    if (x == NULL || PyArray_NDIM(x) == 0 || count < 0 ||
        !read_optional_axis(arguments[2], PyArray_NDIM(x), &axis)) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (lengths[i] < 0 || __builtin_add_overflow(whole, lengths[i], &whole)) {
            return NULL;
        }
    }
    return whole != PyArray_DIM(x, axis) ? NULL : pieces_of(x, axis, count, -1, lengths, 0);
}

#define ROW(operator, compute, ...) {operator, "table/views.c", __LINE__, compute, {__VA_ARGS__}}
const kernel_row view_rows[] = {
    ROW("alias", alias, "self"),
    ROW("detach", alias, "self"),
    ROW("view", view, "self", "size"),
    ROW("_unsafe_view", view, "self", "size"),
    ROW("view_as_complex", pairs_as_complex, "self"),
    ROW("reshape", view, "x", "shape"),
    ROW("t", t, "self"),
    ROW("transpose.int", transpose, "self", "dim0", "dim1"),
    ROW("permute", permute, "self", "dims"),
    ROW("select.int", select_index, "self", "dim", "index"),
    ROW("slice.Tensor", slice, "self", "dim", "start", "end", "step"),
    ROW("unsqueeze", unsqueeze, "self", "dim"),
    ROW("squeeze", squeeze, "self"),
    ROW("squeeze.dim", squeeze_axis, "self", "dim"),
    ROW("expand", expand, "self", "size", "implicit"),
    ROW("diagonal", diagonal, "self", "offset", "dim1", "dim2"),
    ROW("as_strided", as_strided, "self", "size", "stride", "storage_offset"),
    ROW("unfold", unfold, "self", "dimension", "size", "step"),
    ROW("unbind.int", unbind, "self", "dim"),
    ROW("split.Tensor", split, "self", "split_size", "dim"),
    ROW("split_with_sizes", split_with_sizes, "self", "split_sizes", "dim"),
    {NULL},
};

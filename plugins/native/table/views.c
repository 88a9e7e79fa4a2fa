/* Views: arrays over the memory of another, with other sizes and strides.
 *
 * They are those that NumPy makes for the reference: the same sizes, strides, flags and base. What
 * NumPy or the reference refuses is the reference's, and views of arrays whose strides must be
 * looked at. */
#include "table.h"

static PyArrayObject *
plain_array(PyObject *object)
{
    return object != NULL && PyArray_CheckExact(object) ? (PyArrayObject *)object : NULL;
}

/* A view of `base` that begins `offset` bytes behind it; strides may be NULL for C order. */
static PyObject *
view_of(PyArrayObject *base, int ndim, const npy_intp *dims, const npy_intp *strides,
        npy_intp offset)
{
    PyArray_Descr *dtype = PyArray_DESCR(base);
    Py_INCREF(dtype);
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
view(PyObject *const *arguments, int variant)
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
    /* Of the shape that it has NumPy keeps the strides, also those of axes of one element. */
    int is_same = unknown < 0 && ndim == PyArray_NDIM(x) &&
                  PyArray_CompareLists(dims, PyArray_DIMS(x), ndim);
    return view_of(x, ndim, dims, is_same ? PyArray_STRIDES(x) : NULL, 0);
}

static PyObject *
t(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = plain_array(arguments[0]);
    return x == NULL || PyArray_NDIM(x) > 2 ? NULL : PyArray_Transpose(x, NULL);
}

static PyObject *
transpose(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = plain_array(arguments[0]);
    int first, second;
    if (x == NULL || PyArray_NDIM(x) == 0 || !read_axis(arguments[1], PyArray_NDIM(x), &first) ||
        !read_axis(arguments[2], PyArray_NDIM(x), &second)) {
        return NULL;
    }
    return PyArray_SwapAxes(x, first, second);
}

static PyObject *
permute(PyObject *const *arguments, int variant)
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

static PyObject *
select_index(PyObject *const *arguments, int variant)
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

static PyObject *
slice(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], start, end, step = 1;
    int axis = 0, is_read = x != NULL && PyArray_NDIM(x) > 0;
    is_read = is_read && (arguments[1] == NULL || read_axis(arguments[1], PyArray_NDIM(x), &axis));
    is_read = is_read && read_end(arguments[2], 0, &start);
    is_read = is_read && read_end(arguments[3], PY_SSIZE_T_MAX, &end);
    is_read = is_read && (arguments[4] == NULL || read_int(arguments[4], &step));
    if (!is_read || step <= 0) {
        return NULL;
    }
    int ndim = copy_axes(x, -1, dims, strides);
    dims[axis] = PySlice_AdjustIndices(dims[axis], &start, &end, step);
    npy_intp offset = dims[axis] == 0 ? 0 : start * strides[axis];
    strides[axis] *= dims[axis] == 0 ? 1 : step;
    return view_of(x, ndim, dims, strides, offset);
}

static PyObject *
unsqueeze(PyObject *const *arguments, int variant)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int axis;
    if (x == NULL || PyArray_NDIM(x) >= NPY_MAXDIMS ||
        !read_axis(arguments[1], PyArray_NDIM(x) + 1, &axis)) {
        return NULL;
    }
    int ndim = copy_axes(x, -1, dims, strides) + 1;
    for (int i = ndim - 1; i > axis; i--) {
        dims[i] = dims[i - 1];
        strides[i] = strides[i - 1];
    }
    dims[axis] = 1;
    strides[axis] = 0;
    return view_of(x, ndim, dims, strides, 0);
}

static PyObject *
squeeze(PyObject *const *arguments, int variant)
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

static PyObject *
squeeze_axis(PyObject *const *arguments, int variant)
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

#define ROW(operator, compute, ...) {operator, "table/views.c", __LINE__, compute, {__VA_ARGS__}}
const kernel_row view_rows[] = {
    ROW("view", view, "self", "size"),
    ROW("t", t, "self"),
    ROW("transpose.int", transpose, "self", "dim0", "dim1"),
    ROW("permute", permute, "self", "dims"),
    ROW("select.int", select_index, "self", "dim", "index"),
    ROW("slice.Tensor", slice, "self", "dim", "start", "end", "step"),
    ROW("unsqueeze", unsqueeze, "self", "dim"),
    ROW("squeeze", squeeze, "self"),
    ROW("squeeze.dim", squeeze_axis, "self", "dim"),
    {NULL},
};

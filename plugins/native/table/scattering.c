/* Elements and slices written at indices into a copy, or combined there, as operators. */
#include "indexed.h"

#include <math.h>

/* What combines elements with those of x, or, for -1, writes them; NULL where nothing does. */
static indexed_kernel *
writer(PyArrayObject *x, int combination)
{
    int type = type_of(x);
    if (combination < 0) {
        return kernels_in_force->indexing->write[size_class(x)];
    }
    return type < 0 ? NULL : kernels_in_force->indexing->combine[combination][type];
}

/* Hold `values` of the dtype of x, broadcast to the axes of a call. Return whether they fit. */
static int
take_values(indexed_call *call, PyArrayObject *values)
{
    indexed_elements *elements = &call->elements;
    int ahead = elements->ndim - PyArray_NDIM(values);
    for (int i = 0; i < PyArray_NDIM(values); i++) {
        npy_intp size = PyArray_DIM(values, i);
        if (ahead < 0 || (size != 1 && size != elements->shape[ahead + i])) {
            return 0;
        }
        elements->value_steps[ahead + i] = size == 1 ? 0 : PyArray_STRIDE(values, i);
    }
    call->values = (PyArrayObject *)Py_NewRef((PyObject *)values);
    return 1;
}

/* The copy of x that values are written to; NULL where the call has none, or no kernel, or an index
 * is out of range. Takes the call's references. */
static PyObject *
write_values(indexed_call *call, indexed_kernel *kernel)
{
    PyObject *result = NULL;
    if (kernel != NULL && call->x != NULL && call->index != NULL && call->values != NULL &&
        count_values(&call->elements) > 0 && run_indexed(kernel, call)) {
        result = Py_NewRef((PyObject *)call->x);
    }
    release_call(call);
    return result;
}

static int
have_one_dtype(PyObject *x, PyObject *values)
{
    return is_array(x) && is_array(values) &&
           PyArray_EquivTypes(
               PyArray_DESCR((PyArrayObject *)x), PyArray_DESCR((PyArrayObject *)values));
}

/* A copy of x with values written at a key, or combined with the elements there. */
static PyObject *
written_at_key(PyObject *x, PyObject *indices, PyObject *values, int combination)
{
    index_key key;
    if (!have_one_dtype(x, values) || !read_key(indices, (PyArrayObject *)x, &key)) {
        return NULL;
    }
    indexed_kernel *kernel = writer((PyArrayObject *)x, combination);
    indexed_call call = {.x = kernel == NULL ? NULL : copy_of((PyArrayObject *)x)};
    if (call.x == NULL || !take_key(&call, &key) ||
        !take_values(&call, (PyArrayObject *)values)) {
        release_call(&call);
        return NULL;
    }
    return write_values(&call, kernel);
}

/* The mask of the first axes of x that is all there is in a list of indices; NULL for others. */
static PyArrayObject *
only_mask(PyArrayObject *x, PyObject *indices)
{
    if (indices == NULL || !(PyList_CheckExact(indices) || PyTuple_CheckExact(indices)) ||
        PySequence_Fast_GET_SIZE(indices) != 1) {
        return NULL;
    }
    PyArrayObject *mask = plain_array(PySequence_Fast_GET_ITEM(indices, 0));
    return mask != NULL && PyArray_ISBOOL(mask) && PyArray_NDIM(mask) > 0 &&
                   PyArray_NDIM(mask) <= PyArray_NDIM(x) &&
                   PyArray_CompareLists(
                       PyArray_DIMS(mask), PyArray_DIMS(x), PyArray_NDIM(mask))
               ? mask
               : NULL;
}

/* A copy of x with values, of at most one axis, written where a mask is true. */
static PyObject *
written_at_mask(PyArrayObject *x, PyArrayObject *mask, PyObject *values)
{
    int ndim = PyArray_NDIM((PyArrayObject *)values);
    PyObject *made = ndim > 1 ? NULL : (PyObject *)copy_of(x);
    if (made == NULL) {
        return NULL;
    }
    if (ndim == 0 && PyArray_NDIM(mask) == PyArray_NDIM(x)) {
        PyObject *done = PyArray_PutMask((PyArrayObject *)made, values, (PyObject *)mask);
        if (done == NULL) {
            Py_CLEAR(made);
        }
        Py_XDECREF(done);
    }
    else if (PyObject_SetItem(made, (PyObject *)mask, values) < 0) {
        PyErr_Clear(); /* values that do not fit are the reference's */
        Py_CLEAR(made);
    }
    return made;
}

/* index_put(self, indices, values, accumulate) */
COMPUTE(index_put)
{
    int adds;
    if (!read_optional_flag(arguments[3], &adds)) {
        return NULL;
    }
    PyArrayObject *mask = !adds && have_one_dtype(arguments[0], arguments[2])
                              ? only_mask((PyArrayObject *)arguments[0], arguments[1])
                              : NULL;
    if (mask != NULL) {
        return written_at_mask((PyArrayObject *)arguments[0], mask, arguments[2]);
    }
    return written_at_key(arguments[0], arguments[1], arguments[2], adds ? INDEXED_ADD : -1);
}

/* The number of a name among some, -1 if it is none of them. */
static int
number_of(PyObject *name, const char *const *names, int count)
{
    for (int i = 0; name != NULL && PyUnicode_Check(name) && i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* arrays.index_combine(array, key, values, function) */
COMPUTE(index_combine)
{
    static const char *const functions[] = {"add", "multiply", "maximum", "minimum"};
    int combination = number_of(arguments[3], functions, INDEXED_COMBINATIONS);
    if (combination < 0) {
        return NULL;
    }
    return written_at_key(arguments[0], arguments[1], arguments[2], combination);
}

/* A copy of x with slices, which are broadcast, added or written at an index along an axis. Takes
 * the reference to the copy. */
static PyObject *
with_slices(
    PyArrayObject *copy, int axis, PyObject *index, int wraps, PyObject *slices, int combination)
{
    PyObject *line = as_vector(index);
    indexed_call call = {.x = copy, .index = line == NULL ? NULL : as_index(line)};
    Py_XDECREF(line);
    if (copy != NULL && call.index != NULL) {
        replace_axis(&call.elements, copy, axis, call.index);
        count_along(&call.elements, PyArray_STRIDE(copy, axis), PyArray_DIM(copy, axis), wraps);
        if (take_values(&call, (PyArrayObject *)slices)) {
            return write_values(&call, writer(copy, combination));
        }
    }
    release_call(&call);
    return NULL;
}

/* Whether arguments are an array, one of its axes, and a vector of indices. */
static int
read_line(PyObject *const *arguments, int *axis)
{
    PyObject *x = arguments[0], *index = arguments[2];
    return is_array(x) && is_index(index) && PyArray_NDIM((PyArrayObject *)x) > 0 &&
           PyArray_NDIM((PyArrayObject *)index) <= 1 &&
           read_axis(arguments[1], PyArray_NDIM((PyArrayObject *)x), axis);
}

/* Whether an array has a slice for each index along an axis of x, and its dtype. */
static int
are_slices(PyObject *source, PyObject *x, int axis, PyObject *index)
{
    PyArrayObject *array = (PyArrayObject *)x, *slices = (PyArrayObject *)source;
    int fits = have_one_dtype(x, source) && PyArray_NDIM(array) == PyArray_NDIM(slices);
    for (int i = 0; fits && i < PyArray_NDIM(array); i++) {
        npy_intp size =
            i == axis ? PyArray_SIZE((PyArrayObject *)index) : PyArray_DIM(array, i);
        fits = PyArray_DIM(slices, i) == size;
    }
    return fits;
}

/* index_add(self, dim, index, source, alpha) */
COMPUTE(index_add)
{
    int axis;
    double alpha = 1;
    PyObject *x = arguments[0], *index = arguments[2], *source = arguments[3];
    if (!read_line(arguments, &axis) || !are_slices(source, x, axis, index) ||
        type_of((PyArrayObject *)x) < 0 ||
        (arguments[4] != NULL && !read_number(arguments[4], &alpha)) || alpha != 1) {
        return NULL;
    }
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)x, NPY_CORDER);
    return with_slices(copy, axis, index, 0, source, INDEXED_ADD);
}

/* arrays.index_add(array, dim, index, source) */
COMPUTE(array_index_add)
{
    int axis;
    PyObject *x = arguments[0], *source = arguments[3];
    if (!read_line(arguments, &axis) || !have_one_dtype(x, source) ||
        type_of((PyArrayObject *)x) < 0) {
        return NULL;
    }
    return with_slices(
        copy_of((PyArrayObject *)x), axis, arguments[2], 0, source, INDEXED_ADD);
}

/* index_copy(self, dim, index, source) */
COMPUTE(index_copy)
{
    int axis;
    PyObject *x = arguments[0], *index = arguments[2], *source = arguments[3];
    if (!read_line(arguments, &axis) || PyArray_ITEMSIZE((PyArrayObject *)index) != 8 ||
        !are_slices(source, x, axis, index)) {
        return NULL;
    }
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)x, NPY_CORDER);
    return with_slices(copy, axis, index, 0, source, -1);
}

PyArrayObject *
number_like(PyArrayObject *x, PyObject *number)
{
    union {
        float single;
        double whole;
        npy_int64 integer;
        npy_int32 small;
        npy_bool flag;
    } value;
    double real;
    npy_intp integer;
    switch (type_of(x)) {
    case INDEXED_FLOAT32:
        if (!read_number(number, &real) || isinf((float)real) != isinf(real)) {
            return NULL;
        }
        value.single = (float)real;
        break;
    case INDEXED_FLOAT64:
        if (!read_number(number, &value.whole)) {
            return NULL;
        }
        break;
    case INDEXED_INT64:
    case INDEXED_INT32:
        if (!read_int(number, &integer)) {
            return NULL;
        }
        if (PyArray_ITEMSIZE(x) == 8) {
            value.integer = integer;
        }
        else if (integer < NPY_MIN_INT32 || integer > NPY_MAX_INT32) {
            return NULL;
        }
        else {
            value.small = (npy_int32)integer;
        }
        break;
    case INDEXED_BOOL:
        value.flag = number == Py_True;
        if (number != Py_True && number != Py_False) {
            return NULL;
        }
        break;
    default:
        return NULL;
    }
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(x), 0, NULL);
    if (made != NULL) {
        memcpy(PyArray_DATA(made), &value, (size_t)PyArray_ITEMSIZE(made));
    }
    return made;
}

/* What fills elements: an array of no axes with the dtype of x, or a number. A new reference. */
static PyObject *
filling(PyObject *x, PyObject *value)
{
    if (value != NULL && PyArray_Check(value)) {
        int fits = have_one_dtype(x, value) && PyArray_NDIM((PyArrayObject *)value) == 0;
        return fits ? Py_NewRef(value) : NULL;
    }
    return is_array(x) ? (PyObject *)number_like((PyArrayObject *)x, value) : NULL;
}

/* index_fill(self, dim, index, value) */
COMPUTE(index_fill)
{
    int axis;
    PyObject *x = arguments[0], *index = arguments[2];
    if (!read_line(arguments, &axis) || PyArray_ITEMSIZE((PyArrayObject *)index) != 8) {
        return NULL;
    }
    PyObject *value = filling(x, arguments[3]), *result = NULL;
    if (value != NULL) {
        result = with_slices(copy_of((PyArrayObject *)x), axis, index, 1, value, -1);
        Py_DECREF(value);
    }
    return result;
}

/* What scatter and its kin compute. Values are the part of an array that begins with the index, or
 * are broadcast to it. */
static PyObject *
scattered(
    PyArrayObject *copy, int axis, PyObject *index, PyObject *source, int broadcast,
    int combination)
{
    indexed_call call = {.x = copy, .index = copy == NULL ? NULL : as_index(index)};
    if (call.index == NULL) {
        release_call(&call);
        return NULL;
    }
    follow_index(&call.elements, copy, axis, call.index);
    if (!broadcast) {
        call.values = (PyArrayObject *)Py_NewRef(source);
        for (int i = 0; i < call.elements.ndim; i++) {
            call.elements.value_steps[i] = PyArray_STRIDE(call.values, i);
        }
    }
    else if (!take_values(&call, (PyArrayObject *)source)) {
        release_call(&call);
        return NULL;
    }
    return write_values(&call, writer(copy, combination));
}

/* The same for the arguments self, dim, index and src. */
COMPUTE_OF(scattered_part, combination)
{
    int axis;
    PyObject *x = arguments[0], *index = arguments[2], *source = arguments[3];
    if (!read_places(x, arguments[1], index, &axis) || !have_one_dtype(x, source) ||
        !is_within((PyArrayObject *)index, (PyArrayObject *)source, -1) ||
        writer((PyArrayObject *)x, combination) == NULL) {
        return NULL;
    }
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)x, NPY_CORDER);
    return scattered(copy, axis, index, source, 0, combination);
}

/* scatter.value(self, dim, index, value) */
COMPUTE(scatter_value)
{
    int axis;
    PyObject *x = arguments[0], *index = arguments[2];
    if (!read_places(x, arguments[1], index, &axis)) {
        return NULL;
    }
    PyObject *value = filling(x, arguments[3]), *result = NULL;
    if (value != NULL) {
        PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)x, NPY_CORDER);
        result = scattered(copy, axis, index, value, 1, -1);
        Py_DECREF(value);
    }
    return result;
}

/* scatter_reduce.two(self, dim, index, src, reduce, include_self) */
COMPUTE(scatter_reduce)
{
    static const char *const reductions[] = {"sum", "prod", "amax", "amin"};
    int combination = number_of(arguments[4], reductions, INDEXED_COMBINATIONS);
    if (combination < 0 || (arguments[5] != NULL && arguments[5] != Py_True)) {
        return NULL;
    }
    return scattered_part(arguments, combination);
}

/* arrays.scatter(array, dim, index, source, accumulate): the source is broadcast to the index. */
COMPUTE(array_scatter)
{
    int axis, adds;
    PyObject *x = arguments[0], *index = arguments[2], *source = arguments[3];
    if (!read_places(x, arguments[1], index, &axis) || !have_one_dtype(x, source) ||
        !read_flag(arguments[4], &adds) ||
        writer((PyArrayObject *)x, adds ? INDEXED_ADD : -1) == NULL) {
        return NULL;
    }
    return scattered(
        copy_of((PyArrayObject *)x), axis, index, source, 1, adds ? INDEXED_ADD : -1);
}

/* A copy of x with the elements of `source`, in C order, written or added at an index of x as one
 * axis in C order. */
static PyObject *
put_at(PyObject *x, PyObject *index, PyObject *source, int combination)
{
    PyArrayObject *array = (PyArrayObject *)x;
    indexed_call call = {.x = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER)};
    call.index = call.x == NULL ? NULL : in_c_order(index);
    call.values = call.index == NULL ? NULL : in_c_order(source);
    npy_intp item = PyArray_ITEMSIZE(array);
    add_axis(&call.elements, PyArray_SIZE((PyArrayObject *)index), 0, 8);
    call.elements.value_steps[0] = item;
    count_along(&call.elements, item, PyArray_SIZE(array), 1);
    return write_values(&call, writer(array, combination));
}

/* put(self, index, source, accumulate) */
COMPUTE(put)
{
    int adds;
    PyObject *x = arguments[0], *index = arguments[1], *source = arguments[2];
    if (!have_one_dtype(x, source) || !is_index(index) ||
        PyArray_ITEMSIZE((PyArrayObject *)index) != 8 ||
        PyArray_SIZE((PyArrayObject *)index) != PyArray_SIZE((PyArrayObject *)source) ||
        !read_optional_flag(arguments[3], &adds)) {
        return NULL;
    }
    PyObject *result = put_at(x, index, source, adds ? INDEXED_ADD : -1);
    if (result == NULL || PyArray_IS_C_CONTIGUOUS((PyArrayObject *)x)) {
        return result;
    }
    PyArrayObject *ordered = copy_of((PyArrayObject *)x);
    if (ordered != NULL && PyArray_CopyInto(ordered, (PyArrayObject *)result) < 0) {
        Py_CLEAR(ordered);
    }
    Py_DECREF(result);
    return (PyObject *)ordered;
}

/* masked_scatter(self, mask, source), of one shape */
COMPUTE(masked_scatter)
{
    PyObject *x = arguments[0], *mask = arguments[1], *source = arguments[2];
    if (!have_one_dtype(x, source) || !is_array(mask) ||
        PyArray_TYPE((PyArrayObject *)mask) != NPY_BOOL || !have_one_shape(x, mask)) {
        return NULL;
    }
    PyObject *flat = PyArray_Ravel((PyArrayObject *)mask, NPY_CORDER);
    PyObject *found = flat == NULL ? NULL : PyArray_Nonzero((PyArrayObject *)flat);
    PyObject *places = found == NULL ? NULL : PyTuple_GET_ITEM(found, 0), *result = NULL;
    if (places != NULL && is_index(places) &&
        PyArray_SIZE((PyArrayObject *)places) <= PyArray_SIZE((PyArrayObject *)source)) {
        result = put_at(x, places, source, -1);
    }
    Py_XDECREF(flat);
    Py_XDECREF(found);
    return result;
}

/* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
 * rows that come to the padding are added and cleared. */
COMPUTE(embedding_backward)
{
    PyArrayObject *grad = (PyArrayObject *)arguments[0], *index = (PyArrayObject *)arguments[1];
    npy_intp shape[2], padding;
    int scales;
    if (!is_array(arguments[0]) || !is_index(arguments[1]) || type_of(grad) < 0 ||
        PyArray_NDIM(grad) == 0 || !read_size(arguments[2], &shape[0]) ||
        !read_int(arguments[3], &padding) || !read_flag(arguments[4], &scales) || scales) {
        return NULL;
    }
    npy_intp count = PyArray_SIZE(index), item = PyArray_ITEMSIZE(grad);
    shape[1] = PyArray_DIM(grad, PyArray_NDIM(grad) - 1);
    if (count == 0 || shape[1] == 0 || shape[0] > NPY_MAX_INTP / item / shape[1] ||
        PyArray_SIZE(grad) / shape[1] != count) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DESCR(grad);
    Py_INCREF(dtype);
    indexed_call call = {.x = (PyArrayObject *)PyArray_Zeros(2, shape, dtype, 0)};
    PyArrayObject *places = call.x == NULL ? NULL : as_index(arguments[1]);
    if (places != NULL) {
        call.index = in_c_order((PyObject *)places);
        call.values = in_c_order(arguments[0]);
        Py_DECREF(places);
    }
    add_axis(&call.elements, count, 0, 8);
    add_axis(&call.elements, shape[1], item, 0);
    call.elements.value_steps[0] = item * shape[1];
    call.elements.value_steps[1] = item;
    count_along(&call.elements, item * shape[1], shape[0], 0);
    PyObject *result = write_values(&call, writer(grad, INDEXED_ADD));
    if (result != NULL && padding >= 0 && padding < shape[0]) {
        char *row = PyArray_BYTES((PyArrayObject *)result) + padding * item * shape[1];
        memset(row, 0, (size_t)(item * shape[1]));
    }
    return result;
}

#define VARIANT(operator, compute, variant, ...)                                                  \
    {operator, "table/scattering.c", __LINE__, compute, {__VA_ARGS__}, 1, NULL, variant}
#define ROW(operator, compute, ...) VARIANT(operator, compute, 0, __VA_ARGS__)
const kernel_row scattering_rows[] = {
    ROW("embedding_dense_backward", embedding_backward, "grad_output", "indices", "num_weights",
        "padding_idx", "scale_grad_by_freq"),
    ROW("index_put", index_put, "self", "indices", "values", "accumulate"),
    ROW("index_add", index_add, "self", "dim", "index", "source", "alpha"),
    ROW("index_copy", index_copy, "self", "dim", "index", "source"),
    ROW("index_fill.int_Scalar", index_fill, "self", "dim", "index", "value"),
    ROW("index_fill.int_Tensor", index_fill, "self", "dim", "index", "value"),
    ROW("put", put, "self", "index", "source", "accumulate"),
    ROW("masked_scatter", masked_scatter, "self", "mask", "source"),
    VARIANT("scatter.src", scattered_part, -1, "self", "dim", "index", "src"),
    ROW("scatter.value", scatter_value, "self", "dim", "index", "value"),
    VARIANT("scatter_add", scattered_part, INDEXED_ADD, "self", "dim", "index", "src"),
    ROW("scatter_reduce.two", scatter_reduce, "self", "dim", "index", "src", "reduce",
        "include_self"),
    /* of the array backend, for kernels in Python */
    ROW("arrays.index_put", index_put, "array", "key", "values", "accumulate"),
    ROW("arrays.index_combine", index_combine, "array", "key", "values", "function"),
    ROW("arrays.index_add", array_index_add, "array", "dim", "index", "source"),
    ROW("arrays.scatter", array_scatter, "array", "dim", "index", "source", "accumulate"),
    {NULL},
};

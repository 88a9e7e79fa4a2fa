/* Arguments of operators with indices: arrays, indices along axes, keys of several. */
#include "indexed.h"
#include "layouts.h"

void
release_call(indexed_call *call)
{
    Py_CLEAR(call->x);
    Py_CLEAR(call->index);
    Py_CLEAR(call->values);
}

int
size_class(PyArrayObject *array)
{
    npy_intp size = PyArray_ITEMSIZE(array);
    if (PyDataType_REFCHK(PyArray_DESCR(array)) || !PyArray_ISNOTSWAPPED(array)) {
        return -1;
    }
    for (int i = 0; i < 5; i++) {
        if (size == (npy_intp)1 << i) {
            return i;
        }
    }
    return -1;
}

int
type_of(PyArrayObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    int size = size_class(array), half = half_of(array);
    if (half >= 0) {
        return half ? INDEXED_BFLOAT16 : INDEXED_FLOAT16;
    }
    if (size < 0 || dtype->type_num >= NPY_USERDEF) {
        return -1;
    }
    switch (dtype->kind) {
    case 'b':
        return INDEXED_BOOL;
    case 'i':
        return INDEXED_INT8 + size;
    case 'u':
        return INDEXED_UINT8 + size;
    case 'f':
        return size == 2 || size == 3 ? INDEXED_FLOAT32 + size - 2 : -1;
    case 'c':
        return size == 3 || size == 4 ? INDEXED_COMPLEX64 + size - 3 : -1;
    default:
        return -1;
    }
}

int
is_array(PyObject *object)
{
    return object != NULL && PyArray_CheckExact(object) && size_class((PyArrayObject *)object) >= 0;
}

int
is_index(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return is_array(object) && PyArray_DESCR(array)->kind == 'i' && PyArray_ITEMSIZE(array) >= 4;
}

PyArrayObject *
as_index(PyObject *index)
{
    if (PyArray_ITEMSIZE((PyArrayObject *)index) == 8) {
        return (PyArrayObject *)Py_NewRef(index);
    }
    return (PyArrayObject *)PyArray_FROM_OTF(index, NPY_INT64, NPY_ARRAY_DEFAULT);
}

PyObject *
as_vector(PyObject *index)
{
    npy_intp one = 1;
    PyArray_Dims vector = {&one, 1};
    return PyArray_NDIM((PyArrayObject *)index) == 1
               ? Py_NewRef(index)
               : PyArray_Newshape((PyArrayObject *)index, &vector, NPY_CORDER);
}

PyArrayObject *
copy_of(PyArrayObject *array)
{
    return says_its_order(array) ? (PyArrayObject *)PyArray_NewCopy(array, NPY_KEEPORDER)
                                 : laid_like(array, array);
}

void
add_axis(indexed_elements *elements, npy_intp size, npy_intp x, npy_intp index)
{
    int axis = elements->ndim++;
    elements->shape[axis] = size;
    elements->x_steps[axis] = x;
    elements->index_steps[axis] = index;
    elements->value_steps[axis] = 0;
}

void
count_along(indexed_elements *elements, npy_intp step, npy_intp size, int wraps)
{
    elements->along = step;
    elements->size = size;
    elements->wrap = wraps ? size : 0;
}

npy_intp
count_values(const indexed_elements *elements)
{
    npy_intp count = 1;
    for (int i = 0; i < elements->ndim; i++) {
        count *= elements->shape[i];
    }
    return count;
}

int
run_indexed(indexed_kernel *kernel, indexed_call *call)
{
    int in_range;
    indexed_elements *elements = &call->elements;
    elements->values = PyArray_BYTES(call->values);
    elements->x = call->x == NULL ? elements->values : PyArray_BYTES(call->x);
    elements->index = PyArray_BYTES(call->index);
    RELEASED(count_values(elements), in_range = kernel(elements));
    return in_range;
}

/* ---- indices along an axis ------------------------------------------------------------------- */

void
replace_axis(indexed_elements *elements, PyArrayObject *x, int axis, PyArrayObject *index)
{
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        if (i != axis) {
            add_axis(elements, PyArray_DIM(x, i), PyArray_STRIDE(x, i), 0);
            continue;
        }
        for (int j = 0; j < PyArray_NDIM(index); j++) {
            add_axis(elements, PyArray_DIM(index, j), 0, PyArray_STRIDE(index, j));
        }
    }
    count_along(elements, PyArray_STRIDE(x, axis), PyArray_DIM(x, axis), 0);
}

int
is_within(PyArrayObject *inner, PyArrayObject *outer, int but)
{
    int fits = PyArray_NDIM(inner) == PyArray_NDIM(outer);
    for (int i = 0; fits && i < PyArray_NDIM(inner); i++) {
        fits = i == but || PyArray_DIM(inner, i) <= PyArray_DIM(outer, i);
    }
    return fits;
}

void
follow_index(indexed_elements *elements, PyArrayObject *x, int axis, PyArrayObject *index)
{
    for (int i = 0; i < PyArray_NDIM(index); i++) {
        add_axis(
            elements, PyArray_DIM(index, i), i == axis ? 0 : PyArray_STRIDE(x, i),
            PyArray_STRIDE(index, i));
    }
    count_along(elements, PyArray_STRIDE(x, axis), PyArray_DIM(x, axis), 0);
}

int
read_places(PyObject *x, PyObject *dim, PyObject *index, int *axis)
{
    return is_array(x) && is_index(index) && PyArray_NDIM((PyArrayObject *)x) > 0 &&
           PyArray_SIZE((PyArrayObject *)index) > 0 &&
           read_axis(dim, PyArray_NDIM((PyArrayObject *)x), axis) &&
           is_within((PyArrayObject *)index, (PyArrayObject *)x, *axis);
}

/* ---- several indices ------------------------------------------------------------------------- */

/* Whether an object stands for all of an axis: None, or a slice without bounds. */
static int
is_whole(PyObject *object)
{
    if (object == Py_None || !PySlice_Check(object)) {
        return object == Py_None;
    }
    PySliceObject *slice = (PySliceObject *)object;
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

int
read_key(PyObject *object, PyArrayObject *x, index_key *key)
{
    if (object == NULL || !(PyTuple_Check(object) || PyList_CheckExact(object)) ||
        PySequence_Fast_GET_SIZE(object) > PyArray_NDIM(x)) {
        return 0;
    }
    *key = (index_key){.first = -1};
    for (int i = 0; i < (int)PySequence_Fast_GET_SIZE(object); i++) {
        PyObject *each = PySequence_Fast_GET_ITEM(object, i);
        if (is_whole(each)) {
            continue;
        }
        if (!is_index(each)) {
            return 0;
        }
        key->of[i] = (PyArrayObject *)each;
        key->first = key->first < 0 ? i : key->first;
        key->last = i;
        key->count++;
    }
    return key->count > 0;
}

/* The shape that the indices of a key broadcast to. Return its number of axes, or -1. */
static int
shape_of_key(const index_key *key, npy_intp *shape)
{
    int ndim = 0;
    for (int i = key->first; i <= key->last; i++) {
        if (key->of[i] != NULL && PyArray_NDIM(key->of[i]) > ndim) {
            ndim = PyArray_NDIM(key->of[i]);
        }
    }
    for (int j = 0; j < ndim; j++) {
        shape[j] = 1;
        for (int i = key->first; i <= key->last; i++) {
            int own = key->of[i] == NULL ? -1 : j - (ndim - PyArray_NDIM(key->of[i]));
            npy_intp size = own < 0 ? 1 : PyArray_DIM(key->of[i], own);
            if (size != 1 && shape[j] != 1 && shape[j] != size) {
                return -1;
            }
            shape[j] = size != 1 ? size : shape[j];
        }
    }
    return ndim;
}

/* How far elements of an array lie apart along an axis of a shape that it is broadcast to. */
static npy_intp
broadcast_step(PyArrayObject *array, int ndim, int axis)
{
    int own = axis - (ndim - PyArray_NDIM(array));
    return own < 0 || PyArray_DIM(array, own) == 1 ? 0 : PyArray_STRIDE(array, own);
}

/* Where the elements lie that several indices name, in bytes from the first of x, whose steps are
 * none of them negative; NULL with an exception, or without where one is out of range. */
static PyArrayObject *
offsets_of(const index_key *key, PyArrayObject *x, int ndim, const npy_intp *shape)
{
    indexed_call call = {0};
    call.values = (PyArrayObject *)PyArray_ZEROS(ndim, shape, NPY_INT64, 0);
    int in_range = call.values != NULL;
    for (int i = key->first; in_range && i <= key->last; i++) {
        if (key->of[i] == NULL) {
            continue;
        }
        call.elements.ndim = 0;
        Py_XSETREF(call.index, as_index((PyObject *)key->of[i]));
        for (int j = 0; call.index != NULL && j < ndim; j++) {
            add_axis(&call.elements, shape[j], 0, broadcast_step(call.index, ndim, j));
            call.elements.value_steps[j] = PyArray_STRIDE(call.values, j);
        }
        count_along(&call.elements, PyArray_STRIDE(x, i), PyArray_DIM(x, i), 1);
        in_range = call.index != NULL &&
                   run_indexed(kernels_in_force->indexing->add_offsets, &call);
    }
    PyArrayObject *offsets = in_range ? (PyArrayObject *)Py_NewRef(call.values) : NULL;
    release_call(&call);
    return offsets;
}

int
take_key(indexed_call *call, const index_key *key)
{
    PyArrayObject *x = call->x;
    npy_intp shape[NPY_MAXDIMS];
    int ndim = shape_of_key(key, shape), first = key->first;
    if (ndim < 0 || ndim + PyArray_NDIM(x) > MOST_INDEXED_AXES) {
        return 0;
    }
    if (key->last - key->first + 1 != key->count) {
        first = 0;
    }
    call->index = key->count == 1 ? as_index((PyObject *)key->of[key->first])
                                  : offsets_of(key, x, ndim, shape);
    if (call->index == NULL) {
        return 0;
    }
    for (int i = 0; i <= PyArray_NDIM(x); i++) {
        for (int j = 0; i == first && j < ndim; j++) {
            add_axis(&call->elements, shape[j], 0, PyArray_STRIDE(call->index, j));
        }
        if (i < PyArray_NDIM(x) && key->of[i] == NULL) {
            add_axis(&call->elements, PyArray_DIM(x, i), PyArray_STRIDE(x, i), 0);
        }
    }
    if (key->count == 1) {
        count_along(
            &call->elements, PyArray_STRIDE(x, key->first), PyArray_DIM(x, key->first), 1);
    }
    else {
        count_along(&call->elements, 1, NPY_MAX_INTP, 0);
    }
    return count_values(&call->elements) > 0;
}

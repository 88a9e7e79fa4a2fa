/* x[1, :, None, ...] as calls of the operators of views: what `_viewed` of the base library does; and
 * x[indices], x[mask], x[0, indices], x[...] = value as calls of the operators that index and write.
 *
 * Other indices and values, and those that do not fit, are left to the Python functions. */
#include "entry.h"
#include "slots.h"

#include <float.h>
#include <math.h>

enum { SELECT, SLICE, UNSQUEEZE, ALIAS, INDEX, FILL_NUMBER, FILL_TENSOR, COPY, INDEX_PUT };

/* The array of a plain tensor, a borrowed reference; NULL for other tensors. */
static PyArrayObject *
plain_array(const module_state *state, PyObject *tensor)
{
    PyObject *array = Py_TYPE(tensor) == state->tensor_type ? SLOT(tensor, state->tensor_array) : NULL;
    return array != NULL && PyArray_CheckExact(array) ? (PyArrayObject *)array : NULL;
}

/* Whether tensors are on the cpu. */
static int
is_on_cpu(const module_state *state, PyObject *tensor)
{
    PyObject *signature = SLOT(tensor, state->tensor_signature);
    return signature != NULL && has_bits(signature, state->cpu_bit) > 0;
}

static int
is_list_of_ints(PyObject *object)
{
    Py_ssize_t i = PyList_CheckExact(object) ? PyList_GET_SIZE(object) : 0;
    int is_list = i > 0;
    while (is_list && i > 0) {
        is_list = PyLong_CheckExact(PyList_GET_ITEM(object, --i));
    }
    return is_list;
}

/* Whether an object is a tensor of places along an axis, or a list of them. */
static int
are_places(const module_state *state, PyObject *object)
{
    if (is_list_of_ints(object)) {
        return 1;
    }
    PyArrayObject *array = plain_array(state, object);
    return array != NULL && PyArray_NDIM(array) > 0 && PyArray_TYPE(array) == NPY_INT64 &&
           is_on_cpu(state, object);
}

/* The result of an operator for a tensor and ints. */
static PyObject *
call_with_ints(PyObject *function, PyObject *tensor, const Py_ssize_t *ints, Py_ssize_t count)
{
    PyObject *args[5] = {tensor}, *result = NULL;
    Py_ssize_t made = 1;
    for (; made <= count; made++) {
        args[made] = PyLong_FromSsize_t(ints[made - 1]);
        if (args[made] == NULL) {
            goto done;
        }
    }
    result = PyObject_Vectorcall(function, args, (size_t)made, NULL);
done:
    while (--made > 0) {
        Py_XDECREF(args[made]);
    }
    return result;
}

/* Whether a part of a slice is None or a plain int that fits. */
static int
read_bound(PyObject *given, Py_ssize_t fallback, Py_ssize_t *bound)
{
    int overflow = given != Py_None && !PyLong_CheckExact(given);
    *bound = given == Py_None || overflow ? fallback : PyLong_AsLongAndOverflow(given, &overflow);
    return !overflow;
}

/* What a slice takes of a dimension; with `keep` the tensor itself if that is all of it. */
static PyObject *
sliced(PyObject *function, PyObject *tensor, Py_ssize_t size, Py_ssize_t dim, PyObject *item, int keep)
{
    PySliceObject *slice = (PySliceObject *)item;
    Py_ssize_t ints[4] = {dim};
    if (!read_bound(slice->start, 0, &ints[1]) ||
        !read_bound(slice->stop, PY_SSIZE_T_MAX, &ints[2]) ||
        !read_bound(slice->step, 1, &ints[3]) || ints[3] < 1) {
        return NULL;
    }
    if (keep && ints[3] == 1 && ints[1] == 0 && ints[2] >= size) {
        return Py_NewRef(tensor);
    }
    return call_with_ints(function, tensor, ints, 4);
}

/* The view that one item makes of dimension `*dim`, which becomes that of the next item. */
static PyObject *
view_by(const module_state *state, PyObject *functions, PyObject *view, PyObject *item, Py_ssize_t *dim,
        int keep)
{
    PyArrayObject *array = plain_array(state, view);
    if (array == NULL || *dim > PyArray_NDIM(array)) {
        return NULL;
    }
    Py_ssize_t ints[2] = {*dim};
    if (item == Py_None) {
        *dim += 1;
        return call_with_ints(PyTuple_GET_ITEM(functions, UNSQUEEZE), view, ints, 1);
    }
    if (*dim == PyArray_NDIM(array)) {
        return NULL;
    }
    Py_ssize_t size = PyArray_DIM(array, *dim);
    if (PySlice_Check(item)) {
        *dim += 1;
        return sliced(PyTuple_GET_ITEM(functions, SLICE), view, size, ints[0], item, keep);
    }
    if (!read_bound(item, 0, &ints[1]) || ints[1] < -size || ints[1] >= size) {
        return NULL;
    }
    return call_with_ints(PyTuple_GET_ITEM(functions, SELECT), view, ints, 2);
}

/* Put places, a tensor or a list, into a list as the tensor of a dimension, behind None for those before
 * it. Return -1 with an exception, or without one for ints that do not fit. */
static int
add_places(const module_state *state, PyObject *list, Py_ssize_t dim, PyObject *places)
{
    int status = 0;
    while (status == 0 && PyList_GET_SIZE(list) < dim) {
        status = PyList_Append(list, Py_None);
    }
    if (status < 0 || !PyList_CheckExact(places)) {
        return status < 0 ? -1 : PyList_Append(list, places);
    }
    PyObject *made = tensor_of_ints(state, places);
    status = made == NULL ? -1 : PyList_Append(list, made);
    Py_XDECREF(made);
    return status;
}

/* The view by ints, slices, None and one `...`; the tensor itself where these leave it whole. Of a
 * slice that is all of a dimension a view is made too, unless `keep`. Tensors of places among these
 * go to `list`, by dimension of the view. */
static PyObject *
viewed(const module_state *state, PyObject *functions, PyObject *tensor, PyObject *index, int keep,
       PyObject *list)
{
    PyArrayObject *array = plain_array(state, tensor);
    if (array == NULL) {
        return NULL;
    }
    int is_tuple = PyTuple_CheckExact(index), takes_places = is_on_cpu(state, tensor);
    PyObject *const *items = is_tuple ? PySequence_Fast_ITEMS(index) : &index;
    Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(index) : 1, taken = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PySlice_Check(items[i]) || PyLong_CheckExact(items[i]) ||
            (takes_places && are_places(state, items[i]))) {
            taken++;
        }
        else if (items[i] == Py_Ellipsis) {
            ellipses++;
        }
        else if (items[i] != Py_None) {
            return NULL;
        }
    }
    if (ellipses > 1 || taken > PyArray_NDIM(array)) {
        return NULL;
    }
    Py_ssize_t dim = 0, left_out = PyArray_NDIM(array) - taken;
    PyObject *view = Py_NewRef(tensor);
    for (Py_ssize_t i = 0; view != NULL && i < count; i++) {
        if (items[i] == Py_Ellipsis) {
            dim += left_out;
        }
        else if (Py_TYPE(items[i]) == state->tensor_type || PyList_CheckExact(items[i])) {
            if (add_places(state, list, dim++, items[i]) < 0) {
                Py_CLEAR(view);
            }
        }
        else {
            Py_SETREF(view, view_by(state, functions, view, items[i], &dim, keep));
        }
    }
    return view;
}

/* Whether an index is a tensor of indices, or a mask of the first dimensions. */
static int
is_advanced(const module_state *state, PyObject *tensor, PyObject *index)
{
    PyArrayObject *array = plain_array(state, tensor), *own = plain_array(state, index);
    if (array == NULL || own == NULL || PyArray_NDIM(own) == 0 ||
        PyArray_NDIM(own) > PyArray_NDIM(array) || !is_on_cpu(state, tensor) ||
        !is_on_cpu(state, index)) {
        return 0;
    }
    return PyArray_TYPE(own) == NPY_INT64 ||
           (PyArray_ISBOOL(own) && PyArray_CompareLists(PyArray_DIMS(own), PyArray_DIMS(array),
                                                        PyArray_NDIM(own)));
}

/* The view of a tensor and the list of indices that an index of any kind stands for, which is empty
 * for views; NULL for others. */
static PyObject *
parted(const module_state *state, PyObject *functions, PyObject *tensor, PyObject *index, int keep,
       PyObject *list)
{
    if (Py_TYPE(index) != state->tensor_type) {
        return viewed(state, functions, tensor, index, keep, list);
    }
    return is_advanced(state, tensor, index) && PyList_Append(list, index) == 0 ? Py_NewRef(tensor)
                                                                                : NULL;
}

PyObject *
view_by_index(const module_state *state, PyObject *functions, PyObject *const *given,
              Py_ssize_t count, PyObject *names)
{
    if (count != 2 || names != NULL || is_quiet(state) == NOT_QUIET) {
        return NULL;
    }
    PyObject *tensor = given[0], *index = given[1], *list = PyList_New(0), *view = NULL;
    if (list != NULL) {
        view = parted(state, functions, tensor, index, PyTuple_CheckExact(index), list);
    }
    if (view != NULL && PyList_GET_SIZE(list) > 0) {
        PyObject *args[2] = {view, list};
        Py_SETREF(
            view, PyObject_Vectorcall(PyTuple_GET_ITEM(functions, INDEX), args, 2, NULL));
    }
    else if (view == tensor) {
        Py_SETREF(view, PyObject_CallOneArg(PyTuple_GET_ITEM(functions, ALIAS), tensor));
    }
    Py_XDECREF(list);
    return view;
}

/* Which operator writes a value to a view of an array; -1 for values that are checked first. COPY if
 * the shape of the view is that of the value. */
static int
writer_of(const module_state *state, PyArrayObject *array, PyObject *value)
{
    int overflow, type = PyArray_TYPE(array);
    if (PyFloat_CheckExact(value)) {
        return PyTypeNum_ISFLOAT(type) ? FILL_NUMBER : -1;
    }
    if (PyLong_CheckExact(value)) {
        long number = PyLong_AsLongAndOverflow(value, &overflow);
        int fits = !overflow && number >= NPY_MIN_INT32 && number <= NPY_MAX_INT32;
        int takes = type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_INT64;
        return fits && takes ? FILL_NUMBER : -1;
    }
    PyArrayObject *source = plain_array(state, value);
    if (source == NULL || !is_on_cpu(state, value)) {
        return -1;
    }
    return PyArray_NDIM(source) == 0 ? FILL_TENSOR : COPY;
}

/* A tensor without dimensions of a number that `writer_of` lets pass, in the dtype of an array; NULL
 * without an exception for numbers that it does not hold. */
static PyObject *
number_like(const module_state *state, PyArrayObject *array, PyObject *value)
{
    int type = PyArray_TYPE(array);
    double number = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : 0;
    if (fabs(number) > (type == NPY_HALF ? 65504 : type == NPY_FLOAT ? FLT_MAX : INFINITY) &&
        !isinf(number)) {
        return NULL;
    }
    PyObject *made = PyArray_SimpleNew(0, NULL, type);
    if (made != NULL &&
        PyArray_SETITEM((PyArrayObject *)made, PyArray_DATA((PyArrayObject *)made), value) < 0) {
        Py_CLEAR(made);
    }
    return made == NULL ? NULL : tensor_around(state, made, is_quiet(state));
}

/* Write a number, or a tensor of the same dtype without leading dimensions of one element, at a list
 * of indices. */
static PyObject *
written_at(const module_state *state, PyObject *functions, PyObject *view, PyObject *list,
           PyObject *value, int writer)
{
    PyArrayObject *array = plain_array(state, view), *own = plain_array(state, value);
    if (array == NULL || writer == FILL_TENSOR ||
        (own != NULL && (PyArray_TYPE(own) != PyArray_TYPE(array) || PyArray_DIM(own, 0) == 1))) {
        return NULL;
    }
    PyObject *values = own != NULL ? Py_NewRef(value) : number_like(state, array, value);
    PyObject *args[3] = {view, list, values};
    PyObject *done =
        values == NULL ? NULL
                       : PyObject_Vectorcall(PyTuple_GET_ITEM(functions, INDEX_PUT), args, 3, NULL);
    Py_XDECREF(values);
    return done;
}

PyObject *
write_by_index(const module_state *state, PyObject *functions, PyObject *const *given,
               Py_ssize_t count, PyObject *names)
{
    if (count != 3 || names != NULL) {
        return NULL;
    }
    PyObject *tensor = given[0], *index = given[1], *value = given[2];
    PyArrayObject *array = plain_array(state, tensor);
    if (array == NULL || is_quiet(state) == NOT_QUIET || !is_on_cpu(state, tensor)) {
        return NULL;
    }
    int writer = writer_of(state, array, value);
    PyObject *list = writer < 0 ? NULL : PyList_New(0), *done = NULL;
    PyObject *view = list == NULL ? NULL : parted(state, functions, tensor, index, 1, list);
    PyArrayObject *written = view == NULL ? NULL : plain_array(state, view);
    if (written != NULL && PyList_GET_SIZE(list) > 0) {
        done = written_at(state, functions, view, list, value, writer);
    }
    else if (
        written != NULL &&
        (writer != COPY || PyArray_SAMESHAPE(plain_array(state, value), written))) {
        PyObject *args[2] = {view, value};
        done = PyObject_Vectorcall(PyTuple_GET_ITEM(functions, writer), args, 2, NULL);
    }
    Py_XDECREF(list);
    Py_XDECREF(view);
    if (done == NULL) {
        return NULL;
    }
    Py_DECREF(done);
    Py_RETURN_NONE;
}

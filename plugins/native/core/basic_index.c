/* x[1, :, None, ...] as calls of the operators of views: what `_viewed` of the base library does; and
 * x[indices], x[mask], x[...] = value as calls of the operators that index and write.
 *
 * Other indices and values, and those that do not fit, are left to the Python functions. */
#include "entry.h"
#include "slots.h"

enum { SELECT, SLICE, UNSQUEEZE, ALIAS, INDEX, FILL_NUMBER, FILL_TENSOR, COPY };

/* The array of a plain tensor, a borrowed reference; NULL for other tensors. */
static PyArrayObject *
plain_array(const module_state *state, PyObject *tensor)
{
    PyObject *array = Py_TYPE(tensor) == state->tensor_type ? SLOT(tensor, state->tensor_array) : NULL;
    return array != NULL && PyArray_CheckExact(array) ? (PyArrayObject *)array : NULL;
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

/* The view by ints, slices, None and one `...`; the tensor itself where these leave it whole. Of a
 * slice that is all of a dimension a view is made too, unless `keep`. */
static PyObject *
viewed(const module_state *state, PyObject *functions, PyObject *tensor, PyObject *index, int keep)
{
    int is_tuple = PyTuple_CheckExact(index);
    PyObject *const *items = is_tuple ? PySequence_Fast_ITEMS(index) : &index;
    Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(index) : 1, taken = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PySlice_Check(items[i]) || PyLong_CheckExact(items[i])) {
            taken++;
        }
        else if (items[i] == Py_Ellipsis) {
            ellipses++;
        }
        else if (items[i] != Py_None) {
            return NULL;
        }
    }
    PyArrayObject *array = plain_array(state, tensor);
    if (array == NULL || ellipses > 1 || taken > PyArray_NDIM(array)) {
        return NULL;
    }
    Py_ssize_t dim = 0, left_out = PyArray_NDIM(array) - taken;
    PyObject *view = Py_NewRef(tensor);
    for (Py_ssize_t i = 0; view != NULL && i < count; i++) {
        if (items[i] == Py_Ellipsis) {
            dim += left_out;
        }
        else {
            Py_SETREF(view, view_by(state, functions, view, items[i], &dim, keep));
        }
    }
    return view;
}

/* Whether tensors are on the cpu. */
static int
is_on_cpu(const module_state *state, PyObject *tensor)
{
    PyObject *signature = SLOT(tensor, state->tensor_signature);
    return signature != NULL && has_bits(signature, state->cpu_bit) > 0;
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

PyObject *
view_by_index(const module_state *state, PyObject *functions, PyObject *const *given,
              Py_ssize_t count, PyObject *names)
{
    if (count != 2 || names != NULL || is_quiet(state) == NOT_QUIET) {
        return NULL;
    }
    PyObject *tensor = given[0], *index = given[1];
    if (Py_TYPE(index) == state->tensor_type) {
        PyObject *list = is_advanced(state, tensor, index) ? Py_BuildValue("[O]", index) : NULL;
        PyObject *args[2] = {tensor, list};
        PyObject *made =
            list == NULL ? NULL
                         : PyObject_Vectorcall(PyTuple_GET_ITEM(functions, INDEX), args, 2, NULL);
        Py_XDECREF(list);
        return made;
    }
    PyObject *view = viewed(state, functions, tensor, index, PyTuple_CheckExact(index));
    if (view == tensor) {
        Py_SETREF(view, PyObject_CallOneArg(PyTuple_GET_ITEM(functions, ALIAS), tensor));
    }
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
    PyObject *view = writer < 0 ? NULL : viewed(state, functions, tensor, index, 1), *done = NULL;
    PyArrayObject *written = view == NULL ? NULL : plain_array(state, view);
    if (written != NULL &&
        (writer != COPY || PyArray_SAMESHAPE(plain_array(state, value), written))) {
        PyObject *args[2] = {view, value};
        done = PyObject_Vectorcall(PyTuple_GET_ITEM(functions, writer), args, 2, NULL);
    }
    Py_XDECREF(view);
    if (done == NULL) {
        return NULL;
    }
    Py_DECREF(done);
    Py_RETURN_NONE;
}

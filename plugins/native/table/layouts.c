/* Functions of rows of elements, for operands of any layout: memory without gaps is one row, NumPy's
 * iterator finds the rows of other memory. */
#include "layouts.h"

/* ---- half precision -------------------------------------------------------------------------- */

npy_intp
widen_elements(int half, float *room, const char *data, npy_intp step, npy_intp count)
{
    widening_kernel *widen = kernels_in_force->conversions->widen[half];
    if (step == sizeof(uint16_t)) {
        widen(room, (const uint16_t *)data, count);
        return sizeof *room;
    }
    if (step == 0) {
        widen(room, (const uint16_t *)data, 1);
        return 0;
    }
    uint16_t halves[ROOM];
    for (npy_intp i = 0; i < count; i++) {
        halves[i] = *(const uint16_t *)(data + i * step);
    }
    widen(room, halves, count);
    return sizeof *room;
}

void
narrow_elements(int half, char *data, npy_intp step, const float *room, npy_intp count)
{
    narrowing_kernel *narrow = kernels_in_force->conversions->narrow[half];
    if (step == sizeof(uint16_t)) {
        narrow((uint16_t *)data, room, count);
        return;
    }
    uint16_t halves[ROOM];
    narrow(halves, room, count);
    for (npy_intp i = 0; i < count; i++) {
        *(uint16_t *)(data + i * step) = halves[i];
    }
}

/* ---- the order of memory --------------------------------------------------------------------- */

/* Which of two axes has the smaller stride: 1 for the outer one, -1 for the inner one. */
static int
compare_axes(
    const npy_intp *dims, int count, const npy_intp *const *strides, int inner, int outer)
{
    for (int i = 0; i < count; i++) {
        npy_intp a = Py_ABS(strides[i][inner]), b = Py_ABS(strides[i][outer]);
        if (a == 0 || b == 0) {
            continue;
        }
        if (a != b) {
            return a > b ? 1 : -1;
        }
        if (dims[inner] > dims[outer]) {
            return 1;
        }
    }
    return 0; /* no operand can tell */
}

/* Set the axes from the innermost in memory to the outermost, as `elementwise_layout` orders them. */
static void
order_axes(
    int ndim, const npy_intp *dims, int count, const npy_intp *const *strides, int *order)
{
    for (int i = 0; i < ndim; i++) {
        order[i] = ndim - 1 - i;
    }
    for (int i = 1; i < ndim; i++) {
        for (int j = i - 1, moving = i; j >= 0; j--) {
            int comparison = compare_axes(dims, count, strides, order[j], order[moving]);
            if (comparison > 0) {
                int axis = order[j];
                order[j] = order[moving];
                order[moving] = axis;
                moving = j;
            }
            else if (comparison < 0) {
                break;
            }
        }
    }
}

/* The dimensions of arrays together, and their axes from the outermost in memory. Return their
 * number, -1 if the shapes do not fit. */
static int
order_operands(PyArrayObject *const *arrays, int count, npy_intp *dims, int *order)
{
    npy_intp strides[MOST_INPUTS][NPY_MAXDIMS];
    const npy_intp *by_operand[MOST_INPUTS] = {strides[0], strides[1], strides[2]};
    int ndim = 0, inner_first[NPY_MAXDIMS];
    for (int i = 0; i < count; i++) {
        ndim = PyArray_NDIM(arrays[i]) > ndim ? PyArray_NDIM(arrays[i]) : ndim;
    }
    for (int axis = 0; axis < ndim; axis++) {
        dims[axis] = 1;
    }
    for (int i = 0; i < count; i++) {
        int missing = ndim - PyArray_NDIM(arrays[i]);
        for (int axis = 0; axis < ndim; axis++) {
            npy_intp size = axis < missing ? 1 : PyArray_DIM(arrays[i], axis - missing);
            if (size != 1 && dims[axis] != 1 && size != dims[axis]) {
                return -1;
            }
            dims[axis] = size == 1 ? dims[axis] : size;
        }
    }
    for (int i = 0; i < count; i++) { /* an axis of one element counts unless it is expanded */
        int missing = ndim - PyArray_NDIM(arrays[i]);
        for (int axis = 0; axis < ndim; axis++) {
            int is_expanded = axis < missing || PyArray_DIM(arrays[i], axis - missing) != dims[axis];
            strides[i][axis] = is_expanded ? 0 : PyArray_STRIDE(arrays[i], axis - missing);
        }
    }
    order_axes(ndim, dims, count, by_operand, inner_first);
    for (int i = 0; i < ndim; i++) {
        order[i] = inner_first[ndim - 1 - i];
    }
    return ndim;
}

/* A new array whose axes lie densely in memory in an order, the outermost first. */
static PyArrayObject *
new_in_order(int ndim, const npy_intp *dims, const int *order, PyArray_Descr *dtype)
{
    npy_intp strides[NPY_MAXDIMS], step = PyDataType_ELSIZE(dtype);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= dims[order[i]] > 0 ? dims[order[i]] : 1;
    }
    Py_INCREF(dtype); /* which the next call takes */
    return (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, dims, strides, NULL, 0, NULL);
}

PyArrayObject *
laid_like(PyArrayObject *array, PyArrayObject *model)
{
    npy_intp dims[NPY_MAXDIMS];
    int order[NPY_MAXDIMS], ndim = order_operands(&model, 1, dims, order);
    PyArrayObject *made = new_in_order(ndim, dims, order, PyArray_DESCR(array));
    if (made != NULL && PyArray_CopyInto(made, array) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* A view whose axis i is the axis order[i] of an array with axes of one element before its own. */
static PyObject *
view_in_order(PyArrayObject *array, int ndim, const int *order)
{
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int missing = ndim - PyArray_NDIM(array);
    for (int i = 0; i < ndim; i++) {
        int axis = order[i] - missing;
        dims[i] = axis < 0 ? 1 : PyArray_DIM(array, axis);
        strides[i] = axis < 0 ? 0 : PyArray_STRIDE(array, axis);
    }
    Py_INCREF(PyArray_DESCR(array)); /* which the next call takes */
    PyObject *view = PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DESCR(array), ndim, dims, strides, PyArray_DATA(array),
        PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (view != NULL &&
        PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef((PyObject *)array)) < 0) {
        Py_CLEAR(view);
    }
    return view;
}

/* Whether an array is in C order, and steps along all dimensions of its result with another. */
static int
says_c_order(PyArrayObject *array, PyArrayObject *other)
{
    int is_whole = PyArray_IS_C_CONTIGUOUS(array) && PyArray_NDIM(array) >= PyArray_NDIM(other);
    for (int axis = 0; is_whole && axis < PyArray_NDIM(array); axis++) {
        is_whole = PyArray_DIM(array, axis) != 1;
    }
    return is_whole;
}

int
turn_operands(turned_operands *turned, PyObject *const *args)
{
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) {
        return 0;
    }
    PyArrayObject *arrays[] = {(PyArrayObject *)args[0], (PyArrayObject *)args[1]};
    int are_c = PyArray_IS_C_CONTIGUOUS(arrays[0]) && PyArray_IS_C_CONTIGUOUS(arrays[1]);
    if ((are_c && PyArray_SAMESHAPE(arrays[0], arrays[1])) || says_c_order(arrays[0], arrays[1])) {
        return 0; /* NumPy's result is in C order, too */
    }
    npy_intp dims[NPY_MAXDIMS];
    turned->ndim = order_operands(arrays, 2, dims, turned->order);
    if (turned->ndim < 0) {
        return 0; /* NumPy raises */
    }
    for (int i = 0; i < 2; i++) {
        turned->args[i + 1] = view_in_order(arrays[i], turned->ndim, turned->order);
        if (turned->args[i + 1] == NULL) {
            if (i == 1) {
                Py_DECREF(turned->args[1]);
            }
            return -1;
        }
    }
    return 1;
}

PyObject *
turn_back(turned_operands *turned, PyObject *made)
{
    Py_DECREF(turned->args[1]);
    Py_DECREF(turned->args[2]);
    if (made == NULL || !PyArray_CheckExact(made)) {
        return made;
    }
    if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)made)) {
        Py_SETREF(made, PyArray_NewCopy((PyArrayObject *)made, NPY_CORDER));
    }
    int back[NPY_MAXDIMS];
    for (int i = 0; i < turned->ndim; i++) {
        back[turned->order[i]] = i;
    }
    PyObject *result =
        made == NULL ? NULL : view_in_order((PyArrayObject *)made, turned->ndim, back);
    Py_XDECREF(made);
    return result;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Compute a row in which an element may stand for all, and the function takes no
 * steps: a room is filled with it. */
static void
compute_row(const row_call *call, char *const *data, const npy_intp *steps, npy_intp length)
{
    char rooms[MOST_INPUTS][ROOM * sizeof(double)] __attribute__((aligned(64)));
    char *given[MOST_INPUTS + 1];
    npy_intp items[MOST_INPUTS + 1], count = length < ROOM ? length : ROOM;
    int is_spread = 0;
    for (int i = 0; i <= call->count; i++) {
        given[i] = data[i];
        items[i] = steps[i];
        if (i == call->count || steps[i] != 0 || call->takes_steps) {
            continue;
        }
        items[i] = PyArray_ITEMSIZE(call->inputs[i]);
        is_spread = 1;
        given[i] = rooms[i];
        repeat_item(rooms[i], data[i], items[i], count * items[i]);
    }
    if (!is_spread) {
        call->function(call->context, data, steps, length);
        return;
    }
    for (npy_intp start = 0; start < length; start += count) {
        npy_intp some = length - start < count ? length - start : count;
        call->function(call->context, given, items, some);
        for (int i = 0; i <= call->count; i++) {
            given[i] += some * steps[i];
        }
    }
}

/* ---- memory without gaps --------------------------------------------------------------------- */

/* The input with most dimensions. */
static PyArrayObject *
model_of(const row_call *call)
{
    PyArrayObject *model = call->inputs[0];
    for (int i = 1; i < call->count; i++) {
        model = PyArray_NDIM(call->inputs[i]) > PyArray_NDIM(model) ? call->inputs[i] : model;
    }
    return model;
}

/* Whether two arrays without gaps are one memory, or share none. */
static int
are_one_or_apart(PyArrayObject *input, PyArrayObject *out)
{
    char *first = PyArray_BYTES(input), *other = PyArray_BYTES(out);
    return (first == other && PyArray_ITEMSIZE(input) == PyArray_ITEMSIZE(out)) ||
           first + PyArray_NBYTES(input) <= other || other + PyArray_NBYTES(out) <= first;
}

/* Set the steps of operands that lie in memory without gaps in one order, where a single element
 * stands for all. Return whether they do; `is_c` is whether that is C order. */
static int
are_one_row(const row_call *call, PyArrayObject *model, npy_intp *steps, int *is_c)
{
    int is_fortran = 1;
    *is_c = 1;
    for (int i = 0; i <= call->count; i++) {
        PyArrayObject *each = i < call->count ? call->inputs[i] : call->out;
        if (each == NULL) {
            steps[i] = PyDataType_ELSIZE(call->dtype);
            continue;
        }
        steps[i] = PyArray_ITEMSIZE(each);
        if (i < call->count && PyArray_NDIM(each) == 0 &&
            PyArray_NDIM(model) > 0 && PyArray_ISBEHAVED_RO(each)) {
            steps[i] = 0;
        }
        else if (!PyArray_SAMESHAPE(each, model) || !PyArray_ISBEHAVED_RO(each)) {
            return 0;
        }
        else {
            *is_c &= PyArray_IS_C_CONTIGUOUS(each);
            is_fortran &= PyArray_IS_F_CONTIGUOUS(each);
        }
        if (i < call->count && call->out != NULL && !are_one_or_apart(each, call->out)) {
            return 0;
        }
    }
    return *is_c || is_fortran;
}

/* ---- any memory ------------------------------------------------------------------------------ */

enum { LEAST_ROW = 32 }; /* elements of rows that are computed where they are */

/* An iterator over rows that lie side by side in every operand, of which one element may stand for
 * all, or have the steps that the function takes; NULL where there are none, or only short ones. */
static NpyIter *
iterate_in_place(
    const row_call *call, PyArrayObject **arrays, PyArray_Descr **dtypes, npy_uint32 *flags,
    int ndim, int **axes)
{
    for (int i = 0; i <= call->count; i++) {
        if (arrays[i] != NULL && !PyArray_ISBEHAVED_RO(arrays[i])) {
            return NULL;
        }
    }
    NpyIter *iterator = NpyIter_AdvancedNew(
        call->count + 1, arrays,
        NPY_ITER_EXTERNAL_LOOP | NPY_ITER_ZEROSIZE_OK | NPY_ITER_COPY_IF_OVERLAP,
        ndim < 0 ? NPY_KEEPORDER : NPY_CORDER, NPY_NO_CASTING, flags, dtypes, ndim, axes, NULL, 0);
    if (iterator == NULL) {
        PyErr_Clear();
        return NULL;
    }
    const npy_intp *steps = NpyIter_GetInnerStrideArray(iterator);
    int has_rows = *NpyIter_GetInnerLoopSizePtr(iterator) >= LEAST_ROW;
    for (int i = 0; i <= call->count; i++) {
        has_rows &= call->takes_steps || steps[i] == PyDataType_ELSIZE(dtypes[i]) ||
                    (steps[i] == 0 && i < call->count);
    }
    if (!has_rows) {
        for (int i = 0; i <= call->count; i++) { /* copies that nothing was written to */
            PyArray_DiscardWritebackIfCopy(NpyIter_GetOperandArray(iterator)[i]);
        }
        NpyIter_Deallocate(iterator);
        return NULL;
    }
    return iterator;
}

static PyObject *
compute_layouts(const row_call *call)
{
    PyArrayObject *arrays[MOST_INPUTS + 1];
    PyArray_Descr *dtypes[MOST_INPUTS + 1];
    npy_uint32 flags[MOST_INPUTS + 1];
    PyArrayObject *result = call->out;
    int ndim = -1, order[NPY_MAXDIMS], by_operand[MOST_INPUTS + 1][NPY_MAXDIMS];
    int *axes[] = {by_operand[0], by_operand[1], by_operand[2], by_operand[3]};
    Py_XINCREF(result);
    if (result == NULL) { /* rows lie along the innermost axis of the result */
        npy_intp dims[NPY_MAXDIMS];
        ndim = order_operands(call->inputs, call->count, dims, order);
        result = ndim < 0 ? NULL : new_in_order(ndim, dims, order, call->dtype);
    }
    if (result == NULL) {
        return NULL;
    }
    for (int i = 0; i <= call->count; i++) {
        int is_input = i < call->count;
        arrays[i] = is_input ? call->inputs[i] : result;
        dtypes[i] = is_input ? PyArray_DESCR(call->inputs[i]) : call->dtype;
        flags[i] = NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE |
                   (is_input ? NPY_ITER_READONLY : NPY_ITER_WRITEONLY | NPY_ITER_NO_BROADCAST);
        for (int k = 0; k < ndim; k++) {
            int axis = order[k] - ndim + PyArray_NDIM(arrays[i]);
            by_operand[i][k] = axis < 0 ? -1 : axis;
        }
    }
    int **axes_of = ndim < 0 ? NULL : axes;
    NpyIter *iterator = iterate_in_place(call, arrays, dtypes, flags, ndim, axes_of);
    if (iterator == NULL) {
        for (int i = 0; i <= call->count; i++) {
            flags[i] |= NPY_ITER_ALIGNED | NPY_ITER_NBO | (call->takes_steps ? 0 : NPY_ITER_CONTIG);
        }
        iterator = NpyIter_AdvancedNew(
            call->count + 1, arrays,
            NPY_ITER_EXTERNAL_LOOP | NPY_ITER_BUFFERED | NPY_ITER_GROWINNER | NPY_ITER_ZEROSIZE_OK |
                NPY_ITER_COPY_IF_OVERLAP,
            ndim < 0 ? NPY_KEEPORDER : NPY_CORDER, NPY_NO_CASTING, flags, dtypes, ndim, axes_of,
            NULL, 0);
    }
    if (iterator == NULL) {
        PyErr_Clear();
        Py_DECREF(result);
        return NULL;
    }
    NpyIter_IterNextFunc *next = NULL;
    npy_intp size = NpyIter_GetIterSize(iterator);
    if (size > 0) {
        next = NpyIter_GetIterNext(iterator, NULL);
    }
    if (next != NULL) {
        char **data = NpyIter_GetDataPtrArray(iterator);
        npy_intp *steps = NpyIter_GetInnerStrideArray(iterator);
        npy_intp *length = NpyIter_GetInnerLoopSizePtr(iterator);
        NPY_BEGIN_THREADS_DEF;
        if (size >= RELEASE_FROM_ELEMENTS && !NpyIter_IterationNeedsAPI(iterator)) {
            NPY_BEGIN_THREADS;
        }
        do {
            compute_row(call, data, steps, *length);
        } while (next(iterator));
        NPY_END_THREADS;
    }
    int failed = size > 0 && next == NULL;
    if (NpyIter_Deallocate(iterator) == NPY_FAIL || failed || PyErr_Occurred() != NULL) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

PyObject *
compute_rows(const row_call *call)
{
    npy_intp steps[MOST_INPUTS + 1];
    int is_c;
    PyArrayObject *model = model_of(call), *result = call->out;
    if (!are_one_row(call, model, steps, &is_c)) {
        return compute_layouts(call);
    }
    if (result == NULL) {
        Py_INCREF(call->dtype); /* which the next call takes */
        result = (PyArrayObject *)PyArray_Empty(
            PyArray_NDIM(model), PyArray_DIMS(model), call->dtype, !is_c);
        if (result == NULL) {
            return NULL;
        }
    }
    else {
        Py_INCREF(result);
    }
    npy_intp size = PyArray_SIZE(model);
    if (size > 0) {
        char *data[MOST_INPUTS + 1];
        for (int i = 0; i < call->count; i++) {
            data[i] = PyArray_BYTES(call->inputs[i]);
        }
        data[call->count] = PyArray_BYTES(result);
        RELEASED(size, compute_row(call, data, steps, size));
    }
    return (PyObject *)result;
}

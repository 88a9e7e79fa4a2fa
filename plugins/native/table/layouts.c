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
        if (i < call->count && call->takes_steps && PyArray_NDIM(each) == 0 &&
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

/* An iterator over rows that lie side by side in every operand, or have the steps that the function
 * takes; NULL where there are none, or only short ones. */
static NpyIter *
iterate_in_place(
    const row_call *call, PyArrayObject **arrays, PyArray_Descr **dtypes, npy_uint32 *flags)
{
    for (int i = 0; i <= call->count; i++) {
        if (arrays[i] != NULL && !PyArray_ISBEHAVED_RO(arrays[i])) {
            return NULL;
        }
    }
    NpyIter *iterator = NpyIter_MultiNew(
        call->count + 1, arrays,
        NPY_ITER_EXTERNAL_LOOP | NPY_ITER_ZEROSIZE_OK | NPY_ITER_COPY_IF_OVERLAP, NPY_KEEPORDER,
        NPY_NO_CASTING, flags, dtypes);
    if (iterator == NULL) {
        PyErr_Clear();
        return NULL;
    }
    const npy_intp *steps = NpyIter_GetInnerStrideArray(iterator);
    int has_rows = *NpyIter_GetInnerLoopSizePtr(iterator) >= LEAST_ROW;
    for (int i = 0; i <= call->count; i++) {
        has_rows &= call->takes_steps || steps[i] == PyDataType_ELSIZE(dtypes[i]);
    }
    if (!has_rows) {
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
    for (int i = 0; i <= call->count; i++) {
        int is_input = i < call->count;
        arrays[i] = is_input ? call->inputs[i] : call->out;
        dtypes[i] = is_input ? PyArray_DESCR(call->inputs[i]) : call->dtype;
        flags[i] = NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE |
                   (is_input ? NPY_ITER_READONLY
                             : NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST);
    }
    NpyIter *iterator = iterate_in_place(call, arrays, dtypes, flags);
    if (iterator == NULL) {
        for (int i = 0; i <= call->count; i++) {
            flags[i] |= NPY_ITER_ALIGNED | NPY_ITER_NBO | (call->takes_steps ? 0 : NPY_ITER_CONTIG);
        }
        iterator = NpyIter_MultiNew(
            call->count + 1, arrays,
            NPY_ITER_EXTERNAL_LOOP | NPY_ITER_BUFFERED | NPY_ITER_GROWINNER | NPY_ITER_ZEROSIZE_OK |
                NPY_ITER_COPY_IF_OVERLAP,
            NPY_KEEPORDER, NPY_NO_CASTING, flags, dtypes);
    }
    if (iterator == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyArrayObject *written =
        call->out == NULL ? NpyIter_GetOperandArray(iterator)[call->count] : call->out;
    PyObject *result = Py_NewRef((PyObject *)written);
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
            call->function(call->context, data, steps, *length);
        } while (next(iterator));
        NPY_END_THREADS;
    }
    int failed = size > 0 && next == NULL;
    if (NpyIter_Deallocate(iterator) == NPY_FAIL || failed || PyErr_Occurred() != NULL) {
        Py_CLEAR(result);
    }
    return result;
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
        RELEASED(size, call->function(call->context, data, steps, size));
    }
    return (PyObject *)result;
}

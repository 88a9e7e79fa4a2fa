/* The instruction UNLESS_STORED: an array written into the memory of a tensor.
 *
 * Arrays of one dtype of NumPy's own, of one shape or of one element. All others, and memory that
 * takes no writes, are left to the call that follows; of tensors given as `out=` also those that may
 * share memory with an operand, have another shape, or were made in inference mode. */
#include "route.h"
#include "slots.h"

/* Bytes from which the interpreter's lock is released. */
enum { RELEASE_FROM_BYTES = 1 << 16 };

enum { LARGEST_ITEM = 32, LARGEST_REPEATED = 1 << 14 };

/* Write one element to all of an array without gaps, which it may be of. */
static void
repeat_item(char *to, const char *one, npy_intp item, npy_intp size)
{
    char copy[LARGEST_ITEM];
    memcpy(copy, one, (size_t)item);
    if (item == 1 || memcmp(copy, copy + 1, (size_t)item - 1) == 0) { /* all bytes are the same */
        memset(to, copy[0], (size_t)size);
        return;
    }
    npy_intp written = size < item ? size : item;
    memcpy(to, copy, (size_t)written);
    while (written < size) {
        npy_intp count = written < LARGEST_REPEATED ? written : LARGEST_REPEATED;
        count = count < size - written ? count : size - written;
        memcpy(to + written, to, (size_t)count);
        written += count;
    }
}

static int
is_plain_dtype(PyArrayObject *array)
{
    return PyTypeNum_ISNUMBER(PyArray_TYPE(array)) || PyArray_TYPE(array) == NPY_BOOL;
}

/* Write an array into another: 1 if it was, 0 if it is left to the reference, -1 with an error. */
static int
store_array(PyArrayObject *to, PyArrayObject *from)
{
    int is_one = PyArray_NDIM(from) == 0;
    if (PyArray_TYPE(to) != PyArray_TYPE(from) || !is_plain_dtype(to) ||
        !PyArray_ISBEHAVED(to) || !PyArray_ISBEHAVED_RO(from) ||
        !(is_one || PyArray_SAMESHAPE(to, from))) {
        return 0;
    }
    int is_c = PyArray_IS_C_CONTIGUOUS(to) && PyArray_IS_C_CONTIGUOUS(from);
    int is_fortran = PyArray_IS_F_CONTIGUOUS(to) && PyArray_IS_F_CONTIGUOUS(from);
    if (!is_c && !is_fortran) {
        return PyArray_CopyInto(to, from) < 0 ? -1 : 1;
    }
    npy_intp size = PyArray_NBYTES(to), item = PyArray_ITEMSIZE(to);
    PyThreadState *released = size < RELEASE_FROM_BYTES ? NULL : PyEval_SaveThread();
    if (is_one) {
        repeat_item(PyArray_BYTES(to), PyArray_BYTES(from), item, size);
    }
    else {
        memmove(PyArray_BYTES(to), PyArray_BYTES(from), (size_t)size);
    }
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
    return 1;
}

/* Whether the result `from` may be written to a tensor of `out=` without a check: nothing shares its
 * memory, as far as is known. Return -1 with an exception. */
static int
is_plain_out(const module_state *state, PyObject *const *registers, const instruction *in,
             PyObject *tensor, PyArrayObject *to, PyArrayObject *from)
{
    if (SLOT(tensor, state->tensor_storage) != Py_None || !PyArray_SAMESHAPE(to, from)) {
        return 0;
    }
    for (int i = 0; i < in->operand_count; i++) {
        PyObject *read = operand_value(state, registers, &in->operands[i]);
        if (read == NULL) {
            return -1;
        }
        int is_other = read != tensor && !PyList_CheckExact(read) && !PyTuple_CheckExact(read);
        Py_DECREF(read);
        if (!is_other) {
            return 0;
        }
    }
    PyObject *signature = stored(tensor, state->tensor_signature);
    return signature == NULL ? -1 : has_bits(signature, state->normal_bit);
}

int
is_left_to_store(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *tensor = register_value(registers, in->a), *from = register_value(registers, in->b);
    PyObject *to = tensor == NULL ? NULL : tensor_slot(state, tensor, state->tensor_array);
    if (to == NULL || from == NULL) {
        return -1;
    }
    if (!PyArray_CheckExact(to) || !PyArray_CheckExact(from)) {
        return 1;
    }
    if (in->flags) {
        int is_plain = is_plain_out(
            state, registers, in, tensor, (PyArrayObject *)to, (PyArrayObject *)from);
        if (is_plain <= 0) {
            return is_plain < 0 ? -1 : 1;
        }
    }
    Py_INCREF(to); /* other threads may run while the lock is released */
    int stored = store_array((PyArrayObject *)to, (PyArrayObject *)from);
    Py_DECREF(to);
    return stored < 0 ? -1 : !stored;
}

/* The instruction UNLESS_STORED: an array written into the memory of a tensor.
 *
 * Arrays of one dtype of NumPy's own, of one shape or of one element, and those that are cast without
 * a warning where `bits` says that they may be. All others, and memory that takes no writes, are left
 * to the call that follows; of tensors given as `out=` also those that may share memory with an
 * operand, have another shape, or were made in inference mode. */
#include "route.h"
#include "slots.h"

enum { LARGEST_ITEM = 32, LARGEST_REPEATED = 1 << 14 };

void
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
    int type = PyArray_TYPE(array);
    return PyTypeNum_ISNUMBER(type) || type == NPY_BOOL ||
           (PyTypeNum_ISUSERDEF(type) && !PyDataType_REFCHK(PyArray_DESCR(array)));
}

/* Write an array into another, which may be of another type if it `converts`: 1 if it was, 0 if it
 * is left to the reference, -1 with an error. */
static int
store_array(PyArrayObject *to, PyArrayObject *from, int converts)
{
    int is_one = PyArray_NDIM(from) == 0;
    int is_alike = PyArray_TYPE(to) == PyArray_TYPE(from);
    if (!(is_alike ? is_plain_dtype(to) : converts) || !PyArray_ISBEHAVED(to) ||
        !PyArray_ISBEHAVED_RO(from) || !(is_one || PyArray_SAMESHAPE(to, from))) {
        return 0;
    }
    if (!is_alike) {
        return convert_into(to, from);
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

/* Whether an operand is another one than a tensor, and no list that has it. */
static int
is_other(PyObject *operand, PyObject *tensor)
{
    if (!PyList_CheckExact(operand) && !PyTuple_CheckExact(operand)) {
        return operand != tensor;
    }
    Py_ssize_t i = PySequence_Fast_GET_SIZE(operand) - 1;
    while (i >= 0 && PySequence_Fast_GET_ITEM(operand, i) != tensor) {
        i--;
    }
    return i < 0;
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
        int is_apart = is_other(read, tensor);
        Py_DECREF(read);
        if (!is_apart) {
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
    int stored = store_array((PyArrayObject *)to, (PyArrayObject *)from, in->bits != 0);
    Py_DECREF(to);
    return stored < 0 ? -1 : !stored;
}

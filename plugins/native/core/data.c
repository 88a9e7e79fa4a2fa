/* New tensors on the cpu: around an array of NumPy, and of numbers in lists.
 *
 * What is not plain is the Python function's: other arrays and dtypes, options, modes, and where a
 * default device was chosen. */
#include "entry.h"
#include "slots.h"

PyObject *
tensor_around(const module_state *state, PyObject *array, quietness quiet)
{
    int type = PyArray_TYPE((PyArrayObject *)array);
    long long bit = type < NPY_NTYPES_LEGACY ? state->bit_of_type[type] : 0;
    long long normal = quiet == QUIET_INFERENCE ? state->inference_bit : state->normal_bit;
    long long zero_dim = PyArray_NDIM((PyArrayObject *)array) == 0 ? state->zero_dim_bit : 0;
    PyObject *signature =
        bit == 0 ? NULL : PyLong_FromLongLong(state->cpu_bit | normal | bit | zero_dim);
    if (signature == NULL) {
        Py_DECREF(array);
        return NULL;
    }
    return new_tensor(state, array, signature, state->zero);
}

static inline int
is_sequence(PyObject *data)
{
    return PyList_CheckExact(data) || PyTuple_CheckExact(data);
}

/* Whether memory may be shared as it is: the array owns it, may be written, and has strides as
 * tensors have them. */
static int
is_shareable(PyArrayObject *array)
{
    if (PyArray_BASE(array) != NULL || !PyArray_ISWRITEABLE(array) ||
        !PyArray_ISNOTSWAPPED(array)) {
        return 0;
    }
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp stride = PyArray_STRIDE(array, i);
        if (stride < 0 || stride % PyArray_ITEMSIZE(array) != 0) {
            return 0;
        }
    }
    return 1;
}

/* The type of NumPy that numbers are stored in as a dtype; NPY_NOTYPE for others than these four. */
static int
type_of_dtype(const module_state *state, PyObject *dtype)
{
    static const int types[] = {NPY_FLOAT, NPY_INT64, NPY_DOUBLE, NPY_BOOL};
    for (int i = 0; i < 4; i++) {
        long long bit = state->bit_of_type[types[i]];
        if (bit != 0 && state->dtype_by_bit[__builtin_ctzll(bit)] == dtype) {
            return types[i];
        }
    }
    return NPY_NOTYPE;
}

/* The least type of NumPy for all numbers in lists of these lengths, of which NPY_DOUBLE stands for
 * any real one; NPY_NOTYPE for lists of other lengths and for what is no Python number. */
static int
least_type(PyObject *data, int ndim, const npy_intp *dims)
{
    if (ndim == 0) {
        return PyFloat_CheckExact(data)  ? NPY_DOUBLE
               : PyLong_CheckExact(data) ? NPY_INT64
               : PyBool_Check(data)      ? NPY_BOOL
                                         : NPY_NOTYPE;
    }
    int least = NPY_BOOL;
    if (!is_sequence(data) || PySequence_Fast_GET_SIZE(data) != dims[0]) {
        return NPY_NOTYPE;
    }
    for (npy_intp i = 0; i < dims[0] && least != NPY_NOTYPE; i++) {
        int own = least_type(PySequence_Fast_GET_ITEM(data, i), ndim - 1, dims + 1);
        least = own == NPY_NOTYPE || least < own ? own : least;
    }
    return least;
}

/* Write a number. Return 0 for an int that does not fit, or is none in double precision. */
static int
write_number(void *to, int type, PyObject *number)
{
    int overflow = 0, is_float = PyFloat_CheckExact(number);
    long long integer = is_float ? 0 : PyLong_AsLongLongAndOverflow(number, &overflow);
    double real = is_float ? PyFloat_AS_DOUBLE(number) : (double)integer;
    switch (type) {
    case NPY_FLOAT:
        *(float *)to = (float)real;
        break;
    case NPY_DOUBLE:
        *(double *)to = real;
        break;
    case NPY_BOOL:
        *(npy_bool *)to = integer != 0;
        return 1;
    default:
        *(npy_int64 *)to = integer;
        return !overflow;
    }
    return !overflow && (is_float || is_exact_as_double(integer));
}

/* Write the numbers in lists; `to` is set behind the last one. Return 0 as `write_number`. */
static int
write_numbers(char **to, PyObject *data, int type, int item, int ndim)
{
    if (ndim == 0) {
        int is_written = write_number(*to, type, data);
        *to += item;
        return is_written;
    }
    int is_written = 1;
    for (Py_ssize_t i = 0; is_written && i < PySequence_Fast_GET_SIZE(data); i++) {
        is_written =
            write_numbers(to, PySequence_Fast_GET_ITEM(data, i), type, item, ndim - 1);
    }
    return is_written;
}

enum { DEEPEST_LIST = 4 };

/* A new array of a number, or of lists of numbers, of a dtype, or of the one that they have. */
static PyObject *
array_of_numbers(const module_state *state, PyObject *data, PyObject *dtype)
{
    npy_intp dims[DEEPEST_LIST];
    int ndim = 0;
    PyObject *first = data;
    while (ndim < DEEPEST_LIST && is_sequence(first) && PySequence_Fast_GET_SIZE(first) > 0) {
        dims[ndim++] = PySequence_Fast_GET_SIZE(first);
        first = PySequence_Fast_GET_ITEM(first, 0);
    }
    int least = least_type(data, ndim, dims);
    int type = dtype != NULL         ? type_of_dtype(state, dtype)
               : least == NPY_DOUBLE ? type_of_dtype(state, state->default_dtype)
                                     : least;
    if (least == NPY_NOTYPE || type == NPY_NOTYPE ||
        (least == NPY_DOUBLE && type != NPY_DOUBLE && type != NPY_FLOAT)) {
        return NULL;
    }
    PyObject *array = PyArray_SimpleNew(ndim, dims, type);
    if (array == NULL) {
        return NULL;
    }
    char *to = PyArray_BYTES((PyArrayObject *)array);
    int item = (int)PyArray_ITEMSIZE((PyArrayObject *)array);
    if (!write_numbers(&to, data, type, item, ndim)) {
        Py_CLEAR(array);
    }
    return array;
}

/* Set the dtype and whether the tensor requires grad, where they are given. Return whether the other
 * options are as they are by default, and the device is the default one. */
static int
read_options(const module_state *state, PyObject *const *options, PyObject *names,
             PyObject **dtype, int *wants_grad)
{
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = options[i];
        if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
            *dtype = value == Py_None ? NULL : value;
        }
        else if (PyUnicode_CompareWithASCIIString(name, "device") == 0) {
            if (value != Py_None && !is_cpu_device(state, value)) {
                return 0;
            }
        }
        else if (PyUnicode_CompareWithASCIIString(name, "requires_grad") != 0 ||
                 !PyBool_Check(value)) {
            return 0;
        }
        else {
            *wants_grad = value == Py_True;
        }
    }
    return 1;
}

PyObject *
tensor_of_ints(const module_state *state, PyObject *list)
{
    PyObject *array = array_of_numbers(state, list, NULL);
    return array == NULL ? NULL : tensor_around(state, array, is_quiet(state));
}

PyObject *
tensor_of_data(const module_state *state, accessor which, PyObject *const *args, Py_ssize_t count,
               PyObject *names)
{
    quietness quiet = is_quiet(state);
    PyObject *dtype = NULL, *array = NULL;
    int wants_grad = 0;
    if (count != 1 || quiet == NOT_QUIET ||
        !read_options(state, args + 1, names, &dtype, &wants_grad) ||
        (which != ACCESSOR_from_numpy && default_of(state, PARAMETER_DEVICE) == NULL)) {
        return NULL;
    }
    PyObject *data = args[0];
    if (which == ACCESSOR_as_tensor && names == NULL && Py_TYPE(data) == state->tensor_type) {
        return Py_NewRef(data);
    }
    if (which == ACCESSOR_tensor && PyArray_CheckExact(data)) {
        array = dtype == NULL && PyArray_ISCARRAY_RO((PyArrayObject *)data)
                    ? PyArray_NewCopy((PyArrayObject *)data, NPY_CORDER)
                    : NULL;
    }
    else if (PyArray_CheckExact(data)) {
        array = names == NULL && is_shareable((PyArrayObject *)data)
                    ? PyArray_View((PyArrayObject *)data, NULL, NULL)
                    : NULL;
    }
    else if (which != ACCESSOR_from_numpy) {
        array = array_of_numbers(state, data, dtype);
    }
    PyObject *made = array == NULL ? NULL : tensor_around(state, array, quiet);
    if (wants_grad && made != NULL &&
        PyObject_SetAttr(made, state->str_requires_grad, Py_True) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* New tensors on the cpu: around an array of NumPy, and of a number or a list of numbers.
 *
 * What is not plain is the Python function's: other arrays and dtypes, options, modes, and where a
 * default device was chosen. */
#include "entry.h"
#include "slots.h"

/* A tensor around an array, whose reference is stolen; NULL without an exception for a dtype that
 * tensors do not have. */
static PyObject *
wrapped(const module_state *state, PyObject *array, quietness quiet)
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

/* The type of NumPy for Python numbers of a class; NPY_NOTYPE for others. */
static int
type_of_class(const module_state *state, PyTypeObject *class)
{
    if (class == &PyLong_Type || class == &PyBool_Type) {
        return class == &PyLong_Type ? NPY_INT64 : NPY_BOOL;
    }
    for (int type = NPY_FLOAT; class == &PyFloat_Type && type <= NPY_DOUBLE; type++) {
        long long bit = state->bit_of_type[type];
        if (bit != 0 && state->dtype_by_bit[__builtin_ctzll(bit)] == state->default_dtype) {
            return type;
        }
    }
    return NPY_NOTYPE;
}

/* Write Python numbers of one class. Return 0 for one of another class, or that does not fit. */
static int
write_numbers(void *data, int type, PyObject *const *numbers, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        int overflow = 0;
        if (Py_TYPE(numbers[i]) != Py_TYPE(numbers[0])) {
            return 0;
        }
        switch (type) {
        case NPY_FLOAT:
            ((float *)data)[i] = (float)PyFloat_AS_DOUBLE(numbers[i]);
            break;
        case NPY_DOUBLE:
            ((double *)data)[i] = PyFloat_AS_DOUBLE(numbers[i]);
            break;
        case NPY_BOOL:
            ((npy_bool *)data)[i] = numbers[i] == Py_True;
            break;
        default:
            ((npy_int64 *)data)[i] = PyLong_AsLongLongAndOverflow(numbers[i], &overflow);
        }
        if (overflow) {
            return 0;
        }
    }
    return 1;
}

/* A new array of a number, or of a list of numbers of one class. */
static PyObject *
array_of_numbers(const module_state *state, PyObject *data)
{
    int is_list = PyList_CheckExact(data);
    npy_intp count = is_list ? PyList_GET_SIZE(data) : 1;
    PyObject *const *numbers = is_list ? PySequence_Fast_ITEMS(data) : &data;
    int type = count == 0 ? NPY_NOTYPE : type_of_class(state, Py_TYPE(numbers[0]));
    PyObject *array = type == NPY_NOTYPE ? NULL : PyArray_SimpleNew(is_list, &count, type);
    if (array != NULL &&
        !write_numbers(PyArray_DATA((PyArrayObject *)array), type, numbers, count)) {
        Py_CLEAR(array);
    }
    return array;
}

PyObject *
tensor_of_data(const module_state *state, accessor which, PyObject *const *args, Py_ssize_t count)
{
    quietness quiet = is_quiet(state);
    if (count != 1 || quiet == NOT_QUIET ||
        (which != ACCESSOR_from_numpy && default_of(state, PARAMETER_DEVICE) == NULL)) {
        return NULL;
    }
    PyObject *data = args[0], *array = NULL;
    if (which == ACCESSOR_tensor) {
        array = array_of_numbers(state, data);
    }
    else if (PyArray_CheckExact(data) && is_shareable((PyArrayObject *)data)) {
        array = PyArray_View((PyArrayObject *)data, NULL, NULL);
    }
    return array == NULL ? NULL : wrapped(state, array, quiet);
}

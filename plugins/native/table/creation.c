/* New arrays, as operators: of a size, and like others in C order. */
#include "table.h"

typedef enum { NOT_SET, ZEROS, ONES } contents;

static int memory_is_filled = 0; /* a setting of the process: every core in it has the same */

PyObject *
set_filled_memory(PyObject *module, PyObject *is_filled)
{
    (void)module;
    int value = PyObject_IsTrue(is_filled);
    if (value < 0) {
        return NULL;
    }
    memory_is_filled = value;
    Py_RETURN_NONE;
}

int
is_addressable(int ndim, const npy_intp *dims, npy_intp item)
{
    npy_intp bytes = item == 0 ? 1 : item;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] < 0 || __builtin_mul_overflow(bytes, dims[i] == 0 ? 1 : dims[i], &bytes)) {
            return 0;
        }
    }
    return 1;
}

/* Fill a new array with ones. Return 0, or -1 with an exception. */
static int
fill_with_ones(PyArrayObject *array)
{
    npy_intp size = PyArray_SIZE(array);
    if (PyArray_TYPE(array) == NPY_FLOAT) {
        float *numbers = PyArray_DATA(array);
        for (npy_intp i = 0; i < size; i++) {
            numbers[i] = 1;
        }
        return 0;
    }
    PyObject *one = PyLong_FromLong(1);
    int status = one == NULL ? -1 : PyArray_FillWithScalar(array, one);
    Py_XDECREF(one);
    return status;
}

static PyObject *
new_of(int ndim, const npy_intp *dims, PyArray_Descr *dtype, contents fill)
{
    if (!is_addressable(ndim, dims, PyDataType_ELSIZE(dtype)) ||
        (fill == NOT_SET && memory_is_filled)) {
        return NULL;
    }
    Py_INCREF(dtype); /* both take a reference */
    PyObject *made = fill == ZEROS ? PyArray_Zeros(ndim, dims, dtype, 0)
                                   : PyArray_Empty(ndim, dims, dtype, 0);
    if (made != NULL && fill == ONES && fill_with_ones((PyArrayObject *)made) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *
new_ones(int ndim, const npy_intp *dims, PyArray_Descr *dtype)
{
    return new_of(ndim, dims, dtype, ONES);
}

COMPUTE_OF(of_size, fill)
{
    npy_intp dims[NPY_MAXDIMS];
    int ndim = read_ints(arguments[0], dims);
    if (ndim < 0 || arguments[1] == NULL || !PyArray_DescrCheck(arguments[1]) ||
        is_given(arguments[2])) {
        return NULL;
    }
    return new_of(ndim, dims, (PyArray_Descr *)arguments[1], fill);
}

COMPUTE_OF(like, fill)
{
    PyArrayObject *model = plain_array(arguments[0]);
    if (model == NULL || !PyArray_IS_C_CONTIGUOUS(model) || is_given(arguments[2]) ||
        (is_given(arguments[1]) && !PyArray_DescrCheck(arguments[1]))) {
        return NULL;
    }
    PyArray_Descr *dtype =
        is_given(arguments[1]) ? (PyArray_Descr *)arguments[1] : PyArray_DESCR(model);
    return new_of(PyArray_NDIM(model), PyArray_DIMS(model), dtype, fill);
}

COMPUTE_OF(new_like, fill)
{
    PyArrayObject *model = plain_array(arguments[0]);
    if (model == NULL) {
        return NULL;
    }
    PyObject *dtype = is_given(arguments[2]) ? arguments[2] : (PyObject *)PyArray_DESCR(model);
    PyObject *const of[] = {arguments[1], dtype, NULL};
    return of_size(of, fill);
}

#define ROW(operator, compute, fill, first)                                                       \
    {operator, "table/creation.c", __LINE__, compute, {first, "dtype", "memory_format"}, 0, NULL, \
     fill}
#define ROW_OF_NEW(operator, fill)                                                                \
    {operator, "table/creation.c", __LINE__, new_like, {"self", "size", "dtype"}, 0, NULL, fill}
const kernel_row creation_rows[] = {
    ROW("empty.memory_format", of_size, NOT_SET, "size"),
    ROW("zeros", of_size, ZEROS, "size"),
    ROW("ones", of_size, ONES, "size"),
    ROW("empty_like", like, NOT_SET, "self"),
    ROW("zeros_like", like, ZEROS, "self"),
    ROW("ones_like", like, ONES, "self"),
    ROW_OF_NEW("new_empty", NOT_SET),
    ROW_OF_NEW("new_zeros", ZEROS),
    ROW_OF_NEW("new_ones", ONES),
    {NULL},
};

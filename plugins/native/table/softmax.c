/* Softmax and its logarithm, with their gradients, as operators. */
#include "table.h"

static PyObject *
compute(softmax_kind kind, int precision, PyObject *first, PyObject *second, int axis);

/* The same with the axis put last and back: long rows, of which few lie side by side. */
static PyObject *
compute_turned(softmax_kind kind, int precision, PyObject *first, PyObject *second, int axis)
{
    int last = PyArray_NDIM((PyArrayObject *)first) - 1;
    PyObject *input = PyArray_SwapAxes((PyArrayObject *)first, axis, last);
    PyObject *output =
        second == NULL ? NULL : PyArray_SwapAxes((PyArrayObject *)second, axis, last);
    PyObject *turned = NULL, *back = NULL, *result = NULL;
    if (input != NULL && (second == NULL || output != NULL)) {
        turned = compute(kind, precision, input, output, last);
    }
    if (turned != NULL) {
        back = PyArray_SwapAxes((PyArrayObject *)turned, axis, last);
    }
    if (back != NULL) {
        result = (PyObject *)in_c_order(back);
    }
    Py_XDECREF(input);
    Py_XDECREF(output);
    Py_XDECREF(turned);
    Py_XDECREF(back);
    return result;
}

/* Return a new array computed from one or two arrays of one shape and dtype. */
static PyObject *
compute(softmax_kind kind, int precision, PyObject *first, PyObject *second, int axis)
{
    PyArrayObject *model = (PyArrayObject *)first;
    axis_sizes along = sizes_around(model, axis);
    if (along.inner > 1 && along.inner < SOFTMAX_WIDTH && along.length > SOFTMAX_MOST_GATHERED) {
        return compute_turned(kind, precision, first, second, axis);
    }
    PyArrayObject *result = empty_like(first);
    PyArrayObject *input = in_c_order(first);
    PyArrayObject *output = second == NULL ? NULL : in_c_order(second);
    if (result == NULL || input == NULL || (second != NULL && output == NULL)) {
        Py_XDECREF(result);
        result = NULL;
    }
    else if (PyArray_SIZE(result) > 0) {
        softmax_kernel *kernel = kernels_in_force->softmax->of[precision][kind];
        void *to = PyArray_DATA(result);
        const void *from = PyArray_DATA(input);
        const void *with = output == NULL ? from : PyArray_DATA(output);
        RELEASED(
            PyArray_SIZE(result), kernel(to, from, with, along.outer, along.length, along.inner));
    }
    Py_XDECREF(input);
    Py_XDECREF(output);
    return (PyObject *)result;
}

static PyObject *
forward(softmax_kind kind, PyObject *const *arguments)
{
    PyObject *array = arguments[0];
    int axis, precision = precision_of(array);
    if (precision < 0 || !read_axis(arguments[1], PyArray_NDIM((PyArrayObject *)array), &axis)) {
        return NULL;
    }
    return compute(kind, precision, array, NULL, axis);
}

static PyObject *
softmax(PyObject *const *arguments)
{
    return arguments[2] == Py_False ? forward(SOFTMAX, arguments) : NULL;
}

static PyObject *
log_softmax(PyObject *const *arguments)
{
    return arguments[2] == Py_False ? forward(LOG_SOFTMAX, arguments) : NULL;
}

static PyObject *
safe_softmax(PyObject *const *arguments)
{
    PyObject *dtype = arguments[2];
    int is_own =
        !is_given(dtype) || precision_of(arguments[0]) < 0 || is_dtype_of(dtype, arguments[0]);
    return is_own ? forward(SAFE_SOFTMAX, arguments) : NULL;
}

static PyObject *
backward(softmax_kind kind, PyObject *const *arguments)
{
    PyObject *grad = arguments[0], *output = arguments[1];
    int axis, precision = precision_of(output);
    if (precision < 0 || precision_of(grad) != precision || !have_one_shape(grad, output) ||
        !is_dtype_of(arguments[3], output) ||
        !read_axis(arguments[2], PyArray_NDIM((PyArrayObject *)output), &axis)) {
        return NULL;
    }
    return compute(kind, precision, grad, output, axis);
}

static PyObject *
softmax_backward(PyObject *const *arguments)
{
    return backward(SOFTMAX_BACKWARD, arguments);
}

static PyObject *
log_softmax_backward(PyObject *const *arguments)
{
    return backward(LOG_SOFTMAX_BACKWARD, arguments);
}

#define ROW(operator, compute, widened, ...)                                                      \
    {operator, "table/softmax.c", __LINE__, compute, {__VA_ARGS__}, 0, widened}
#define FORWARD "self", "dim", "half_to_float"
#define BACKWARD "grad_output", "output", "dim", "input_dtype"
const kernel_row softmax_rows[] = {
    ROW("_softmax", softmax, "1x", FORWARD),
    ROW("_log_softmax", log_softmax, "1x", FORWARD),
    ROW("_safe_softmax", safe_softmax, "1x", "self", "dim", "dtype"),
    ROW("_softmax_backward_data", softmax_backward, "2x", BACKWARD),
    ROW("_log_softmax_backward_data", log_softmax_backward, "2x", BACKWARD),
    {NULL},
};

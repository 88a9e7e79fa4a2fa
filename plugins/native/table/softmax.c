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

COMPUTE_OF(forward, kind)
{
    PyObject *array = arguments[0], *option = arguments[2]; /* half_to_float, or a dtype */
    int axis, precision = precision_of(array);
    int is_own = option == Py_False;
    if (precision >= 0 && kind == SAFE_SOFTMAX) {
        is_own = !is_given(option) || is_dtype_of(option, array);
    }
    if (precision < 0 || !is_own ||
        !read_axis(arguments[1], PyArray_NDIM((PyArrayObject *)array), &axis)) {
        return NULL;
    }
    return compute(kind, precision, array, NULL, axis);
}

COMPUTE_OF(backward, kind)
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

#define ROW(operator, compute, widened, kind, ...)                                                \
    {operator, "table/softmax.c", __LINE__, compute, {__VA_ARGS__}, 0, widened, kind}
#define FORWARD "self", "dim", "half_to_float"
#define BACKWARD "grad_output", "output", "dim", "input_dtype"
const kernel_row softmax_rows[] = {
    ROW("_softmax", forward, "1x", SOFTMAX, FORWARD),
    ROW("_log_softmax", forward, "1x", LOG_SOFTMAX, FORWARD),
    ROW("_safe_softmax", forward, "1x", SAFE_SOFTMAX, "self", "dim", "dtype"),
    ROW("_softmax_backward_data", backward, "2x", SOFTMAX_BACKWARD, BACKWARD),
    ROW("_log_softmax_backward_data", backward, "2x", LOG_SOFTMAX_BACKWARD, BACKWARD),
    {NULL},
};

/* The negative log likelihood of classes, with its gradient, as operators. */
#include "table.h"

enum { NONE, MEAN, SUM }; /* PyTorch's numbers of reductions */

/* Read samples and classes of an input of one or two axes, and its targets, weights and what is
 * ignored, held in `taken`. Return whether they fit. */
static int
read_targets(
    operands *taken, PyObject *array, PyObject *targets, PyObject *weight, PyObject *ignored,
    int precision, target_classes *read)
{
    PyArrayObject *input = (PyArrayObject *)array;
    int ndim = PyArray_NDIM(input), overflow;
    if (ndim < 1 || ndim > 2 || weight == NULL || PyArray_SIZE(input) == 0 || targets == NULL ||
        ignored == NULL || !PyLong_CheckExact(ignored) || !PyArray_CheckExact(targets)) {
        return 0;
    }
    PyArrayObject *classes = (PyArrayObject *)targets;
    read->samples = ndim == 2 ? PyArray_DIM(input, 0) : 1;
    read->classes = PyArray_DIM(input, ndim - 1);
    read->ignored = PyLong_AsLongLongAndOverflow(ignored, &overflow);
    if (overflow != 0 || PyArray_TYPE(classes) != NPY_INT64 || !PyArray_ISNOTSWAPPED(classes) ||
        PyArray_NDIM(classes) > 1 || PyArray_SIZE(classes) != read->samples ||
        (ndim == 2 && PyArray_NDIM(classes) != 1) ||
        (weight != Py_None && PyArray_Check(weight) &&
         PyArray_NDIM((PyArrayObject *)weight) != 1) ||
        !take_optional(taken, weight, precision, read->classes, &read->weight)) {
        return 0;
    }
    classes = in_c_order(targets);
    if (classes == NULL) {
        taken->failed = 1;
        return 0;
    }
    taken->held[taken->count++] = classes;
    read->targets = PyArray_DATA(classes);
    return 1;
}

/* Which reduction a number is; -1 if it is none. */
static int
read_reduction(PyObject *object)
{
    npy_intp number;
    return read_size(object, &number) && number <= SUM ? (int)number : -1;
}

COMPUTE(forward)
{
    PyObject *array = arguments[0];
    int precision = precision_of(array), reduction = read_reduction(arguments[3]);
    operands taken = {0};
    results made = {.failed = 1};
    target_classes target;
    if (precision >= 0 && reduction >= 0 &&
        read_targets(
            &taken, array, arguments[1], arguments[2], arguments[4], precision, &target)) {
        PyArrayObject *input = (PyArrayObject *)array;
        int ndim = PyArray_NDIM(input), is_each = reduction == NONE && ndim == 2;
        npy_intp samples = target.samples;
        made.failed = 0;
        void *to = add_result(&made, new_array(is_each, &samples, precision));
        void *to_weight = add_result(&made, new_array(0, NULL, precision));
        int is_right = 1;
        if (!made.failed) {
            memset(to_weight, 0, precision ? sizeof(double) : sizeof(float));
            RELEASED(
                samples, is_right = kernels_in_force->likelihood->forward[precision](
                             is_each ? to : NULL, to, to_weight, PyArray_BYTES(input),
                             ndim == 2 ? PyArray_STRIDE(input, 0) : 0,
                             PyArray_STRIDE(input, ndim - 1), target));
            if (reduction == MEAN && precision) {
                *(double *)to /= *(double *)to_weight;
            }
            else if (reduction == MEAN) {
                *(float *)to /= *(float *)to_weight;
            }
        }
        made.failed |= !is_right;
    }
    release_operands(&taken);
    return tuple_of(&made);
}

COMPUTE(backward)
{
    PyObject *array = arguments[1];
    int precision = precision_of(array), reduction = read_reduction(arguments[4]);
    operands taken = {0};
    target_classes target;
    const void *grads, *total_weight;
    PyArrayObject *made = NULL;
    if (precision >= 0 && reduction >= 0 &&
        read_targets(
            &taken, array, arguments[2], arguments[3], arguments[5], precision, &target)) {
        PyArrayObject *input = (PyArrayObject *)array;
        int is_one = reduction != NONE || PyArray_NDIM(input) == 1;
        npy_intp count = is_one ? 1 : target.samples;
        if (take_operand(&taken, arguments[0], precision, count, &grads) &&
            (reduction != MEAN ||
             take_operand(&taken, arguments[6], precision, 1, &total_weight))) {
            made = (PyArrayObject *)PyArray_ZEROS(
                PyArray_NDIM(input), PyArray_DIMS(input), PyArray_TYPE(input), 0);
            int is_right = 1;
            if (made != NULL) {
                RELEASED(
                    target.samples, is_right = kernels_in_force->likelihood->backward[precision](
                                        PyArray_DATA(made), grads, is_one,
                                        reduction == MEAN ? total_weight : NULL, target));
            }
            if (!is_right) {
                Py_CLEAR(made);
            }
        }
    }
    release_operands(&taken);
    return (PyObject *)made;
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "table/likelihood.c", __LINE__, compute, {__VA_ARGS__}}
const kernel_row likelihood_rows[] = {
    ROW("nll_loss_forward", forward, "self", "target", "weight", "reduction", "ignore_index"),
    ROW("nll_loss_backward", backward, "grad_output", "self", "target", "weight", "reduction",
        "ignore_index", "total_weight"),
    {NULL},
};

/* Pooling and unpooling of images, with their gradients, as operators. */
#include "table.h"

/* ---- windows --------------------------------------------------------------------------------- */

/* Images of the last two or three axes of an array, and windows over them. */
typedef struct {
    int ndim, precision; /* axes of an image */
    npy_intp count;      /* images */
    pooling_windows windows;
} pooling;

/* Read an array of images: the last axes of one that has channels and may have a batch. Return
 * whether it is one, with elements. */
static int
read_images(PyObject *object, int ndim, pooling *read)
{
    read->precision = precision_of(object);
    read->ndim = ndim;
    read->count = 1;
    if (read->precision < 0) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    int lead = PyArray_NDIM(array) - ndim;
    if (lead < 1 || lead > 2 || PyArray_SIZE(array) == 0) {
        return 0;
    }
    for (int i = 0; i < lead; i++) {
        read->count *= PyArray_DIM(array, i);
    }
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - ndim);
        pooling_axis axis = {at < lead ? 1 : PyArray_DIM(array, at), 1, 1, 1, 0, 1};
        read->windows.axis[i] = axis;
    }
    return 1;
}

/* Read one number for each axis of an image, of which one counts for all, at least `least`. Where
 * there is none, all are `otherwise`. Return whether these are such numbers. */
static int
read_numbers(PyObject *object, int ndim, npy_intp least, npy_intp otherwise, npy_intp *numbers)
{
    Py_ssize_t count = 0;
    if (object != NULL) {
        if (!PyTuple_Check(object) && !PyList_CheckExact(object)) {
            return 0;
        }
        count = PySequence_Fast_GET_SIZE(object);
        if (count > 1 && count != ndim) {
            return 0;
        }
    }
    for (int i = 0; i < ndim; i++) {
        numbers[i] = otherwise;
        if (count > 0 &&
            !read_size(PySequence_Fast_GET_ITEM(object, count == 1 ? 0 : i), numbers + i)) {
            return 0;
        }
        if (numbers[i] < least || numbers[i] > INT32_MAX) { /* so that no sum overflows */
            return 0;
        }
    }
    return 1;
}

/* The same of numbers that are given, each for its own axis. */
static int
read_numbers_of_axes(PyObject *object, int ndim, npy_intp least, npy_intp *numbers)
{
    return object != NULL && read_numbers(object, ndim, least, 0, numbers) &&
           PySequence_Fast_GET_SIZE(object) == ndim;
}

/* Read the windows of a pooling. Return whether they are right. */
static int
read_windows(
    pooling *read, PyObject *kernel, PyObject *stride, PyObject *padding, PyObject *dilation,
    PyObject *ceil_mode)
{
    npy_intp kernels[3], strides[3], paddings[3], dilations[3];
    int ceil, ndim = read->ndim;
    if (kernel == NULL || !read_numbers(kernel, ndim, 1, 0, kernels) ||
        !read_numbers(stride, ndim, 0, 0, strides) ||
        !read_numbers(padding, ndim, 0, 0, paddings) ||
        !read_numbers(dilation, ndim, 1, 1, dilations) ||
        !read_optional_flag(ceil_mode, &ceil)) {
        return 0;
    }
    int has_strides = stride != NULL && PySequence_Fast_GET_SIZE(stride) > 0;
    for (int i = 0; i < ndim; i++) {
        pooling_axis *axis = read->windows.axis + 3 - ndim + i;
        npy_intp step = has_strides ? strides[i] : kernels[i];
        npy_intp reach = (kernels[i] - 1) * dilations[i] + 1;
        if (step < 1 || paddings[i] > kernels[i] / 2 || axis->size > INT32_MAX * (npy_intp)1024) {
            return 0;
        }
        npy_intp left = axis->size + 2 * paddings[i] - reach;
        if (left + (ceil ? step - 1 : 0) < 0) {
            return 0;
        }
        npy_intp number = (left + (ceil ? step - 1 : 0)) / step + 1;
        if (ceil && (number - 1) * step >= axis->size + paddings[i]) {
            number--;
        }
        if (number < 1) {
            return 0;
        }
        pooling_axis made = {axis->size, number, kernels[i], step, paddings[i], dilations[i]};
        *axis = made;
    }
    return 1;
}

/* Let windows be nearly equal ones, as many as an array has elements along its last axes, or as
 * numbers say. Return whether there are some. */
static int
set_number_of_windows(pooling *read, const npy_intp *numbers)
{
    for (int i = 0; i < read->ndim; i++) {
        pooling_axis *axis = read->windows.axis + 3 - read->ndim + i;
        if (numbers[i] < 1 || numbers[i] > INT32_MAX || axis->size > INT32_MAX) {
            return 0;
        }
        axis->number = numbers[i];
        axis->stride = 0;
    }
    return 1;
}

static int
read_number_of_windows(pooling *read, PyObject *object)
{
    npy_intp numbers[3];
    return read_numbers_of_axes(object, read->ndim, 1, numbers) &&
           set_number_of_windows(read, numbers);
}

/* Set the shape of images with an element for each window; return its number of axes. */
static int
set_shape(const pooling *read, PyObject *images, npy_intp *shape)
{
    int ndim = PyArray_NDIM((PyArrayObject *)images), lead = ndim - read->ndim;
    for (int i = 0; i < ndim; i++) {
        shape[i] = i < lead ? PyArray_DIM((PyArrayObject *)images, i)
                            : read->windows.axis[3 - read->ndim + i - lead].number;
    }
    return ndim;
}

/* A new array with that shape, of a type, whose channels come last if `is_last`. */
static PyArrayObject *
array_of_windows(const pooling *read, PyObject *images, int type, int is_last)
{
    npy_intp shape[NPY_MAXDIMS];
    int ndim = set_shape(read, images, shape);
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    PyArrayObject *made = new_in_format(ndim, shape, dtype, is_last);
    Py_DECREF(dtype);
    return made;
}

/* Whether an array has that shape. */
static int
is_of_windows(const pooling *read, PyObject *images, PyObject *object)
{
    npy_intp shape[NPY_MAXDIMS];
    int ndim = set_shape(read, images, shape);
    return has_shape(object, ndim, shape);
}

/* Read images, and gradients of nearly equal windows over them, one for each. Return whether they
 * are such. */
static int
read_gradients(PyObject *grad, PyObject *images, int ndim, pooling *read)
{
    if (images == NULL || !read_images(images, ndim, read) ||
        precision_of(grad) != read->precision ||
        PyArray_NDIM((PyArrayObject *)grad) != PyArray_NDIM((PyArrayObject *)images)) {
        return 0;
    }
    int lead = PyArray_NDIM((PyArrayObject *)grad) - ndim;
    return set_number_of_windows(read, PyArray_DIMS((PyArrayObject *)grad) + lead) &&
           is_of_windows(read, images, grad);
}

static const pooling_kernels_of *
kernels_of(const pooling *read)
{
    return kernels_in_force->pooling->of + read->precision;
}

/* Whether images are computed where they lie, with their channels last. Adaptive pooling of volumes
 * gives C order. */
static int
stay_channels_last(const pooling *read, PyObject *images)
{
    PyArrayObject *array = (PyArrayObject *)images;
    return PyArray_NDIM(array) == read->ndim + 2 && is_channels_last(array);
}

/* ---- maxima ---------------------------------------------------------------------------------- */

static PyObject *
compute_maxima(const pooling *read, PyObject *images, int may_stay)
{
    PyArrayObject *array = (PyArrayObject *)images;
    int is_last = may_stay && stay_channels_last(read, images) &&
                  PyArray_SIZE(array) / read->count <= INT32_MAX;
    PyArrayObject *input = in_format(images, is_last);
    results made = {.failed = input == NULL};
    void *maxima = add_result(&made, array_of_windows(read, images, PyArray_TYPE(array), is_last));
    void *indices = add_result(&made, array_of_windows(read, images, NPY_INT64, is_last));
    if (!made.failed) {
        const void *from = PyArray_DATA(input);
        if (is_last) {
            npy_intp samples = PyArray_DIM(array, 0), channels = PyArray_DIM(array, 1);
            RELEASED(
                PyArray_SIZE(input), kernels_of(read)->maxima_last(
                                         maxima, indices, from, samples, channels, &read->windows));
        }
        else {
            RELEASED(
                PyArray_SIZE(input), kernels_of(read)->maxima(
                                         maxima, indices, from, read->count, &read->windows));
        }
    }
    Py_XDECREF(input);
    return tuple_of(&made);
}

COMPUTE_OF(max_pool, ndim)
{
    pooling read;
    return read_images(arguments[0], ndim, &read) &&
                   read_windows(
                       &read, arguments[1], arguments[2], arguments[3], arguments[4],
                       arguments[5])
               ? compute_maxima(&read, arguments[0], 1)
               : NULL;
}

COMPUTE_OF(adaptive_max_pool, ndim)
{
    pooling read;
    return read_images(arguments[0], ndim, &read) && read_number_of_windows(&read, arguments[1])
               ? compute_maxima(&read, arguments[0], ndim == 2)
               : NULL;
}

/* ---- averages -------------------------------------------------------------------------------- */

/* The averages of images; or their gradients, if `gradients` are given. */
static PyObject *
compute_averages(
    const pooling *read, PyObject *images, PyObject *gradients, pooling_divisor divisor)
{
    PyArrayObject *array = (PyArrayObject *)images;
    int is_last = gradients == NULL && read->ndim == 2 && stay_channels_last(read, images) &&
                  kernels_in_force->pooling->are_small(&read->windows);
    PyArrayObject *input = in_format(gradients == NULL ? images : gradients, is_last);
    PyArrayObject *made =
        gradients == NULL ? array_of_windows(read, images, PyArray_TYPE(array), is_last)
                          : empty_like(images);
    if (input != NULL && made != NULL) {
        void *to = PyArray_DATA(made);
        const void *from = PyArray_DATA(input);
        const pooling_kernels_of *kernels = kernels_of(read);
        if (is_last) {
            npy_intp samples = PyArray_DIM(array, 0), channels = PyArray_DIM(array, 1);
            RELEASED(
                PyArray_SIZE(input),
                kernels->averages_last(to, from, samples, channels, &read->windows, divisor));
        }
        else if (gradients == NULL) {
            RELEASED(
                PyArray_SIZE(input),
                kernels->averages(to, from, read->count, &read->windows, divisor));
        }
        else {
            RELEASED(
                PyArray_SIZE(made),
                kernels->averages_backward(to, from, read->count, &read->windows, divisor));
        }
    }
    else {
        Py_CLEAR(made);
    }
    Py_XDECREF(input);
    return (PyObject *)made;
}

/* Averages of the windows that arguments name, from the kernel size on. */
static PyObject *
averages(PyObject *images, PyObject *gradients, PyObject *const *how, int ndim)
{
    pooling read;
    pooling_divisor divisor = {0, 1};
    if (!read_images(images, ndim, &read) ||
        !read_windows(&read, how[0], how[1], how[2], NULL, how[3]) ||
        (how[4] != NULL && !read_flag(how[4], &divisor.counts_padding))) {
        return NULL;
    }
    if (is_given(how[5]) &&
        (!PyLong_CheckExact(how[5]) || !read_number(how[5], &divisor.number) ||
         divisor.number == 0)) {
        return NULL;
    }
    if (gradients != NULL && (precision_of(gradients) != read.precision ||
                              !is_of_windows(&read, images, gradients))) {
        return NULL;
    }
    return compute_averages(&read, images, gradients, divisor);
}

COMPUTE_OF(avg_pool, ndim)
{
    return averages(arguments[0], NULL, arguments + 1, ndim);
}

COMPUTE_OF(avg_pool_backward, ndim)
{
    return arguments[1] == NULL ? NULL : averages(arguments[1], arguments[0], arguments + 2, ndim);
}

COMPUTE_OF(adaptive_avg_pool, ndim)
{
    pooling read;
    pooling_divisor divisor = {0, 0};
    return read_images(arguments[0], ndim, &read) && read_number_of_windows(&read, arguments[1])
               ? compute_averages(&read, arguments[0], NULL, divisor)
               : NULL;
}

COMPUTE_OF(adaptive_avg_pool_backward, ndim)
{
    pooling read;
    pooling_divisor divisor = {0, 0};
    return read_gradients(arguments[0], arguments[1], ndim, &read)
               ? compute_averages(&read, arguments[1], arguments[0], divisor)
               : NULL;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* Zeros of a shape, whose last `ndim` axes are images, with values at indices of each image. */
static PyObject *
write_at(
    PyObject *values, PyObject *indices, const npy_intp *shape, int ndim, int adds, int is_last)
{
    PyArrayObject *source = (PyArrayObject *)values;
    int all = PyArray_NDIM(source), lead = all - ndim;
    PyArrayObject *from = in_format(values, is_last), *at = in_format(indices, is_last);
    PyArrayObject *made = new_in_format(all, shape, PyArray_DESCR(source), is_last);
    npy_intp count = 1, size = 1;
    for (int i = 0; i < all; i++) {
        npy_intp *product = i < lead ? &count : &size;
        *product *= shape[i];
    }
    int is_right = from != NULL && at != NULL && made != NULL;
    if (is_right) {
        npy_intp of_image = PyArray_SIZE(source) / count;
        void *to = PyArray_DATA(made);
        const void *data = PyArray_DATA(from);
        const int64_t *where = PyArray_DATA(at);
        const pooling_kernels_of *kernels =
            kernels_in_force->pooling->of + precision_of(values);
        if (is_last) {
            RELEASED(
                count * size,
                is_right = kernels->write_at_last(
                    to, data, where, shape[0], shape[1], of_image, size, adds));
        }
        else {
            RELEASED(
                count * size,
                is_right = kernels->write_at(to, data, where, count, of_image, size, adds));
        }
    }
    Py_XDECREF(from);
    Py_XDECREF(at);
    if (!is_right) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* Whether values and indices are of one shape with images of `ndim` axes and elements. */
static int
are_values_at(PyObject *values, PyObject *indices, int ndim)
{
    if (precision_of(values) < 0 || indices == NULL || !PyArray_CheckExact(indices) ||
        !have_one_shape(values, indices)) {
        return 0;
    }
    PyArrayObject *at = (PyArrayObject *)indices;
    int lead = PyArray_NDIM(at) - ndim;
    return PyArray_TYPE(at) == NPY_INT64 && PyArray_ISNOTSWAPPED(at) && lead >= 1 && lead <= 2 &&
           PyArray_SIZE(at) > 0;
}

static PyObject *
maxima_backward(PyObject *grad, PyObject *images, PyObject *indices, int ndim, int may_stay)
{
    pooling read;
    return read_gradients(grad, images, ndim, &read) && are_values_at(grad, indices, ndim)
               ? write_at(
                     grad, indices, PyArray_DIMS((PyArrayObject *)images), ndim, 1,
                     may_stay && stay_channels_last(&read, images))
               : NULL;
}

COMPUTE_OF(max_pool_backward, ndim)
{
    return maxima_backward(arguments[0], arguments[1], arguments[7], ndim, 1);
}

COMPUTE_OF(adaptive_max_pool_backward, ndim)
{
    return maxima_backward(arguments[0], arguments[1], arguments[2], ndim, ndim == 2);
}

COMPUTE_OF(fractional_max_pool_backward, ndim)
{
    return maxima_backward(arguments[0], arguments[1], arguments[4], ndim, 0);
}

COMPUTE_OF(max_unpool, ndim)
{
    npy_intp sizes[3], shape[NPY_MAXDIMS], numbers[3];
    if (!are_values_at(arguments[0], arguments[1], ndim) ||
        !read_numbers_of_axes(arguments[2], ndim, 1, sizes)) {
        return NULL;
    }
    /* In three dimensions strides and padding are checked, and not used. */
    if (ndim == 3 && (!read_numbers_of_axes(arguments[3], 3, 1, numbers) ||
                      !read_numbers_of_axes(arguments[4], 3, 0, numbers))) {
        return NULL;
    }
    PyArrayObject *values = (PyArrayObject *)arguments[0];
    int lead = PyArray_NDIM(values) - ndim;
    memcpy(shape, PyArray_DIMS(values), (size_t)lead * sizeof *shape);
    memcpy(shape + lead, sizes, (size_t)ndim * sizeof *shape);
    return write_at(
        arguments[0], arguments[1], shape, ndim, 0,
        ndim == 2 && lead == 2 && is_channels_last(values));
}

#define ROW(operator, compute, widened, ndim, ...)                                                \
    {operator, "table/pooling.c", __LINE__, compute, {__VA_ARGS__}, 0, widened, ndim}
/* The rows of an operator with images of two axes, and of three. */
#define ROWS(operator, backward, function, widened, ...)                                          \
    ROW(operator "2d" backward, function, widened, 2, __VA_ARGS__),                               \
        ROW(operator "3d" backward, function, widened, 3, __VA_ARGS__)
#define GRADIENT "grad_output", "self"
#define WINDOWS "kernel_size", "stride", "padding"
#define AVERAGED WINDOWS, "ceil_mode", "count_include_pad", "divisor_override"
const kernel_row pooling_rows[] = {
    ROWS("_adaptive_avg_pool", "", adaptive_avg_pool, "1x", "self", "output_size"),
    ROWS("_adaptive_avg_pool", "_backward", adaptive_avg_pool_backward, "2x", GRADIENT),
    ROWS("adaptive_max_pool", "", adaptive_max_pool, "1x1", "self", "output_size"),
    ROWS("adaptive_max_pool", "_backward", adaptive_max_pool_backward, "2x", GRADIENT, "indices"),
    ROWS("avg_pool", "", avg_pool, "1x", "self", AVERAGED),
    ROWS("avg_pool", "_backward", avg_pool_backward, "2x", GRADIENT, AVERAGED),
    ROWS("fractional_max_pool", "_backward", fractional_max_pool_backward, "2x", GRADIENT,
         "kernel_size", "output_size", "indices"),
    ROWS("max_pool", "_with_indices", max_pool, "1x1", "self", WINDOWS, "dilation", "ceil_mode"),
    ROWS("max_pool", "_with_indices_backward", max_pool_backward, "2x", GRADIENT, WINDOWS,
         "dilation", "ceil_mode", "indices"),
    ROW("max_unpool2d", max_unpool, "1x", 2, "self", "indices", "output_size"),
    ROW("max_unpool3d", max_unpool, "1x", 3, "self", "indices", "output_size", "stride",
        "padding"),
    {NULL},
};

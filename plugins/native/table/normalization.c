/* Layer, batch and group normalization, with their gradients, as operators. */
#include "table.h"

/* Add an array of the shape and precision of `model` to the results, or a vector, if it is wanted:
 * else None. */
static void *
add_like(results *made, PyObject *model, int is_wanted)
{
    return is_wanted ? add_result(made, empty_like(model)) : add_none(made);
}

static void *
add_vector(results *made, npy_intp length, int precision, int is_wanted)
{
    return is_wanted ? add_result(made, new_array(1, &length, precision)) : add_none(made);
}

/* Room for `columns` numbers; NULL with a MemoryError. */
static void *
new_workspace(npy_intp columns, int *failed)
{
    void *made = *failed ? NULL : PyMem_RawMalloc((size_t)columns * NORMALIZATION_WORKSPACE);
    if (made == NULL && !*failed) {
        PyErr_NoMemory();
        *failed = 1;
    }
    return made;
}

/* ---- layer normalization --------------------------------------------------------------------- */

/* Where the normalized dimensions of an array begin, and how many elements they have. Return
 * whether the array, which is not empty, has them. */
static int
read_normalized_shape(PyObject *object, PyObject *array, int *lead, npy_intp *length)
{
    if (object == NULL || !(PyTuple_Check(object) || PyList_CheckExact(object))) {
        return 0;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    int ndim = PyArray_NDIM((PyArrayObject *)array);
    if (count < 1 || count > ndim || PyArray_SIZE((PyArrayObject *)array) == 0) {
        return 0;
    }
    *lead = ndim - (int)count;
    *length = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        npy_intp size, own = PyArray_DIM((PyArrayObject *)array, *lead + (int)i);
        if (!read_size(PySequence_Fast_GET_ITEM(object, i), &size) || size != own) {
            return 0;
        }
        *length *= size;
    }
    return 1;
}

/* Whether an array, or None, has the last dimensions of another. */
static int
ends_alike(PyObject *object, PyObject *array, int lead)
{
    if (object == Py_None) {
        return 1;
    }
    PyArrayObject *whole = (PyArrayObject *)array;
    return PyArray_Check(object) &&
           has_shape(object, PyArray_NDIM(whole) - lead, PyArray_DIMS(whole) + lead);
}

COMPUTE(layer_norm)
{
    PyObject *array = arguments[0];
    int lead, precision = precision_of(array);
    npy_intp length;
    double eps;
    if (precision < 0 || arguments[2] == NULL || arguments[3] == NULL ||
        !read_normalized_shape(arguments[1], array, &lead, &length) ||
        !ends_alike(arguments[2], array, lead) || !ends_alike(arguments[3], array, lead) ||
        !read_number(arguments[4], &eps)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)array);
    operands taken = {0};
    const void *input, *weight, *bias;
    results made = {.failed = 1};
    if (take_operand(&taken, array, precision, size, &input) &&
        take_optional(&taken, arguments[2], precision, length, &weight) &&
        take_optional(&taken, arguments[3], precision, length, &bias)) {
        int ndim = PyArray_NDIM((PyArrayObject *)array);
        npy_intp kept[NPY_MAXDIMS];
        for (int i = 0; i < ndim; i++) {
            kept[i] = i < lead ? PyArray_DIM((PyArrayObject *)array, i) : 1;
        }
        made.failed = 0;
        void *to = add_result(&made, empty_like(array));
        void *mean = add_result(&made, new_array(ndim, kept, precision));
        void *rstd = add_result(&made, new_array(ndim, kept, precision));
        if (!made.failed) {
            layer_norm_kernel *kernel = kernels_in_force->normalization->layer_norm[precision];
            RELEASED(
                size, kernel(to, mean, rstd, input, weight, bias, eps, size / length, length));
        }
    }
    release_operands(&taken);
    return tuple_of(&made);
}

COMPUTE(layer_norm_backward)
{
    PyObject *array = arguments[1], *of_weight = arguments[5], *of_bias = arguments[6];
    int lead, mask[3], precision = precision_of(array);
    npy_intp length;
    if (precision < 0 || of_weight == NULL || of_bias == NULL ||
        !read_normalized_shape(arguments[2], array, &lead, &length) ||
        precision_of(arguments[0]) != precision || !have_one_shape(arguments[0], array) ||
        !ends_alike(of_weight, array, lead) || !ends_alike(of_bias, array, lead) ||
        (of_bias != Py_None && precision_of(of_bias) != precision) ||
        !read_flags(arguments[7], 3, mask)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)array), rows = size / length;
    operands taken = {0};
    const void *grad, *input, *mean, *rstd, *weight;
    results made = {.failed = 1};
    if (take_operand(&taken, arguments[0], precision, size, &grad) &&
        take_operand(&taken, array, precision, size, &input) &&
        take_operand(&taken, arguments[3], precision, rows, &mean) &&
        take_operand(&taken, arguments[4], precision, rows, &rstd) &&
        take_optional(&taken, of_weight, precision, length, &weight)) {
        int ndim = PyArray_NDIM((PyArrayObject *)array) - lead;
        const npy_intp *inner = PyArray_DIMS((PyArrayObject *)array) + lead;
        made.failed = 0;
        void *to = add_like(&made, array, mask[0]), *of[2];
        for (int i = 0; i < 2; i++) {
            of[i] = mask[1 + i] && (i == 1 || weight != NULL)
                        ? add_result(&made, new_array(ndim, inner, precision))
                        : add_none(&made);
        }
        void *workspace = new_workspace(length, &made.failed);
        if (!made.failed) {
            layer_norm_backward_kernel *kernel =
                kernels_in_force->normalization->layer_norm_backward[precision];
            RELEASED(
                size, kernel(
                          to, of[0], of[1], grad, input, mean, rstd, weight, rows, length,
                          workspace));
        }
        PyMem_RawFree(workspace);
    }
    release_operands(&taken);
    return tuple_of(&made);
}

/* ---- batch and group normalization ----------------------------------------------------------- */

/* Whether the dimension 1 of an array, which is not empty, is there; set its shape as images. */
static int
read_images(PyObject *array, image_shape *shape)
{
    PyArrayObject *images = (PyArrayObject *)array;
    npy_intp size = PyArray_SIZE(images);
    if (PyArray_NDIM(images) < 2 || size == 0) {
        return 0;
    }
    shape->samples = PyArray_DIM(images, 0);
    shape->channels = PyArray_DIM(images, 1);
    shape->pixels = size / (shape->samples * shape->channels);
    return 1;
}

/* Take images as `take_operand` does: as rows of channels where these come last. */
static int
take_images(
    operands *taken, PyObject *object, int precision, npy_intp size, int is_last,
    const void **data)
{
    if (!is_last || PyArray_SIZE((PyArrayObject *)object) != size) {
        return take_operand(taken, object, precision, size, data);
    }
    PyArrayObject *rows = in_channels_last(object);
    int is_taken = rows != NULL && take_operand(taken, (PyObject *)rows, precision, size, data);
    taken->failed |= rows == NULL;
    Py_XDECREF(rows);
    return is_taken;
}

/* A new array like images, which lies as they do. */
static PyArrayObject *
images_like(PyObject *images, int is_last)
{
    PyArrayObject *model = (PyArrayObject *)images;
    return new_in_format(
        PyArray_NDIM(model), PyArray_DIMS(model), PyArray_DESCR(model), is_last);
}

/* Let images whose channels come last be rows of channels, which are normalized like columns. */
static void
be_rows(image_shape *shape, int is_last)
{
    if (is_last) {
        shape->samples *= shape->pixels;
        shape->pixels = 1;
    }
}

COMPUTE(batch_norm)
{
    PyObject *array = arguments[0];
    int training, precision = precision_of(array);
    image_shape shape;
    double momentum, eps;
    if (precision < 0 || arguments[1] == NULL || arguments[2] == NULL || arguments[3] == NULL ||
        arguments[4] == NULL || !read_images(array, &shape) ||
        !read_flag(arguments[5], &training) || !read_number(arguments[6], &momentum) ||
        !read_number(arguments[7], &eps)) {
        return NULL;
    }
    int is_last = is_channels_last_alone((PyArrayObject *)array);
    be_rows(&shape, is_last);
    npy_intp size = PyArray_SIZE((PyArrayObject *)array), channels = shape.channels;
    operands taken = {0};
    const void *input, *weight, *bias, *running[2];
    results made = {.failed = 1};
    if (take_images(&taken, array, precision, size, is_last, &input) &&
        take_optional(&taken, arguments[1], precision, channels, &weight) &&
        take_optional(&taken, arguments[2], precision, channels, &bias) &&
        take_operand(&taken, arguments[3], precision, channels, &running[0]) &&
        take_operand(&taken, arguments[4], precision, channels, &running[1])) {
        npy_intp saved = training ? channels : 0;
        made.failed = 0;
        void *to = add_result(&made, images_like(array, is_last));
        void *mean = add_vector(&made, saved, precision, 1);
        void *rstd = add_vector(&made, saved, precision, 1), *moved[2];
        moved[0] = add_like(&made, arguments[3], 1);
        moved[1] = add_like(&made, arguments[4], 1);
        void *workspace = new_workspace(channels * shape.pixels, &made.failed);
        if (!made.failed) {
            batch_norm_kernel *kernel = kernels_in_force->normalization->batch_norm[precision];
            RELEASED(
                size, kernel(
                          to, mean, rstd, moved, input, weight, bias, running, training, momentum,
                          eps, shape, workspace));
        }
        PyMem_RawFree(workspace);
    }
    release_operands(&taken);
    return tuple_of(&made);
}

COMPUTE(batch_norm_backward)
{
    PyObject *array = arguments[1];
    int training, mask[3], precision = precision_of(array);
    image_shape shape;
    double eps;
    if (precision < 0 || arguments[2] == NULL || !read_images(array, &shape) ||
        precision_of(arguments[0]) != precision || !have_one_shape(arguments[0], array) ||
        !read_flag(arguments[7], &training) || !read_number(arguments[8], &eps) ||
        !read_flags(arguments[9], 3, mask)) {
        return NULL;
    }
    int is_last = is_channels_last((PyArrayObject *)array);
    be_rows(&shape, is_last);
    npy_intp size = PyArray_SIZE((PyArrayObject *)array), channels = shape.channels;
    operands taken = {0};
    const void *grad, *input, *weight, *mean, *rstd, *running;
    results made = {.failed = 1};
    /* The running statistics are looked at in training too: wrong ones are the reference's. */
    if (take_images(&taken, arguments[0], precision, size, is_last, &grad) &&
        take_images(&taken, array, precision, size, is_last, &input) &&
        take_optional(&taken, arguments[2], precision, channels, &weight) &&
        (arguments[3] == NULL ||
         take_optional(&taken, arguments[3], precision, channels, &running)) &&
        (arguments[4] == NULL ||
         take_optional(&taken, arguments[4], precision, channels, &running)) &&
        take_operand(&taken, arguments[training ? 5 : 3], precision, channels, &mean) &&
        take_operand(&taken, arguments[training ? 6 : 4], precision, channels, &rstd)) {
        made.failed = 0;
        void *to = mask[0] ? add_result(&made, images_like(array, is_last)) : add_none(&made);
        void *to_weight = add_vector(&made, channels, precision, mask[1]);
        void *to_bias = add_vector(&made, channels, precision, mask[2]);
        void *workspace = new_workspace(channels * shape.pixels, &made.failed);
        if (!made.failed) {
            batch_norm_backward_kernel *kernel =
                kernels_in_force->normalization->batch_norm_backward[precision];
            RELEASED(
                size, kernel(
                          to, to_weight, to_bias, grad, input, mean, rstd, weight, training, eps,
                          shape, workspace));
        }
        PyMem_RawFree(workspace);
    }
    release_operands(&taken);
    return tuple_of(&made);
}

/* Whether samples, channels, pixels and groups are those of an array that is not empty. */
static int
read_groups(PyObject *const *arguments, PyObject *array, image_shape *shape, npy_intp *groups)
{
    npy_intp samples, channels, pixels;
    if (!read_size(arguments[0], &samples) || !read_size(arguments[1], &channels) ||
        !read_size(arguments[2], &pixels) || !read_size(arguments[3], groups) ||
        !read_images(array, shape)) {
        return 0;
    }
    return shape->samples == samples && shape->channels == channels && shape->pixels == pixels &&
           *groups > 0 && channels % *groups == 0;
}

/* Whether an object is None or an array with one axis. */
static int
is_vector(PyObject *object)
{
    return object == Py_None || (object != NULL && PyArray_Check(object) &&
                                 PyArray_NDIM((PyArrayObject *)object) == 1);
}

COMPUTE(group_norm)
{
    PyObject *array = arguments[0];
    int precision = precision_of(array);
    image_shape shape;
    npy_intp groups;
    double eps;
    if (precision < 0 || !is_vector(arguments[1]) || !is_vector(arguments[2]) ||
        !read_groups(arguments + 3, array, &shape, &groups) || !read_number(arguments[7], &eps)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)array);
    operands taken = {0};
    const void *input, *weight, *bias;
    results made = {.failed = 1};
    if (take_operand(&taken, array, precision, size, &input) &&
        take_optional(&taken, arguments[1], precision, shape.channels, &weight) &&
        take_optional(&taken, arguments[2], precision, shape.channels, &bias)) {
        npy_intp saved[2] = {shape.samples, groups};
        made.failed = 0;
        void *to = add_result(&made, empty_like(array));
        void *mean = add_result(&made, new_array(2, saved, precision));
        void *rstd = add_result(&made, new_array(2, saved, precision));
        if (!made.failed) {
            group_norm_kernel *kernel = kernels_in_force->normalization->group_norm[precision];
            RELEASED(size, kernel(to, mean, rstd, input, weight, bias, eps, shape, groups));
        }
    }
    release_operands(&taken);
    return tuple_of(&made);
}

COMPUTE(group_norm_backward)
{
    PyObject *array = arguments[1];
    int mask[3], precision = precision_of(array);
    image_shape shape;
    npy_intp groups;
    if (precision < 0 || !is_vector(arguments[4]) ||
        !read_groups(arguments + 5, array, &shape, &groups) ||
        precision_of(arguments[0]) != precision || !have_one_shape(arguments[0], array) ||
        !read_flags(arguments[9], 3, mask)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)array), saved = shape.samples * groups;
    operands taken = {0};
    const void *grad, *input, *mean, *rstd, *weight;
    results made = {.failed = 1};
    if (take_operand(&taken, arguments[0], precision, size, &grad) &&
        take_operand(&taken, array, precision, size, &input) &&
        take_operand(&taken, arguments[2], precision, saved, &mean) &&
        take_operand(&taken, arguments[3], precision, saved, &rstd) &&
        take_optional(&taken, arguments[4], precision, shape.channels, &weight)) {
        made.failed = 0;
        void *to = add_like(&made, array, mask[0]);
        void *to_weight = add_vector(&made, shape.channels, precision, mask[1]);
        void *to_bias = add_vector(&made, shape.channels, precision, mask[2]);
        void *workspace = new_workspace(shape.channels, &made.failed);
        if (!made.failed) {
            group_norm_backward_kernel *kernel =
                kernels_in_force->normalization->group_norm_backward[precision];
            RELEASED(
                size, kernel(
                          to, to_weight, to_bias, grad, input, mean, rstd, weight, shape, groups,
                          workspace));
        }
        PyMem_RawFree(workspace);
    }
    release_operands(&taken);
    return tuple_of(&made);
}

#define ROW(operator, compute, widened, ...)                                                      \
    {operator, "table/normalization.c", __LINE__, compute, {__VA_ARGS__}, 0, widened}
const kernel_row normalization_rows[] = {
    ROW("native_layer_norm", layer_norm, "1xss", "input", "normalized_shape", "weight", "bias",
        "eps"),
    ROW("native_layer_norm_backward", layer_norm_backward, "2xfg", "grad_out", "input",
        "normalized_shape", "mean", "rstd", "weight", "bias", "output_mask"),
    ROW("_native_batch_norm_legit_functional", batch_norm, "1xssde", "input", "weight", "bias",
        "running_mean", "running_var", "training", "momentum", "eps"),
    ROW("native_batch_norm_backward", batch_norm_backward, "2xss", "grad_out", "input", "weight",
        "running_mean", "running_var", "save_mean", "save_invstd", "train", "eps", "output_mask"),
    ROW("native_group_norm", group_norm, "1xss", "input", "weight", "bias", "N", "C", "HxW",
        "group", "eps"),
    ROW("native_group_norm_backward", group_norm_backward, "2xss", "grad_out", "input", "mean",
        "rstd", "weight", "N", "C", "HxW", "group", "output_mask"),
    {NULL},
};

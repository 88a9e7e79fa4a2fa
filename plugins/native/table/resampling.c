/* Images of another size, and the gradients, as operators. */
#include "table.h"

#include <stdlib.h>

/* How the axes of images become others. */
typedef struct {
    PyArrayObject *array;
    int ndim, is_channels_last;
    npy_intp shape[2 + RESAMPLING_AXES]; /* of the result */
    resampling how[RESAMPLING_AXES];
} resampled;

/* The variant of a row: the kind of interpolation, and how many axes images have. */
#define HOW(kind, ndim) ((kind) * 4 + (ndim))

/* Read a size for each axis, above 0. Return whether these are such. */
static int
read_sizes(PyObject *object, int count, npy_intp *sizes)
{
    if (object == NULL || !(PyTuple_Check(object) || PyList_CheckExact(object)) ||
        PySequence_Fast_GET_SIZE(object) != count) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (!read_size(PySequence_Fast_GET_ITEM(object, i), sizes + i)) {
            return 0;
        }
    }
    return 1;
}

/* Read images, or the gradients of results: `sizes` are those of the images. Arguments from `rest`
 * on are what is left of the call. Return whether all fit together, with elements. */
static int
read_resampling(
    PyObject *object, PyObject *output_size, PyObject *input_size, PyObject *const *rest,
    int variant, resampled *read)
{
    resampling_kind kind = variant / 4;
    int ndim = variant % 4;
    npy_intp lengths[RESAMPLING_AXES], given[2 + RESAMPLING_AXES];
    if (object == NULL || !PyArray_CheckExact(object) || !read_sizes(output_size, ndim, lengths)) {
        return 0;
    }
    PyArrayObject *array = read->array = (PyArrayObject *)object;
    if (PyArray_NDIM(array) != ndim + 2 || PyArray_SIZE(array) == 0 ||
        (input_size != NULL && !read_sizes(input_size, ndim + 2, given))) {
        return 0;
    }
    int has_corners = kind > RESAMPLE_NEAREST_EXACT, corners = 0;
    if (has_corners && !read_flag(rest[0], &corners)) {
        return 0;
    }
    read->ndim = ndim;
    read->is_channels_last = is_channels_last(array);
    for (int i = 0; i < ndim + 2; i++) {
        npy_intp size = PyArray_DIM(array, i);
        npy_intp length = i < 2 ? size : lengths[i - 2];
        if (input_size != NULL) {
            if (size != (i < 2 ? given[i] : length)) {
                return 0;
            }
            size = given[i];
        }
        read->shape[i] = input_size == NULL ? length : size;
        if (i < 2) {
            continue;
        }
        resampling *how = read->how + i - 2;
        *how = (resampling){kind, corners, size, length, 0};
        PyObject *scale = rest[has_corners + i - 2];
        if (size < 1 || size > INT32_MAX || length < 1 || length > INT32_MAX ||
            (is_given(scale) && !read_number(scale, &how->scale))) {
            return 0;
        }
    }
    return is_addressable(ndim + 2, read->shape, 8);
}

/* Memory for the taps of all axes, which `free` releases; NULL without an exception if there is
 * not so much. Set the taps, of the gradients if `is_backward`. */
static void *
make_taps(const resampled *read, int precision, int is_backward, resampled_images *images)
{
    const resampling_kernels_of *kernels = &kernels_in_force->resampling->of[precision];
    size_t item = precision ? 8 : 4, room[RESAMPLING_AXES], total = 0;
    npy_intp counts[RESAMPLING_AXES];
    for (int i = 0; i < read->ndim; i++) {
        const resampling *how = read->how + i;
        counts[i] = kernels->count_taps(how);
        if (counts[i] < 0) {
            return NULL;
        }
        size_t longest = (size_t)(how->size > how->length ? how->size : how->length);
        /* In the order of their alignment: `begin`, weights, indices. */
        room[i] = (longest + 1) * sizeof(ptrdiff_t) + (size_t)counts[i] * (item + 4);
        room[i] = (room[i] + 15) / 16 * 16;
        total += (is_backward ? 2 : 1) * room[i];
    }
    char *memory = malloc(total), *at = memory;
    for (int i = 0; memory != NULL && i < read->ndim; i++) {
        resampled_axis axes[2];
        const resampling *how = read->how + i;
        size_t longest = (size_t)(how->size > how->length ? how->size : how->length);
        for (int k = 0; k <= is_backward; k++, at += room[i]) {
            axes[k].begin = (ptrdiff_t *)at;
            axes[k].weight = at + (longest + 1) * sizeof(ptrdiff_t);
            axes[k].index = (int32_t *)((char *)axes[k].weight + (size_t)counts[i] * item);
        }
        kernels->set_taps(&axes[0], how);
        if (is_backward) {
            kernels->turn_taps(&axes[1], &axes[0]);
        }
        images->axis[i] = axes[is_backward];
    }
    return memory;
}

/* Compute images in memory whose channels lie between samples and sizes, or come last. `item` is 0
 * for sums, else the bytes of elements that are picked. */
static int
compute(
    const resampled *read, void *to, const void *from, int precision, npy_intp item,
    int is_backward)
{
    const resampling_kernels *kernels = kernels_in_force->resampling;
    npy_intp samples = read->shape[0], channels = read->shape[1], size = 1;
    resampled_images images = {read->ndim, samples * channels, 1, {{0}}};
    if (read->is_channels_last) {
        images.outer = samples;
        images.inner = channels;
    }
    for (int i = 0; i < read->ndim; i++) {
        size *= read->how[i].length;
    }
    void *memory = make_taps(read, precision, is_backward, &images), *scratch = NULL;
    int is_right = memory != NULL;
    if (is_right && item == 0) {
        npy_intp count = kernels->count_scratch(&images, is_backward);
        scratch = malloc((size_t)(count + 1) * (precision ? 8 : 4));
        is_right = scratch != NULL;
    }
    if (is_right && item > 0) {
        RELEASED(samples * channels * size, kernels->pick(to, from, item, &images));
    }
    else if (is_right) {
        RELEASED(
            samples * channels * size,
            kernels->of[precision].sum(to, from, scratch, &images, is_backward));
    }
    free(memory);
    free(scratch);
    return is_right;
}

static PyObject *
resample(const resampled *read, int precision, npy_intp item, int is_backward)
{
    int is_last = read->is_channels_last;
    PyArrayObject *from = in_format((PyObject *)read->array, is_last);
    PyArrayObject *made =
        new_in_format(read->ndim + 2, read->shape, PyArray_DESCR(read->array), is_last);
    if (from == NULL || made == NULL ||
        !compute(read, PyArray_DATA(made), PyArray_DATA(from), precision, item, is_backward)) {
        Py_CLEAR(made);
    }
    Py_XDECREF(from);
    return (PyObject *)made;
}

/* resample(self, output_size, [align_corners], *scales) */
COMPUTE(summed)
{
    resampled read;
    int precision = precision_of(arguments[0]);
    return precision >= 0 && read_resampling(
                                 arguments[0], arguments[1], NULL, arguments + 2, variant, &read)
               ? resample(&read, precision, 0, 0)
               : NULL;
}

/* The same of elements that are picked, of any dtype of floating point, or bytes. */
COMPUTE(picked)
{
    resampled read;
    if (!read_resampling(arguments[0], arguments[1], NULL, arguments + 2, variant, &read) ||
        (precision_of(arguments[0]) < 0 && half_of(read.array) < 0 &&
         PyArray_TYPE(read.array) != NPY_UINT8)) {
        return NULL;
    }
    return resample(&read, 0, PyArray_ITEMSIZE(read.array), 0);
}

/* resample_backward(grad_output, output_size, input_size, [align_corners], *scales) */
COMPUTE(spread)
{
    resampled read;
    int precision = precision_of(arguments[0]);
    if (precision < 0 ||
        !read_resampling(
            arguments[0], arguments[1], arguments[2], arguments + 3, variant, &read)) {
        return NULL;
    }
    resampling_kind kind = variant / 4;
    int is_cubic = kind == RESAMPLE_CUBIC || kind == RESAMPLE_CUBIC_SMOOTHED;
    if (is_cubic || (kind <= RESAMPLE_NEAREST_EXACT && read.ndim == 3)) {
        read.is_channels_last = 0; /* PyTorch gives C order */
    }
    return resample(&read, precision, 0, 1);
}

#define ROW(operator, compute, halves, widened, kind, ndim, ...)                                  \
    {operator, "table/resampling.c", __LINE__, compute, {__VA_ARGS__}, halves, widened,           \
     HOW(kind, ndim)}
#define GRADIENT "grad_output", "output_size", "input_size"
#define IMAGES "self", "output_size"
#define PICKED_ROWS(operator, kind, ndim, ...)                                                    \
    ROW(operator, picked, 1, NULL, kind, ndim, IMAGES, __VA_ARGS__),                              \
        ROW(operator "_backward", spread, 0, "1x", kind, ndim, GRADIENT, __VA_ARGS__)
#define SUMMED_ROWS(operator, kind, widened, ndim, ...)                                           \
    ROW(operator, summed, 0, widened, kind, ndim, IMAGES, "align_corners", __VA_ARGS__),          \
        ROW(operator "_backward", spread, 0, widened, kind, ndim, GRADIENT, "align_corners",      \
            __VA_ARGS__)
#define SCALES "scales_h", "scales_w"
const kernel_row resampling_rows[] = {
    PICKED_ROWS("upsample_nearest1d", RESAMPLE_NEAREST, 1, "scales"),
    PICKED_ROWS("upsample_nearest2d", RESAMPLE_NEAREST, 2, SCALES),
    PICKED_ROWS("upsample_nearest3d", RESAMPLE_NEAREST, 3, "scales_d", SCALES),
    PICKED_ROWS("_upsample_nearest_exact1d", RESAMPLE_NEAREST_EXACT, 1, "scales"),
    PICKED_ROWS("_upsample_nearest_exact2d", RESAMPLE_NEAREST_EXACT, 2, SCALES),
    PICKED_ROWS("_upsample_nearest_exact3d", RESAMPLE_NEAREST_EXACT, 3, "scales_d", SCALES),
    SUMMED_ROWS("upsample_linear1d", RESAMPLE_LINEAR, "1x", 1, "scales"),
    SUMMED_ROWS("upsample_bilinear2d", RESAMPLE_LINEAR, "1x", 2, SCALES),
    SUMMED_ROWS("upsample_trilinear3d", RESAMPLE_LINEAR, "1x", 3, "scales_d", SCALES),
    SUMMED_ROWS("upsample_bicubic2d", RESAMPLE_CUBIC, "1x", 2, SCALES),
    SUMMED_ROWS("_upsample_bilinear2d_aa", RESAMPLE_LINEAR_SMOOTHED, NULL, 2, SCALES),
    SUMMED_ROWS("_upsample_bicubic2d_aa", RESAMPLE_CUBIC_SMOOTHED, NULL, 2, SCALES),
    {NULL},
};

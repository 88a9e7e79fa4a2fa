/* Images and volumes sampled at the points of a grid, with the gradients, as operators. */
#include "table.h"

/* Read images, a grid and, from `how` on, mode, padding and align_corners. Return whether all fit
 * together, with elements. */
static int
read_sampling(
    PyObject *images, PyObject *grid, PyObject *const *how, grid_sampling *read, int *precision)
{
    npy_intp mode, padding, size = 1;
    *precision = precision_of(images);
    if (*precision < 0 || precision_of(grid) != *precision || !read_size(how[0], &mode) ||
        !read_size(how[1], &padding) || !read_flag(how[2], &read->align_corners)) {
        return 0;
    }
    PyArrayObject *x = (PyArrayObject *)images, *at = (PyArrayObject *)grid;
    read->ndim = PyArray_NDIM(x) - 2;
    int last = PyArray_NDIM(at) - 1;
    if (read->ndim < 2 || read->ndim > 3 || last != read->ndim + 1 ||
        PyArray_DIM(at, 0) != PyArray_DIM(x, 0) || PyArray_DIM(at, last) != read->ndim ||
        mode > GRID_CUBIC || padding > GRID_REFLECTION ||
        (mode == GRID_CUBIC && read->ndim == 3) || PyArray_SIZE(x) == 0 ||
        PyArray_SIZE(at) == 0) {
        return 0;
    }
    read->mode = (grid_mode)mode;
    read->padding = (grid_padding)padding;
    read->images = PyArray_DIM(x, 0);
    read->channels = PyArray_DIM(x, 1);
    read->points = PyArray_SIZE(at) / (read->images * read->ndim);
    for (int i = 0; i < 3; i++) {
        read->sizes[i] = i < read->ndim ? PyArray_DIM(x, 2 + i) : 1;
        size *= read->sizes[i];
    }
    return size <= INT32_MAX;
}

/* The shape of the values at points. */
static void
set_shape(npy_intp *shape, PyObject *images, PyObject *grid)
{
    int ndim = PyArray_NDIM((PyArrayObject *)images);
    for (int i = 0; i < ndim; i++) {
        shape[i] = i < 2 ? PyArray_DIM((PyArrayObject *)images, i)
                         : PyArray_DIM((PyArrayObject *)grid, i - 1);
    }
}

COMPUTE_OF(values, ndim)
{
    grid_sampling how;
    int precision;
    npy_intp shape[5];
    operands taken = {0};
    const void *x, *at;
    PyObject *images = arguments[0], *grid = arguments[1];
    if (!read_sampling(images, grid, arguments + 2, &how, &precision) || how.ndim != ndim) {
        return NULL;
    }
    set_shape(shape, images, grid);
    PyArrayObject *made = NULL;
    if (is_addressable(ndim + 2, shape, precision ? 8 : 4) &&
        take_operand(&taken, images, precision, PyArray_SIZE((PyArrayObject *)images), &x) &&
        take_operand(&taken, grid, precision, PyArray_SIZE((PyArrayObject *)grid), &at) &&
        (made = new_array(ndim + 2, shape, precision)) != NULL) {
        void *to = PyArray_DATA(made);
        RELEASED(
            PyArray_SIZE(made),
            kernels_in_force->grid_sampling->of[precision].values(to, x, at, &how));
    }
    release_operands(&taken);
    return (PyObject *)made;
}

COMPUTE(gradients)
{
    grid_sampling how;
    int precision, asked[2];
    npy_intp shape[5];
    operands taken = {0};
    const void *gradient, *x, *at;
    PyObject *grad = arguments[0], *images = arguments[1], *grid = arguments[2];
    if (!read_sampling(images, grid, arguments + 3, &how, &precision) ||
        !read_flags(arguments[6], 2, asked)) {
        return NULL;
    }
    set_shape(shape, images, grid);
    if (precision_of(grad) != precision || !has_shape(grad, how.ndim + 2, shape)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)grad);
    results made = {.failed = 1};
    if (take_operand(&taken, grad, precision, size, &gradient) &&
        take_operand(&taken, images, precision, PyArray_SIZE((PyArrayObject *)images), &x) &&
        take_operand(&taken, grid, precision, PyArray_SIZE((PyArrayObject *)grid), &at)) {
        made.failed = 0;
        void *to_images = asked[0] ? add_result(&made, empty_like(images)) : add_none(&made);
        void *to_grid = asked[1] ? add_result(&made, empty_like(grid)) : add_none(&made);
        if (!made.failed) {
            RELEASED(
                size, kernels_in_force->grid_sampling->of[precision].gradients(
                          to_images, to_grid, gradient, x, at, &how));
        }
    }
    release_operands(&taken);
    return tuple_of(&made);
}

#define ROW(operator, compute, widened, ndim, ...)                                                \
    {operator, "table/grid_sampling.c", __LINE__, compute, {__VA_ARGS__}, 0, widened, ndim}
#define HOW "interpolation_mode", "padding_mode", "align_corners"
const kernel_row grid_sampling_rows[] = {
    ROW("grid_sampler_2d", values, "2x", 2, "input", "grid", HOW),
    ROW("grid_sampler_3d", values, "2x", 3, "input", "grid", HOW),
    ROW("grid_sampler_backward", gradients, "3xx", 0, "grad", "x", "grid", "mode", "padding",
        "align_corners", "mask"),
    {NULL},
};

/* Patches of images under windows, sums of patches, and convolutions without patches. */
#include "table.h"

/* Read a tuple of windows: for each axis a tuple of numbers. Return whether these are windows over
 * at most three axes. */
static int
read_windows(PyObject *object, image_windows *windows, int *ndim)
{
    if (object == NULL || !PyTuple_Check(object) || PyTuple_GET_SIZE(object) < 1 ||
        PyTuple_GET_SIZE(object) > WINDOW_AXES) {
        return 0;
    }
    *ndim = (int)PyTuple_GET_SIZE(object);
    for (int i = 0; i < WINDOW_AXES; i++) {
        int at = i - (WINDOW_AXES - *ndim);
        npy_intp numbers[6] = {1, 1, 1, 0, 1, 1};
        PyObject *given = at < 0 ? NULL : PyTuple_GET_ITEM(object, at);
        if (given != NULL && (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 6)) {
            return 0;
        }
        for (int j = 0; given != NULL && j < 6; j++) {
            npy_intp least = j == 3 ? -INT32_MAX : 1; /* of the padding */
            if (!read_int(PyTuple_GET_ITEM(given, j), &numbers[j]) || numbers[j] < least ||
                numbers[j] > INT32_MAX) {
                return 0; /* so that no product overflows */
            }
        }
        windows->axis[i] = (window){numbers[0], numbers[1], numbers[2],
                                    numbers[3], numbers[4], numbers[5]};
    }
    return 1;
}

/* The product of three numbers of at least 1, or -1 where no array has as many elements. */
static npy_intp
product(npy_intp first, npy_intp second, npy_intp third)
{
    if (first > NPY_MAX_INTP / second || first * second > NPY_MAX_INTP / third) {
        return -1;
    }
    return first * second * third;
}

/* The number of places of windows, or of windows. */
static npy_intp
count_places(const image_windows *windows)
{
    const window *axis = windows->axis;
    return product(axis[0].kernel, axis[1].kernel, axis[2].kernel);
}

static npy_intp
count_windows(const image_windows *windows)
{
    const window *axis = windows->axis;
    return product(axis[0].number, axis[1].number, axis[2].number);
}

/* Whether the last axes of an array are those of images. */
static int
are_images(PyArrayObject *array, const image_windows *windows, int ndim, int lead)
{
    int fits = PyArray_NDIM(array) == lead + ndim;
    for (int i = 0; fits && i < ndim; i++) {
        fits = PyArray_DIM(array, lead + i) == windows->axis[WINDOW_AXES - ndim + i].size;
    }
    return fits;
}

/* Whether elements can be read as they lie, the last `ndim` axes in C order without gaps. */
static int
is_dense(PyArrayObject *array, int ndim)
{
    npy_intp step = PyArray_ITEMSIZE(array);
    int axis = PyArray_NDIM(array) - 1;
    for (int i = 0; i < ndim; i++, axis--) {
        if (PyArray_DIM(array, axis) != 1 && PyArray_STRIDE(array, axis) != step) {
            return 0;
        }
        step *= PyArray_DIM(array, axis);
    }
    return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

/* ---- patches --------------------------------------------------------------------------------- */

/* Patches (*lead, places, windows) and images (*lead, *sizes) of one dtype, which do not overlap. */
typedef struct {
    PyArrayObject *patches, *images;
    image_windows windows;
    int ndim, lead;
} patches_of_images;

static int
read_patches(PyObject *patches, PyObject *images, PyObject *given, patches_of_images *read)
{
    if (!read_windows(given, &read->windows, &read->ndim) || patches == NULL || images == NULL ||
        !PyArray_CheckExact(patches) || !PyArray_CheckExact(images)) {
        return 0;
    }
    read->patches = (PyArrayObject *)patches;
    read->images = (PyArrayObject *)images;
    read->lead = PyArray_NDIM(read->patches) - 2;
    int fits = read->lead >= 0 &&
               are_images(read->images, &read->windows, read->ndim, read->lead) &&
               PyArray_EquivTypes(PyArray_DESCR(read->patches), PyArray_DESCR(read->images)) &&
               !PyDataType_REFCHK(PyArray_DESCR(read->images)) && is_dense(read->patches, 1) &&
               is_dense(read->images, read->ndim) &&
               PyArray_DIM(read->patches, read->lead) == count_places(&read->windows) &&
               PyArray_DIM(read->patches, read->lead + 1) == count_windows(&read->windows);
    for (int i = 0; fits && i < read->lead; i++) {
        fits = PyArray_DIM(read->patches, i) == PyArray_DIM(read->images, i);
    }
    return fits;
}

/* Write or add the patches of all images. */
static void
go_through(const patches_of_images *read, int adds, int precision)
{
    const window_kernels *kernels = kernels_in_force->windows;
    char *patches = PyArray_BYTES(read->patches), *image = PyArray_BYTES(read->images);
    npy_intp index[NPY_MAXDIMS] = {0}, item = PyArray_ITEMSIZE(read->images);
    npy_intp step = PyArray_STRIDE(read->patches, read->lead);
    for (int i = 0; i >= 0;) {
        if (adds) {
            kernels->add[precision](image, patches, step / item, &read->windows);
        }
        else {
            kernels->write(patches, step, image, item, &read->windows);
        }
        for (i = read->lead - 1; i >= 0; i--) {
            patches += PyArray_STRIDE(read->patches, i);
            image += PyArray_STRIDE(read->images, i);
            if (++index[i] < PyArray_DIM(read->images, i)) {
                break;
            }
            patches -= index[i] * PyArray_STRIDE(read->patches, i);
            image -= index[i] * PyArray_STRIDE(read->images, i);
            index[i] = 0;
        }
    }
}

/* write_patches(patches, images, windows): return True. */
COMPUTE(write_patches)
{
    patches_of_images read;
    if (!read_patches(arguments[0], arguments[1], arguments[2], &read) ||
        !PyArray_ISWRITEABLE(read.patches)) {
        return NULL;
    }
    if (PyArray_SIZE(read.patches) > 0) {
        RELEASED(PyArray_SIZE(read.patches), go_through(&read, 0, 0));
    }
    return Py_NewRef(Py_True);
}

/* add_patches(images, patches, windows): return True. */
COMPUTE(add_patches)
{
    patches_of_images read;
    int precision = precision_of(arguments[0]);
    if (precision < 0 || !read_patches(arguments[1], arguments[0], arguments[2], &read) ||
        !PyArray_ISWRITEABLE(read.images) ||
        PyArray_STRIDE(read.patches, read.lead) % PyArray_ITEMSIZE(read.patches) != 0) {
        return NULL;
    }
    if (PyArray_SIZE(read.patches) > 0) {
        RELEASED(PyArray_SIZE(read.patches), go_through(&read, 1, precision));
    }
    return Py_NewRef(Py_True);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

enum { MOST_ROOM = 1 << 28 }; /* elements of the memory of one call */

/* Whether an array in C order has a precision and the shape (first, second, *extents): the sizes of
 * images, the numbers of windows, or those of their places. */
static int
is_part(
    PyObject *object, int precision, int ndim, npy_intp first, npy_intp second,
    const image_windows *windows, convolution_part part)
{
    npy_intp shape[2 + WINDOW_AXES] = {first, second};
    for (int i = 0; i < ndim; i++) {
        const window *along = windows->axis + WINDOW_AXES - ndim + i;
        shape[2 + i] =
            part == IMAGES ? along->size : part == RESULTS ? along->number : along->kernel;
    }
    return precision_of(object) == precision && has_shape(object, ndim + 2, shape);
}

/* Whether zeros in the place of other elements change nothing. */
static int
are_finite(int precision, PyArrayObject *array)
{
    return kernels_in_force->convolution->are_finite[precision](
        PyArray_DATA(array), PyArray_SIZE(array));
}

/* convolution_direct(results, images, weights, windows, groups): return True; with zeros to write to,
 * convolution_direct.input(images, results, weights, …) and convolution_direct.weight(weights, images,
 * results, …). Zeros between images and results are multiplied by weights, or images: where these are not
 * finite, the result is the reference's. */
COMPUTE_OF(convolve, part)
{
    convolution of;
    int ndim, precision = precision_of(arguments[0]);
    PyObject *x = arguments[part == IMAGES ? 0 : 1], *w = arguments[part == WEIGHTS ? 0 : 2];
    PyObject *y = arguments[part == RESULTS ? 0 : part == IMAGES ? 1 : 2];
    if (precision < 0 || !read_windows(arguments[3], &of.windows, &ndim) ||
        !read_size(arguments[4], &of.groups) || of.groups < 1 || precision_of(w) != precision ||
        precision_of(y) != precision || PyArray_NDIM((PyArrayObject *)w) != ndim + 2 ||
        PyArray_NDIM((PyArrayObject *)y) != ndim + 2) {
        return NULL;
    }
    PyArrayObject *made = (PyArrayObject *)arguments[0];
    of.images = PyArray_DIM((PyArrayObject *)y, 0);
    of.depth = PyArray_DIM((PyArrayObject *)w, 1);
    of.rows = PyArray_DIM((PyArrayObject *)w, 0) / of.groups;
    npy_intp channels = of.groups * of.depth, rows = of.groups * of.rows;
    if (of.images < 1 || of.depth < 1 || of.rows < 1 ||
        !is_part(x, precision, ndim, of.images, channels, &of.windows, IMAGES) ||
        !is_part(y, precision, ndim, of.images, rows, &of.windows, RESULTS) ||
        !is_part(w, precision, ndim, rows, of.depth, &of.windows, WEIGHTS) ||
        !PyArray_IS_C_CONTIGUOUS(made) || !PyArray_ISBEHAVED(made)) {
        return NULL;
    }
    const convolution_kernels *kernels = kernels_in_force->convolution;
    double size = kernels->room(&of, part);
    PyArrayObject *one = in_c_order(arguments[1]), *other = in_c_order(arguments[2]);
    int is_done = one != NULL && other != NULL, is_left = size > MOST_ROOM;
    if (is_done && !is_left && part != RESULTS) {
        is_left = !are_finite(precision, part == IMAGES ? other : one);
    }
    if (is_done && !is_left) {
        void *room = PyMem_RawMalloc((size_t)size * (precision ? 8 : 4));
        if (room == NULL) {
            PyErr_NoMemory();
            is_done = 0;
        }
        else {
            double work = (double)PyArray_SIZE(made) * (double)PyArray_SIZE(other);
            const void *first = PyArray_DATA(one), *second = PyArray_DATA(other);
            RELEASED(
                work, kernels->convolve[precision](
                          PyArray_DATA(made), first, second, &of, part, room));
            PyMem_RawFree(room);
        }
    }
    Py_XDECREF(one);
    Py_XDECREF(other);
    return is_done && !is_left ? Py_NewRef(Py_True) : NULL;
}

/* convolution_direct.last(results, images, weights, windows, groups) for results and images in C order
 * whose channels are the last axis, one in each group: return True. */
static PyObject *
convolve_apart(PyObject *const *arguments, int variant)
{
    PyArrayObject *made = plain_array(arguments[0]), *images = plain_array(arguments[1]);
    PyArrayObject *weights = plain_array(arguments[2]);
    image_windows windows;
    npy_intp shape[3][2 + WINDOW_AXES], channels;
    int ndim, precision = precision_of(arguments[0]);
    if (precision < 0 || precision_of(arguments[1]) != precision ||
        precision_of(arguments[2]) != precision || !read_windows(arguments[3], &windows, &ndim) ||
        !read_size(arguments[4], &channels) || channels < 1 || PyArray_NDIM(images) < 1) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        const window *along = windows.axis + WINDOW_AXES - ndim + i;
        shape[0][1 + i] = along->number;
        shape[1][1 + i] = along->size;
        shape[2][2 + i] = along->kernel;
    }
    npy_intp count = shape[0][0] = shape[1][0] = PyArray_DIM(images, 0);
    shape[0][1 + ndim] = shape[1][1 + ndim] = shape[2][0] = channels;
    shape[2][1] = 1;
    for (int i = 0; i < 3; i++) {
        if (!has_shape(arguments[i], ndim + 2, shape[i]) ||
            !PyArray_ISCARRAY_RO((PyArrayObject *)arguments[i])) {
            return NULL;
        }
    }
    const convolution_kernels *kernels = kernels_in_force->convolution;
    if (!PyArray_ISWRITEABLE(made) || !are_finite(precision, weights)) {
        return NULL;
    }
    npy_intp places = PyArray_SIZE(weights) / channels, item = precision ? 8 : 4;
    char *room = PyMem_RawMalloc((size_t)(places * channels * item));
    if (room == NULL) {
        return PyErr_NoMemory();
    }
    kernels_in_force->copies->transpose[precision](
        room, PyArray_DATA(weights), places, channels, places, channels);
    RELEASED(
        PyArray_SIZE(made), kernels->convolve_apart[precision](
                                PyArray_DATA(made), PyArray_DATA(images), room, count, channels,
                                &windows));
    PyMem_RawFree(room);
    return Py_NewRef(Py_True);
}

#define ROW(operator, compute, variant, ...)                                                      \
    {operator, "table/windows.c", __LINE__, compute, {__VA_ARGS__}, 0, NULL, variant}
const kernel_row window_rows[] = {
    ROW("add_patches", add_patches, 0, "images", "patches", "windows"),
    ROW("convolution_direct", convolve, RESULTS, "made", "one", "other", "windows", "groups"),
    ROW("convolution_direct.input", convolve, IMAGES, "made", "one", "other", "windows", "groups"),
    ROW("convolution_direct.last", convolve_apart, 0, "made", "one", "other", "windows", "groups"),
    ROW("convolution_direct.weight", convolve, WEIGHTS, "made", "one", "other", "windows", "groups"),
    ROW("write_patches", write_patches, 0, "patches", "images", "windows"),
    {NULL},
};

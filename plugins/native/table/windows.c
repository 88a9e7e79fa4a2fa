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

enum {
    MOST_ROOM = 1 << 28,     /* elements of the memory of one call */
    LAST_ELEMENTS = 1 << 16, /* of images and results that are transposed together */
};

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

static npy_intp
windows_of(const convolution *of)
{
    const window *axis = of->windows.axis;
    return axis[0].number * axis[1].number * axis[2].number;
}

/* Add numbers to runs of elements: the next one to all of a run, or, for runs of as many elements as
 * there are numbers, each to one. */
#define ADD_BIAS(type)                                                                            \
    for (npy_intp i = 0; i < runs; i++) {                                                         \
        type *to = (type *)made + i * run;                                                        \
        const type *numbers = (const type *)bias + (step == 0 ? i % rows : 0);                    \
        for (npy_intp j = 0; j < run; j++) {                                                      \
            to[j] += numbers[j * step];                                                           \
        }                                                                                         \
    }

/* Add the number of its channel, of `rows`, to each of `size` elements, of every image; the bias may be
 * NULL. */
static void
add_bias(int precision, void *made, const void *bias, npy_intp images, npy_intp rows, npy_intp size)
{
    npy_intp step = size == 1, run = step ? rows : size, runs = step ? images : images * rows;
    if (bias != NULL && precision == 0) {
        ADD_BIAS(float)
    }
    else if (bias != NULL) {
        ADD_BIAS(double)
    }
}

/* Take the bias of `rows` channels, or None. Return whether it is one. */
static int
read_bias(PyObject *object, int precision, npy_intp rows, PyArrayObject **bias)
{
    *bias = NULL;
    if (object == NULL || object == Py_None) {
        return 1;
    }
    if (precision_of(object) != precision || !has_shape(object, 1, &rows)) {
        return 0;
    }
    *bias = in_c_order(object);
    return *bias != NULL;
}

/* Compute a part of a convolution from two others, with a bias of results or NULL. Return 1, 0 for what
 * is left to the reference, or -1 with an exception. */
static int
convolve_part(
    PyArrayObject *made, PyObject *first, PyObject *second, const void *bias, const convolution *of,
    convolution_part part)
{
    const convolution_kernels *kernels = kernels_in_force->convolution;
    int precision = precision_of((PyObject *)made);
    double size = kernels->room(of, part);
    PyArrayObject *one = in_c_order(first), *other = in_c_order(second);
    int status = one == NULL || other == NULL ? -1 : size <= MOST_ROOM;
    if (status == 1 && part != RESULTS) {
        status = are_finite(precision, part == IMAGES ? other : one);
    }
    if (status == 1) {
        void *room = PyMem_RawMalloc((size_t)size * (precision ? 8 : 4));
        if (room == NULL) {
            PyErr_NoMemory();
            status = -1;
        }
        else {
            double work = (double)PyArray_SIZE(made) * (double)PyArray_SIZE(other);
            const void *left = PyArray_DATA(one), *right = PyArray_DATA(other);
            RELEASED(
                work,
                kernels->convolve[precision](PyArray_DATA(made), left, right, of, part, room);
                add_bias(
                    precision, PyArray_DATA(made), bias, of->images, of->groups * of->rows,
                    windows_of(of)));
            PyMem_RawFree(room);
        }
    }
    Py_XDECREF(one);
    Py_XDECREF(other);
    return status;
}

/* Results whose channels come last in memory: those of some images at a time are computed in C order,
 * in the cache. Return as `convolve_part`. */
static int
convolve_last(
    PyArrayObject *made, PyObject *first, PyObject *second, const void *bias,
    const convolution *whole)
{
    const convolution_kernels *kernels = kernels_in_force->convolution;
    int precision = precision_of((PyObject *)made);
    transposition *transpose = kernels_in_force->copies->transpose[precision];
    npy_intp item = precision ? 8 : 4, channels = whole->groups * whole->depth;
    npy_intp rows = whole->groups * whole->rows, sizes = 1, numbers = windows_of(whole);
    for (int i = 0; i < WINDOW_AXES; i++) {
        sizes *= whole->windows.axis[i].size;
    }
    npy_intp inside = channels * sizes, outside = rows * numbers, images = whole->images;
    convolution of = *whole;
    of.images = LAST_ELEMENTS / (inside + outside);
    of.images = of.images < 1 ? 1 : of.images < images ? of.images : images;
    double size = kernels->room(&of, RESULTS) + (double)of.images * (double)(inside + outside);
    if (size > MOST_ROOM) {
        return 0;
    }
    PyArrayObject *x = in_channels_last(first), *w = in_c_order(second);
    char *room = x == NULL || w == NULL ? NULL : PyMem_RawMalloc((size_t)size * (size_t)item);
    if (room != NULL) {
        char *sources = room, *results = sources + of.images * inside * item;
        char *work = results + of.images * outside * item;
        const char *from = PyArray_BYTES(x);
        char *to = PyArray_BYTES(made);
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS;
        for (npy_intp start = 0; start < images; start += of.images) {
            of.images = images - start < of.images ? images - start : of.images;
            for (npy_intp i = 0; i < of.images; i++, from += inside * item) {
                transpose(sources + i * inside * item, from, channels, sizes, channels, sizes);
            }
            kernels->convolve[precision](results, sources, PyArray_DATA(w), &of, RESULTS, work);
            add_bias(precision, results, bias, of.images, rows, numbers);
            for (npy_intp i = 0; i < of.images; i++, to += outside * item) {
                transpose(to, results + i * outside * item, numbers, rows, numbers, rows);
            }
        }
        NPY_END_THREADS;
        PyMem_RawFree(room);
    }
    else if (x != NULL && w != NULL) {
        PyErr_NoMemory();
    }
    Py_XDECREF(x);
    Py_XDECREF(w);
    return room == NULL ? -1 : 1;
}

/* Whether an array is written in the order of memory of its channels as the last axis. */
static int
is_written_last(PyArrayObject *made)
{
    PyArrayObject *turned = with_channels_last(made);
    int is_last = turned != NULL && PyArray_IS_C_CONTIGUOUS(turned);
    Py_XDECREF(turned);
    return is_last;
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
        !PyArray_ISBEHAVED(made)) {
        return NULL;
    }
    int is_c = PyArray_IS_C_CONTIGUOUS(made);
    if (!is_c && (part != RESULTS || !is_written_last(made))) {
        return NULL;
    }
    PyArrayObject *bias;
    if (!read_bias(part == RESULTS ? arguments[5] : NULL, precision, rows, &bias)) {
        return NULL;
    }
    const void *numbers = bias == NULL ? NULL : PyArray_DATA(bias);
    int status = is_c ? convolve_part(made, arguments[1], arguments[2], numbers, &of, part)
                      : convolve_last(made, arguments[1], arguments[2], numbers, &of);
    Py_XDECREF(bias);
    return status == 1 ? Py_NewRef(Py_True) : NULL;
}

/* ---- small convolutions ---------------------------------------------------------------------- */

enum {
    MOST_PRODUCTS = 1 << 25, /* beyond, the reference lets threads share the images */
    MOST_MIXED = 1 << 15,    /* beyond, BLAS multiplies the channels of an image that no window mixes */
};

/* Set a number along each axis: a list of ints, or of one for all. Return whether it is one. */
static int
read_numbers(PyObject *object, int ndim, npy_intp least, npy_intp *numbers)
{
    int count = read_ints(object, numbers);
    for (int i = 0; i < ndim && count >= 1; i++) {
        numbers[i] = numbers[count == 1 ? 0 : i];
        if (numbers[i] < least || numbers[i] > INT32_MAX) {
            return 0;
        }
    }
    return count == 1 || count == ndim;
}

/* A convolution that is not transposed, of arrays that fit, without channels that come last. Return
 * whether it is one, of few products. */
static int
read_small(PyArrayObject *x, PyArrayObject *w, PyObject *const *given, convolution *of)
{
    npy_intp numbers[3][NPY_MAXDIMS], results = 1;
    int ndim = w == NULL ? 0 : PyArray_NDIM(w) - 2, are_patches = 1;
    if (x == NULL || ndim < 1 || ndim > WINDOW_AXES || PyArray_NDIM(x) != ndim + 2 ||
        given[3] != Py_False || is_channels_last(x) || is_channels_last(w) ||
        !read_numbers(given[0], ndim, 1, numbers[0]) ||
        !read_numbers(given[1], ndim, 0, numbers[1]) ||
        !read_numbers(given[2], ndim, 1, numbers[2]) || !read_size(given[5], &of->groups) ||
        of->groups < 1) {
        return 0;
    }
    *of = (convolution){PyArray_DIM(x, 0), of->groups, PyArray_DIM(w, 1),
                        PyArray_DIM(w, 0) / of->groups, {{{0}}}};
    if (of->images < 1 || of->depth < 1 || of->rows < 1 || PyArray_DIM(w, 0) % of->groups != 0 ||
        of->groups * of->depth != PyArray_DIM(x, 1)) {
        return 0;
    }
    for (int i = 0; i < WINDOW_AXES; i++) {
        int at = i - (WINDOW_AXES - ndim);
        window *along = of->windows.axis + i;
        *along = (window){1, 1, 1, 0, 1, 1};
        if (at < 0) {
            continue;
        }
        *along = (window){PyArray_DIM(x, at + 2), PyArray_DIM(w, at + 2), numbers[0][at],
                          numbers[1][at], numbers[2][at], 0};
        ptrdiff_t rest = along->size + 2 * along->padding - along->dilation * (along->kernel - 1) - 1;
        if (along->kernel < 1 || rest < 0 || along->size < 1 || along->size > INT32_MAX) {
            return 0;
        }
        along->number = rest / along->stride + 1;
        results *= along->number;
        are_patches &= along->kernel == 1 && along->stride == 1 && along->padding == 0;
    }
    double products = (double)PyArray_SIZE(w) * (double)results;
    return products * (double)of->images < MOST_PRODUCTS && !(are_patches && products > MOST_MIXED);
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
COMPUTE(convolution_of_few)
{
    convolution of;
    int precision = precision_of(arguments[0]);
    PyArrayObject *x = plain_array(arguments[0]), *w = plain_array(arguments[1]), *bias = NULL;
    if (precision < 0 || precision_of(arguments[1]) != precision ||
        !read_small(x, w, arguments + 3, &of)) {
        return NULL;
    }
    npy_intp shape[2 + WINDOW_AXES] = {of.images, of.groups * of.rows};
    int ndim = PyArray_NDIM(x) - 2;
    if (!read_bias(arguments[2], precision, shape[1], &bias)) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        shape[2 + i] = of.windows.axis[WINDOW_AXES - ndim + i].number;
    }
    PyArrayObject *made = new_array(ndim + 2, shape, precision);
    const void *numbers = bias == NULL ? NULL : PyArray_DATA(bias);
    int status = made == NULL
                     ? -1
                     : convolve_part(made, arguments[0], arguments[1], numbers, &of, RESULTS);
    Py_XDECREF(bias);
    if (status != 1) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
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
    PyArrayObject *bias;
    if (!PyArray_ISWRITEABLE(made) || !are_finite(precision, weights) ||
        !read_bias(arguments[5], precision, channels, &bias)) {
        return NULL;
    }
    npy_intp places = PyArray_SIZE(weights) / channels, item = precision ? 8 : 4;
    char *room = PyMem_RawMalloc((size_t)(places * channels * item));
    if (room == NULL) {
        Py_XDECREF(bias);
        return PyErr_NoMemory();
    }
    kernels_in_force->copies->transpose[precision](
        room, PyArray_DATA(weights), places, channels, places, channels);
    RELEASED(
        PyArray_SIZE(made), kernels->convolve_apart[precision](
                                PyArray_DATA(made), PyArray_DATA(images), room, count, channels,
                                &windows);
        add_bias(
            precision, PyArray_DATA(made), bias == NULL ? NULL : PyArray_DATA(bias),
            PyArray_SIZE(made) / channels, channels, 1));
    Py_XDECREF(bias);
    PyMem_RawFree(room);
    return Py_NewRef(Py_True);
}

#define ROW(operator, compute, variant, ...)                                                      \
    {operator, "table/windows.c", __LINE__, compute, {__VA_ARGS__}, 0, NULL, variant}
const kernel_row window_rows[] = {
    ROW("add_patches", add_patches, 0, "images", "patches", "windows"),
    ROW("convolution", convolution_of_few, 0, "input", "weight", "bias", "stride", "padding", "dilation",
        "transposed", "output_padding", "groups"),
    ROW("convolution_direct", convolve, RESULTS, "made", "one", "other", "windows", "groups",
        "bias"),
    ROW("convolution_direct.input", convolve, IMAGES, "made", "one", "other", "windows", "groups",
        "bias"),
    ROW("convolution_direct.last", convolve_apart, 0, "made", "one", "other", "windows", "groups",
        "bias"),
    ROW("convolution_direct.weight", convolve, WEIGHTS, "made", "one", "other", "windows", "groups"),
    ROW("write_patches", write_patches, 0, "patches", "images", "windows"),
    {NULL},
};

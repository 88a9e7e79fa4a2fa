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
static PyObject *
write_patches(PyObject *const *arguments, int variant)
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
static PyObject *
add_patches(PyObject *const *arguments, int variant)
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

/* ---- channel by channel ---------------------------------------------------------------------- */

enum { MOST_ROOM = 1 << 26 }; /* elements of an image with its padding */

/* Which numbers of windows are the shape of an array. */
typedef enum { SIZES, NUMBERS, KERNELS } extent;

/* Images (images, groups * depth, *sizes), results (images, groups * rows, *numbers) and weights
 * (groups * rows, depth, *kernels). */
typedef struct {
    int precision, ndim;
    image_windows windows;
    npy_intp images, groups, depth, rows;
} channels;

static npy_intp
extent_of(const channels *read, extent kind, int axis)
{
    const window *along = read->windows.axis + WINDOW_AXES - read->ndim + axis;
    return kind == SIZES ? along->size : kind == NUMBERS ? along->number : along->kernel;
}

/* Set the shape (first, second, *extents). */
static void
set_shape(
    const channels *read, npy_intp first, npy_intp second, extent kind, npy_intp *shape)
{
    shape[0] = first;
    shape[1] = second;
    for (int i = 0; i < read->ndim; i++) {
        shape[2 + i] = extent_of(read, kind, i);
    }
}

/* Whether an array has the precision and such a shape. */
static int
is_shaped(PyObject *object, const channels *read, npy_intp first, npy_intp second, extent kind)
{
    npy_intp shape[2 + WINDOW_AXES];
    set_shape(read, first, second, kind, shape);
    return precision_of(object) == read->precision && has_shape(object, read->ndim + 2, shape);
}

/* Read windows and groups, and of what precision and how many the arrays are: the axes of images, of
 * `depth` and of `rows` tell that. Return whether these are such arrays. */
static int
read_channels(PyObject *windows, PyObject *groups, PyObject *one, PyObject *other, channels *read)
{
    read->precision = precision_of(one);
    if (!read_windows(windows, &read->windows, &read->ndim) || !read_size(groups, &read->groups) ||
        read->groups < 1 || read->precision < 0 || precision_of(other) != read->precision ||
        PyArray_NDIM((PyArrayObject *)one) < 3 || PyArray_NDIM((PyArrayObject *)other) < 3) {
        return 0;
    }
    read->images = PyArray_DIM((PyArrayObject *)one, 0);
    return 1;
}

/* Set how many channels the images and the results of a group have. Return whether all shapes fit
 * then; arrays that are computed are NULL. */
static int
are_channels(
    channels *read, npy_intp depth, npy_intp rows, PyObject *x, PyObject *y, PyObject *w)
{
    read->depth = depth;
    read->rows = rows;
    npy_intp results = read->groups * rows;
    return read->images > 0 && depth > 0 && rows > 0 &&
           (x == NULL || is_shaped(x, read, read->images, read->groups * depth, SIZES)) &&
           (y == NULL || is_shaped(y, read, read->images, results, NUMBERS)) &&
           (w == NULL || is_shaped(w, read, results, depth, KERNELS));
}

/* Zeros of the shape (first, second, *extents). */
static PyArrayObject *
zeros(const channels *read, npy_intp first, npy_intp second, extent kind)
{
    npy_intp shape[2 + WINDOW_AXES];
    set_shape(read, first, second, kind, shape);
    return (PyArrayObject *)PyArray_ZEROS(
        2 + read->ndim, shape, read->precision ? NPY_DOUBLE : NPY_FLOAT, 0);
}

/* Memory of images, results and weights, and how many bytes one of each has. */
typedef struct {
    char *x, *y, *w;
    npy_intp image, result, weight;
} channel_memory;

static void
go_through_channels(const channels *read, extent computed, channel_memory memory, void *room)
{
    const window_kernels *kernels = kernels_in_force->windows;
    npy_intp results = read->groups * read->rows, item = read->precision ? 8 : 4;
    npy_intp between_images = read->groups * read->depth * memory.image;
    npy_intp between_results = results * memory.result;
    for (npy_intp i = 0; i < results * read->depth; i++) {
        npy_intp row = i / read->depth;
        npy_intp channel = row / read->rows * read->depth + i % read->depth;
        char *w = memory.w + i * memory.weight;
        char *x = memory.x + channel * memory.image, *y = memory.y + row * memory.result;
        if (computed == KERNELS) {
            kernels->weigh[read->precision](
                w, x, between_images / item, y, between_results / item, read->images,
                &read->windows, room);
            continue;
        }
        for (npy_intp k = 0; k < read->images; k++, x += between_images, y += between_results) {
            if (computed == NUMBERS) {
                kernels->correlate[read->precision](y, x, w, &read->windows, room);
            }
            else {
                kernels->spread[read->precision](x, y, w, &read->windows, room);
            }
        }
    }
}

/* Whether windows reach beyond images, where their elements are zeros. */
static int
are_padded(const image_windows *windows)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const window *axis = windows->axis + i;
        npy_intp reach =
            (axis->number - 1) * axis->stride + (axis->kernel - 1) * axis->dilation - axis->padding;
        if (axis->padding > 0 || reach >= axis->size) {
            return 1;
        }
    }
    return 0;
}

/* Whether zeros in the place of other elements change no result. */
static int
are_finite(int precision, PyArrayObject *array)
{
    return kernels_in_force->windows->are_finite[precision](
        PyArray_DATA(array), PyArray_SIZE(array));
}

/* Compute zeros that were made for one of the three arrays from the other two. Takes the reference
 * to what is made. Zeros are multiplied by elements of the second array, and of the first one if
 * these are images of which weights are computed: where these are not finite, the result is the
 * reference's, as it is where padding makes images too large. */
static PyObject *
compute(const channels *read, extent computed, PyArrayObject *made, PyObject *one, PyObject *other)
{
    PyArrayObject *first = in_c_order(one), *second = in_c_order(other);
    double size = kernels_in_force->windows->room(&read->windows);
    int is_left = size > MOST_ROOM;
    if (first != NULL && second != NULL && !is_left) {
        int p = read->precision;
        is_left = ((computed != NUMBERS || are_padded(&read->windows)) && !are_finite(p, second)) ||
                  (computed == KERNELS && !are_finite(p, first));
    }
    void *room = is_left ? NULL : PyMem_RawMalloc((size_t)size * (read->precision ? 8 : 4));
    if (is_left) {
        Py_CLEAR(made);
    }
    else if (room == NULL) {
        Py_CLEAR(made);
        PyErr_NoMemory();
    }
    else if (made != NULL && first != NULL && second != NULL) {
        npy_intp item = PyArray_ITEMSIZE(made);
        npy_intp image = item, result = item, weight = item;
        for (int i = 0; i < read->ndim; i++) {
            image *= extent_of(read, SIZES, i);
            result *= extent_of(read, NUMBERS, i);
            weight *= extent_of(read, KERNELS, i);
        }
        PyArrayObject *x = computed == SIZES ? made : first;
        PyArrayObject *y = computed == NUMBERS ? made : computed == SIZES ? first : second;
        PyArrayObject *w = computed == KERNELS ? made : second;
        channel_memory memory = {
            PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(w), image, result, weight};
        npy_intp work = PyArray_SIZE(y) * read->depth * count_places(&read->windows);
        RELEASED(work, go_through_channels(read, computed, memory, room));
    }
    else {
        Py_CLEAR(made);
    }
    PyMem_RawFree(room);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return (PyObject *)made;
}

/* convolution_direct(x, weight, windows, groups): results; convolution_direct.input(y, weight,
 * windows, groups): images. */
static PyObject *
with_weights(PyObject *const *arguments, int computed)
{
    channels read;
    PyObject *one = arguments[0], *w = arguments[1];
    if (!read_channels(arguments[2], arguments[3], one, w, &read) ||
        !are_channels(
            &read, PyArray_DIM((PyArrayObject *)w, 1),
            PyArray_DIM((PyArrayObject *)w, 0) / read.groups, computed == NUMBERS ? one : NULL,
            computed == SIZES ? one : NULL, w)) {
        return NULL;
    }
    npy_intp of_group = computed == NUMBERS ? read.rows : read.depth;
    PyArrayObject *made = zeros(&read, read.images, read.groups * of_group, computed);
    return compute(&read, computed, made, one, w);
}

/* convolution_direct.weight(x, y, windows, groups): weights. */
static PyObject *
weigh(PyObject *const *arguments, int variant)
{
    channels read;
    PyObject *x = arguments[0], *y = arguments[1];
    if (!read_channels(arguments[2], arguments[3], x, y, &read) ||
        !are_channels(
            &read, PyArray_DIM((PyArrayObject *)x, 1) / read.groups,
            PyArray_DIM((PyArrayObject *)y, 1) / read.groups, x, y, NULL)) {
        return NULL;
    }
    PyArrayObject *made = zeros(&read, read.groups * read.rows, read.depth, KERNELS);
    return compute(&read, KERNELS, made, x, y);
}

#define ROW(operator, compute, variant, ...)                                                      \
    {operator, "table/windows.c", __LINE__, compute, {__VA_ARGS__}, 0, NULL, variant}
const kernel_row window_rows[] = {
    ROW("add_patches", add_patches, 0, "images", "patches", "windows"),
    ROW("convolution_direct", with_weights, NUMBERS, "x", "weight", "windows", "groups"),
    ROW("convolution_direct.input", with_weights, SIZES, "y", "weight", "windows", "groups"),
    ROW("convolution_direct.weight", weigh, 0, "x", "y", "windows", "groups"),
    ROW("write_patches", write_patches, 0, "patches", "images", "windows"),
    {NULL},
};

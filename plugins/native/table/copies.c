/* Copies: of whole arrays, repeated, padded, joined, turned around, shifted, of triangles of matrices, and of one or the
 * other of two arrays; and what operators that overwrite an array write. By blocks of memory where
 * arrays lie in C order. */
#include "indexed.h"
#include "layouts.h"

/* ---- what is written ------------------------------------------------------------------------- */

COMPUTE(zero)
{
    PyArrayObject *x = plain_array(arguments[0]);
    if (x == NULL) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DESCR(x);
    Py_INCREF(dtype);
    return PyArray_Zeros(0, NULL, dtype, 0);
}

COMPUTE(number)
{
    PyArrayObject *x = plain_array(arguments[0]);
    return x == NULL || arguments[1] == NULL ? NULL : (PyObject *)number_like(x, arguments[1]);
}

COMPUTE(source)
{
    PyArrayObject *x = plain_array(arguments[0]), *from = plain_array(arguments[1]);
    if (x == NULL || from == NULL || (PyArray_NDIM(from) == 0 && PyArray_NDIM(x) > 0) ||
        (PyArray_ISCOMPLEX(from) && !PyArray_ISCOMPLEX(x))) {
        return NULL;
    }
    return Py_NewRef((PyObject *)from);
}

/* ---- whole arrays ---------------------------------------------------------------------------- */

COMPUTE(copy_whole)
{
    PyArrayObject *x = plain_array(arguments[0]);
    return x == NULL || is_given(arguments[1]) ? NULL : (PyObject *)copy_of(x);
}

/* arrays.contiguous(array): the array itself, or a copy in C order. */
COMPUTE(contiguous)
{
    PyArrayObject *x = plain_array(arguments[0]);
    if (x == NULL || PyArray_IS_C_CONTIGUOUS(x)) {
        return Py_XNewRef((PyObject *)x);
    }
    return (PyObject *)in_c_order((PyObject *)x);
}

/* ---- parts of another array ------------------------------------------------------------------ */

/* Copy elements of one array to another: from and to an offset, by strides. */
static int
copy_part(PyArrayObject *to, npy_intp to_offset, const npy_intp *to_strides, PyArrayObject *from,
          npy_intp from_offset, const npy_intp *from_strides, int ndim, const npy_intp *dims)
{
    PyArray_Descr *dtype = PyArray_DESCR(from);
    Py_INCREF(dtype); /* each of the two takes a reference */
    PyObject *part = PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, dims, to_strides, PyArray_BYTES(to) + to_offset,
        NPY_ARRAY_WRITEABLE, NULL);
    if (part == NULL) {
        return -1;
    }
    Py_INCREF(dtype);
    PyObject *source = PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, dims, from_strides, PyArray_BYTES(from) + from_offset, 0, NULL);
    int failed =
        source == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)part, (PyArrayObject *)source);
    Py_DECREF(part);
    Py_XDECREF(source);
    return failed;
}

/* The result, whose axes are taken in two: which repetition, and where in it. */
COMPUTE(repeat)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp counts[NPY_MAXDIMS], dims[NPY_MAXDIMS], pairs[NPY_MAXDIMS];
    npy_intp from_strides[NPY_MAXDIMS], to_strides[NPY_MAXDIMS];
    int count = read_ints(arguments[1], counts);
    int added = x == NULL ? -1 : count - PyArray_NDIM(x);
    if (added < 0 || 2 * count > NPY_MAXDIMS) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        npy_intp own = i < added ? 1 : PyArray_DIM(x, i - added);
        if (counts[i] < 0 || __builtin_mul_overflow(counts[i], own, &dims[i])) {
            return NULL;
        }
        pairs[2 * i] = counts[i];
        pairs[2 * i + 1] = own;
        from_strides[2 * i] = 0;
        from_strides[2 * i + 1] = i < added ? 0 : PyArray_STRIDE(x, i - added);
    }
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(x), count, dims);
    if (made == NULL) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        to_strides[2 * i] = pairs[2 * i + 1] * PyArray_STRIDE(made, i);
        to_strides[2 * i + 1] = PyArray_STRIDE(made, i);
    }
    if (PyArray_SIZE(made) > 0 &&
        copy_part(made, 0, to_strides, x, 0, from_strides, 2 * count, pairs) < 0) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* A new array of zeros, or filled with a number. */
static PyArrayObject *
filled(PyArrayObject *model, PyObject *number, const npy_intp *dims)
{
    double value = 0;
    int ndim = PyArray_NDIM(model);
    if (is_given(number) && !read_number(number, &value)) {
        return NULL;
    }
    if (!(value == 0)) {
        PyArrayObject *filling = number_like(model, number);
        PyArrayObject *made =
            filling == NULL ? NULL : new_of_dtype(PyArray_DESCR(model), ndim, dims);
        if (made != NULL && PyArray_CopyInto(made, filling) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(filling);
        return made;
    }
    if (!is_addressable(ndim, dims, PyArray_ITEMSIZE(model))) {
        return NULL;
    }
    Py_INCREF(PyArray_DESCR(model)); /* which the next call takes */
    return (PyArrayObject *)PyArray_Zeros(ndim, dims, PyArray_DESCR(model), 0);
}

/* Pairs of how many elements come before and after, from the last axis on; negative ones leave out. */
COMPUTE(pad)
{
    PyArrayObject *x = plain_array(arguments[0]);
    int is_last = x != NULL && is_channels_last(x);
    npy_intp pads[NPY_MAXDIMS], dims[NPY_MAXDIMS], taken[NPY_MAXDIMS];
    npy_intp from_offset = 0, to_offset = 0, befores[NPY_MAXDIMS] = {0};
    int count = read_ints(arguments[1], pads), ndim = x == NULL ? -1 : PyArray_NDIM(x);
    if (ndim < 0 || count < 0 || count % 2 != 0 || count > 2 * ndim) {
        return NULL;
    }
    for (int axis = 0; axis < ndim; axis++) {
        int pair = 2 * (ndim - 1 - axis);
        npy_intp low = pair < count ? pads[pair] : 0, high = pair < count ? pads[pair + 1] : 0;
        npy_intp size = PyArray_DIM(x, axis), before = low < 0 ? -low : 0;
        npy_intp after = high < 0 ? -high : 0, most = PY_SSIZE_T_MAX / 4;
        if (low < -most || high < -most || low > most || high > most || before + after > size) {
            return NULL;
        }
        dims[axis] = size + low + high;
        taken[axis] = size - before - after;
        from_offset += before * PyArray_STRIDE(x, axis);
        befores[axis] = low > 0 ? low : 0;
    }
    npy_intp channels = dims[ndim > 1];
    for (int axis = 1; is_last && axis < ndim; axis++) { /* as memory has them */
        dims[axis] = axis == ndim - 1 ? channels : dims[axis + 1];
    }
    PyArrayObject *made = filled(x, arguments[2], dims);
    made = is_last && made != NULL ? with_channels_second(made) : made;
    for (int axis = 0; made != NULL && axis < ndim; axis++) {
        to_offset += befores[axis] * PyArray_STRIDE(made, axis);
    }
    if (made != NULL && PyArray_MultiplyList(taken, ndim) > 0 &&
        copy_part(made, to_offset, PyArray_STRIDES(made), x, from_offset, PyArray_STRIDES(x), ndim,
                  taken) < 0) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* ---- joined ---------------------------------------------------------------------------------- */

/* Copy `block` bytes of an array to every `pitch` bytes of the result, `count` times. */
static void
spread(char *to, npy_intp pitch, const char *from, npy_intp block, npy_intp count)
{
    for (npy_intp i = 0; block == 4 && i < count; i++) { /* of a size that the compiler knows */
        memcpy(to + i * pitch, from + i * 4, 4);
    }
    for (npy_intp i = 0; block == 8 && i < count; i++) {
        memcpy(to + i * pitch, from + i * 8, 8);
    }
    for (npy_intp i = 0; block != 4 && block != 8 && i < count; i++) {
        memcpy(to + i * pitch, from + i * block, (size_t)block);
    }
}

/* Whether an item of a list joins others along an axis, or a new one: it lies in C order, and has the
 * dtype of the first and its sizes but for that axis. */
static int
joins(PyArrayObject *first, PyObject *item, int axis, int is_new)
{
    PyArrayObject *x = plain_array(item);
    if (x == NULL || PyArray_DESCR(x) != PyArray_DESCR(first) || !PyArray_IS_C_CONTIGUOUS(x) ||
        PyArray_NDIM(x) != PyArray_NDIM(first) || PyArray_SIZE(x) == 0) {
        return 0;
    }
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        if (PyArray_DIM(x, i) != PyArray_DIM(first, i) && (is_new || i != axis)) {
            return 0;
        }
    }
    return 1;
}

/* Join images whose channels all come last in memory along an axis: as arrays in C order, whose axes
 * are as memory has them. NULL as `join`. */
COMPUTE_OF(join, is_new);
static PyObject *
join_last(PyObject *list, int axis, int ndim)
{
    npy_intp count = PyList_GET_SIZE(list);
    PyObject *turned = PyList_New(count);
    for (npy_intp i = 0; turned != NULL && i < count; i++) {
        PyObject *view =
            (PyObject *)with_channels_last((PyArrayObject *)PyList_GET_ITEM(list, i));
        if (view == NULL) {
            Py_CLEAR(turned);
            break;
        }
        PyList_SET_ITEM(turned, i, view);
    }
    PyObject *at = PyLong_FromLong(axis == 0 ? 0 : axis == 1 ? ndim - 1 : axis - 1);
    PyObject *const arguments[2] = {turned, at};
    PyObject *made = turned == NULL || at == NULL ? NULL : join(arguments, 0);
    Py_XDECREF(turned);
    Py_XDECREF(at);
    return made == NULL ? NULL : (PyObject *)with_channels_second((PyArrayObject *)made);
}

COMPUTE_OF(join, is_new)
{
    PyObject *list = arguments[0];
    if (list == NULL || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0) {
        return NULL;
    }
    PyArrayObject *first = plain_array(PyList_GET_ITEM(list, 0));
    int axis = 0, ndim = first == NULL ? 0 : PyArray_NDIM(first) + is_new;
    if (ndim == 0 || ndim > NPY_MAXDIMS ||
        !read_optional_axis(arguments[1], ndim, &axis)) {
        return NULL;
    }
    if (!is_new && are_channels_last(list)) {
        return join_last(list, axis, ndim);
    }
    npy_intp dims[NPY_MAXDIMS], length = 0, outer = 1, count = PyList_GET_SIZE(list);
    for (npy_intp i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (!joins(first, item, axis, is_new)) {
            return NULL;
        }
        length += is_new ? 1 : PyArray_DIM((PyArrayObject *)item, axis);
    }
    for (int i = 0; i < ndim; i++) {
        dims[i] = i == axis ? length : PyArray_DIM(first, i - (is_new && i > axis));
        outer *= i < axis ? dims[i] : 1;
    }
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(first), ndim, dims);
    if (made == NULL) {
        return NULL;
    }
    char *to = PyArray_BYTES(made);
    npy_intp pitch = PyArray_NBYTES(made) / outer;
    for (npy_intp i = 0; i < count; i++) {
        PyArrayObject *item = (PyArrayObject *)PyList_GET_ITEM(list, i);
        npy_intp block = PyArray_NBYTES(item) / outer;
        const char *from = PyArray_BYTES(item);
        RELEASED(PyArray_SIZE(item), spread(to, pitch, from, block, outer));
        to += block;
    }
    return (PyObject *)made;
}

/* ---- turned around and shifted --------------------------------------------------------------- */

/* Copy rows of an array whose last axis goes backwards: NumPy copies elements one by one. */
#define COPY_BACKWARDS(type)                                                                      \
    for (; j < length; j++) {                                                                     \
        ((type *restrict)to)[j] = ((const type *restrict)from)[-j];                               \
    }
static void
copy_backwards(char *to, PyArrayObject *turned)
{
    int last = PyArray_NDIM(turned) - 1;
    npy_intp length = PyArray_DIM(turned, last), index[NPY_MAXDIMS] = {0};
    npy_intp item = PyArray_ITEMSIZE(turned);
    const char *from = PyArray_BYTES(turned);
    for (int i = 0; i >= 0;) {
        npy_intp j = 0;
        if (item == 1) {
            for (; j + 8 <= length; j += 8) {
                uint64_t word;
                memcpy(&word, from - j - 7, sizeof word);
                word = __builtin_bswap64(word);
                memcpy(to + j, &word, sizeof word);
            }
            COPY_BACKWARDS(uint8_t)
        }
        else if (item == 2) {
            COPY_BACKWARDS(uint16_t)
        }
        else if (item == 4) {
            COPY_BACKWARDS(uint32_t)
        }
        else {
            COPY_BACKWARDS(uint64_t)
        }
        to += length * item;
        for (i = last - 1; i >= 0; i--) { /* the next row */
            from += PyArray_STRIDE(turned, i);
            if (++index[i] < PyArray_DIM(turned, i)) {
                break;
            }
            from -= index[i] * PyArray_STRIDE(turned, i);
            index[i] = 0;
        }
    }
}

COMPUTE(flip)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp axes[NPY_MAXDIMS], strides[NPY_MAXDIMS], offset = 0;
    int count = read_ints(arguments[1], axes), ndim = x == NULL ? 0 : PyArray_NDIM(x);
    int seen[NPY_MAXDIMS] = {0};
    if (count < 0 || ndim == 0 || PyArray_SIZE(x) == 0) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        strides[i] = PyArray_STRIDE(x, i);
    }
    for (int i = 0; i < count; i++) {
        npy_intp axis = axes[i] + (axes[i] < 0 ? ndim : 0);
        if (axis < 0 || axis >= ndim || seen[axis]++) {
            return NULL;
        }
        offset += (PyArray_DIM(x, axis) - 1) * strides[axis];
        strides[axis] = -strides[axis];
    }
    PyArray_Descr *dtype = PyArray_DESCR(x);
    Py_INCREF(dtype);
    /* It lives as long as this call, which holds the array. */
    PyArrayObject *turned = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, PyArray_DIMS(x), strides, PyArray_BYTES(x) + offset, 0, NULL);
    npy_intp item = PyArray_ITEMSIZE(x);
    PyObject *made = NULL;
    if (turned != NULL && item <= 8 && (item & (item - 1)) == 0 && strides[ndim - 1] == -item &&
        PyArray_IS_C_CONTIGUOUS(x) && PyArray_ISALIGNED(turned) && !PyDataType_REFCHK(dtype)) {
        made = (PyObject *)new_of_dtype(dtype, ndim, PyArray_DIMS(x));
        if (made != NULL) {
            RELEASED(
                PyArray_SIZE(x), copy_backwards(PyArray_BYTES((PyArrayObject *)made), turned));
        }
    }
    else if (turned != NULL) {
        made = (PyObject *)laid_like(turned, x);
    }
    Py_XDECREF(turned);
    return made;
}

/* Read an int, or a tuple of one. */
static int
read_single(PyObject *object, npy_intp *value)
{
    if (object != NULL && PyTuple_CheckExact(object)) {
        return PyTuple_GET_SIZE(object) == 1 && read_int(PyTuple_GET_ITEM(object, 0), value);
    }
    return object != NULL && read_int(object, value);
}

/* Copy `count` blocks, the last bytes of each to its beginning. */
static void
shift_blocks(char *to, const char *from, npy_intp block, npy_intp moved, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++, to += block, from += block) {
        memcpy(to + moved, from, (size_t)(block - moved));
        memcpy(to, from + block - moved, (size_t)moved);
    }
}

COMPUTE(roll)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyObject *dims = arguments[2];
    npy_intp shift, dim = 0;
    int is_flat = dims == NULL || ((PyTuple_Check(dims) || PyList_CheckExact(dims)) &&
                                   PySequence_Fast_GET_SIZE(dims) == 0);
    if (x == NULL || PyArray_NDIM(x) == 0 || PyArray_SIZE(x) == 0 ||
        !PyArray_IS_C_CONTIGUOUS(x) || !read_single(arguments[1], &shift) ||
        (!is_flat && !read_single(dims, &dim))) {
        return NULL;
    }
    dim += dim < 0 ? PyArray_NDIM(x) : 0;
    if (dim < 0 || dim >= PyArray_NDIM(x)) {
        return NULL;
    }
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(x), PyArray_NDIM(x), PyArray_DIMS(x));
    if (made == NULL) {
        return NULL;
    }
    axis_sizes sizes =
        is_flat ? (axis_sizes){1, PyArray_SIZE(x), 1} : sizes_around(x, (int)dim);
    npy_intp row = sizes.inner * PyArray_ITEMSIZE(x), block = sizes.length * row;
    npy_intp moved = ((shift % sizes.length + sizes.length) % sizes.length) * row;
    char *to = PyArray_BYTES(made);
    const char *from = PyArray_BYTES(x);
    RELEASED(PyArray_SIZE(x), shift_blocks(to, from, block, moved, sizes.outer));
    return (PyObject *)made;
}

/* ---- diagonals ------------------------------------------------------------------------------- */

/* Zeros with the last axis along a diagonal of two axes behind the others. */
COMPUTE(embed_diagonal)
{
    PyArrayObject *x = plain_array(arguments[0]);
    int ndim = x == NULL ? 0 : PyArray_NDIM(x), row = ndim - 1, column = ndim;
    npy_intp offset = 0, shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (ndim == 0 || ndim == NPY_MAXDIMS || PyDataType_REFCHK(PyArray_DESCR(x)) ||
        (arguments[1] != NULL && !read_int(arguments[1], &offset)) ||
        Py_ABS(offset) > PY_SSIZE_T_MAX - PyArray_DIM(x, row) ||
        !read_optional_axis(arguments[2], ndim + 1, &row) ||
        !read_optional_axis(arguments[3], ndim + 1, &column) || row != ndim - 1 || column != ndim) {
        return NULL;
    }
    memcpy(shape, PyArray_DIMS(x), sizeof *shape * (size_t)ndim);
    shape[row] += Py_ABS(offset);
    shape[column] = shape[row];
    PyArray_Descr *dtype = PyArray_DESCR(x);
    if (!is_addressable(ndim + 1, shape, PyArray_ITEMSIZE(x))) {
        return NULL;
    }
    Py_INCREF(dtype);
    PyArrayObject *made = (PyArrayObject *)PyArray_Zeros(ndim + 1, shape, dtype, 0);
    if (made == NULL) {
        return NULL;
    }
    memcpy(strides, PyArray_STRIDES(made), sizeof *strides * (size_t)ndim);
    char *first = PyArray_BYTES(made) +
                  (offset > 0 ? offset * PyArray_ITEMSIZE(x) : -offset * strides[row]);
    strides[row] += PyArray_ITEMSIZE(x);
    Py_INCREF(dtype);
    PyArrayObject *diagonal = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, PyArray_DIMS(x), strides, first, NPY_ARRAY_WRITEABLE, NULL);
    if (diagonal == NULL || PyArray_CopyInto(diagonal, x) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(diagonal);
    return (PyObject *)made;
}

/* ---- triangles ------------------------------------------------------------------------------- */

enum { LOWER, UPPER };

/* Copy rows of matrices to a result that is 0: those columns that the triangle has. */
static void
copy_triangle(
    char *to, const char *from, npy_intp rows, npy_intp columns, npy_intp item, npy_intp diagonal,
    int part)
{
    for (npy_intp i = 0; i < rows; i++) {
        npy_intp at = i + diagonal + (part == LOWER);
        at = at < 0 ? 0 : at > columns ? columns : at;
        npy_intp first = part == LOWER ? 0 : at, last = part == LOWER ? at : columns;
        npy_intp row = i * columns;
        memcpy(to + (row + first) * item, from + (row + first) * item,
               (size_t)((last - first) * item));
    }
}

COMPUTE_OF(triangle, part)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp diagonal = 0;
    if (x == NULL || PyArray_NDIM(x) < 2 || PyArray_SIZE(x) == 0 ||
        (arguments[1] != NULL && !read_int(arguments[1], &diagonal))) {
        return NULL;
    }
    int ndim = PyArray_NDIM(x);
    npy_intp rows = PyArray_DIM(x, ndim - 2), columns = PyArray_DIM(x, ndim - 1);
    if (diagonal < -rows || diagonal > columns) {
        return NULL;
    }
    PyArrayObject *own = in_c_order((PyObject *)x);
    if (own == NULL) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DESCR(x);
    Py_INCREF(dtype);
    PyArrayObject *made = (PyArrayObject *)PyArray_Zeros(ndim, PyArray_DIMS(x), dtype, 0);
    npy_intp item = PyArray_ITEMSIZE(x), matrix = rows * columns * item;
    npy_intp count = PyArray_SIZE(x) / (rows * columns);
    for (npy_intp i = 0; made != NULL && i < count; i++) {
        char *to = PyArray_BYTES(made) + i * matrix;
        const char *from = PyArray_BYTES(own) + i * matrix;
        RELEASED(rows * columns, copy_triangle(to, from, rows, columns, item, diagonal, part));
    }
    Py_DECREF(own);
    return (PyObject *)made;
}

/* ---- frequencies of real numbers ------------------------------------------------------------- */

/* Define a function that writes rows of all frequencies, of the nonnegative ones: those of negative
 * frequencies are conjugates. */
#define MIRROR(name, type)                                                                        \
    static void name(type *to, const type *half, npy_intp rows, npy_intp kept, npy_intp size)     \
    {                                                                                             \
        for (npy_intp row = 0; row < rows; row++, half += 2 * kept, to += 2 * size) {             \
            memcpy(to, half, (size_t)(2 * kept) * sizeof *to);                                    \
            for (npy_intp k = kept; k < size; k++) {                                              \
                to[2 * k] = half[2 * (size - k)];                                                 \
                to[2 * k + 1] = -half[2 * (size - k) + 1];                                        \
            }                                                                                     \
        }                                                                                         \
    }
MIRROR(mirror_single, float)
MIRROR(mirror_double, double)

/* fft.mirrored(half, axis, size), along the last axis of an array in C order. */
COMPUTE(mirrored)
{
    PyArrayObject *half = plain_array(arguments[0]);
    npy_intp axis, size, dims[NPY_MAXDIMS];
    if (half == NULL || !PyArray_ISCARRAY_RO(half) || PyArray_NDIM(half) == 0 ||
        (PyArray_TYPE(half) != NPY_CFLOAT && PyArray_TYPE(half) != NPY_CDOUBLE) ||
        !read_int(arguments[1], &axis) || axis != PyArray_NDIM(half) - 1 ||
        !read_size(arguments[2], &size) || PyArray_DIM(half, (int)axis) != size / 2 + 1) {
        return NULL;
    }
    memcpy(dims, PyArray_DIMS(half), (size_t)PyArray_NDIM(half) * sizeof *dims);
    npy_intp kept = dims[axis], rows = PyArray_SIZE(half) / kept;
    dims[axis] = size;
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(half), PyArray_NDIM(half), dims);
    if (made != NULL && PyArray_TYPE(half) == NPY_CFLOAT) {
        RELEASED(
            rows * size,
            mirror_single(PyArray_DATA(made), PyArray_DATA(half), rows, kept, size));
    }
    else if (made != NULL) {
        RELEASED(
            rows * size,
            mirror_double(PyArray_DATA(made), PyArray_DATA(half), rows, kept, size));
    }
    return (PyObject *)made;
}

/* ---- one or the other ------------------------------------------------------------------------ */

/* Elements of 4 or 8 bytes, and of any other size. */
static void
choose_row(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const npy_intp item = *(const npy_intp *)context;
    const char *condition = data[0], *first = data[1], *second = data[2];
    char *to = data[3];
    for (npy_intp i = 0; i < length; i++) {
        const char *from = *condition ? first : second;
        if (item == 4) {
            memcpy(to, from, 4);
        }
        else if (item == 8) {
            memcpy(to, from, 8);
        }
        else {
            memcpy(to, from, (size_t)item);
        }
        condition += steps[0];
        first += steps[1];
        second += steps[2];
        to += steps[3];
    }
}

static PyObject *
choose(PyArrayObject *condition, PyArrayObject *first, PyArrayObject *second)
{
    if (condition == NULL || first == NULL || second == NULL ||
        PyArray_TYPE(condition) != NPY_BOOL || PyArray_DESCR(first) != PyArray_DESCR(second)) {
        return NULL;
    }
    npy_intp item = PyArray_ITEMSIZE(first);
    row_call call = {
        choose_row, &item, 3, {condition, first, second}, NULL, PyArray_DESCR(first), 1};
    return compute_rows(&call);
}

COMPUTE(where)
{
    return choose(
        plain_array(arguments[0]), plain_array(arguments[1]), plain_array(arguments[2]));
}

COMPUTE(masked_fill)
{
    PyObject *filled[] = {arguments[0], arguments[2]}, *value = number(filled, 0);
    PyObject *made = choose(
        plain_array(arguments[1]), (PyArrayObject *)value, plain_array(arguments[0]));
    Py_XDECREF(value);
    if (made != NULL && !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)made)) {
        Py_SETREF(made, PyArray_NewCopy((PyArrayObject *)made, NPY_CORDER));
    }
    return made;
}

#define ROW(operator, compute, variant, ...)                                                      \
    {operator, "table/copies.c", __LINE__, compute, {__VA_ARGS__}, 1, NULL, variant}
const kernel_row copy_rows[] = {
    ROW("zero_", zero, 0, "self"),
    ROW("fill_.Scalar", number, 0, "self", "value"),
    ROW("copy_", source, 0, "self", "src", "non_blocking"),
    ROW("clone", copy_whole, 0, "self", "memory_format"),
    ROW("arrays.contiguous", contiguous, 0, "array"),
    ROW("repeat", repeat, 0, "self", "repeats"),
    ROW("constant_pad_nd", pad, 0, "self", "pad", "value"),
    ROW("cat", join, 0, "tensors", "dim"),
    ROW("stack", join, 1, "tensors", "dim"),
    ROW("diag_embed", embed_diagonal, 0, "self", "offset", "dim1", "dim2"),
    ROW("flip", flip, 0, "self", "dims"),
    ROW("roll", roll, 0, "self", "shifts", "dims"),
    ROW("where.self", where, 0, "condition", "self", "other"),
    ROW("masked_fill.Scalar", masked_fill, 0, "self", "mask", "value"),
    ROW("fft.mirrored", mirrored, 0, "half", "axis", "size"),
    ROW("tril", triangle, LOWER, "self", "diagonal"),
    ROW("triu", triangle, UPPER, "self", "diagonal"),
    {NULL},
};

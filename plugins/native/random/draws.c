/* PyTorch's draws from a Mersenne Twister, as rows of the kernel table. The first argument is the
 * generator's numpy.random.MT19937, the second a shape; the caller holds the generator's lock. */
#include "twister.h"

enum { CHUNK = 1024 }; /* numbers that are made at once: they stay in the cache */

/* What a draw is of, and its result. */
typedef struct {
    twister *source;
    PyArrayObject *result;
    char *data;
    npy_intp count;
} draw;

/* A new array of a shape, or that of an array in C order; NULL, without an exception for others. */
static PyArrayObject *
array_of(PyObject *size, int type)
{
    npy_intp dims[NPY_MAXDIMS];
    if (size != NULL && PyArray_CheckExact(size)) {
        PyArrayObject *like = (PyArrayObject *)size;
        return PyArray_IS_C_CONTIGUOUS(like)
                   ? (PyArrayObject *)PyArray_EMPTY(
                         PyArray_NDIM(like), PyArray_DIMS(like), type, 0)
                   : NULL;
    }
    int ndim = read_ints(size, dims);
    return ndim < 0 || !is_addressable(ndim, dims, sizeof(double))
               ? NULL
               : (PyArrayObject *)PyArray_EMPTY(ndim, dims, type, 0);
}

/* Read generator and shape, and make the result. Return whether that was possible. */
static int
begin(PyObject *const *arguments, int type, draw *made)
{
    made->source = twister_of(arguments[0]);
    made->result = made->source == NULL ? NULL : array_of(arguments[1], type);
    if (made->result == NULL) {
        return 0;
    }
    made->data = PyArray_DATA(made->result);
    made->count = PyArray_SIZE(made->result);
    return 1;
}

static int
real_type(int precision)
{
    return precision ? NPY_DOUBLE : NPY_FLOAT;
}

/* Write `count` numbers of [0, 1), at most CHUNK. */
static void
make_uniform(twister *source, int precision, void *numbers, npy_intp count)
{
    uint32_t words[2 * CHUNK];
    draw_words(source, words, precision ? 2 * count : count);
    kernels_in_force->random->uniform[precision](numbers, words, count);
}

/* Write numbers of double precision into the result. */
static void
store(draw made, int precision, npy_intp start, const double *numbers, npy_intp count)
{
    if (precision) {
        memcpy((double *)made.data + start, numbers, (size_t)count * sizeof(double));
        return;
    }
    for (npy_intp i = 0; i < count; i++) {
        ((float *)made.data)[start + i] = (float)numbers[i];
    }
}

/* ---- uniform numbers ------------------------------------------------------------------------- */

static void
draw_uniform(draw made, int precision, double low, double high)
{
    const npy_intp item = precision ? sizeof(double) : sizeof(float);
    for (npy_intp start = 0; start < made.count; start += CHUNK) {
        npy_intp size = made.count - start < CHUNK ? made.count - start : CHUNK;
        char *numbers = made.data + start * item;
        make_uniform(made.source, precision, numbers, size);
        if (low != 0 || high != 1) {
            kernels_in_force->random->bound[precision](numbers, size, low, high);
        }
    }
}

PyObject *
uniform_numbers(PyObject *const *arguments, int variant)
{
    draw made;
    int precision;
    double low, high;
    if (!read_flag(arguments[2], &precision) || !read_number(arguments[3], &low) ||
        !read_number(arguments[4], &high) || !begin(arguments, real_type(precision), &made)) {
        return NULL;
    }
    RELEASED(made.count, draw_uniform(made, precision, low, high));
    return (PyObject *)made.result;
}

static void
draw_choices(draw made, double p)
{
    uint32_t words[2 * CHUNK];
    for (npy_intp start = 0; start < made.count; start += CHUNK) {
        npy_intp size = made.count - start < CHUNK ? made.count - start : CHUNK;
        draw_words(made.source, words, 2 * size);
        kernels_in_force->random->choose((unsigned char *)made.data + start, words, size, p);
    }
}

PyObject *
choices(PyObject *const *arguments, int variant)
{
    draw made;
    double p;
    if (!read_number(arguments[2], &p) || !begin(arguments, NPY_BOOL, &made)) {
        return NULL;
    }
    RELEASED(made.count, draw_choices(made, p));
    return (PyObject *)made.result;
}

/* ---- normal numbers -------------------------------------------------------------------------- */

static void
scale_normal(int precision, void *numbers, npy_intp count, double mean, double std)
{
    if (mean != 0 || std != 1) {
        kernels_in_force->random->scale[precision](numbers, count, std, mean);
    }
}

/* Write `count` normal numbers, whole blocks of at most CHUNK. */
static void
make_blocks(
    twister *source, int precision, void *numbers, npy_intp count, double mean, double std)
{
    const random_kernels *kernels = kernels_in_force->random;
    double radii[CHUNK / 2], angles[CHUNK / 2], cosines[CHUNK / 2];
    make_uniform(source, precision, numbers, count);
    kernels->split[precision](radii, angles, numbers, count);
    apply(LOG, precision, radii, radii, count / 2);
    kernels->radii[precision](radii, count / 2);
    apply(COS, precision, cosines, angles, count / 2);
    apply(SIN, precision, angles, angles, count / 2);
    kernels->join[precision](numbers, radii, cosines, angles, count);
    scale_normal(precision, numbers, count, mean, std);
}

static void
draw_blocks(draw made, int precision, double mean, double std, int draws_rest)
{
    const npy_intp item = precision ? sizeof(double) : sizeof(float);
    const npy_intp rest = made.count % NORMAL_BLOCK, whole = made.count - rest;
    for (npy_intp start = 0; start < whole; start += CHUNK) {
        npy_intp size = whole - start < CHUNK ? whole - start : CHUNK;
        make_blocks(made.source, precision, made.data + start * item, size, mean, std);
    }
    if (rest != 0) { /* the last block is drawn anew, over the end of the one before */
        skip_words(made.source, draws_rest ? rest * (1 + precision) : 0);
        char *last = made.data + (made.count - NORMAL_BLOCK) * item;
        make_blocks(made.source, precision, last, NORMAL_BLOCK, mean, std);
    }
}

/* Write pairs of normal numbers in double precision, an even number of at most CHUNK. */
static void
make_pairs(twister *source, double *numbers, npy_intp count)
{
    double radii[CHUNK / 2], angles[CHUNK / 2], cosines[CHUNK / 2];
    make_uniform(source, 1, numbers, count);
    for (npy_intp i = 0; i < count / 2; i++) {
        angles[i] = numbers[2 * i] * 6.283185307179586;
        radii[i] = -numbers[2 * i + 1];
    }
    apply(LOG1P, 1, radii, radii, count / 2);
    kernels_in_force->random->radii[1](radii, count / 2);
    apply(COS, 1, cosines, angles, count / 2);
    apply(SIN, 1, angles, angles, count / 2);
    for (npy_intp i = 0; i < count / 2; i++) {
        numbers[2 * i] = radii[i] * cosines[i];
        numbers[2 * i + 1] = radii[i] * angles[i];
    }
}

/* The first number is `*kept` unless that is NaN; then the second one of the last pair, if it is
 * not drawn, or NaN. */
static void
draw_pairs(draw made, int precision, double mean, double std, double *kept)
{
    double numbers[CHUNK];
    npy_intp start = 0;
    if (made.count > 0 && *kept == *kept) {
        numbers[0] = *kept;
        *kept = Py_NAN;
        scale_normal(1, numbers, 1, mean, std);
        store(made, precision, start++, numbers, 1);
    }
    while (start < made.count) {
        npy_intp size = made.count - start < CHUNK ? made.count - start : CHUNK;
        make_pairs(made.source, numbers, size + size % 2);
        if (size % 2) {
            *kept = numbers[size];
        }
        scale_normal(1, numbers, size, mean, std);
        store(made, precision, start, numbers, size);
        start += size;
    }
}

/* Numbers in blocks where there are enough and `blocks` is not 0; 2 stands for half precision, whose
 * last words are not drawn. */
PyObject *
normal_numbers(PyObject *const *arguments, int variant)
{
    draw made;
    int precision;
    npy_intp blocks;
    double mean, std, kept = Py_NAN;
    if (!read_flag(arguments[2], &precision) || !read_number(arguments[3], &mean) ||
        !read_number(arguments[4], &std) ||
        (is_given(arguments[5]) && !read_number(arguments[5], &kept)) ||
        !read_size(arguments[6], &blocks) || !begin(arguments, real_type(precision), &made)) {
        return NULL;
    }
    if (blocks != 0 && made.count >= NORMAL_BLOCK) {
        RELEASED(made.count, draw_blocks(made, precision, mean, std, blocks == 1));
    }
    else {
        RELEASED(made.count, draw_pairs(made, precision, mean, std, &kept));
    }
    PyObject *rest = kept == kept ? PyFloat_FromDouble(kept) : Py_NewRef(Py_None);
    results both = {{(PyObject *)made.result, rest}, 2, rest == NULL};
    return tuple_of(&both);
}

/* ---- waiting times --------------------------------------------------------------------------- */

static void
draw_times(draw made, int precision, double scale)
{
    double numbers[CHUNK];
    for (npy_intp start = 0; start < made.count; start += CHUNK) {
        npy_intp size = made.count - start < CHUNK ? made.count - start : CHUNK;
        make_uniform(made.source, 1, numbers, size);
        for (npy_intp i = 0; i < size; i++) {
            numbers[i] = -numbers[i];
        }
        apply(LOG1P, 1, numbers, numbers, size);
        for (npy_intp i = 0; i < size; i++) {
            numbers[i] *= scale;
        }
        store(made, precision, start, numbers, size);
    }
}

PyObject *
waiting_times(PyObject *const *arguments, int variant)
{
    draw made;
    int precision;
    double rate;
    if (!read_flag(arguments[2], &precision) || !read_number(arguments[3], &rate) ||
        !begin(arguments, real_type(precision), &made)) {
        return NULL;
    }
    RELEASED(made.count, draw_times(made, precision, -1 / rate));
    return (PyObject *)made.result;
}

/* ---- integers -------------------------------------------------------------------------------- */

static void
draw_integers(draw made, npy_int64 low, npy_uint64 width, int paired)
{
    uint32_t words[2 * CHUNK];
    for (npy_intp start = 0; start < made.count; start += CHUNK) {
        npy_intp size = made.count - start < CHUNK ? made.count - start : CHUNK;
        draw_words(made.source, words, paired ? 2 * size : size);
        kernels_in_force->random->integers[paired](
            (npy_int64 *)made.data + start, words, size, width, low);
    }
}

/* Read an int from 1 to 2**64, which becomes 0. Return whether the object is one. */
static int
read_width(PyObject *object, npy_uint64 *width)
{
    if (object == NULL || !PyLong_CheckExact(object)) {
        return 0;
    }
    *width = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() == NULL) {
        return *width != 0;
    }
    PyErr_Clear();
    PyObject *rest = PyLong_FromUnsignedLongLong(UINT64_MAX);
    PyObject *above = rest == NULL ? NULL : PyNumber_Subtract(object, rest);
    int is_whole = above != NULL && PyLong_AsLong(above) == 1;
    PyErr_Clear();
    Py_XDECREF(rest);
    Py_XDECREF(above);
    *width = 0;
    return is_whole;
}

PyObject *
integers_below(PyObject *const *arguments, int variant)
{
    draw made;
    npy_intp low;
    npy_uint64 width;
    int paired;
    if (!read_int(arguments[2], &low) || !read_width(arguments[3], &width) ||
        !read_flag(arguments[4], &paired) || !begin(arguments, NPY_INT64, &made)) {
        return NULL;
    }
    RELEASED(made.count, draw_integers(made, low, width, paired));
    return (PyObject *)made.result;
}

/* Exchange each number with one of those from it on (Durstenfeld 1964, doi:10.1145/364520.364540).
 * The last one has no choice. */
static void
shuffle(draw made, int paired)
{
    uint32_t words[2 * CHUNK];
    npy_int64 *numbers = (npy_int64 *)made.data;
    for (npy_intp i = 0; i < made.count; i++) {
        numbers[i] = i;
    }
    for (npy_intp start = 0; start < made.count - 1; start += CHUNK) {
        npy_intp size = made.count - 1 - start < CHUNK ? made.count - 1 - start : CHUNK;
        draw_words(made.source, words, paired ? 2 * size : size);
        for (npy_intp i = 0; i < size; i++) {
            npy_uint64 left = (npy_uint64)(made.count - start - i);
            npy_uint64 step = paired
                                  ? ((npy_uint64)words[2 * i] << 32 | words[2 * i + 1]) % left
                                  : words[i] % (uint32_t)left;
            npy_int64 *one = numbers + start + i, *other = one + step, held = *one;
            *one = *other;
            *other = held;
        }
    }
}

PyObject *
permutation(PyObject *const *arguments, int variant)
{
    draw made;
    int paired;
    if (!read_flag(arguments[2], &paired) || !begin(arguments, NPY_INT64, &made)) {
        return NULL;
    }
    RELEASED(made.count, shuffle(made, paired));
    return (PyObject *)made.result;
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "random/draws.c", __LINE__, compute, {"bits", "size", __VA_ARGS__}, 0}
const kernel_row random_rows[] = {
    ROW("random.uniform", uniform_numbers, "wide", "low", "high"),
    ROW("random.chosen", choices, "p"),
    ROW("random.normal", normal_numbers, "wide", "mean", "std", "kept", "blocks"),
    ROW("random.exponential", waiting_times, "wide", "rate"),
    ROW("random.integers", integers_below, "low", "width", "paired"),
    ROW("random.permutation", permutation, "paired"),
    {NULL},
};

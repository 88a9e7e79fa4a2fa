/* Elements at indices along an axis of strided memory. */
#include "indexing.h"

#include "halves.h"

#include <string.h>

/* One number of float16 at a time, by an instruction where the set has it. */
#if defined(__F16C__)
#include <immintrin.h>
#define WIDEN_float16(half) _cvtsh_ss(half)
#define NARROW_float16(number) _cvtss_sh(number, _MM_FROUND_TO_NEAREST_INT)
#else
#define WIDEN_float16 widen_float16
#define NARROW_float16 narrow_float16
#endif
#define WIDEN_bfloat16 widen_bfloat16
#define NARROW_bfloat16 narrow_bfloat16

/* Some values that lie along one axis; see indexing.h. */
typedef struct {
    char *x, *values;
    const char *index;
    ptrdiff_t along, size, wrap;
    ptrdiff_t x_step, value_step, index_step, count;
    const ptrdiff_t *offsets; /* those of all elements, where lines have them in common, or NULL */
} indexed_line;

typedef int line_function(const indexed_line *line);

/* The address that an index moves x to, NULL if it is out of range. */
INLINE char *
address(char *x, const char *index, ptrdiff_t along, ptrdiff_t size, ptrdiff_t wrap)
{
    int64_t at;
    memcpy(&at, index, sizeof at);
    at += at >> 63 & wrap;
    return (uint64_t)at < (uint64_t)size ? x + (ptrdiff_t)at * along : NULL;
}

enum {
    PART = 256,    /* elements of a line whose indices are looked at before any is used */
    COMMON = 2048, /* indices that are looked at once for many lines */
};

/* Write how far in bytes from x, of the first element, those of a part of a line lie. Return whether
 * their indices are in range. */
static int
offsets_of_part(const indexed_line *line, ptrdiff_t first, ptrdiff_t count, ptrdiff_t *offsets)
{
    const char *index = line->index + first * line->index_step;
    const uint64_t size = (uint64_t)line->size, wrap = (uint64_t)line->wrap;
    uint64_t is_out = 0;
    for (ptrdiff_t n = 0; n < count; n++) {
        uint64_t at;
        memcpy(&at, index + n * line->index_step, sizeof at);
        at += (uint64_t)((int64_t)at >> 63) & wrap;
        is_out |= at >= size;
        offsets[n] = (ptrdiff_t)(at * (uint64_t)line->along);
    }
    for (ptrdiff_t n = 0; line->x_step != 0 && n < count; n++) {
        offsets[n] += (first + n) * line->x_step;
    }
    return !is_out;
}

/* Axes of more than one element, neighbours of which are one where all steps allow it; the last
 * becomes the line. */
static int
join_axes(const indexed_elements *given, indexed_elements *joined, indexed_line *line)
{
    int n = 0;
    for (int i = 0; i < given->ndim; i++) {
        ptrdiff_t size = given->shape[i], x = given->x_steps[i], value = given->value_steps[i];
        ptrdiff_t index = given->index_steps[i];
        if (size == 1) {
            continue;
        }
        if (n > 0 && joined->x_steps[n - 1] == x * size &&
            joined->value_steps[n - 1] == value * size &&
            joined->index_steps[n - 1] == index * size) {
            n--;
            size *= joined->shape[n];
        }
        joined->shape[n] = size;
        joined->x_steps[n] = x;
        joined->value_steps[n] = value;
        joined->index_steps[n++] = index;
    }
    *line = (indexed_line){given->x, given->values, given->index, given->along, given->size,
                           given->wrap, 0, 0, 0, 1, NULL};
    if (n > 0) {
        n--;
        line->x_step = joined->x_steps[n];
        line->value_step = joined->value_steps[n];
        line->index_step = joined->index_steps[n];
        line->count = joined->shape[n];
    }
    return n;
}

static int
go_through(const indexed_elements *given, line_function *function)
{
    indexed_elements axes;
    indexed_line line;
    int count = join_axes(given, &axes, &line);
    ptrdiff_t at[MOST_INDEXED_AXES] = {0};
    int has_common = count > 0 && line.index_step != 0 && line.count <= COMMON;
    for (int i = 0; i < given->ndim; i++) {
        if (given->shape[i] == 0) {
            return 1;
        }
    }
    for (int i = 0; i < count; i++) {
        has_common &= axes.index_steps[i] == 0;
    }
    ptrdiff_t common[COMMON];
    if (has_common) {
        if (!offsets_of_part(&line, 0, line.count, common)) {
            return 0;
        }
        line.offsets = common;
    }
    for (int i = 0; i >= 0;) {
        if (!function(&line)) {
            return 0;
        }
        for (i = count - 1; i >= 0; i--) { /* the next line */
            line.x += axes.x_steps[i];
            line.values += axes.value_steps[i];
            line.index += axes.index_steps[i];
            if (++at[i] < axes.shape[i]) {
                break;
            }
            line.x -= at[i] * axes.x_steps[i];
            line.values -= at[i] * axes.value_steps[i];
            line.index -= at[i] * axes.index_steps[i];
            at[i] = 0;
        }
    }
    return 1;
}

/* A kernel that does something with each element `x` and its value `v`, of a type that may lie at
 * any address. One index for a whole line is a row, which is computed by vectors where its elements
 * lie side by side. */
#define KERNEL(name, type, ...)                                                                   \
    INLINE void name##_one(type *restrict x, type *restrict v)                                    \
    {                                                                                             \
        __VA_ARGS__;                                                                              \
    }                                                                                             \
                                                                                                  \
    static int name##_line(const indexed_line *line)                                              \
    {                                                                                             \
        char *x = line->x, *values = line->values;                                                \
        const char *index = line->index;                                                          \
        ptrdiff_t along = line->along, size = line->size, wrap = line->wrap;                      \
        ptrdiff_t x_step = line->x_step, value_step = line->value_step, count = line->count;      \
        if (line->index_step == 0) {                                                              \
            char *row = address(x, index, along, size, wrap);                                     \
            if (row == NULL) {                                                                    \
                return 0;                                                                         \
            }                                                                                     \
            if (x_step == (ptrdiff_t)sizeof(type) && value_step == (ptrdiff_t)sizeof(type)) {     \
                type *restrict xs = (type *)row, *restrict vs = (type *)values;                   \
                for (ptrdiff_t n = 0; n < count; n++) {                                           \
                    name##_one(xs + n, vs + n);                                                   \
                }                                                                                 \
                return 1;                                                                         \
            }                                                                                     \
            for (ptrdiff_t n = 0; n < count; n++) {                                               \
                name##_one((type *)(row + n * x_step), (type *)(values + n * value_step));        \
            }                                                                                     \
            return 1;                                                                             \
        }                                                                                         \
        for (ptrdiff_t first = 0; first < count; first += PART) {                                 \
            ptrdiff_t room[PART], part = count - first < PART ? count - first : PART;             \
            const ptrdiff_t *offsets = line->offsets == NULL ? room : line->offsets + first;      \
            if (line->offsets == NULL && !offsets_of_part(line, first, part, room)) {             \
                return 0;                                                                         \
            }                                                                                     \
            char *to = values + first * value_step;                                               \
            for (ptrdiff_t n = 0; n < part; n++) {                                                \
                name##_one((type *)(x + offsets[n]), (type *)(to + n * value_step));              \
            }                                                                                     \
        }                                                                                         \
        return 1;                                                                                 \
    }                                                                                             \
                                                                                                  \
    static int name(const indexed_elements *elements)                                             \
    {                                                                                             \
        return go_through(elements, name##_line);                                                 \
    }

/* ---- moves ----------------------------------------------------------------------------------- */

#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef uint8_t ANYWHERE bytes_1;
typedef uint16_t ANYWHERE bytes_2;
typedef uint32_t ANYWHERE bytes_4;
typedef uint64_t ANYWHERE bytes_8;
typedef struct __attribute__((packed, may_alias)) {
    uint64_t first, second;
} bytes_16;

#define MOVES(bytes) KERNEL(read_##bytes, bytes, *v = *x) KERNEL(write_##bytes, bytes, *x = *v)
MOVES(bytes_1)
MOVES(bytes_2)
MOVES(bytes_4)
MOVES(bytes_8)
MOVES(bytes_16)

/* The offset of an element from x; its address may be anything. */
static int
add_offsets_line(const indexed_line *line)
{
    for (ptrdiff_t n = 0; n < line->count; n++) {
        int64_t at;
        memcpy(&at, line->index + n * line->index_step, sizeof at);
        at += at >> 63 & line->wrap;
        if ((uint64_t)at >= (uint64_t)line->size) {
            return 0;
        }
        *(int64_t *)(line->values + n * line->value_step) += at * line->along;
    }
    return 1;
}

static int
add_offsets(const indexed_elements *elements)
{
    return go_through(elements, add_offsets_line);
}

/* ---- combinations ---------------------------------------------------------------------------- */

KERNEL(any_bool, bytes_1, *x |= *v)
KERNEL(all_bool, bytes_1, *x &= *v)

/* Integers wrap, those with signs too, whose sums and products have the bits of unsigned ones. */
#define WRAPPING(bytes)                                                                           \
    KERNEL(add_##bytes, bytes, *x = (bytes)((uint64_t)*x + (uint64_t)*v))                         \
    KERNEL(multiply_##bytes, bytes, *x = (bytes)((uint64_t)*x * (uint64_t)*v))
WRAPPING(bytes_1)
WRAPPING(bytes_2)
WRAPPING(bytes_4)
WRAPPING(bytes_8)

#define ORDERED(name, type)                                                                       \
    typedef type ANYWHERE any_##name;                                                             \
    KERNEL(greatest_##name, any_##name, *x = *x > *v ? *x : *v)                                   \
    KERNEL(least_##name, any_##name, *x = *x < *v ? *x : *v)
ORDERED(int8, int8_t)
ORDERED(int16, int16_t)
ORDERED(int32, int32_t)
ORDERED(int64, int64_t)
ORDERED(uint8, uint8_t)
ORDERED(uint16, uint16_t)
ORDERED(uint32, uint32_t)
ORDERED(uint64, uint64_t)

/* NaN is the greatest and the least; of equal numbers the element stays. The first choice is one
 * instruction, the second a branch that is foreseen. */
#define REAL_NUMBERS(name, type)                                                                  \
    typedef type ANYWHERE any_##name;                                                             \
    KERNEL(add_##name, any_##name, *x += *v)                                                      \
    KERNEL(multiply_##name, any_##name, *x *= *v)                                                 \
    KERNEL(                                                                                       \
        greatest_##name, any_##name, type b = *v, found = b > *x ? b : *x;                        \
        *x = b != b ? b : found)                                                                  \
    KERNEL(                                                                                       \
        least_##name, any_##name, type b = *v, found = b < *x ? b : *x;                           \
        *x = b != b ? b : found)
REAL_NUMBERS(float32, float)
REAL_NUMBERS(float64, double)

#define COMPLEX_NUMBERS(name, type)                                                               \
    typedef struct __attribute__((packed, may_alias)) {                                           \
        type real, imag;                                                                          \
    } any_##name;                                                                                 \
    KERNEL(add_##name, any_##name, x->real += v->real; x->imag += v->imag)                        \
    KERNEL(                                                                                       \
        multiply_##name, any_##name, any_##name a = *x;                                           \
        x->real = a.real * v->real - a.imag * v->imag;                                            \
        x->imag = a.real * v->imag + a.imag * v->real)
COMPLEX_NUMBERS(complex64, float)
COMPLEX_NUMBERS(complex128, double)

/* Each sum and product is rounded. */
#define HALVES(name)                                                                              \
    KERNEL(add_##name, bytes_2, *x = NARROW_##name(WIDEN_##name(*x) + WIDEN_##name(*v)))          \
    KERNEL(multiply_##name, bytes_2, *x = NARROW_##name(WIDEN_##name(*x) * WIDEN_##name(*v)))     \
    KERNEL(                                                                                       \
        greatest_##name, bytes_2, float a = WIDEN_##name(*x);                                     \
        *x = a >= WIDEN_##name(*v) || a != a ? *x : *v)                                           \
    KERNEL(                                                                                       \
        least_##name, bytes_2, float a = WIDEN_##name(*x);                                        \
        *x = a <= WIDEN_##name(*v) || a != a ? *x : *v)
HALVES(float16)
HALVES(bfloat16)

#define FOR_INTEGERS(action)                                                                      \
    action##_bytes_1, action##_bytes_2, action##_bytes_4, action##_bytes_8
#define FOR_ORDERED(action)                                                                       \
    action##_int8, action##_int16, action##_int32, action##_int64, action##_uint8,                \
        action##_uint16, action##_uint32, action##_uint64, action##_float32, action##_float64
#define FOR_ROUNDED(action)                                                                       \
    action##_float32, action##_float64, action##_complex64, action##_complex128,                  \
        action##_float16, action##_bfloat16

const indexing_kernels JOIN(indexing, ISA) = {
    {read_bytes_1, read_bytes_2, read_bytes_4, read_bytes_8, read_bytes_16},
    {write_bytes_1, write_bytes_2, write_bytes_4, write_bytes_8, write_bytes_16},
    {
        {any_bool, FOR_INTEGERS(add), FOR_INTEGERS(add), FOR_ROUNDED(add)},
        {all_bool, FOR_INTEGERS(multiply), FOR_INTEGERS(multiply), FOR_ROUNDED(multiply)},
        {any_bool, FOR_ORDERED(greatest), NULL, NULL, greatest_float16, greatest_bfloat16},
        {all_bool, FOR_ORDERED(least), NULL, NULL, least_float16, least_bfloat16},
    },
    add_offsets,
};

/* Running sums, products and extrema. */
#include "scans.h"

#include "halves.h"

enum { COLUMNS = 64 }; /* that run together, side by side in memory */

/* ---- sums and products ----------------------------------------------------------------------- */

/* A total of a wider type runs along each column, from the first element on. */
#define RUN(name, type, wide, widen, narrow, combine)                                             \
    static void name(                                                                             \
        void *result, const void *array, ptrdiff_t outer, ptrdiff_t length, ptrdiff_t inner)      \
    {                                                                                             \
        const type *restrict from = array;                                                        \
        type *restrict to = result;                                                               \
        for (ptrdiff_t n = 0; n < outer; n++, from += length * inner, to += length * inner) {     \
            if (inner == 1) {                                                                     \
                wide total = widen(from[0]);                                                      \
                to[0] = from[0];                                                                  \
                for (ptrdiff_t i = 1; i < length; i++) {                                          \
                    total = combine(total, widen(from[i]));                                       \
                    to[i] = narrow(total);                                                        \
                }                                                                                 \
                continue;                                                                         \
            }                                                                                     \
            for (ptrdiff_t first = 0; first < inner; first += COLUMNS) {                          \
                ptrdiff_t count = inner - first < COLUMNS ? inner - first : COLUMNS;              \
                wide totals[COLUMNS];                                                             \
                for (ptrdiff_t c = 0; c < count; c++) {                                           \
                    totals[c] = widen(from[first + c]);                                           \
                    to[first + c] = from[first + c];                                              \
                }                                                                                 \
                for (ptrdiff_t i = 1; i < length; i++) {                                          \
                    const type *restrict row = from + i * inner + first;                          \
                    type *restrict made = to + i * inner + first;                                 \
                    for (ptrdiff_t c = 0; c < count; c++) {                                       \
                        totals[c] = combine(totals[c], widen(row[c]));                            \
                        made[c] = narrow(totals[c]);                                              \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }

typedef struct {
    double real, imag;
} complex_f64;

typedef struct {
    float real, imag;
} complex_f32;

INLINE complex_f64
widen_complex(complex_f32 number)
{
    return (complex_f64){(double)number.real, (double)number.imag};
}

INLINE complex_f32
narrow_complex(complex_f64 number)
{
    return (complex_f32){(float)number.real, (float)number.imag};
}

INLINE complex_f64
add_complex(complex_f64 a, complex_f64 b)
{
    return (complex_f64){a.real + b.real, a.imag + b.imag};
}

INLINE complex_f64
multiply_complex(complex_f64 a, complex_f64 b)
{
    return (complex_f64){a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

#define SAME(number) (number)
#define TO_DOUBLE(number) ((double)(number))
#define TO_FLOAT(number) ((float)(number))
#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))

RUN(sum_int64, uint64_t, uint64_t, SAME, SAME, ADD) /* integers wrap */
RUN(product_int64, uint64_t, uint64_t, SAME, SAME, MULTIPLY)
RUN(sum_float32, float, double, TO_DOUBLE, TO_FLOAT, ADD)
RUN(product_float32, float, double, TO_DOUBLE, TO_FLOAT, MULTIPLY)
RUN(sum_float64, double, double, SAME, SAME, ADD)
RUN(product_float64, double, double, SAME, SAME, MULTIPLY)
RUN(sum_complex64, complex_f32, complex_f64, widen_complex, narrow_complex, add_complex)
RUN(product_complex64, complex_f32, complex_f64, widen_complex, narrow_complex, multiply_complex)
RUN(sum_complex128, complex_f64, complex_f64, SAME, SAME, add_complex)
RUN(product_complex128, complex_f64, complex_f64, SAME, SAME, multiply_complex)

/* The same of half precision, some elements of which are widened and rounded at a time. */
#define RUN_HALVES(name, half, combine)                                                           \
    static void name(                                                                             \
        void *result, const void *array, ptrdiff_t outer, ptrdiff_t length, ptrdiff_t inner)      \
    {                                                                                             \
        const uint16_t *restrict from = array;                                                    \
        uint16_t *restrict to = result;                                                           \
        float room[COLUMNS], totals[COLUMNS];                                                     \
        for (ptrdiff_t n = 0; n < outer; n++, from += length * inner, to += length * inner) {     \
            for (ptrdiff_t first = 0; inner == 1 && first < length; first += COLUMNS) {           \
                ptrdiff_t count = length - first < COLUMNS ? length - first : COLUMNS;            \
                widen_row_##half(room, from + first, count);                                      \
                for (ptrdiff_t i = 0; i < count; i++) {                                           \
                    totals[0] = first + i == 0 ? room[0] : combine(totals[0], room[i]);           \
                    room[i] = totals[0];                                                          \
                }                                                                                 \
                narrow_row_##half(to + first, room, count);                                       \
            }                                                                                     \
            for (ptrdiff_t first = 0; inner != 1 && first < inner; first += COLUMNS) {            \
                ptrdiff_t count = inner - first < COLUMNS ? inner - first : COLUMNS;              \
                widen_row_##half(totals, from + first, count);                                    \
                narrow_row_##half(to + first, totals, count);                                     \
                for (ptrdiff_t i = 1; i < length; i++) {                                          \
                    widen_row_##half(room, from + i * inner + first, count);                      \
                    for (ptrdiff_t c = 0; c < count; c++) {                                       \
                        totals[c] = combine(totals[c], room[c]);                                  \
                    }                                                                             \
                    narrow_row_##half(to + i * inner + first, totals, count);                     \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }
RUN_HALVES(sum_float16, float16, ADD)
RUN_HALVES(product_float16, float16, MULTIPLY)
RUN_HALVES(sum_bfloat16, bfloat16, ADD)
RUN_HALVES(product_bfloat16, bfloat16, MULTIPLY)

/* ---- extrema --------------------------------------------------------------------------------- */

/* `reaches(x, best)` is whether an element is the extremum in the place of the best one. */
#define EXTREMUM(name, type, reaches)                                                             \
    static void name(                                                                             \
        void *result, int64_t *restrict indices, const void *array, ptrdiff_t outer,              \
        ptrdiff_t length, ptrdiff_t inner)                                                        \
    {                                                                                             \
        const type *restrict from = array;                                                        \
        type *restrict to = result;                                                               \
        for (ptrdiff_t n = 0; n < outer; n++) {                                                   \
            for (ptrdiff_t first = 0; first < inner; first += COLUMNS) {                          \
                ptrdiff_t count = inner - first < COLUMNS ? inner - first : COLUMNS;              \
                type best[COLUMNS];                                                               \
                int64_t at[COLUMNS];                                                              \
                for (ptrdiff_t c = 0; c < count; c++) {                                           \
                    best[c] = from[first + c];                                                    \
                    at[c] = 0;                                                                    \
                }                                                                                 \
                for (ptrdiff_t i = 0; i < length; i++) {                                          \
                    ptrdiff_t line = i * inner + first;                                           \
                    for (ptrdiff_t c = 0; c < count; c++) {                                       \
                        type x = from[line + c];                                                  \
                        int is_new = reaches(x, best[c]);                                         \
                        best[c] = is_new ? x : best[c];                                           \
                        at[c] = is_new ? i : at[c];                                               \
                        to[line + c] = best[c];                                                   \
                        indices[line + c] = at[c];                                                \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
            from += length * inner;                                                               \
            to += length * inner;                                                                 \
            indices += length * inner;                                                            \
        }                                                                                         \
    }

#define ABOVE(x, best) ((x) >= (best))
#define BELOW(x, best) ((x) <= (best))
#define ABOVE_OR_NAN(x, best) ((x) >= (best) || (x) != (x))
#define BELOW_OR_NAN(x, best) ((x) <= (best) || (x) != (x))
#define INTEGERS(name, type)                                                                      \
    EXTREMUM(greatest_##name, type, ABOVE) EXTREMUM(least_##name, type, BELOW)
#define REAL_NUMBERS(name, type)                                                                  \
    EXTREMUM(greatest_##name, type, ABOVE_OR_NAN) EXTREMUM(least_##name, type, BELOW_OR_NAN)
#define HALVES(name)                                                                              \
    INLINE int above_##name(uint16_t x, uint16_t best)                                            \
    {                                                                                             \
        return ABOVE_OR_NAN(widen_##name(x), widen_##name(best));                                 \
    }                                                                                             \
    INLINE int below_##name(uint16_t x, uint16_t best)                                            \
    {                                                                                             \
        return BELOW_OR_NAN(widen_##name(x), widen_##name(best));                                 \
    }                                                                                             \
    EXTREMUM(greatest_##name, uint16_t, above_##name)                                             \
    EXTREMUM(least_##name, uint16_t, below_##name)

INTEGERS(uint8, uint8_t) /* bool too */
INTEGERS(uint16, uint16_t)
INTEGERS(uint32, uint32_t)
INTEGERS(uint64, uint64_t)
INTEGERS(int8, int8_t)
INTEGERS(int16, int16_t)
INTEGERS(int32, int32_t)
INTEGERS(int64, int64_t)
REAL_NUMBERS(float32, float)
REAL_NUMBERS(float64, double)
HALVES(float16)
HALVES(bfloat16)

#define NO_SMALL_INTEGERS NULL, NULL, NULL, NULL
#define RUNNING(kind)                                                                             \
    {NO_SMALL_INTEGERS, kind##_int64,     NO_SMALL_INTEGERS,  kind##_float32, kind##_float64,     \
     kind##_complex64,  kind##_complex128, kind##_float16, kind##_bfloat16}
#define EXTREMA(kind)                                                                             \
    {kind##_uint8,   kind##_int8,   kind##_int16,  kind##_int32,   kind##_int64,                  \
     kind##_uint8,   kind##_uint16, kind##_uint32, kind##_uint64,  kind##_float32,                \
     kind##_float64, NULL,          NULL,          kind##_float16, kind##_bfloat16}

const scan_kernels JOIN(scans, ISA) = {
    RUNNING(sum),
    RUNNING(product),
    EXTREMA(greatest),
    EXTREMA(least),
};

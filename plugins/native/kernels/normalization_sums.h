/* Sums of normalization in one precision: along rows, and down columns. */
#include "real.h"

/* A register of elements, anywhere in memory. GCC and Clang compute with it as with a number; loops
 * over arrays of lanes with two sums they do not turn into vectors. */
typedef REAL OF(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL))));
#define VECTOR_LENGTH (VECTOR_BYTES / (int)sizeof(REAL))
#define VECTOR_AT(pointer, k) (*(const OF(vector) *)((pointer) + (k) * VECTOR_LENGTH))

#define TWO_TERMS(which, first, second, grad, input, center, weight)                              \
    do {                                                                                          \
        if (which == OF_INPUT) {                                                                  \
            (first) += (input);                                                                   \
        }                                                                                         \
        else if (which == OF_DEVIATIONS) {                                                        \
            (first) += (input) - (center);                                                        \
            (second) += ((input) - (center)) * ((input) - (center));                              \
        }                                                                                         \
        else if (which == OF_GRADIENT) {                                                          \
            (first) += (grad);                                                                    \
            (second) += (grad) * ((input) - (center));                                            \
        }                                                                                         \
        else {                                                                                    \
            (first) += (grad) * (weight);                                                         \
            (second) += (grad) * (weight) * ((input) - (center));                                 \
        }                                                                                         \
    } while (0)

typedef struct {
    OF(pairs) first, second;
} OF(two_sums);

/* Add the terms of a run of memory. What a kind of terms does not look at may be anything. */
INLINE void
OF(add_terms)(
    terms which, OF(two_sums) *sums, const REAL *grad, const REAL *input, const REAL *weight,
    REAL center, ptrdiff_t length)
{
    for (ptrdiff_t start = 0; start < length; start += BLOCK) {
        ptrdiff_t stop = length - start < BLOCK ? length : start + BLOCK;
        OF(vector) first[LANES / VECTOR_LENGTH] = {{0}}, second[LANES / VECTOR_LENGTH] = {{0}};
        REAL rest[3][LANES]; /* the last elements; the lanes beyond add 0 */
        for (ptrdiff_t i = start; i < stop; i += LANES) {
            const REAL *some = input + i;
            const REAL *slopes = which >= OF_GRADIENT ? grad + i : some;
            const REAL *scales = which == OF_WEIGHTED ? weight + i : some;
            if (i + LANES > stop) {
                for (int j = 0; j < LANES; j++) {
                    int is_in = i + j < stop;
                    rest[0][j] = is_in ? some[j] : center;
                    rest[1][j] = which >= OF_GRADIENT && is_in ? slopes[j] : 0;
                    rest[2][j] = which == OF_WEIGHTED && is_in ? scales[j] : 0;
                }
                some = rest[0], slopes = rest[1], scales = rest[2];
            }
            for (int k = 0; k < LANES / VECTOR_LENGTH; k++) {
                TWO_TERMS(
                    which, first[k], second[k], VECTOR_AT(slopes, k), VECTOR_AT(some, k), center,
                    VECTOR_AT(scales, k));
            }
        }
        REAL sums_of_lanes[LANES];
        memcpy(sums_of_lanes, first, sizeof sums_of_lanes);
        OF(add_block)(&sums->first, OF(sum_of_lanes)(sums_of_lanes));
        if (which != OF_INPUT) {
            memcpy(sums_of_lanes, second, sizeof sums_of_lanes);
            OF(add_block)(&sums->second, OF(sum_of_lanes)(sums_of_lanes));
        }
    }
}

#define ADD(name, which)                                                                          \
    static __attribute__((noinline)) void OF(name)(                                               \
        OF(two_sums) *sums, const REAL *grad, const REAL *input, const REAL *weight,              \
        REAL center, ptrdiff_t length)                                                            \
    {                                                                                             \
        OF(add_terms)(which, sums, grad, input, weight, center, length);                          \
    }
ADD(add_input, OF_INPUT)
ADD(add_deviations, OF_DEVIATIONS)
ADD(add_gradient, OF_GRADIENT)
ADD(add_weighted, OF_WEIGHTED)
#undef ADD

INLINE void
OF(clear)(OF(two_sums) *sums)
{
    sums->first.count = sums->second.count = 0;
}

/* The statistics of `count` elements: the mean, which is refined, and the variance, of the sums of
 * deviations from it and of their squares. */
INLINE REAL
OF(variance)(REAL *mean, REAL deviations, REAL squares, REAL count)
{
    REAL rest = deviations / count;
    REAL variance = squares / count - rest * rest;
    *mean += rest;
    return variance < 0 ? 0 : variance; /* NaN stays */
}

INLINE REAL
OF(reciprocal_root)(REAL variance, double eps)
{
    return C(1.) / (REAL)sqrt((double)(variance + (REAL)eps));
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Sum the terms of every column of a matrix into `firsts` and `seconds`, with one center for each
 * column. `parts` is room for two rows. */
INLINE void
OF(sum_columns)(
    terms which, double *restrict firsts, double *restrict seconds, REAL *restrict parts,
    const REAL *grad, const REAL *input, const REAL *centers, ptrdiff_t rows, ptrdiff_t length)
{
    REAL *restrict more = parts + length;
    for (ptrdiff_t j = 0; j < length; j++) {
        firsts[j] = seconds[j] = 0;
    }
    for (ptrdiff_t start = 0; start < rows; start += ROWS_ADDED) {
        ptrdiff_t stop = rows - start < ROWS_ADDED ? rows : start + ROWS_ADDED;
        memset(parts, 0, 2 * length * sizeof(REAL));
        for (ptrdiff_t i = start; i < stop; i++) {
            const REAL *line = input + i * length;
            const REAL *slopes = which >= OF_GRADIENT ? grad + i * length : line;
            for (ptrdiff_t j = 0; j < length; j++) {
                REAL center = which == OF_INPUT ? 0 : centers[j];
                TWO_TERMS(which, parts[j], more[j], slopes[j], line[j], center, 1);
            }
        }
        for (ptrdiff_t j = 0; j < length; j++) {
            firsts[j] += parts[j];
            seconds[j] += more[j];
        }
    }
}

/* Add up the sums of the pixels of each channel. */
INLINE void
OF(fold_pixels)(double *sums, ptrdiff_t channels, ptrdiff_t pixels)
{
    for (ptrdiff_t c = 0; c < channels; c++) {
        double sum = 0;
        for (ptrdiff_t k = 0; k < pixels; k++) {
            sum += sums[c * pixels + k];
        }
        sums[c] = sum;
    }
}

/* Write the number of each channel for all of its pixels. */
INLINE void
OF(spread_pixels)(REAL *columns, const REAL *numbers, ptrdiff_t channels, ptrdiff_t pixels)
{
    for (ptrdiff_t c = 0; c < channels; c++) {
        for (ptrdiff_t k = 0; k < pixels; k++) {
            columns[c * pixels + k] = numbers[c];
        }
    }
}

#undef TWO_TERMS
#undef VECTOR_LENGTH
#undef VECTOR_AT

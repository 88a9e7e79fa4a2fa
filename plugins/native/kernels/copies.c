/* Copies of memory in another order of axes. */
#include "copies.h"

enum { STRIP = 256 /* rows of which all columns are copied before the next ones */ };

/* Turn a block of SIDE_… rows and columns in registers. */
#if defined(__AVX2__)
#include <immintrin.h>
enum { SIDE_4_bytes = 8, SIDE_8_bytes = 4 };

INLINE void
turn_4_bytes(uint32_t *to, ptrdiff_t pitch, const uint32_t *from, ptrdiff_t step)
{
    __m256 x[8], y[8];
    for (int i = 0; i < 8; i++) {
        x[i] = _mm256_loadu_ps((const float *)(from + i * step));
    }
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 2; j++) {
            x[i + 2 * j] = _mm256_shuffle_ps(y[i + j], y[i + j + 2], 0x44);
            x[i + 2 * j + 1] = _mm256_shuffle_ps(y[i + j], y[i + j + 2], 0xee);
        }
    }
    for (int i = 0; i < 4; i++) {
        float *low = (float *)(to + i * pitch), *high = (float *)(to + (i + 4) * pitch);
        _mm256_storeu_ps(low, _mm256_permute2f128_ps(x[i], x[i + 4], 0x20));
        _mm256_storeu_ps(high, _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
    }
}

INLINE void
turn_8_bytes(uint64_t *to, ptrdiff_t pitch, const uint64_t *from, ptrdiff_t step)
{
    __m256d x[4], y[4];
    for (int i = 0; i < 4; i++) {
        x[i] = _mm256_loadu_pd((const double *)(from + i * step));
    }
    for (int i = 0; i < 4; i += 2) {
        y[i] = _mm256_unpacklo_pd(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_pd(x[i], x[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        double *low = (double *)(to + i * pitch), *high = (double *)(to + (i + 2) * pitch);
        _mm256_storeu_pd(low, _mm256_permute2f128_pd(y[i], y[i + 2], 0x20));
        _mm256_storeu_pd(high, _mm256_permute2f128_pd(y[i], y[i + 2], 0x31));
    }
}
#else
enum { SIDE_4_bytes = 16, SIDE_8_bytes = 8 };

#define TURN(bytes, type)                                                                         \
    INLINE void turn_##bytes(type *to, ptrdiff_t pitch, const type *from, ptrdiff_t step)         \
    {                                                                                             \
        type room[SIDE_##bytes][SIDE_##bytes];                                                    \
        for (int j = 0; j < SIDE_##bytes; j++) {                                                  \
            for (int i = 0; i < SIDE_##bytes; i++) {                                              \
                room[j][i] = from[j * step + i];                                                  \
            }                                                                                     \
        }                                                                                         \
        for (int i = 0; i < SIDE_##bytes; i++) {                                                  \
            for (int j = 0; j < SIDE_##bytes; j++) {                                              \
                to[i * pitch + j] = room[j][i];                                                   \
            }                                                                                     \
        }                                                                                         \
    }
TURN(4_bytes, uint32_t)
TURN(8_bytes, uint64_t)
#endif

#define TRANSPOSE(bytes, type)                                                                    \
    static void transpose_##bytes(                                                                \
        void *result, const void *matrix, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t step,      \
        ptrdiff_t pitch)                                                                          \
    {                                                                                             \
        const ptrdiff_t side = SIDE_##bytes, line = 64 / sizeof(type);                            \
        type *restrict to = result;                                                               \
        const type *restrict from = matrix;                                                       \
        for (ptrdiff_t strip = 0; strip < rows; strip += STRIP) {                                 \
            ptrdiff_t end = rows - strip < STRIP ? rows : strip + STRIP;                          \
            for (ptrdiff_t left = 0; left < columns; left += line) {                              \
                ptrdiff_t right = columns - left < line ? columns : left + line;                  \
                ptrdiff_t turned = right - (right - left) % side, top = strip;                    \
                for (; top + side <= end; top += side) {                                          \
                    for (ptrdiff_t j = left; j < turned; j += side) {                             \
                        turn_##bytes(to + top * pitch + j, pitch, from + j * step + top, step);   \
                    }                                                                             \
                }                                                                                 \
                for (ptrdiff_t i = turned < right ? strip : top; i < end; i++) {                  \
                    for (ptrdiff_t j = i < top ? turned : left; j < right; j++) {                 \
                        to[i * pitch + j] = from[j * step + i];                                   \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }
TRANSPOSE(4_bytes, uint32_t)
TRANSPOSE(8_bytes, uint64_t)

const copy_kernels JOIN(copies, ISA) = {{transpose_4_bytes, transpose_8_bytes}};

/* Copies of memory in another order of axes. */
#include "copies.h"

enum {
    SIDE = 16,   /* rows and columns that are read as columns and written as rows */
    STRIP = 256, /* rows of which all columns are copied before the next ones */
};

#define TRANSPOSE(name, type)                                                                     \
    static void name(                                                                             \
        void *result, const void *matrix, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t step,      \
        ptrdiff_t pitch)                                                                          \
    {                                                                                             \
        type *restrict to = result;                                                               \
        const type *restrict from = matrix;                                                       \
        for (ptrdiff_t strip = 0; strip < rows; strip += STRIP) {                                 \
            ptrdiff_t end = rows - strip < STRIP ? rows : strip + STRIP;                          \
            for (ptrdiff_t left = 0; left < columns; left += SIDE) {                              \
                ptrdiff_t width = columns - left < SIDE ? columns - left : SIDE;                  \
                for (ptrdiff_t top = strip; top < end; top += SIDE) {                             \
                    ptrdiff_t height = end - top < SIDE ? end - top : SIDE;                       \
                    type room[SIDE][SIDE];                                                        \
                    if (width < SIDE || height < SIDE) {                                          \
                        for (ptrdiff_t j = 0; j < width; j++) {                                   \
                            for (ptrdiff_t i = 0; i < height; i++) {                              \
                                to[(top + i) * pitch + left + j] =                                \
                                    from[(left + j) * step + top + i];                            \
                            }                                                                     \
                        }                                                                         \
                        continue;                                                                 \
                    }                                                                             \
                    for (int j = 0; j < SIDE; j++) {                                              \
                        for (int i = 0; i < SIDE; i++) {                                          \
                            room[j][i] = from[(left + j) * step + top + i];                       \
                        }                                                                         \
                    }                                                                             \
                    for (int i = 0; i < SIDE; i++) {                                              \
                        for (int j = 0; j < SIDE; j++) {                                          \
                            to[(top + i) * pitch + left + j] = room[j][i];                        \
                        }                                                                         \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }
TRANSPOSE(transpose_4_bytes, uint32_t)
TRANSPOSE(transpose_8_bytes, uint64_t)

const copy_kernels JOIN(copies, ISA) = {{transpose_4_bytes, transpose_8_bytes}};

/* Reductions over any axes of strided memory. */
#include "reductions.h"

#include "elementary.h"
#include "sums.h"

#include <math.h>
#include <string.h>

/* Names of functions of vectors. */
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#if VECTOR_BYTES == 64
#define X86_VECTORS(name) _mm512_##name
#elif VECTOR_BYTES == 32
#define X86_VECTORS(name) _mm256_##name
#else
#define X86_VECTORS(name) _mm_##name
#endif
#endif

enum {
    A_ROW = 0,        /* in the place of a number of columns */
    TILE_BYTES = 512, /* of columns that are reduced together */
    MANY_LINES = 16,  /* of lanes that are worth several chains */
    SHORT_ROW = 48,   /* elements of a row up to which rows are copied side by side */
};

typedef enum {
    AS_IT_IS,
    SQUARE,
    SIZE,
    DEVIATION,
    SQUARED_DEVIATION,
    POWER,
    NOT_NAN,
} term;

/* Go on to the next element of some axes, in C order; return whether there is one. `offset` is in
 * elements of the array, `result` in those of the result. */
INLINE int
advance(
    const reduction_axis *axes, int count, ptrdiff_t *index, ptrdiff_t *offset, ptrdiff_t *result)
{
    for (int i = count - 1; i >= 0; i--) {
        *offset += axes[i].step;
        *result += axes[i].step_of_result;
        if (++index[i] < axes[i].size) {
            return 1;
        }
        *offset -= axes[i].step * axes[i].size;
        *result -= axes[i].step_of_result * axes[i].size;
        index[i] = 0;
    }
    return 0;
}

#define TEMPLATE "reductions_template.h"
#include "both_precisions.h"

const reduction_kernels JOIN(reductions, ISA) = {
    {reduce_f32, reduce_f64},
};

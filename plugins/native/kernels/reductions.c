/* Reductions over any axes of strided memory, and half precision before and after them. */
#include "reductions.h"

#include "elementary.h"
#include "sums.h"

#include <math.h>
#include <string.h>

enum {
    TILE_BYTES = 512, /* of columns that are reduced together */
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

#define REAL_BITS 32
#include "reductions_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "reductions_template.h"
#undef REAL_BITS

/* ---- half precision -------------------------------------------------------------------------- */

/* A product makes subnormal numbers normal, and moves the exponent; what was infinite or NaN gets
 * the greatest exponent. */
static void
widen_float16(float *restrict result, const uint16_t *restrict halves, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t rest = (uint32_t)(halves[i] & 0x7fff) << 13;
        uint32_t bits = bits_of_f32(of_bits_f32(rest) * 0x1p112f);
        bits |= rest >= 0x7c00u << 13 ? 0x7f800000u : 0;
        result[i] = of_bits_f32(bits | (uint32_t)(halves[i] & 0x8000) << 16);
    }
}

/* The sum with a power of two is rounded to how far apart the numbers of float16 are here: its last
 * bits count them, and with its exponent they are the number. */
static void
narrow_float16(uint16_t *restrict result, const float *restrict numbers, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t bits = bits_of_f32(numbers[i]);
        uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
        float size = of_bits_f32(rest);
        float within = size < 65536.f ? size : 65536.f; /* whose bits are those of infinity */
        float normal = within > 0x1p-14f ? within : 0x1p-14f;
        float power = of_bits_f32((bits_of_f32(normal) & 0x7f800000) + (13u << 23));
        uint32_t exponent = (bits_of_f32(normal) >> 23) - 112;
        uint32_t counted = bits_of_f32(within + power) - bits_of_f32(power);
        uint32_t half = ((exponent - 1) << 10) + counted;
        uint32_t nan = 0x7e00 | (rest >> 13 & 0x1ff);
        result[i] = (uint16_t)((rest > 0x7f800000 ? nan : half) | sign);
    }
}

static void
widen_bfloat16(float *restrict result, const uint16_t *restrict halves, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        result[i] = of_bits_f32((uint32_t)halves[i] << 16);
    }
}

static void
narrow_bfloat16(uint16_t *restrict result, const float *restrict numbers, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t bits = bits_of_f32(numbers[i]);
        uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        uint32_t nan = bits >> 16 | 0x40;
        result[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
    }
}

const reduction_kernels JOIN(reductions, ISA) = {
    {reduce_f32, reduce_f64},
    {widen_float16, widen_bfloat16},
    {narrow_float16, narrow_bfloat16},
};

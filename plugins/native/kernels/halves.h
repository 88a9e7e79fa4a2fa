/* Numbers of half precision as numbers of single precision, and back: rounded once, to even. */
#ifndef DOVETAIL_HALVES_H
#define DOVETAIL_HALVES_H

#include "elementary.h"

/* A product makes subnormal numbers normal, and moves the exponent; what was infinite or NaN gets
 * the greatest exponent. */
INLINE float
widen_float16(uint16_t half)
{
    uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
    uint32_t bits = bits_of_f32(of_bits_f32(rest) * 0x1p112f);
    bits |= rest >= 0x7c00u << 13 ? 0x7f800000u : 0;
    return of_bits_f32(bits | (uint32_t)(half & 0x8000) << 16);
}

/* The sum with a power of two is rounded to how far apart the numbers of float16 are here: its last
 * bits count them, and with its exponent they are the number. */
INLINE uint16_t
narrow_float16(float number)
{
    uint32_t bits = bits_of_f32(number);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    float size = of_bits_f32(rest);
    float within = size < 65536.f ? size : 65536.f; /* whose bits are those of infinity */
    float normal = within > 0x1p-14f ? within : 0x1p-14f;
    float power = of_bits_f32((bits_of_f32(normal) & 0x7f800000) + (13u << 23));
    uint32_t exponent = (bits_of_f32(normal) >> 23) - 112;
    uint32_t counted = bits_of_f32(within + power) - bits_of_f32(power);
    uint32_t half = ((exponent - 1) << 10) + counted;
    uint32_t nan = 0x7e00 | (rest >> 13 & 0x1ff);
    return (uint16_t)((rest > 0x7f800000 ? nan : half) | sign);
}

INLINE float
widen_bfloat16(uint16_t half)
{
    return of_bits_f32((uint32_t)half << 16);
}

INLINE uint16_t
narrow_bfloat16(float number)
{
    uint32_t bits = bits_of_f32(number);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#endif

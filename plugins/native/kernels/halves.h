/* Numbers of half precision as numbers of single precision, and back: rounded once, to even. */
#ifndef DOVETAIL_HALVES_H
#define DOVETAIL_HALVES_H

#include "elementary.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

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

/* ---- rows ------------------------------------------------------------------------------------ */

#if defined(__AVX512F__)
enum { HALVES_AT_ONCE = 16 };
#define WIDEN(to, from)                                                                           \
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from))))
#define NARROW(to, from)                                                                          \
    _mm256_storeu_si256(                                                                          \
        (__m256i *)(to), _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#elif defined(__F16C__)
enum { HALVES_AT_ONCE = 8 };
#define WIDEN(to, from)                                                                           \
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from))))
#define NARROW(to, from)                                                                          \
    _mm_storeu_si128(                                                                             \
        (__m128i *)(to), _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#endif

#if defined(__F16C__)

/* The processor converts vectors; the last elements of a row are part of one, too. */
INLINE void
widen_row_float16(float *restrict result, const uint16_t *restrict halves, ptrdiff_t count)
{
    ptrdiff_t i = 0;
    for (; i + HALVES_AT_ONCE <= count; i += HALVES_AT_ONCE) {
        WIDEN(result + i, halves + i);
    }
    if (i < count) {
        uint16_t rest[HALVES_AT_ONCE] = {0};
        float wide[HALVES_AT_ONCE];
        memcpy(rest, halves + i, (size_t)(count - i) * sizeof *rest);
        WIDEN(wide, rest);
        memcpy(result + i, wide, (size_t)(count - i) * sizeof *wide);
    }
}

INLINE void
narrow_row_float16(uint16_t *restrict result, const float *restrict numbers, ptrdiff_t count)
{
    ptrdiff_t i = 0;
    for (; i + HALVES_AT_ONCE <= count; i += HALVES_AT_ONCE) {
        NARROW(result + i, numbers + i);
    }
    if (i < count) {
        float rest[HALVES_AT_ONCE] = {0};
        uint16_t halves[HALVES_AT_ONCE];
        memcpy(rest, numbers + i, (size_t)(count - i) * sizeof *rest);
        NARROW(halves, rest);
        memcpy(result + i, halves, (size_t)(count - i) * sizeof *halves);
    }
}

#undef WIDEN
#undef NARROW

#else

INLINE void
widen_row_float16(float *restrict result, const uint16_t *restrict halves, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        result[i] = widen_float16(halves[i]);
    }
}

INLINE void
narrow_row_float16(uint16_t *restrict result, const float *restrict numbers, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        result[i] = narrow_float16(numbers[i]);
    }
}

#endif

INLINE void
widen_row_bfloat16(float *restrict result, const uint16_t *restrict halves, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        result[i] = widen_bfloat16(halves[i]);
    }
}

INLINE void
narrow_row_bfloat16(uint16_t *restrict result, const float *restrict numbers, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        result[i] = narrow_bfloat16(numbers[i]);
    }
}

#endif

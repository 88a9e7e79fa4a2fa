/* Elementary functions for one precision; see elementary.h. */
#include "real.h"

/* 1.5 times 2 to the number of bits of the significand: added to a small number, it leaves that
 * number, rounded to a whole one, in the low bits. */
#if REAL_BITS == 32
#define MAGIC 0x1.8p23f
#define BIAS 127
#define FRACTION_BITS 23
#define LOG2_E 0x1.715476p+0f
#define LN2_HIGH LN2_HIGH_F32
#define LN2_LOW LN2_LOW_F32
#define EXP_LEAST -104.f /* below, exp is less than half of the smallest number */
#define EXP_GREATEST 89.f
#define TANH_FAR 10.f /* beyond, the hyperbolic tangent is 1 */
#else
#define MAGIC 0x1.8p52
#define BIAS 1023
#define FRACTION_BITS 52
#define LOG2_E 0x1.71547652b82fep+0
#define LN2_HIGH LN2_HIGH_F64
#define LN2_LOW LN2_LOW_F64
#define EXP_LEAST -746.
#define EXP_GREATEST 710.
#define TANH_FAR 20.
#endif

INLINE REAL
OF(of_bits)(UINT bits)
{
    REAL number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

INLINE UINT
OF(bits_of)(REAL number)
{
    UINT bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* exp(x + rest) for x between EXP_LEAST and EXP_GREATEST, or NaN, and a rest that is small beside
 * ln(2); tests/test_accuracy.py has its error. Two factors scale the result, each of which is a
 * normal number, so that subnormal results are rounded once. */
INLINE REAL
OF(exp_of_sum)(REAL x, REAL rest)
{
    REAL shifted = FMA(x, LOG2_E, MAGIC);
    REAL n = shifted - MAGIC;
    UINT whole = OF(bits_of)(shifted) - OF(bits_of)(MAGIC);
    REAL r = FMA(n, -LN2_HIGH, x);
    r = FMA(n, -LN2_LOW, r) + rest;
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r) + C(1.);
    /* Half of `whole`, rounded down, without the arithmetic shift that AVX2 lacks for 64 bits. */
    UINT half = ((whole + 4 * BIAS) >> 1) - 2 * BIAS;
    REAL first = OF(of_bits)((half + BIAS) << FRACTION_BITS);
    REAL second = OF(of_bits)((whole - half + BIAS) << FRACTION_BITS);
    return p * first * second;
}

INLINE REAL
OF(exp_in_range)(REAL x)
{
    return OF(exp_of_sum)(x, 0);
}

INLINE REAL
OF(exp)(REAL x)
{
    REAL low = x < EXP_LEAST ? EXP_LEAST : x; /* NaN stays */
    return OF(exp_in_range)(low > EXP_GREATEST ? EXP_GREATEST : low);
}

/* exp(x) for x <= 0, or NaN. */
INLINE REAL
OF(exp_not_positive)(REAL x)
{
    return OF(exp_in_range)(x < EXP_LEAST ? EXP_LEAST : x);
}

INLINE REAL
OF(absolute)(REAL x)
{
    return OF(of_bits)(OF(bits_of)(x) & ((UINT)-1 >> 1));
}

/* `x` with the sign of `sign`. */
INLINE REAL
OF(with_sign)(REAL x, REAL sign)
{
    UINT bit = (UINT)1 << (REAL_BITS - 1);
    return OF(of_bits)((OF(bits_of)(x) & ~bit) | (OF(bits_of)(sign) & bit));
}

/* tanh(x) = -t / (t + 2) for t = exp(-2 |x|) - 1: of the power of the remainder and that of 2. */
INLINE REAL
OF(tanh)(REAL x)
{
    REAL distance = OF(absolute)(x);
    REAL z = C(-2.) * (distance > TANH_FAR ? TANH_FAR : distance); /* NaN stays */
    REAL shifted = FMA(z, LOG2_E, MAGIC);
    REAL n = shifted - MAGIC;
    UINT whole = OF(bits_of)(shifted) - OF(bits_of)(MAGIC);
    REAL r = FMA(n, -LN2_LOW, FMA(n, -LN2_HIGH, z));
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r);
    REAL scale = OF(of_bits)((whole + BIAS) << FRACTION_BITS);
    REAL t = FMA(p, scale, scale - C(1.));
    return OF(with_sign)(-t / (t + C(2.)), x);
}

#if REAL_BITS == 32

INLINE float
root_f32(float x)
{
    return sqrtf(x);
}

/* exp(x) - 1: of the power of the remainder and that of 2, which is exact. */
INLINE float
expm1_of_f32(float x)
{
    float low = x < -40 ? -40 : x; /* NaN stays */
    float bounded = low > 89 ? 89 : low;
    float shifted = FMA(bounded, LOG2_E, MAGIC);
    float n = shifted - MAGIC;
    uint32_t whole = bits_of_f32(shifted) - bits_of_f32(MAGIC);
    float r = FMA(n, -LN2_LOW, FMA(n, -LN2_HIGH, bounded));
    float p = FMA(exp_polynomial_f32(r) * r, r, r);
    /* 2^128 has no number of its own. */
    float scale = of_bits_f32((whole - 1 + BIAS) << FRACTION_BITS);
    float made = 2 * FMA(p, scale, scale - 0.5f);
    return x == 0 ? x : made;
}

/* log(1 + x) for 1 + x = m 2^n with m near 1, where the rounding error of 1 + x is taken along. */
INLINE float
log1p_of_f32(float x)
{
    float sum = 1 + x;
    uint32_t bits = bits_of_f32(sum) - 0x3f3504f3; /* those of sqrt(1/2) */
    float n = (float)((int32_t)bits >> FRACTION_BITS);
    uint32_t exponent = bits & 0xff800000;
    float m = of_bits_f32(bits_of_f32(sum) - exponent);
    float lost = (x - (sum - 1)) * of_bits_f32(0x3f800000 - exponent);
    float z = (m - 1) + (x > 0x1p60f ? 0 : lost);
    float rest = FMA(log1p_polynomial_f32(z) * z, z * z, -0.5f * (z * z));
    float made = FMA(n, LN2_HIGH, z + FMA(n, LN2_LOW, rest));
    made = x == -1 ? -INFINITY : made;
    made = x < -1 ? NAN : made;
    return x == 0 || x == INFINITY || x != x ? x : made;
}

/* The same for x from 0 to 1, or NaN. */
INLINE float
log1p_of_power_f32(float x)
{
    int is_large = x > 0x1.a82798p-2f;
    float z = is_large ? (x - 1) * 0.5f : x;
    float rest = FMA(log1p_polynomial_f32(z) * z, z * z, -0.5f * (z * z));
    return (is_large ? LN2_HIGH : 0) + (z + (is_large ? LN2_LOW + rest : rest));
}

/* erfc(z) for z >= 0, or NaN: u exp(p(u) - z^2) for u = 1 / (1 + z / 2). The square is the exact
 * one of the first digits and a small rest. */
INLINE float
erfc_not_negative_f32(float z)
{
    float bounded = z > 10.75f ? 10.75f : z;
    float u = 1 / FMA(bounded, 0.5f, 1);
    float p = erfc_polynomial_f32(u - 0.578125f);
    float head = of_bits_f32(bits_of_f32(bounded) & 0xfffff000);
    float square = -head * head;
    float sum = square + p;
    float other = sum - square;
    float lost = (square - (sum - other)) + (p - other);
    float rest = lost - (bounded - head) * (bounded + head);
    return u * exp_of_sum_f32(sum, rest);
}

/* erf(x) for |x| <= 0.96. */
INLINE float
erf_near_0_f32(float x)
{
    return FMA(x, erf_polynomial_f32(x * x), x);
}

INLINE float
erfc_of_f32(float x)
{
    float size = absolute_f32(x);
    float tail = erfc_not_negative_f32(size);
    float far = x < 0 ? 2 - tail : tail;
    return size < 0.5f ? 1 - erf_near_0_f32(x) : far;
}

INLINE float
erf_of_f32(float x)
{
    float size = absolute_f32(x);
    float far = 1 - erfc_not_negative_f32(size);
    return with_sign_f32(size < 0.96f ? erf_near_0_f32(size) : far, x);
}

#else

/* In double precision the functions of the mathematics library have all digits. */
INLINE double
root_f64(double x)
{
    return sqrt(x);
}

INLINE double
expm1_of_f64(double x)
{
    return expm1(x);
}

INLINE double
log1p_of_f64(double x)
{
    return log1p(x);
}

INLINE double
log1p_of_power_f64(double x)
{
    return log1p(x);
}

INLINE double
erf_of_f64(double x)
{
    return erf(x);
}

INLINE double
erfc_of_f64(double x)
{
    return erfc(x);
}

#endif

#undef MAGIC
#undef BIAS
#undef FRACTION_BITS
#undef LOG2_E
#undef LN2_HIGH
#undef LN2_LOW
#undef EXP_LEAST
#undef EXP_GREATEST
#undef TANH_FAR

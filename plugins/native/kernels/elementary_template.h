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
#else
#define MAGIC 0x1.8p52
#define BIAS 1023
#define FRACTION_BITS 52
#define LOG2_E 0x1.71547652b82fep+0
#define LN2_HIGH LN2_HIGH_F64
#define LN2_LOW LN2_LOW_F64
#define EXP_LEAST -746.
#define EXP_GREATEST 710.
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

/* exp(x) for x between EXP_LEAST and EXP_GREATEST, or NaN; tests/test_accuracy.py has its error.
 * Two factors scale the result, each of which is a normal number, so that subnormal results are
 * rounded once. */
INLINE REAL
OF(exp_in_range)(REAL x)
{
    REAL shifted = FMA(x, LOG2_E, MAGIC);
    REAL n = shifted - MAGIC;
    UINT whole = OF(bits_of)(shifted) - OF(bits_of)(MAGIC);
    REAL r = FMA(n, -LN2_HIGH, x);
    r = FMA(n, -LN2_LOW, r);
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r) + C(1.);
    /* Half of `whole`, rounded down, without the arithmetic shift that AVX2 lacks for 64 bits. */
    UINT half = ((whole + 4 * BIAS) >> 1) - 2 * BIAS;
    REAL first = OF(of_bits)((half + BIAS) << FRACTION_BITS);
    REAL second = OF(of_bits)((whole - half + BIAS) << FRACTION_BITS);
    return p * first * second;
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

#undef MAGIC
#undef BIAS
#undef FRACTION_BITS
#undef LOG2_E
#undef LN2_HIGH
#undef LN2_LOW
#undef EXP_LEAST
#undef EXP_GREATEST

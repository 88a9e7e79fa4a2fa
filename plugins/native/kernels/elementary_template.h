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
#define EXPM1_LEAST -40.f /* below, exp(x) - 1 is rounded to -1 */
#define ROOT_OF_HALF 0x3f3504f3 /* the bits of sqrt(1/2) */
#define ONE 0x3f800000
#define EXPONENT 0xff800000 /* with the sign */
#define HEAD 0xfffff000 /* digits whose square is exact */
#define ERFC_GREATEST 10.75f /* beyond, erfc is less than half of the smallest number */
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
#define EXPM1_LEAST -60.
#define ROOT_OF_HALF 0x3fe6a09e667f3bcd
#define ONE 0x3ff0000000000000
#define EXPONENT 0xfff0000000000000
#define HEAD 0xfffffffff8000000
#define ERFC_GREATEST 27.25
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

/* 2^whole exp(r) for |r| <= ln(2) / 2. Two factors scale the result, each of which is a normal
 * number, so that subnormal results are rounded once. */
INLINE REAL
OF(scaled_exp)(REAL r, UINT whole)
{
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r) + C(1.);
    /* Half of `whole`, rounded down, without the arithmetic shift that AVX2 lacks for 64 bits. */
    UINT half = ((whole + 4 * BIAS) >> 1) - 2 * BIAS;
    REAL first = OF(of_bits)((half + BIAS) << FRACTION_BITS);
    REAL second = OF(of_bits)((whole - half + BIAS) << FRACTION_BITS);
    return p * first * second;
}

/* 2^(whole + LIFT) exp(r), which is a normal number: its exponent is that of the power and `whole`. */
INLINE REAL
OF(lifted_exp)(REAL r, UINT whole)
{
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r) + 1;
    return OF(of_bits)(OF(bits_of)(p) + ((whole + LIFT) << FRACTION_BITS));
}

/* The remainder of x and a whole multiple of ln(2), which is set. */
INLINE REAL
OF(rest_of_halvings)(REAL x, UINT *whole)
{
    REAL shifted = FMA(x, LOG2_E, MAGIC);
    REAL n = shifted - MAGIC;
    *whole = OF(bits_of)(shifted) - OF(bits_of)(MAGIC);
    return FMA(n, -LN2_LOW, FMA(n, -LN2_HIGH, x));
}

/* exp(x) for x between EXP_LEAST and EXP_GREATEST, or NaN; tests/test_accuracy.py has its error. */
INLINE REAL
OF(exp_in_range)(REAL x)
{
    UINT whole;
    REAL r = OF(rest_of_halvings)(x, &whole);
    return OF(scaled_exp)(r, whole);
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

/* 2^x for x <= 0, or NaN. */
INLINE REAL
OF(exp2_not_positive)(REAL x)
{
    REAL bounded = x < EXP_LEAST * C(1.5) ? EXP_LEAST * C(1.5) : x;
    REAL shifted = bounded + MAGIC;
    REAL r = (bounded - (shifted - MAGIC)) * C(0.6931471805599453);
    return OF(scaled_exp)(r, OF(bits_of)(shifted) - OF(bits_of)(MAGIC));
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
    UINT whole;
    REAL r = OF(rest_of_halvings)(z, &whole);
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r);
    REAL scale = OF(of_bits)((whole + BIAS) << FRACTION_BITS);
    REAL t = FMA(p, scale, scale - C(1.));
    return OF(with_sign)(-t / (t + C(2.)), x);
}

INLINE REAL
OF(root)(REAL x)
{
#if REAL_BITS == 32
    return sqrtf(x);
#else
    return sqrt(x);
#endif
}

/* exp(x) - 1: of the power of the remainder and that of 2, which is exact. */
INLINE REAL
OF(expm1_of)(REAL x)
{
    REAL low = x < EXPM1_LEAST ? EXPM1_LEAST : x; /* NaN stays */
    REAL bounded = low > EXP_GREATEST ? EXP_GREATEST : low;
    UINT whole;
    REAL r = OF(rest_of_halvings)(bounded, &whole);
    REAL p = FMA(OF(exp_polynomial)(r) * r, r, r);
    /* The greatest power of 2 has no number of its own. */
    REAL scale = OF(of_bits)((whole - 1 + BIAS) << FRACTION_BITS);
    REAL made = 2 * FMA(p, scale, scale - C(0.5));
    return x == 0 ? x : made;
}

/* log(sum + lost) for sum = m 2^n with m near 1, where `lost` is small beside its digits; for a sum
 * that is positive, normal and finite. */
INLINE REAL
OF(log_of_sum)(REAL sum, REAL lost)
{
    UINT bits = OF(bits_of)(sum) - ROOT_OF_HALF;
    UINT exponent = bits & EXPONENT;
    /* The exponent as a number: shifted without its sign, which AVX2 cannot for 64 bits. */
    UINT shifted = (bits >> FRACTION_BITS) ^ ((UINT)1 << (REAL_BITS - 1 - FRACTION_BITS));
    REAL n = OF(of_bits)(OF(bits_of)(MAGIC) + shifted) - MAGIC -
             (REAL)((UINT)1 << (REAL_BITS - 1 - FRACTION_BITS));
    REAL m = OF(of_bits)(OF(bits_of)(sum) - exponent);
    REAL z = (m - 1) + (lost == 0 ? 0 : lost * OF(of_bits)(ONE - exponent));
    REAL rest = FMA(OF(log1p_polynomial)(z) * z, z * z, C(-0.5) * (z * z));
    return FMA(n, LN2_HIGH, z + FMA(n, LN2_LOW, rest));
}

/* log(1 + x), with the rounding error of 1 + x. */
INLINE REAL
OF(log1p_of)(REAL x)
{
    REAL sum = 1 + x;
    REAL made = OF(log_of_sum)(sum, x > C(0x1p60) ? 0 : x - (sum - 1));
    made = x == -1 ? -(REAL)INFINITY : made;
    made = x < -1 ? (REAL)NAN : made;
    return x == 0 || x == (REAL)INFINITY || x != x ? x : made;
}

/* log(x), where what is subnormal is multiplied by a power of two. */
INLINE REAL
OF(log_of)(REAL x)
{
    int is_tiny = x < 1 / C(0x1p120), lift = REAL_BITS == 32 ? 64 : 1000;
    REAL made = OF(log_of_sum)(is_tiny ? x * OF(of_bits)((UINT)(BIAS + lift) << FRACTION_BITS) : x, 0);
    made = is_tiny ? made - (REAL)(lift * 0.6931471805599453) : made;
    made = x == 0 ? -(REAL)INFINITY : x < 0 ? (REAL)NAN : made;
    return x == (REAL)INFINITY || x != x ? x : made;
}

/* The same for x from 0 to 1, or NaN. */
INLINE REAL
OF(log1p_of_power)(REAL x)
{
    int is_large = x > C(0x1.a82798p-2);
    REAL z = is_large ? (x - 1) * C(0.5) : x;
    REAL rest = FMA(OF(log1p_polynomial)(z) * z, z * z, C(-0.5) * (z * z));
    return (is_large ? LN2_HIGH : 0) + (z + (is_large ? LN2_LOW + rest : rest));
}

/* The remainder of -x^2 times a power of two, `factor`, with the digits that rounding takes. */
INLINE REAL
OF(rest_of_square)(REAL x, REAL factor, UINT *whole)
{
#if HAS_FMA
    REAL square = -x * (x * factor), lost = FMA(-x, x * factor, -square);
#else
    REAL head = OF(of_bits)(OF(bits_of)(x) & HEAD);
    REAL square = -head * (head * factor), lost = -(x - head) * ((x + head) * factor);
#endif
    return OF(rest_of_halvings)(square, whole) + lost;
}

/* erfc(z) exp(z^2) for z = 2 half >= 0: a polynomial of u = 1 / (1 + half), times u. */
INLINE REAL
OF(erfc_share)(REAL half)
{
    REAL u = 1 / (1 + half);
    return u * OF(erfc_polynomial)(u - C(0.578125));
}

/* erfc(z) for z >= 0, or NaN. */
INLINE REAL
OF(erfc_not_negative)(REAL z)
{
    REAL bounded = z > ERFC_GREATEST ? ERFC_GREATEST : z;
    UINT whole;
    REAL r = OF(rest_of_square)(bounded, 1, &whole);
    return OF(erfc_share)(bounded * C(0.5)) * OF(scaled_exp)(r, whole);
}

/* erf(x) for |x| <= 0.96. */
INLINE REAL
OF(erf_near_0)(REAL x)
{
    return FMA(x, OF(erf_polynomial)(x * x), x);
}

INLINE REAL
OF(erfc_of)(REAL x)
{
    REAL size = OF(absolute)(x);
    REAL tail = OF(erfc_not_negative)(size);
    REAL far = x < 0 ? 2 - tail : tail;
    return size < C(0.5) ? 1 - OF(erf_near_0)(x) : far;
}

INLINE REAL
OF(erf_of)(REAL x)
{
    REAL size = OF(absolute)(x);
    REAL far = 1 - OF(erfc_not_negative)(size);
    return OF(with_sign)(size < C(0.96) ? OF(erf_near_0)(size) : far, x);
}

#undef MAGIC
#undef BIAS
#undef FRACTION_BITS
#undef LOG2_E
#undef LN2_HIGH
#undef LN2_LOW
#undef EXP_LEAST
#undef EXP_GREATEST
#undef TANH_FAR
#undef EXPM1_LEAST
#undef ROOT_OF_HALF
#undef ONE
#undef EXPONENT
#undef HEAD
#undef ERFC_GREATEST

/* Functions of every element in one precision; see elementwise.h. A comparison with NaN is false:
 * which side of a choice it takes is PyTorch's. */
#include "real.h"

/* Define a kernel: the expression is of x, of the gradient g, and of the parameters a, b and c. The
 * result may be an input, whose elements are read before they are written: the pragma says so. */
#define KERNEL(name, parameters, expression)                                                      \
    static void OF(name)(char *const *data, const double *numbers, ptrdiff_t count)               \
    {                                                                                             \
        const REAL *from = (const REAL *)data[0];                                                 \
        REAL *to = (REAL *)data[1];                                                               \
        parameters                                                                                \
        _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < count; i++)                                \
        {                                                                                         \
            REAL x = from[i];                                                                     \
            to[i] = expression;                                                                   \
        }                                                                                         \
    }
#define GRADIENT(name, parameters, expression)                                                    \
    static void OF(name)(char *const *data, const double *numbers, ptrdiff_t count)               \
    {                                                                                             \
        const REAL *grads = (const REAL *)data[0], *from = (const REAL *)data[1];                 \
        REAL *to = (REAL *)data[2];                                                               \
        parameters                                                                                \
        _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < count; i++)                                \
        {                                                                                         \
            REAL x = from[i], g = grads[i];                                                       \
            to[i] = expression;                                                                   \
        }                                                                                         \
    }
#define A REAL a = (REAL)numbers[0];
#define A_B A REAL b = (REAL)numbers[1];
#define A_B_C A_B REAL c = (REAL)numbers[2];
#define NONE

/* ---- made of lines --------------------------------------------------------------------------- */

#if REAL_BITS == 32
#define MATH(name) name##f
#else
#define MATH(name) name
#endif

INLINE REAL
OF(bounded)(REAL x, REAL least, REAL greatest)
{
    REAL low = x < least ? least : x;
    return low > greatest ? greatest : low;
}

INLINE REAL
OF(finite_or)(REAL x, REAL nan, REAL above, REAL below)
{
    REAL low = x == -(REAL)INFINITY ? below : x;
    REAL high = x == (REAL)INFINITY ? above : low;
    return x != x ? nan : high;
}

#define SIXTH(x) (OF(bounded)((x) + 3, 0, 6) / 6)

KERNEL(relu, NONE, x < 0 ? 0 : x)
KERNEL(clamp, A_B, OF(bounded)(x, a, b))
KERNEL(threshold, A_B, x <= a ? b : x)
KERNEL(leaky_relu, A, x > 0 ? x : x * a)
KERNEL(hardshrink, A, OF(absolute)(x) <= a ? 0 : x)
KERNEL(softshrink, A, x - OF(bounded)(x, -a, a))
KERNEL(hardsigmoid, NONE, SIXTH(x))
KERNEL(hardswish, NONE, x * SIXTH(x))
KERNEL(absolute_value, NONE, OF(absolute)(x))
KERNEL(frac, NONE, x - MATH(trunc)(x))
KERNEL(nan_to_num, A_B_C, OF(finite_or)(x, a, b, c))
KERNEL(angle, NONE, x < 0 ? C(3.14159265358979323846) : x != x ? x : 0)
KERNEL(reciprocal, NONE, 1 / x)
KERNEL(reciprocal_of_square, NONE, 1 / (x * x))
KERNEL(round, NONE, MATH(rint)(x))
KERNEL(sign, NONE, (REAL)(x > 0) - (REAL)(x < 0))
KERNEL(rsqrt, NONE, 1 / OF(root)(x))
KERNEL(sqrt, NONE, OF(root)(x))
KERNEL(trunc, NONE, MATH(trunc)(x))
KERNEL(square, NONE, x * x)
KERNEL(cube, NONE, x * x * x)
KERNEL(subtract_from, A_B, a - x * b)

GRADIENT(prelu_backward_of_weight, NONE, x > 0 ? 0 : x * g)
GRADIENT(threshold_backward, A, x <= a ? 0 : g)
GRADIENT(hardtanh_backward, A_B, x <= a || x >= b ? 0 : g)
GRADIENT(leaky_relu_backward, A, x > 0 ? g : g * a)
GRADIENT(shrink_backward, A, OF(absolute)(x) <= a ? 0 : g)
GRADIENT(hardsigmoid_backward, NONE, OF(absolute)(x) < 3 ? g * (C(1.) / 6) : 0)
GRADIENT(
    hardswish_backward, NONE, x <= -3 ? 0 : x < 3 ? g * (x * (C(1.) / 3) + C(0.5)) : g)
GRADIENT(sigmoid_backward, NONE, g * ((1 - x) * x))
GRADIENT(tanh_backward, NONE, g * (1 - x * x))
GRADIENT(squared_difference, NONE, (g - x) * (g - x))

/* ---- made of powers -------------------------------------------------------------------------- */

/* 1 / (1 + exp(-x)), with all digits where the power would overflow. */
INLINE REAL
OF(logistic)(REAL x)
{
    REAL power = OF(exp)(-OF(absolute)(x));
    return (x < 0 ? power : 1) / (1 + power);
}

/* The slope of the logistic function times x, plus itself: of silu. */
INLINE REAL
OF(silu_slope)(REAL x)
{
    REAL share = OF(logistic)(x);
    return share * (1 + x * (1 - share));
}

/* 2 u of the approximation of gelu, x sigmoid(2 u). */
#define TANH_LINEAR C(1.5957691216057308)
#define TANH_CUBIC C(0.07135481627260025)

INLINE REAL
OF(gelu_tanh_slope)(REAL x)
{
    REAL square = x * x;
    REAL share = OF(logistic)(x * FMA(square, TANH_CUBIC, TANH_LINEAR));
    REAL rest = share * (1 - share) * x; /* zero first: it stays so, however large the slope is */
    return share + rest * FMA(square, 3 * TANH_CUBIC, TANH_LINEAR);
}

/* tanh(log(1 + exp(x))), a ratio of polynomials of the power, which beyond 20 is 1. */
INLINE REAL
OF(mish_gate)(REAL x, REAL *power)
{
    *power = OF(exp)(x > 20 ? 20 : x);
    REAL square = *power * (*power + 2);
    return square / (square + 2);
}

INLINE REAL
OF(mish_value)(REAL x)
{
    REAL power;
    return x * OF(mish_gate)(x, &power);
}

INLINE REAL
OF(mish_slope)(REAL x)
{
    REAL power, gate = OF(mish_gate)(x, &power);
    return gate + x * (power / (power + 1)) * (1 - gate * gate);
}

/* log(1 + exp(x)) without overflow. */
INLINE REAL
OF(soft_positive)(REAL x)
{
    return (x > 0 ? x : 0) + OF(log1p_of_power)(OF(exp)(-OF(absolute)(x)));
}

#define NOT_POSITIVE(x) ((x) > 0 ? 0 : (x))

KERNEL(power_of_size, NONE, OF(exp_not_positive)(-OF(absolute)(x)))
KERNEL(
    log_sigmoid, NONE,
    (x < 0 ? x : 0) - OF(log1p_of_power)(OF(exp_not_positive)(-OF(absolute)(x))))
KERNEL(sigmoid, NONE, OF(logistic)(x))
KERNEL(silu, NONE, x / (1 + OF(exp)(-x)))
KERNEL(gelu_tanh, NONE, x / (1 + OF(exp)(-x * FMA(x * x, TANH_CUBIC, TANH_LINEAR))))
KERNEL(mish, NONE, OF(mish_value)(x))
KERNEL(expm1, NONE, OF(expm1_of)(x))
KERNEL(log1p, NONE, OF(log1p_of)(x))
KERNEL(softplus, A_B, x * a > b ? x : OF(soft_positive)(x * a) / a)
/* alpha times scale, scale, and what x is multiplied by, which is positive */
KERNEL(elu, A_B_C, x < 0 ? OF(expm1_of)(NOT_POSITIVE(x) * c) * a : x * b)
KERNEL(celu, A_B, x < 0 ? OF(expm1_of)(NOT_POSITIVE(x) * b) * a : x)

GRADIENT(silu_backward, NONE, g * OF(silu_slope)(x))
GRADIENT(gelu_tanh_backward, NONE, g * OF(gelu_tanh_slope)(x))
GRADIENT(mish_backward, NONE, g * OF(mish_slope)(x))
GRADIENT(softplus_backward, A_B, x * a > b ? g : g / (1 + OF(exp)(-x * a)))
GRADIENT(log_sigmoid_backward, NONE, g / (1 + OF(exp)(x)))
/* scale times the other factors, scale, and what x is multiplied by */
GRADIENT(
    elu_backward, A_B_C, x <= 0 ? g * (OF(exp)(NOT_POSITIVE(x) * c) * a) : g * b)
GRADIENT(elu_backward_of_result, A_B_C, x <= 0 ? g * ((x + a) * c) : g * b)

/* ---- made of error functions ----------------------------------------------------------------- */

KERNEL(erf, NONE, OF(erf_of)(x))
KERNEL(erfc, NONE, OF(erfc_of)(x))

/* The normal distribution function left of 0, of -size, less `slope` sizes times its density, with
 * all digits: times 2^LIFT, so that one factor scales the power. */
#define FAR (REAL_BITS == 32 ? 16 : 39) /* where it is less than half of the smallest number */
INLINE REAL
OF(lifted_tail)(REAL size, int slope)
{
    UINT whole;
    REAL r = OF(rest_of_square)(size, C(0.5), &whole);
    REAL share = C(0.5) * OF(erfc_share)(size * C(0.35355339059327373));
    share = slope ? FMA(size, C(-0.3989422804014327), share) : share;
    return share * OF(lifted_exp)(r, whole);
}

INLINE REAL
OF(gelu_value)(REAL x)
{
    REAL size = OF(absolute)(x) < FAR ? OF(absolute)(x) : FAR;
    /* -inf times 0 is NaN. */
    return FMA(-size * OF(lifted_tail)(size, 0), C(0x1p-100), x * (x > 0 ? 1 : C(0.)));
}

INLINE REAL
OF(gelu_slope)(REAL x)
{
    REAL size = OF(absolute)(x) < FAR ? OF(absolute)(x) : FAR;
    REAL tail = OF(lifted_tail)(size, 1) * C(0x1p-100);
    /* infinities times 0 are NaN, and what is less than the smallest number is 0 */
    return FMA(x, 0, x > 0 ? 1 - tail : tail) + C(0.);
}

KERNEL(gelu, NONE, OF(gelu_value)(x))
GRADIENT(gelu_backward, NONE, g * OF(gelu_slope)(x))

/* ---- made of logarithms and sines -------------------------------------------------------------- */

#if REAL_BITS == 32
KERNEL(lgamma, NONE, (float)log_of_gamma(x))
#define ERFINV erfinv_of
#else
KERNEL(lgamma, NONE, lgamma(x))
#define ERFINV improved_erfinv
#endif
KERNEL(
    erfinv, NONE,
    OF(absolute)(x) < 1    ? ERFINV(x)
    : OF(absolute)(x) == 1 ? x * (REAL)INFINITY
                           : (REAL)NAN)

INLINE REAL
OF(wave)(REAL x, int is_cosine)
{
    REAL r = (REAL)rest_of_turns((double)x, is_cosine, REAL_BITS == 64);
    REAL made = FMA(r * r * r, OF(sine_polynomial)(r * r), r);
    return r == 0 ? r : made; /* with its sign */
}

/* Define a kernel by the sine or cosine of t, the argument, as `made`. Numbers whose multiples of pi
 * have too many digits are computed one by one. */
#define WAVE(name, function, is_cosine, argument, result)                                         \
    static void OF(name)(char *const *data, const double *numbers, ptrdiff_t count)               \
    {                                                                                             \
        const REAL *xs = (const REAL *)data[0];                                                   \
        REAL *to = (REAL *)data[1], made[LINE];                                                   \
        for (ptrdiff_t start = 0; start < count; start += LINE) {                                 \
            ptrdiff_t length = count - start < LINE ? count - start : LINE;                       \
            int is_far = 0;                                                                       \
            for (ptrdiff_t i = 0; i < length; i++) {                                              \
                REAL x = xs[start + i], t = argument;                                             \
                is_far |= OF(absolute)(t) > (REAL)SINE_FAR;                                       \
            }                                                                                     \
            for (ptrdiff_t i = 0; i < length; i++) {                                              \
                REAL x = xs[start + i], t = argument, wave = OF(wave)(t, is_cosine);              \
                made[i] = result;                                                                 \
            }                                                                                     \
            for (ptrdiff_t i = 0; is_far && i < length; i++) {                                    \
                REAL x = xs[start + i], t = argument, wave = (REAL)function((double)t);           \
                made[i] = OF(absolute)(t) > (REAL)SINE_FAR ? result : made[i];                    \
            }                                                                                     \
            memcpy(to + start, made, (size_t)length * sizeof *made);                              \
        }                                                                                         \
    }

WAVE(sin, sin, 0, x, wave)
WAVE(cos, cos, 1, x, wave)
WAVE(sinc, sin, 0, x * C(3.141592653589793), t == 0 ? 1 : wave / t)
WAVE(
    spherical_bessel_j0, sin, 0, x,
    t == 0 ? 1 : OF(absolute)(t) == (REAL)INFINITY ? 0 : wave / t)
KERNEL(logit, A_B, OF(log_of)((x < a ? a : x > b ? b : x) / (1 - (x < a ? a : x > b ? b : x))))
KERNEL(trigamma, NONE, (REAL)trigamma_of((double)x))

/* ---- arithmetic of several arrays and a number ----------------------------------------------- */

/* Define a kernel of x, y and z, of which the last is read where there are three inputs. Each
 * operation is rounded, as where NumPy makes them one after the other. The result may be an input. */
#define COMBINATION(name, inputs, expression)                                                     \
    static void OF(name)(char *const *data, const double *numbers, ptrdiff_t count)               \
    {                                                                                             \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];                      \
        const REAL *zs = (const REAL *)data[inputs - 1];                                          \
        REAL *to = (REAL *)data[inputs];                                                          \
        REAL a = numbers == NULL ? 0 : (REAL)numbers[0];                                          \
        (void)a;                                                                                  \
        _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < count; i++)                                \
        {                                                                                         \
            REAL x = xs[i], y = ys[i], z = zs[i];                                                 \
            to[i] = expression;                                                                   \
            (void)z;                                                                              \
        }                                                                                         \
    }

/* A parabola up to a bound, and a line from there on. */
INLINE REAL
OF(huber_term)(REAL size, REAL bound)
{
    REAL lesser = size > bound ? bound : size; /* NaN stays */
    return lesser * (size - lesser * C(0.5));
}

/* The greater of two numbers, and the logarithm of 1 and a power of how far they are apart. */
INLINE REAL
OF(sum_of_powers)(REAL x, REAL y, int is_binary)
{
    REAL apart = x == y ? 0 : -OF(absolute)(x - y);
    REAL power = is_binary ? OF(exp2_not_positive)(apart) : OF(exp_not_positive)(apart);
    REAL rest = OF(log1p_of_power)(power);
    return (x > y ? x : y) + (is_binary ? rest * C(1.4426950408889634) : rest);
}

/* The root of a sum of squares that neither overflow nor are subnormal: in single precision, since
 * they are of double, in double precision by a power of two. */
INLINE REAL
OF(distance)(REAL x, REAL y)
{
    double a = OF(absolute)(x), b = OF(absolute)(y), greater = a > b ? a : b;
    double scale = greater > 0x1p500 ? 0x1p-600 : greater < 0x1p-400 ? 0x1p600 : 1;
    double made;
    if (REAL_BITS == 32) {
        made = sqrt(a * a + b * b);
    }
    else {
        made = sqrt(FMA_f64(a * scale, a * scale, (b * scale) * (b * scale))) / scale;
    }
    return a == (double)INFINITY || b == (double)INFINITY ? (REAL)INFINITY : (REAL)made;
}

/* The next number on the way from x to y. */
INLINE REAL
OF(neighbour)(REAL x, REAL y)
{
    UINT step = (y > x) == (x > 0) ? 1 : (UINT)-1;
    REAL next = OF(of_bits)(OF(bits_of)(x) + step);
    next = x == 0 ? OF(with_sign)(OF(of_bits)(1), y) : next;
    next = x == y ? y : next;
    return x != x || y != y ? x + y : next;
}

/* x between two bounds, of which the greater one counts where it is the lower, or NaN. */
INLINE REAL
OF(clamped)(REAL x, REAL least, REAL greatest)
{
    REAL low = x < least || least != least ? least : x;
    return low > greatest || greatest != greatest ? greatest : low;
}

/* The binary cross entropy of a probability and what is expected, with logarithms of at least -100. */
INLINE REAL
OF(entropy_of)(REAL x, REAL expected)
{
    REAL of_one = OF(log_of)(x), of_zero = OF(log1p_of)(-x);
    of_one = of_one < -100 ? -100 : of_one; /* NaN stays */
    of_zero = of_zero < -100 ? -100 : of_zero;
    return (expected - 1) * of_zero - expected * of_one;
}

/* x to the power of y, for the power z of the absolute value of x. */
INLINE REAL
OF(power_with_sign)(REAL x, REAL y, REAL z)
{
    REAL half = y * C(0.5);
    int is_whole = MATH(trunc)(y) == y, is_odd = is_whole & (MATH(trunc)(half) != half);
    int is_none = !is_whole & (x < 0) & (x > -(REAL)INFINITY);
    REAL made = is_odd ? OF(with_sign)(z, x) : z;
    return is_none ? (REAL)NAN : made;
}

COMBINATION(at_least, 2, x < y || y != y ? y : x)
COMBINATION(at_most, 2, x > y || y != y ? y : x)
COMBINATION(clamp_between, 3, OF(clamped)(x, y, z))
COMBINATION(copysign, 2, OF(with_sign)(x, y))
COMBINATION(heaviside, 2, x == 0 ? y : x > 0)
COMBINATION(hypot, 2, OF(distance)(x, y))
COMBINATION(lerp, 3, OF(absolute)(z) < C(0.5) ? x + z * (y - x) : y - (y - x) * (1 - z))
COMBINATION(logaddexp, 2, OF(sum_of_powers)(x, y, 0))
COMBINATION(logaddexp2, 2, OF(sum_of_powers)(x, y, 1))
COMBINATION(nextafter, 2, OF(neighbour)(x, y))
COMBINATION(prelu, 2, x > 0 ? x : x * y)
COMBINATION(prelu_backward, 3, y > 0 ? x : z * x)
COMBINATION(signed_power, 3, OF(power_with_sign)(x, y, z))
COMBINATION(binary_entropy, 2, OF(entropy_of)(x, y))
COMBINATION(product, 2, x * y)
COMBINATION(quotient, 2, x / y)
COMBINATION(truncated_quotient, 2, MATH(trunc)(x / y))
COMBINATION(xlogy, 2, y == y && x == 0 ? 0 : x * OF(log_of)(y))
COMBINATION(xlog1py, 2, y == y && x == 0 ? 0 : x * OF(log1p_of)(y))
COMBINATION(scaled_sum, 2, x + a * y)
COMBINATION(product_sum, 3, x + y * z * a)
COMBINATION(quotient_sum, 3, x + y / z * a)
COMBINATION(huber_terms, 2, OF(huber_term)(OF(absolute)(x - y), a))
COMBINATION(step_from_start, 2, x + (y - x) * a)
COMBINATION(step_from_end, 2, y - (y - x) * a)

/* ---- what divisions leave -------------------------------------------------------------------- */

/* A rest that has the sign of y if it is floored, else that of x; or the quotient that is a whole
 * number, rounded down. */
INLINE REAL
OF(divided)(REAL x, REAL y, int wanted)
{
    REAL rest = MATH(fmod)(x, y);
    int is_turned = wanted != TRUNCATED && rest != 0 && (y < 0) != (rest < 0);
    if (wanted != QUOTIENT) {
        return is_turned ? rest + y : rest;
    }
    REAL quotient = (x - rest) / y - (REAL)is_turned, whole = MATH(floor)(quotient);
    whole = quotient - whole > C(0.5) ? whole + 1 : whole;
    return y == 0 ? x / y : quotient == 0 ? MATH(copysign)(0, x / y) : whole;
}

/* The same for quotients of at most WIDEST. In single precision product and difference are exact in
 * double precision, and no quotient is rounded to a whole number. In double precision the difference
 * is exact if it is rounded once, and a quotient that was rounded to a whole number one too far
 * from 0 leaves a rest on the other side of 0. */
#if REAL_BITS == 32
#define WIDEST 2097152.
#define IS_EXACT 1
#else
#define WIDEST 0x1p50
#define IS_EXACT HAS_FMA
#endif
INLINE REAL
OF(divided_in_range)(REAL x, REAL y, int wanted)
{
    double a = (double)x, b = (double)y, quotient = trunc(a / b);
    double rest = FMA_f64(-quotient, b, a);
    int is_over = REAL_BITS == 64 && rest != 0 && (rest < 0) != (a < 0);
    double one = (a < 0) == (b < 0) ? 1 : -1;
    rest = is_over ? rest + one * b : rest;
    quotient = is_over ? quotient - one : quotient;
    int is_turned = wanted != TRUNCATED && rest != 0 && (b < 0) != (rest < 0);
    if (wanted == QUOTIENT) {
        quotient -= is_turned;
        return quotient == 0 ? OF(with_sign)(0, (REAL)(a / b)) : (REAL)quotient;
    }
    REAL made = (REAL)rest;
    made = is_turned ? made + y : made;
    return rest == 0 ? OF(with_sign)(0, x) : made;
}

/* Lines with greater quotients, or with what is no number, are computed one by one. */
INLINE void
OF(divisions)(char *const *data, ptrdiff_t count, int wanted)
{
    const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];
    REAL *to = (REAL *)data[2], made[LINE];
    for (ptrdiff_t start = 0; start < count; start += LINE) {
        ptrdiff_t length = count - start < LINE ? count - start : LINE;
        int is_exact = IS_EXACT;
        for (ptrdiff_t i = 0; IS_EXACT && i < length; i++) {
            REAL x = xs[start + i], y = ys[start + i];
            made[i] = OF(divided_in_range)(x, y, wanted);
            is_exact &= (OF(absolute)(x / y) < (REAL)WIDEST) & (OF(absolute)(y) < (REAL)INFINITY);
        }
        for (ptrdiff_t i = 0; !is_exact && i < length; i++) {
            made[i] = OF(divided)(xs[start + i], ys[start + i], wanted);
        }
        memcpy(to + start, made, (size_t)length * sizeof *made);
    }
}

#define DIVISION(name, wanted)                                                                    \
    static void OF(name)(char *const *data, const double *numbers, ptrdiff_t count)               \
    {                                                                                             \
        OF(divisions)(data, count, wanted);                                                       \
    }

DIVISION(fmod, TRUNCATED)
DIVISION(remainder, FLOORED)
DIVISION(floor_divide, QUOTIENT)

#undef DIVISION
#undef WIDEST
#undef IS_EXACT
#undef MATH
#undef WAVE
#undef COMBINATION
#undef KERNEL
#undef GRADIENT
#undef A
#undef A_B
#undef A_B_C
#undef NONE
#undef SIXTH
#undef TANH_LINEAR
#undef TANH_CUBIC
#undef NOT_POSITIVE
#undef FAR
#undef ERFINV

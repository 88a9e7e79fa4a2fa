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

INLINE REAL
OF(bounded)(REAL x, REAL least, REAL greatest)
{
    REAL low = x < least ? least : x;
    return low > greatest ? greatest : low;
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
KERNEL(sign, NONE, (REAL)(x > 0) - (REAL)(x < 0))
KERNEL(rsqrt, NONE, 1 / OF(root)(x))
KERNEL(square, NONE, x * x)
KERNEL(cube, NONE, x * x * x)
KERNEL(subtract_from, A_B, a - x * b)

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

/* The normal distribution function, with all digits left of 0, too; NaN has any. */
#define SQRT_HALF C(0.7071067811865476)
#define FAR 40 /* where it is 1, or less than half of the smallest number */
INLINE REAL
OF(normal)(REAL x)
{
    REAL size = OF(absolute)(x) < FAR ? OF(absolute)(x) : FAR;
    REAL tail = C(0.5) * OF(erfc_not_negative)(size * SQRT_HALF);
    return x > 0 ? 1 - tail : tail;
}

#define DENSITY(x) (OF(exp)((x) * (x) * C(-0.5)) * C(0.3989422804014327))

KERNEL(gelu, NONE, x * OF(normal)(x))
GRADIENT(gelu_backward, NONE, g * (OF(normal)(x) + x * DENSITY(x)))

/* ---- arithmetic of several arrays and a number ----------------------------------------------- */

/* Define a kernel of x, y and z, of which the last is read where there are three inputs. Each
 * operation is rounded, as where NumPy makes them one after the other. The result may be an input. */
#define COMBINATION(name, inputs, expression)                                                     \
    static void OF(name)(char *const *data, const double *numbers, ptrdiff_t count)               \
    {                                                                                             \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];                      \
        const REAL *zs = (const REAL *)data[inputs - 1];                                          \
        REAL *to = (REAL *)data[inputs];                                                          \
        A                                                                                         \
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

COMBINATION(scaled_sum, 2, x + a * y)
COMBINATION(product_sum, 3, x + y * z * a)
COMBINATION(quotient_sum, 3, x + y / z * a)
COMBINATION(huber_terms, 2, OF(huber_term)(OF(absolute)(x - y), a))
COMBINATION(step_from_start, 2, x + (y - x) * a)
COMBINATION(step_from_end, 2, y - (y - x) * a)

/* ---- what divisions leave -------------------------------------------------------------------- */

/* One that has the sign of y if it is floored, else that of x. */
INLINE REAL
OF(rest_of)(REAL x, REAL y, int is_floored)
{
    REAL rest = (REAL)fmod((double)x, (double)y); /* exact, in any precision */
    return is_floored && rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;
}

/* In single precision a rest is a difference in double precision. Product and difference are exact
 * while quotients are less than 2**28, and no quotient is rounded to a whole number; lines with
 * others are computed one by one. */
INLINE void
OF(rests)(char *const *data, ptrdiff_t count, int is_floored)
{
    const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];
    REAL *restrict to = (REAL *)data[2];
    for (ptrdiff_t start = 0; start < count; start += LINE) {
        ptrdiff_t stop = count - start < LINE ? count : start + LINE;
        int is_exact = sizeof(REAL) < sizeof(double);
        for (ptrdiff_t i = start; REAL_BITS == 32 && i < stop; i++) {
            double x = (double)xs[i], y = (double)ys[i], quotient = x / y;
            quotient = is_floored ? floor(quotient) : trunc(quotient);
            REAL rest = (REAL)(x - quotient * y);
            is_exact &= (fabs(quotient) < 268435456.) & (fabs(y) < (double)INFINITY);
            to[i] = rest == 0 ? (REAL)copysign(0., x) : rest;
        }
        for (ptrdiff_t i = start; !is_exact && i < stop; i++) {
            to[i] = OF(rest_of)(xs[i], ys[i], is_floored);
        }
    }
}

static void
OF(fmod)(char *const *data, const double *numbers, ptrdiff_t count)
{
    OF(rests)(data, count, 0);
}

static void
OF(remainder)(char *const *data, const double *numbers, ptrdiff_t count)
{
    OF(rests)(data, count, 1);
}

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
#undef SQRT_HALF
#undef FAR
#undef DENSITY

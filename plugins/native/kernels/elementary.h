/* Elementary functions of one number, without branches, for loops that the compiler turns into
 * vectors. */
#ifndef DOVETAIL_ELEMENTARY_H
#define DOVETAIL_ELEMENTARY_H

#include "instruction_set.h"
#include "polynomials.h"

#include <math.h>
#include <string.h>

enum { LIFT = 100 };

#define TEMPLATE "elementary_template.h"
#include "both_precisions.h"

/* The rest of a number and a multiple of pi, for |x| <= SINE_FAR, or NaN, whose sine is that of the
 * number; or its cosine. Numbers in single precision need fewer parts of pi. */
#define SINE_FAR 1e6
INLINE double
rest_of_turns(double x, int is_cosine, int is_double)
{
    double magic = 0x1.8p52, shift = is_cosine ? 0.5 : 0;
    double shifted = x * 0.3183098861837907 - shift + magic;
    double n = 2 * (shifted - magic + shift);
    double r = x - n * QUARTER_TURN_0 - n * QUARTER_TURN_1;
    r = is_double ? r - n * QUARTER_TURN_2 - n * QUARTER_TURN_3 : r;
    /* Half a turn changes the sign. */
    uint64_t halves = bits_of_f64(shifted) + (uint64_t)is_cosine;
    return of_bits_f64(bits_of_f64(r) ^ halves << 63);
}

/* The inverse of the error function for |x| < 1. */
INLINE float
erfinv_of(float x)
{
    float w = -log_of_sum_f32((1 - x) * (1 + x), 0);
    float near = erfinv_near_polynomial_f32(w - 2.5f);
    return x * (w < 5 ? near : erfinv_far_polynomial_f32(sqrtf(w) - 4));
}

/* What is nearer than y to the inverse of the error function for `size`, by a step of Halley's method,
 * which has three times the digits: on what the error function exceeds or, where it is near 1, its
 * complement lacks. */
INLINE double
nearer_erfinv(double y, double size)
{
    double over = erf_of_f64(y) - size, lacking = (1 - size) - erfc_of_f64(y);
    double step = (size < 0.5 ? over : lacking) * 0.886226925452758 * exp_f64(y * y);
    return y - step / (1 + y * step);
}

/* The same in double precision: two steps, which are no loop, since GCC makes vectors of none in a loop. */
INLINE double
improved_erfinv(double x)
{
    double size = fabs(x), w = -log_of_sum_f64((1 - size) * (1 + size), 0);
    float far = erfinv_far_polynomial_f32((float)sqrt(w) - 4);
    double y = size * (double)(w < 5 ? erfinv_near_polynomial_f32((float)w - 2.5f) : far);
    /* Beyond single precision by the first terms of the asymptotic expansion. */
    y = w < 16 ? y : sqrt(w + 0.1208 - 0.5 * log_of_sum_f64(w < 16 ? 16 : w, 0));
    return with_sign_f64(nearer_erfinv(nearer_erfinv(y, size), size), x);
}

/* The logarithm of the absolute value of the gamma function, with the digits of single precision:
 * Stirling's series, 8 further on where x is small, and reflected where x is negative. */
INLINE double
log_of_gamma(double x)
{
    double size = fabs(x), z = size < 8 ? size + 8 : size;
    double product = size * (size + 1) * (size + 2) * (size + 3) * (size + 4) * (size + 5);
    product *= (size + 6) * (size + 7);
    double inverse = 1 / z;
    double made = (z - 0.5) * log_of_sum_f64(z, 0) - z + 0.9189385332046728 +
                  inverse * stirling_polynomial_f64(inverse * inverse);
    /* The sine of pi x, by the distance to a whole number. */
    double near = size < 0x1p40 ? size - floor(size) : 0;
    double turn = (near < 0.5 ? near : 1 - near) * 3.141592653589793;
    double sine = FMA_f64(turn * turn * turn, sine_polynomial_f64(turn * turn), turn);
    double divisor = size < 8 ? product : 1;
    divisor = x > 0 ? divisor : divisor * 3.141592653589793 / (size * sine);
    made -= divisor < (double)INFINITY ? log_of_sum_f64(divisor, 0) : (double)INFINITY;
    made = x > 0 ? made : -made;
    made = size > 0 ? made : (double)INFINITY;
    made = x == 1 || x == 2 ? 0 : made;
    return size < (double)INFINITY ? made : size;
}

/* The derivative of that of `log_of_gamma`: the first 8 terms of the sum of 1 / (x + k)^2, and the
 * asymptotic series of the others, whose rest is below 1e-17. Reflected where x is negative. */
INLINE double
trigamma_of(double x)
{
    double y = x < 0 ? 1 - x : x, made = 0;
    for (int k = 0; k < 8; k++) {
        made += 1 / ((y + k) * (y + k));
    }
    double inverse = 1 / (y + 8), square = inverse * inverse;
    static const double bernoulli[] = {-174611 / 330., 43867 / 798., -3617 / 510., 7 / 6.,
                                       -691 / 2730.,   5 / 66.,      -1 / 30.,     1 / 42.,
                                       -1 / 30.,       1 / 6.,       1};
    double series = 0;
    for (size_t i = 0; i < sizeof bernoulli / sizeof *bernoulli; i++) {
        series = series * square + bernoulli[i];
    }
    made += inverse * series + square * 0.5;
    double turn = (x - rint(x)) * 3.141592653589793;
    double sine = FMA_f64(turn * turn * turn, sine_polynomial_f64(turn * turn), turn);
    double pole = 3.141592653589793 / sine;
    return x < 0 ? pole * pole - made : made;
}

#endif

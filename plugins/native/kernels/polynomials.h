/* Written by tools/derive_coefficients.py: do not edit. `error` is that of the exact
 * polynomial with these coefficients. */
#ifndef DOVETAIL_POLYNOMIALS_H
#define DOVETAIL_POLYNOMIALS_H

#include "instruction_set.h"

/* ln(2) in two parts: multiples of the first by a whole number below 2^11 are exact. */
#define LN2_HIGH_F32 0x1.62ep-1f
#define LN2_LOW_F32 0x1.0bfbe8p-15f
#define LN2_HIGH_F64 0x1.62e42fefa3p-1
#define LN2_LOW_F64 0x1.3de6af278ece6p-42

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2; error 3.7e-9 */
INLINE float
exp_polynomial_f32(float x)
{
    float p = 0x1.685208p-10f;
    p = FMA_f32(p, x, 0x1.123beap-7f);
    p = FMA_f32(p, x, 0x1.555b98p-5f);
    p = FMA_f32(p, x, 0x1.55548ep-3f);
    p = FMA_f32(p, x, 0x1.fffff8p-2f);
    return p;
}

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2; error 7.8e-20 */
INLINE double
exp_polynomial_f64(double x)
{
    double p = 0x1.1ed9b7a288cfp-29;
    p = FMA_f64(p, x, 0x1.af6e74afd4a2p-26);
    p = FMA_f64(p, x, 0x1.27e540b350cbap-22);
    p = FMA_f64(p, x, 0x1.71ddee7a02953p-19);
    p = FMA_f64(p, x, 0x1.a01a0176eb644p-16);
    p = FMA_f64(p, x, 0x1.a01a01b441ecbp-13);
    p = FMA_f64(p, x, 0x1.6c16c16c1faap-10);
    p = FMA_f64(p, x, 0x1.111111110eap-7);
    p = FMA_f64(p, x, 0x1.5555555555541p-5);
    p = FMA_f64(p, x, 0x1.555555555555cp-3);
    p = FMA_f64(p, x, 0x1.p-1);
    return p;
}

/* (log(1 + z) - z + z^2 / 2) / z^3 for 1 + z from sqrt(1/2) to sqrt(2); error 8.1e-10 */
INLINE float
log1p_polynomial_f32(float x)
{
    float p = 0x1.16c0a6p-4f;
    p = FMA_f32(p, x, -0x1.e05c0cp-4f);
    p = FMA_f32(p, x, 0x1.e6fbcap-4f);
    p = FMA_f32(p, x, -0x1.fbbff2p-4f);
    p = FMA_f32(p, x, 0x1.232f6cp-3f);
    p = FMA_f32(p, x, -0x1.555f1cp-3f);
    p = FMA_f32(p, x, 0x1.99a54ap-3f);
    p = FMA_f32(p, x, -0x1.p-2f);
    p = FMA_f32(p, x, 0x1.555546p-2f);
    return p;
}

/* erf(x) / x - 1 of x^2 for |x| <= 0.96; error 9.7e-10 */
INLINE float
erf_polynomial_f32(float x)
{
    float p = 0x1.56f7e4p-14f;
    p = FMA_f32(p, x, -0x1.a88858p-11f);
    p = FMA_f32(p, x, 0x1.5498eap-8f);
    p = FMA_f32(p, x, -0x1.b80a0cp-6f);
    p = FMA_f32(p, x, 0x1.ce2dd8p-4f);
    p = FMA_f32(p, x, -0x1.812742p-2f);
    p = FMA_f32(p, x, 0x1.06eba8p-3f);
    return p;
}

/* log(erfc(z) / u) + z^2 of u - 0.578125 for u = 1 / (1 + z / 2), 0 <= z <= 10.8; error 1.9e-8 */
INLINE float
erfc_polynomial_f32(float x)
{
    float p = -0x1.0ae46p-3f;
    p = FMA_f32(p, x, 0x1.364392p-3f);
    p = FMA_f32(p, x, 0x1.094148p-3f);
    p = FMA_f32(p, x, -0x1.009baep-2f);
    p = FMA_f32(p, x, -0x1.5d799ap-5f);
    p = FMA_f32(p, x, 0x1.2fd192p-2f);
    p = FMA_f32(p, x, -0x1.5be7eep-5f);
    p = FMA_f32(p, x, -0x1.a05a6ap-2f);
    p = FMA_f32(p, x, 0x1.8d87a4p-4f);
    p = FMA_f32(p, x, 0x1.5e2578p+0f);
    p = FMA_f32(p, x, -0x1.21a646p-1f);
    return p;
}

#endif

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
/* pi / 2 in parts: multiples by a number below 2^20 are exact, but for the last. */
#define QUARTER_TURN_0 0x1.921fb544p+0
#define QUARTER_TURN_1 0x1.0b4611a6p-34
#define QUARTER_TURN_2 0x1.3198a2ep-69
#define QUARTER_TURN_3 0x1.b839a252049c1p-104

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

/* (log(1 + z) - z + z^2 / 2) / z^3 for 1 + z from sqrt(1/2) to sqrt(2); error 3.2e-19 */
INLINE double
log1p_polynomial_f64(double x)
{
    double p = 0x1.6bb6fdb723ae9p-6;
    p = FMA_f64(p, x, -0x1.b862a089f1102p-5);
    p = FMA_f64(p, x, 0x1.eff94079d545cp-5);
    p = FMA_f64(p, x, -0x1.aa5f0ddcbf7a9p-5);
    p = FMA_f64(p, x, 0x1.9c26c9b042d2ep-5);
    p = FMA_f64(p, x, -0x1.c0a2138b8d46dp-5);
    p = FMA_f64(p, x, 0x1.e3746a88fc52ep-5);
    p = FMA_f64(p, x, -0x1.0070025d70fcfp-4);
    p = FMA_f64(p, x, 0x1.110a608bf7fbcp-4);
    p = FMA_f64(p, x, -0x1.248a0593e274ap-4);
    p = FMA_f64(p, x, 0x1.3b138ec1634e3p-4);
    p = FMA_f64(p, x, -0x1.5555b308ee60dp-4);
    p = FMA_f64(p, x, 0x1.745d1c50b26cbp-4);
    p = FMA_f64(p, x, -0x1.999997148029fp-4);
    p = FMA_f64(p, x, 0x1.c71c71991a66ap-4);
    p = FMA_f64(p, x, -0x1.000000050c34fp-3);
    p = FMA_f64(p, x, 0x1.24924924f3f42p-3);
    p = FMA_f64(p, x, -0x1.555555554adcbp-3);
    p = FMA_f64(p, x, 0x1.9999999998deep-3);
    p = FMA_f64(p, x, -0x1.0000000000042p-2);
    p = FMA_f64(p, x, 0x1.5555555555559p-2);
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

/* erf(x) / x - 1 of x^2 for |x| <= 0.96; error 1.2e-17 */
INLINE double
erf_polynomial_f64(double x)
{
    double p = -0x1.9486c79933e64p-34;
    p = FMA_f64(p, x, 0x1.5c0c19ef7d192p-31);
    p = FMA_f64(p, x, -0x1.76b902ac08733p-29);
    p = FMA_f64(p, x, 0x1.28262537ce077p-26);
    p = FMA_f64(p, x, -0x1.64f447291cf18p-23);
    p = FMA_f64(p, x, 0x1.ba65096a8a292p-20);
    p = FMA_f64(p, x, -0x1.f4da37d9a931dp-17);
    p = FMA_f64(p, x, 0x1.f9a37df819b5ap-14);
    p = FMA_f64(p, x, -0x1.c02db6933d3ffp-11);
    p = FMA_f64(p, x, 0x1.565bcd1b516d5p-8);
    p = FMA_f64(p, x, -0x1.b82ce312d969p-6);
    p = FMA_f64(p, x, 0x1.ce2f21a043dabp-4);
    p = FMA_f64(p, x, -0x1.812746b037a04p-2);
    p = FMA_f64(p, x, 0x1.06eba8214db69p-3);
    return p;
}

/* erfc(z) exp(z^2) / u of u - 0.578125 for u = 1 / (1 + z / 2), 0 <= z <= 11.3; error 1.0e-8 */
INLINE float
erfc_polynomial_f32(float x)
{
    float p = 0x1.274be4p-5f;
    p = FMA_f32(p, x, 0x1.029e06p-6f);
    p = FMA_f32(p, x, -0x1.312386p-4f);
    p = FMA_f32(p, x, 0x1.55ad8ep-8f);
    p = FMA_f32(p, x, 0x1.d28d4p-4f);
    p = FMA_f32(p, x, -0x1.b155dcp-5f);
    p = FMA_f32(p, x, -0x1.9f7018p-3f);
    p = FMA_f32(p, x, 0x1.62ffb4p-4f);
    p = FMA_f32(p, x, 0x1.2c38b8p-1f);
    p = FMA_f32(p, x, 0x1.8dbb3ap-1f);
    p = FMA_f32(p, x, 0x1.22ca5cp-1f);
    return p;
}

/* erfc(z) exp(z^2) / u of u - 0.578125 for u = 1 / (1 + z / 2), 0 <= z <= 27.6; error 6.4e-17 */
INLINE double
erfc_polynomial_f64(double x)
{
    double p = -0x1.9812bc5f20eb5p-5;
    p = FMA_f64(p, x, -0x1.f37cabfefe684p-6);
    p = FMA_f64(p, x, 0x1.47f906dd9c52ap-4);
    p = FMA_f64(p, x, 0x1.366298ec5ea0fp-6);
    p = FMA_f64(p, x, -0x1.0539749fdcb7bp-4);
    p = FMA_f64(p, x, 0x1.74454d831af61p-6);
    p = FMA_f64(p, x, 0x1.fa34c165e24b8p-7);
    p = FMA_f64(p, x, -0x1.16c8fda5fb075p-5);
    p = FMA_f64(p, x, 0x1.d55f2d8a82e86p-6);
    p = FMA_f64(p, x, 0x1.0fe8ad45e8d85p-8);
    p = FMA_f64(p, x, -0x1.2e676ad1ff2ffp-5);
    p = FMA_f64(p, x, 0x1.1522b04726086p-5);
    p = FMA_f64(p, x, 0x1.1ea6d4a94c15cp-7);
    p = FMA_f64(p, x, -0x1.91a04700959bfp-5);
    p = FMA_f64(p, x, 0x1.18c6409fa6e59p-5);
    p = FMA_f64(p, x, 0x1.187d3f3e6b6ap-5);
    p = FMA_f64(p, x, -0x1.2f6dd3d45ac2dp-4);
    p = FMA_f64(p, x, 0x1.31bf043727952p-9);
    p = FMA_f64(p, x, 0x1.d26b7b79d64f3p-4);
    p = FMA_f64(p, x, -0x1.afb17c0a0250ap-5);
    p = FMA_f64(p, x, -0x1.9f712e7ec7d06p-3);
    p = FMA_f64(p, x, 0x1.62f9efc958ef4p-4);
    p = FMA_f64(p, x, 0x1.2c38c118d2d53p-1);
    p = FMA_f64(p, x, 0x1.8dbb3b340766ap-1);
    p = FMA_f64(p, x, 0x1.22ca5bd61bca3p-1);
    return p;
}

/* (sin(r) - r) / r^3 of r^2 for |r| <= pi / 2; error 5.0e-10 */
INLINE float
sine_polynomial_f32(float x)
{
    float p = -0x1.b124a2p-26f;
    p = FMA_f32(p, x, 0x1.72936ep-19f);
    p = FMA_f32(p, x, -0x1.a02218p-13f);
    p = FMA_f32(p, x, 0x1.111132p-7f);
    p = FMA_f32(p, x, -0x1.555556p-3f);
    return p;
}

/* (sin(r) - r) / r^3 of r^2 for |r| <= pi / 2; error 3.0e-19 */
INLINE double
sine_polynomial_f64(double x)
{
    double p = -0x1.5dfbdaed63bdap-58;
    p = FMA_f64(p, x, 0x1.8f9cd58c3118fp-49);
    p = FMA_f64(p, x, -0x1.ae64b7719ae43p-41);
    p = FMA_f64(p, x, 0x1.61241c06f24bep-33);
    p = FMA_f64(p, x, -0x1.ae6455aa54215p-26);
    p = FMA_f64(p, x, 0x1.71de3a53e6258p-19);
    p = FMA_f64(p, x, -0x1.a01a01a016d1dp-13);
    p = FMA_f64(p, x, 0x1.11111111110dbp-7);
    p = FMA_f64(p, x, -0x1.5555555555555p-3);
    return p;
}

/* erfinv(x) / x of w - 2.5 for w = -log(1 - x^2) <= 5; error 4.0e-8 */
INLINE float
erfinv_near_polynomial_f32(float x)
{
    float p = -0x1.28f638p-27f;
    p = FMA_f32(p, x, 0x1.a0ac92p-26f);
    p = FMA_f32(p, x, 0x1.f247a4p-22f);
    p = FMA_f32(p, x, -0x1.d2ab1p-19f);
    p = FMA_f32(p, x, -0x1.4c68eep-18f);
    p = FMA_f32(p, x, 0x1.ca0a44p-13f);
    p = FMA_f32(p, x, -0x1.486748p-10f);
    p = FMA_f32(p, x, -0x1.11c6d2p-8f);
    p = FMA_f32(p, x, 0x1.f91e8cp-3f);
    p = FMA_f32(p, x, 0x1.805c5ep+0f);
    return p;
}

/* erfinv(x) / x of sqrt(w) - 4 for w from 5 to 16.7; error 3.2e-8 */
INLINE float
erfinv_far_polynomial_f32(float x)
{
    float p = 0x1.d0b7c4p-14f;
    p = FMA_f32(p, x, 0x1.6920a8p-11f);
    p = FMA_f32(p, x, 0x1.82a48ep-10f);
    p = FMA_f32(p, x, 0x1.df6a0cp-10f);
    p = FMA_f32(p, x, 0x1.0822a8p-10f);
    p = FMA_f32(p, x, 0x1.5a1b84p-11f);
    p = FMA_f32(p, x, -0x1.be6a8ap-11f);
    p = FMA_f32(p, x, 0x1.478c0ep-10f);
    p = FMA_f32(p, x, 0x1.026e1ap+0f);
    p = FMA_f32(p, x, 0x1.eb7e0ap+1f);
    return p;
}

/* z (log(gamma(z)) - (z - 1/2) log(z) + z - log(2 pi) / 2) of 1 / z^2 for z >= 8; error 2.6e-15 */
INLINE double
stirling_polynomial_f64(double x)
{
    double p = 0x1.84707204674b3p-10;
    p = FMA_f64(p, x, -0x1.bf9a9abd740eap-10);
    p = FMA_f64(p, x, 0x1.b74a55733c6efp-11);
    p = FMA_f64(p, x, -0x1.380ec310bb4a9p-11);
    p = FMA_f64(p, x, 0x1.a019fc2b16418p-11);
    p = FMA_f64(p, x, -0x1.6c16c16b696d8p-9);
    p = FMA_f64(p, x, 0x1.5555555555549p-4);
    return p;
}

#endif

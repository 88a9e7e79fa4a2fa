/* Uniform and normal numbers in one precision; see random.h. */
#include "real.h"

#undef SQRT
#undef MULTIPLY_ADD
#if REAL_BITS == 32
#define SQRT sqrtf
/* The product of two numbers of single precision is exact in double precision. */
#define MULTIPLY_ADD(a, b, c) ((float)((double)(a) * (double)(b) + (double)(c)))
#else
#define SQRT sqrt
#define MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#endif

static void
OF(bound)(void *numbers, ptrdiff_t count, double low, double high)
{
    REAL *x = numbers;
    const REAL start = (REAL)low, end = (REAL)high, width = end - start;
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL number = MULTIPLY_ADD(x[i], width, start);
        x[i] = number == end ? start : number;
    }
}

static void
OF(scale)(void *numbers, ptrdiff_t count, double scale, double shift)
{
    REAL *x = numbers;
    const REAL factor = (REAL)scale, start = (REAL)shift;
    for (ptrdiff_t i = 0; i < count; i++) {
        x[i] = MULTIPLY_ADD(x[i], factor, start);
    }
}

static void
OF(split)(void *radii, void *angles, const void *uniform, ptrdiff_t count)
{
    REAL *restrict r = radii, *restrict a = angles;
    const REAL *restrict u = uniform;
    const REAL turn = (REAL)6.283185307179586;
    for (ptrdiff_t i = 0; i < count; i += NORMAL_BLOCK) {
        for (int j = 0; j < NORMAL_BLOCK / 2; j++) {
            r[i / 2 + j] = 1 - u[i + j];
            a[i / 2 + j] = u[i + NORMAL_BLOCK / 2 + j] * turn;
        }
    }
}

static void
OF(radii)(void *logarithms, ptrdiff_t count)
{
    REAL *x = logarithms;
    for (ptrdiff_t i = 0; i < count; i++) {
        x[i] = SQRT(x[i] * -2);
    }
}

static void
OF(join)(
    void *numbers, const void *radii, const void *cosines, const void *sines, ptrdiff_t count)
{
    REAL *restrict x = numbers;
    const REAL *restrict r = radii, *restrict c = cosines, *restrict s = sines;
    for (ptrdiff_t i = 0; i < count; i += NORMAL_BLOCK) {
        for (int j = 0; j < NORMAL_BLOCK / 2; j++) {
            x[i + j] = r[i / 2 + j] * c[i / 2 + j];
            x[i + NORMAL_BLOCK / 2 + j] = r[i / 2 + j] * s[i / 2 + j];
        }
    }
}

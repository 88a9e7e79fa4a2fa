/* Sums over windows in one precision; see windows.h. */
#include "real.h"

enum { OF(LANES) = VECTOR_BYTES / (int)sizeof(REAL) };
#if REAL_BITS == 32
static const UINT OF(EXPONENT) = 0x7f800000u;
#else
static const UINT OF(EXPONENT) = 0x7ff0000000000000u;
#endif

static void
OF(add_patches)(void *image, const void *patches, ptrdiff_t step, const image_windows *windows)
{
    REAL *x = image;
    ptrdiff_t stride = windows->axis[2].stride;
    FOR_PLACES (windows) {
        const REAL *from = (const REAL *)patches + place * step;
        FOR_LINES (windows) {
            REAL *restrict to = x + at;
            const REAL *restrict added = from + line;
            ptrdiff_t count = s[2].last - s[2].first;
            if (stride == 1) {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n] += added[n];
                }
            }
            else {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n * stride] += added[n];
                }
            }
        }
    }
}

static void
OF(correlate)(void *results, const void *image, const void *weight, const image_windows *windows)
{
    const REAL *x = image, *w = weight;
    REAL *y = results;
    ptrdiff_t stride = windows->axis[2].stride;
    FOR_PLACES (windows) {
        REAL factor = w[place];
        FOR_LINES (windows) {
            REAL *restrict to = y + line;
            const REAL *restrict from = x + at;
            ptrdiff_t count = s[2].last - s[2].first;
            if (stride == 1) {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n] = FMA(factor, from[n], to[n]);
                }
            }
            else if (stride == 2) {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n] = FMA(factor, from[n * 2], to[n]);
                }
            }
            else {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n] = FMA(factor, from[n * stride], to[n]);
                }
            }
        }
    }
}

static void
OF(spread)(void *image, const void *results, const void *weight, const image_windows *windows)
{
    const REAL *y = results, *w = weight;
    REAL *x = image;
    ptrdiff_t stride = windows->axis[2].stride;
    FOR_PLACES (windows) {
        REAL factor = w[place];
        FOR_LINES (windows) {
            REAL *restrict to = x + at;
            const REAL *restrict from = y + line;
            ptrdiff_t count = s[2].last - s[2].first;
            if (stride == 1) {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n] = FMA(factor, from[n], to[n]);
                }
            }
            else {
                for (ptrdiff_t n = 0; n < count; n++) {
                    to[n * stride] = FMA(factor, from[n], to[n * stride]);
                }
            }
        }
    }
}

/* Add the products of two lines to sums of some elements each. */
INLINE void
OF(add_products)(
    REAL *restrict lanes, const REAL *restrict x, ptrdiff_t stride, const REAL *restrict y,
    ptrdiff_t count)
{
    ptrdiff_t n = 0;
    for (; n + OF(LANES) <= count; n += OF(LANES)) {
        for (int lane = 0; lane < OF(LANES); lane++) {
            lanes[lane] = FMA(x[(n + lane) * stride], y[n + lane], lanes[lane]);
        }
    }
    for (int lane = 0; n < count; n++, lane++) {
        lanes[lane] = FMA(x[n * stride], y[n], lanes[lane]);
    }
}

/* Images are added in double precision: there may be many. */
static void
OF(weigh)(
    void *weight, const void *images, ptrdiff_t between_images, const void *results,
    ptrdiff_t between_results, ptrdiff_t count, const image_windows *windows)
{
    REAL *w = weight;
    ptrdiff_t stride = windows->axis[2].stride;
    FOR_PLACES (windows) {
        ptrdiff_t length = s[2].last - s[2].first;
        double sum = 0;
        for (ptrdiff_t image = 0; image < count; image++) {
            const REAL *x = (const REAL *)images + image * between_images;
            const REAL *y = (const REAL *)results + image * between_results;
            REAL lanes[OF(LANES)] = {0};
            FOR_LINES (windows) {
                if (stride == 1) {
                    OF(add_products)(lanes, x + at, 1, y + line, length);
                }
                else if (stride == 2) {
                    OF(add_products)(lanes, x + at, 2, y + line, length);
                }
                else {
                    OF(add_products)(lanes, x + at, stride, y + line, length);
                }
            }
            for (int lane = 0; lane < OF(LANES); lane++) {
                sum += (double)lanes[lane];
            }
        }
        w[place] = (REAL)sum;
    }
}

/* Whether all numbers are finite. */
static int
OF(are_finite)(const void *numbers, ptrdiff_t count)
{
    const REAL *x = numbers;
    UINT found = 0;
    for (ptrdiff_t n = 0; n < count; n++) {
        UINT bits;
        memcpy(&bits, x + n, sizeof bits);
        found |= (bits & OF(EXPONENT)) == OF(EXPONENT);
    }
    return found == 0;
}

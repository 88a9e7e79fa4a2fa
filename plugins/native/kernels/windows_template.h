/* Sums over windows in one precision; see windows.h. */
#include "real.h"

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

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

/* Copy an image into the room with what windows have beyond it, which is 0. */
static void
OF(fill_room)(REAL *room, const REAL *x, const image_windows *windows, const room_layout *to)
{
    const window *axis = windows->axis;
    ptrdiff_t step = axis[2].stride;
    memset(room, 0, (size_t)(to->planes * to->plane + MOST_LANES) * sizeof *room);
    for (ptrdiff_t p = 0; p < to->planes; p++) {
        ptrdiff_t plane = p - axis[0].padding;
        for (ptrdiff_t q = 0; plane >= 0 && plane < axis[0].size && q < to->rows; q++) {
            ptrdiff_t line = q - axis[1].padding;
            if (line < 0 || line >= axis[1].size) {
                continue;
            }
            const REAL *from = x + (plane * axis[1].size + line) * axis[2].size;
            REAL *row = room + p * to->plane + q * to->row;
            for (ptrdiff_t phase = 0; phase < to->phases; phase++, row += to->phase) {
                ptrdiff_t begin = phase - axis[2].padding, left = axis[2].size - begin;
                ptrdiff_t first = begin < 0 ? (step - 1 - begin) / step : 0;
                ptrdiff_t last = left > 0 ? (left + step - 1) / step : 0;
                last = last < to->phase ? last : to->phase;
                if (step == 1 && first < last) {
                    memcpy(row + first, from + begin + first, (size_t)(last - first) * sizeof *row);
                }
                for (ptrdiff_t n = first; step > 1 && n < last; n++) {
                    row[n] = from[begin + n * step];
                }
            }
        }
    }
}

/* Copy lines of results to where each is followed by the rest of a register, or back. */
INLINE void
OF(copy_lines)(REAL *to, ptrdiff_t step, const REAL *from, ptrdiff_t other, const window *axis)
{
    for (ptrdiff_t line = 0; line < axis[0].number * axis[1].number; line++) {
        memcpy(to + line * step, from + line * other, (size_t)axis[2].number * sizeof *to);
    }
}

/* Add the products of a register of elements and a factor, or as many. */
INLINE void
OF(add_scaled)(REAL *restrict sums, const REAL *restrict x, REAL factor)
{
    for (int lane = 0; lane < OF(LANES); lane++) {
        sums[lane] = FMA(factor, x[lane], sums[lane]);
    }
}

INLINE void
OF(add_products)(REAL *restrict sums, const REAL *restrict x, const REAL *restrict y)
{
    for (int lane = 0; lane < OF(LANES); lane++) {
        sums[lane] = FMA(x[lane], y[lane], sums[lane]);
    }
}

/* Add to some registers of results what the room has at places from each of them on, times their
 * weights: sums that do not wait for each other. They are variables: GCC keeps no array of registers
 * out of memory. */
INLINE void
OF(correlate_together)(
    REAL *results, const REAL *room, const ptrdiff_t *at, const ptrdiff_t *offsets,
    ptrdiff_t count, const REAL *w, ptrdiff_t step)
{
    enum { LANES = OF(LANES) };
    REAL first[LANES], second[LANES], third[LANES], fourth[LANES];
    memcpy(first, results, sizeof first);
    memcpy(second, results + LANES, sizeof second);
    memcpy(third, results + 2 * LANES, sizeof third);
    memcpy(fourth, results + 3 * LANES, sizeof fourth);
    for (ptrdiff_t i = 0; i < count; i++) {
        const REAL *x = room + offsets[i];
        REAL factor = w[i * step];
        OF(add_scaled)(first, x + at[0], factor);
        OF(add_scaled)(second, x + at[1], factor);
        OF(add_scaled)(third, x + at[2], factor);
        OF(add_scaled)(fourth, x + at[3], factor);
    }
    memcpy(results, first, sizeof first);
    memcpy(results + LANES, second, sizeof second);
    memcpy(results + 2 * LANES, third, sizeof third);
    memcpy(results + 3 * LANES, fourth, sizeof fourth);
}

/* Add to results what an image has under windows, times the weights of places, which are `step`
 * elements apart. They are computed aside, where whole registers fit. */
static void
OF(correlate_lines)(
    REAL *y, const REAL *image, const REAL *w, ptrdiff_t step, const image_windows *windows,
    REAL *aside)
{
    const window *axis = windows->axis;
    room_layout layout = layout_of(windows);
    ptrdiff_t size = aside_size(windows), pitch = pitch_aside(windows), count;
    ptrdiff_t offsets[MOST_PLACES], at[TOGETHER];
    REAL *room = aside + size;
    OF(fill_room)(room, image, windows, &layout);
    memset(aside, 0, (size_t)size * sizeof *aside);
    OF(copy_lines)(aside, pitch, y, axis[2].number, axis);
    for (ptrdiff_t start = 0; (count = places_from(windows, &layout, start, offsets)) > 0;
         start += count) {
        REAL *to = aside;
        int waiting = 0;
        for (ptrdiff_t p = 0; p < axis[0].number; p++) {
            for (ptrdiff_t q = 0; q < axis[1].number; q++) {
                ptrdiff_t line = p * axis[0].stride * layout.plane + q * axis[1].stride * layout.row;
                for (ptrdiff_t n = 0; n < pitch; n += OF(LANES)) {
                    at[waiting++] = line + (n < axis[2].number ? n : 0);
                    if (waiting == TOGETHER) {
                        OF(correlate_together)(
                            to, room, at, offsets, count, w + start * step, step);
                        to += TOGETHER * OF(LANES);
                        waiting = 0;
                    }
                }
            }
        }
        if (waiting > 0) {
            for (int u = waiting; u < TOGETHER; u++) {
                at[u] = at[0];
            }
            OF(correlate_together)(to, room, at, offsets, count, w + start * step, step);
        }
    }
    OF(copy_lines)(y, axis[2].number, aside, pitch, axis);
}

static void
OF(correlate)(
    void *results, const void *image, const void *weight, const image_windows *windows, void *room)
{
    OF(correlate_lines)(results, image, weight, 1, windows, room);
}

static void
OF(spread)(
    void *image, const void *results, const void *weight, const image_windows *windows, void *room)
{
    const REAL *y = results, *w = weight;
    REAL *x = image;
    ptrdiff_t stride = windows->axis[2].stride;
    if (can_turn(windows)) { /* images are results of the windows the other way around */
        image_windows turned = turned_windows(windows);
        OF(correlate_lines)(x, y, w + count_places(windows) - 1, -1, &turned, room);
        return;
    }
    FOR_PLACES (windows) {
        REAL factor = w[place];
        FOR_LINES (windows) {
            for (ptrdiff_t n = 0; n < s[2].last - s[2].first; n++) {
                x[at + n * stride] = FMA(factor, y[line + n], x[at + n * stride]);
            }
        }
    }
}

/* Add to sums, of some places, the products of a filled room with results, whose lines are followed
 * by zeros. */
INLINE void
OF(weigh_room)(
    double *sums, const REAL *room, const REAL *y, const ptrdiff_t *offsets, ptrdiff_t count,
    const image_windows *windows, const room_layout *layout)
{
    enum { LANES = OF(LANES) };
    const window *axis = windows->axis;
    REAL first[LANES] = {0}, second[LANES] = {0}, third[LANES] = {0}, fourth[LANES] = {0};
    const REAL *const all[TOGETHER] = {first, second, third, fourth};
    ptrdiff_t at[TOGETHER], pitch = pitch_aside(windows);
    for (ptrdiff_t i = 0; i < TOGETHER; i++) {
        at[i] = offsets[i < count ? i : 0];
    }
    for (ptrdiff_t p = 0; p < axis[0].number; p++) {
        for (ptrdiff_t q = 0; q < axis[1].number; q++, y += pitch) {
            const REAL *line =
                room + p * axis[0].stride * layout->plane + q * axis[1].stride * layout->row;
            for (ptrdiff_t n = 0; n < axis[2].number; n += LANES) {
                OF(add_products)(first, line + at[0] + n, y + n);
                OF(add_products)(second, line + at[1] + n, y + n);
                OF(add_products)(third, line + at[2] + n, y + n);
                OF(add_products)(fourth, line + at[3] + n, y + n);
            }
        }
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            sums[i] += (double)all[i][lane];
        }
    }
}

/* Images are added in double precision: there may be many. */
static void
OF(weigh)(
    void *weight, const void *images, ptrdiff_t between_images, const void *results,
    ptrdiff_t between_results, ptrdiff_t number, const image_windows *windows, void *room)
{
    const REAL *x = images, *y = results;
    REAL *w = weight, *aside = room, *own = aside + aside_size(windows);
    room_layout layout = layout_of(windows);
    ptrdiff_t offsets[MOST_PLACES], count, row = windows->axis[2].number;
    memset(aside, 0, (size_t)aside_size(windows) * sizeof *aside);
    for (ptrdiff_t start = 0; (count = places_from(windows, &layout, start, offsets)) > 0;
         start += count) {
        double sums[MOST_PLACES] = {0};
        for (ptrdiff_t image = 0; image < number; image++) {
            OF(copy_lines)(
                aside, pitch_aside(windows), y + image * between_results, row, windows->axis);
            OF(fill_room)(own, x + image * between_images, windows, &layout);
            for (ptrdiff_t i = 0; i < count; i += TOGETHER) {
                ptrdiff_t some = count - i < TOGETHER ? count - i : TOGETHER;
                OF(weigh_room)(sums + i, own, aside, offsets + i, some, windows, &layout);
            }
        }
        for (ptrdiff_t i = 0; i < count; i++) {
            w[start + i] = (REAL)sums[i];
        }
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

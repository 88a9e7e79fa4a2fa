/* Patches of lines under windows, sums of patches, and convolutions that keep channels apart. */
#include "windows.h"

#include <string.h>

enum {
    MOST_PLACES = 128, /* of windows, that are computed together */
    TOGETHER = 4,      /* sums that do not wait for each other */
    MOST_LANES = VECTOR_BYTES / 4,
};

/* The windows `first` to `last` along an axis have their element at a place in the image, the first
 * of them at `start`. */
typedef struct {
    ptrdiff_t first, last, start;
} span;

INLINE span
span_at(const window *axis, ptrdiff_t place)
{
    ptrdiff_t begin = place * axis->dilation - axis->padding, step = axis->stride;
    ptrdiff_t room = axis->size - 1 - begin;
    ptrdiff_t first = begin >= 0 ? 0 : (step - 1 - begin) / step;
    ptrdiff_t last = room < 0 ? 0 : room / step + 1;
    last = last > axis->number ? axis->number : last;
    first = first > last ? last : first;
    return (span){first, last, begin + first * step};
}

/* Call for each place of windows, with `place` counting them, the spans `s` of its axes. */
#define FOR_PLACES(windows)                                                                       \
    ptrdiff_t place = 0;                                                                          \
    span s[WINDOW_AXES];                                                                          \
    for (ptrdiff_t i = 0; s[0] = span_at((windows)->axis, i), i < (windows)->axis[0].kernel; i++) \
        for (ptrdiff_t j = 0;                                                                     \
             s[1] = span_at((windows)->axis + 1, j), j < (windows)->axis[1].kernel; j++)          \
            for (ptrdiff_t k = 0;                                                                 \
                 s[2] = span_at((windows)->axis + 2, k), k < (windows)->axis[2].kernel;           \
                 k++, place++)

/* Call for each line of windows that has elements at a place, with `line` the first of them and
 * `at` its element in the image. */
#define FOR_LINES(windows)                                                                        \
    for (ptrdiff_t p = s[0].first; p < s[0].last && s[2].first < s[2].last; p++)                  \
        for (ptrdiff_t q = s[1].first,                                                            \
                       line = (p * (windows)->axis[1].number + q) * (windows)->axis[2].number +   \
                              s[2].first,                                                         \
                       at = ((s[0].start + (p - s[0].first) * (windows)->axis[0].stride) *        \
                                 (windows)->axis[1].size +                                        \
                             s[1].start) *                                                        \
                                (windows)->axis[2].size +                                         \
                            s[2].start;                                                           \
             q < s[1].last; q++, line += (windows)->axis[2].number,                               \
                       at += (windows)->axis[1].stride * (windows)->axis[2].size)

/* Copy items that lie apart. Their memory may be aligned to less than an item. */
INLINE void
copy_items(char *restrict to, const char *restrict from, ptrdiff_t step, ptrdiff_t count, ptrdiff_t item)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        memcpy(to + i * item, from + i * step * item, (size_t)item);
    }
}

INLINE void
copy_apart(char *restrict to, const char *restrict from, ptrdiff_t step, ptrdiff_t count, ptrdiff_t item)
{
    if (step == 1) {
        memcpy(to, from, (size_t)(count * item));
    }
    else if (item == 4) {
        copy_items(to, from, step, count, 4);
    }
    else if (item == 8) {
        copy_items(to, from, step, count, 8);
    }
    else {
        copy_items(to, from, step, count, item);
    }
}

/* Whether a span has all windows along its axis. */
INLINE int
is_whole(span along, const window *axis)
{
    return along.first == 0 && along.last == axis->number;
}

/* Write zeros to the windows that have their element beyond the last axis, on the lines that have
 * one: `row` elements each. */
INLINE void
clear_ends(char *to, ptrdiff_t lines, ptrdiff_t row, span along, ptrdiff_t item)
{
    for (ptrdiff_t q = 0; q < lines; q++, to += row * item) {
        for (ptrdiff_t n = 0; n < along.first * item; n++) {
            to[n] = 0;
        }
        for (ptrdiff_t n = along.last * item; n < row * item; n++) {
            to[n] = 0;
        }
    }
}

static void
write_patches(
    char *patches, ptrdiff_t step, const char *image, ptrdiff_t item, const image_windows *windows)
{
    const window *axis = windows->axis;
    ptrdiff_t number = axis[0].number * axis[1].number * axis[2].number, row = axis[2].number;
    /* Lines of windows follow each other as those of the image do. */
    int is_flat = axis[1].stride == 1 && axis[2].stride == 1 && row == axis[2].size;
    FOR_PLACES (windows) {
        char *to = patches + place * step;
        ptrdiff_t lines = s[1].last - s[1].first;
        if (is_flat && is_whole(s[0], axis) && lines > 0 && s[2].first < s[2].last) {
            /* With what lies between the elements of two lines, which is cleared. */
            ptrdiff_t before = s[1].first * row, count = lines * row;
            ptrdiff_t after = (axis[1].number - s[1].last) * row;
            ptrdiff_t ends = s[2].first + row - s[2].last;
            for (ptrdiff_t p = 0; p < axis[0].number; p++) {
                ptrdiff_t at = (s[0].start + p * axis[0].stride) * axis[1].size + s[1].start;
                char *plane = to + p * axis[1].number * row * item;
                memset(plane, 0, (size_t)(before * item));
                memcpy(
                    plane + (before + s[2].first) * item,
                    image + (at * row + s[2].start) * item, (size_t)((count - ends) * item));
                memset(plane + (before + count) * item, 0, (size_t)(after * item));
                if (ends > 0) {
                    clear_ends(plane + before * item, lines, row, s[2], item);
                }
            }
            continue;
        }
        if (!is_whole(s[0], axis) || !is_whole(s[1], axis + 1) || !is_whole(s[2], axis + 2)) {
            memset(to, 0, (size_t)(number * item));
        }
        FOR_LINES (windows) {
            copy_apart(
                to + line * item, image + at * item, axis[2].stride, s[2].last - s[2].first, item);
        }
    }
}

/* ---- rooms ----------------------------------------------------------------------------------- */

/* An image with what windows have beyond it. The elements of a row that are `stride` apart lie side
 * by side, those that begin at each of `phases` after the others: those of a place of all windows of
 * a line are a run of memory. Steps are in elements. */
typedef struct {
    ptrdiff_t phases, phase, row, rows, plane, planes;
} room_layout;

INLINE ptrdiff_t
reach(const window *axis)
{
    return (axis->number - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

INLINE room_layout
layout_of(const image_windows *windows)
{
    const window *axis = windows->axis;
    room_layout made;
    ptrdiff_t across = (axis[2].kernel - 1) * axis[2].dilation;
    made.phases = axis[2].stride <= across ? axis[2].stride : across + 1;
    made.phase = axis[2].number + across / axis[2].stride;
    made.row = made.phases * made.phase;
    made.rows = reach(axis + 1);
    made.plane = made.rows * made.row;
    made.planes = reach(axis);
    return made;
}

INLINE ptrdiff_t
count_places(const image_windows *windows)
{
    return windows->axis[0].kernel * windows->axis[1].kernel * windows->axis[2].kernel;
}

/* Whether no window skips elements, so that each element of an image has its own window. */
INLINE int
can_turn(const image_windows *windows)
{
    const window *axis = windows->axis;
    return axis[0].stride == 1 && axis[1].stride == 1 && axis[2].stride == 1;
}

/* Windows over results, of which each element of an image has one. */
INLINE image_windows
turned_windows(const image_windows *windows)
{
    image_windows made = *windows;
    for (int i = 0; i < WINDOW_AXES; i++) {
        window *axis = made.axis + i;
        axis->size = windows->axis[i].number;
        axis->number = windows->axis[i].size;
        axis->padding = (axis->kernel - 1) * axis->dilation - axis->padding;
    }
    return made;
}

/* Write where some places lie in the room, from the one with a number on. Return how many. */
static ptrdiff_t
places_from(
    const image_windows *windows, const room_layout *layout, ptrdiff_t start, ptrdiff_t *offsets)
{
    const window *axis = windows->axis;
    ptrdiff_t rest = count_places(windows) - start, count = rest < MOST_PLACES ? rest : MOST_PLACES;
    ptrdiff_t step = axis[2].stride, k = start % axis[2].kernel, lines = start / axis[2].kernel;
    ptrdiff_t j = lines % axis[1].kernel, i = lines / axis[1].kernel;
    for (ptrdiff_t n = 0; n < count; n++) {
        ptrdiff_t across = k * axis[2].dilation;
        offsets[n] = i * axis[0].dilation * layout->plane + j * axis[1].dilation * layout->row +
                     (step == 1 ? across : across % step * layout->phase + across / step);
        k = k + 1 < axis[2].kernel ? k + 1 : 0;
        j += k == 0;
        i += j == axis[1].kernel;
        j = j < axis[1].kernel ? j : 0;
    }
    return count;
}

/* The elements of a line of results with the rest of a register; and those of all lines, with what is
 * computed beyond them. */
INLINE ptrdiff_t
pitch_aside(const image_windows *windows)
{
    return (windows->axis[2].number + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
}

INLINE ptrdiff_t
aside_size(const image_windows *windows)
{
    ptrdiff_t lines = windows->axis[0].number * windows->axis[1].number;
    return lines * pitch_aside(windows) + TOGETHER * MOST_LANES;
}

static double
elements_of_room(const image_windows *windows)
{
    room_layout layout = layout_of(windows);
    return (double)layout.row * (double)layout.rows * (double)layout.planes + MOST_LANES +
           (double)aside_size(windows);
}

static double
room_of(const image_windows *windows)
{
    double own = elements_of_room(windows), other = 0;
    if (can_turn(windows)) {
        image_windows turned = turned_windows(windows);
        other = elements_of_room(&turned);
    }
    return own > other ? own : other;
}

#define REAL_BITS 32
#include "windows_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "windows_template.h"
#undef REAL_BITS

const window_kernels JOIN(windows, ISA) = {
    room_of,
    write_patches,
    {add_patches_f32, add_patches_f64},
    {correlate_f32, correlate_f64},
    {spread_f32, spread_f64},
    {weigh_f32, weigh_f64},
    {are_finite_f32, are_finite_f64},
};

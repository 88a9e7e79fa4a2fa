/* Patches of lines under windows, and sums of patches. */
#include "windows.h"

#include <string.h>

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

#define TEMPLATE "windows_template.h"
#include "both_precisions.h"

const window_kernels JOIN(windows, ISA) = {write_patches, {add_patches_f32, add_patches_f64}};

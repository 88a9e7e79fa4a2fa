/* Maxima and averages over windows of images, with their gradients. */
#include "pooling.h"

#include "sums.h"

#include <math.h>
#include <string.h>

enum {
    PIECE = 256,   /* windows that are computed together */
    FEW = 4,       /* windows of a plane up to which each is computed by itself */
    IN_TURN = 256, /* rows, and columns, of a window up to which they are added one by one */
    COLUMNS = 1024,
};

/* The elements of a window along an axis: from `first` on, each a dilation after the other. */
typedef struct {
    ptrdiff_t first, end;
} run;

INLINE ptrdiff_t
smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

INLINE ptrdiff_t
greater(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

INLINE run
run_of(const pooling_axis *axis, ptrdiff_t window)
{
    run made;
    if (axis->stride == 0) {
        made.first = window * axis->size / axis->number;
        made.end = ((window + 1) * axis->size + axis->number - 1) / axis->number;
        return made;
    }
    made.first = window * axis->stride - axis->padding;
    made.end = smaller(made.first + (axis->kernel - 1) * axis->dilation + 1, axis->size);
    if (made.first < 0) {
        made.first += (-made.first + axis->dilation - 1) / axis->dilation * axis->dilation;
    }
    return made;
}

/* How many elements a window has along an axis. */
INLINE ptrdiff_t
length_of(const pooling_axis *axis, ptrdiff_t window, int counts_padding)
{
    if (axis->stride == 0 || !counts_padding) {
        run found = run_of(axis, window);
        return found.end - found.first;
    }
    ptrdiff_t first = window * axis->stride - axis->padding;
    return smaller(first + axis->kernel, axis->size + axis->padding) - first;
}

/* The windows of a row, from `low` to before `high`, whose element `k` is in the image, and the
 * place of the first such element. */
typedef struct {
    ptrdiff_t low, high, first;
} part_of_row;

INLINE part_of_row
part_within(const pooling_axis *axis, ptrdiff_t k, ptrdiff_t low, ptrdiff_t high)
{
    ptrdiff_t offset = k * axis->dilation - axis->padding;
    if (offset < 0) {
        low = greater(low, (-offset + axis->stride - 1) / axis->stride);
    }
    ptrdiff_t behind = axis->size - offset;
    high = behind <= 0 ? low : smaller(high, (behind + axis->stride - 1) / axis->stride);
    part_of_row made = {low, high, low * axis->stride + offset};
    return made;
}

INLINE ptrdiff_t
elements_of(const pooling_windows *windows)
{
    return windows->axis[0].size * windows->axis[1].size * windows->axis[2].size;
}

/* The index of an element of an image. */
INLINE ptrdiff_t
place_of(const pooling_axis *axis, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return (z * axis[1].size + y) * axis[2].size + x;
}

/* How many windows an image has; which ones along the axes a window of it is, and their runs. */
INLINE ptrdiff_t
windows_of(const pooling_windows *windows)
{
    return windows->axis[0].number * windows->axis[1].number * windows->axis[2].number;
}

INLINE void
split_window(const pooling_windows *windows, ptrdiff_t window, ptrdiff_t *at)
{
    for (int i = 2; i >= 0; i--) {
        at[i] = window % windows->axis[i].number;
        window /= windows->axis[i].number;
    }
}

INLINE void
set_runs(const pooling_windows *windows, ptrdiff_t window, run *runs)
{
    ptrdiff_t at[3];
    split_window(windows, window, at);
    for (int i = 0; i < 3; i++) {
        runs[i] = run_of(windows->axis + i, at[i]);
    }
}

/* Whether the windows of a plane are computed together. */
INLINE int
go_together(const pooling_windows *windows)
{
    const pooling_axis *axis = windows->axis;
    return axis[2].stride > 0 && axis[1].number * axis[2].number > FEW;
}

/* The longest run of an axis. */
INLINE ptrdiff_t
longest_run(const pooling_axis *axis)
{
    return axis->stride ? smaller(axis->kernel, axis->size) : axis->size / axis->number + 2;
}

/* Whether windows without dilation have so few rows and columns that these are added one by one. */
INLINE int
is_window_small(const pooling_windows *windows)
{
    return longest_run(windows->axis + 2) <= IN_TURN &&
           longest_run(windows->axis) * longest_run(windows->axis + 1) <= IN_TURN;
}

/* How many windows of a row, from `start` on, have all their elements among COLUMNS columns, and
 * are not more: at least one. */
INLINE ptrdiff_t
windows_of_columns(const pooling_axis *axis, ptrdiff_t start)
{
    ptrdiff_t apart = axis->stride ? axis->stride : axis->size / axis->number + 1;
    ptrdiff_t count = (COLUMNS - longest_run(axis)) / apart + 1;
    return smaller(axis->number - start, greater(smaller(count, COLUMNS), 1));
}

#define TEMPLATE "pooling_template.h"
#include "both_precisions.h"

#define KERNELS_OF(type)                                                                          \
    {JOIN(maxima, type), JOIN(averages, type), JOIN(averages_backward, type),                     \
     JOIN(write_at, type), JOIN(maxima_last, type), JOIN(averages_last, type),                    \
     JOIN(write_at_last, type)}

static int
are_small(const pooling_windows *windows)
{
    return is_window_small(windows);
}

const pooling_kernels JOIN(pooling, ISA) = {{KERNELS_OF(f32), KERNELS_OF(f64)}, are_small};

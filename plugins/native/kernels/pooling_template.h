/* Pooling in one precision; see pooling.h. */
#include "real.h"

/* ---- maxima ---------------------------------------------------------------------------------- */

/* Raise maxima to elements, whose indices are `offset` behind `corners`: of equal ones the first
 * counts, of NaN the last. */
INLINE void
OF(raise)(
    REAL *restrict best, INDEX *restrict where, const REAL *restrict from,
    const INDEX *restrict corners, INDEX offset, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL x = from[i];
        int is_better = (x > best[i]) | (x != x);
        best[i] = is_better ? x : best[i];
        where[i] = is_better ? corners[i] + offset : where[i];
    }
}

/* Write the elements of a row at one place of `count` windows, from `start` on, to where they lie
 * side by side, with -inf for those beyond the row. */
INLINE void
OF(line_up)(
    REAL *restrict line, const REAL *restrict row, const pooling_axis *axis, part_of_row part,
    ptrdiff_t start, ptrdiff_t count)
{
    ptrdiff_t low = smaller(part.low - start, count), high = greater(part.high - start, low);
    for (ptrdiff_t i = 0; i < low; i++) {
        line[i] = -(REAL)INFINITY;
    }
    for (ptrdiff_t i = high; i < count; i++) {
        line[i] = -(REAL)INFINITY;
    }
    const REAL *from = row + part.first - low * axis->stride;
    if (axis->stride == 2) { /* which the compiler knows */
        for (ptrdiff_t i = low; i < high; i++) {
            line[i] = from[i * 2];
        }
        return;
    }
    for (ptrdiff_t i = low; i < high; i++) {
        line[i] = from[i * axis->stride];
    }
}

/* The maxima of `count` windows, from `start` on, of each of some rows of windows, of which a run is
 * given: PIECE at most. */
static void
OF(maxima_together)(
    REAL *best, int64_t *indices, const REAL *image, const pooling_windows *windows, run deep,
    ptrdiff_t row, ptrdiff_t rows, ptrdiff_t start, ptrdiff_t count)
{
    const pooling_axis *high = windows->axis + 1, *wide = windows->axis + 2;
    REAL line[PIECE];
    INDEX where[PIECE], corners[PIECE], lefts[PIECE];
    ptrdiff_t plane = high->size * wide->size, all = rows * count;
    const INDEX left = (INDEX)(start * wide->stride - wide->padding), apart = (INDEX)wide->stride;
    for (INDEX i = 0; i < (INDEX)count; i++) {
        lefts[i] = left + i * apart;
    }
    for (ptrdiff_t i = 0; i < count && lefts[i] < 0; i++) { /* begin in the padding */
        lefts[i] = (INDEX)run_of(wide, start + i).first;
    }
    for (ptrdiff_t r = 0; r < rows; r++) {
        ptrdiff_t top = (row + r) * high->stride - high->padding, at = r * count;
        ptrdiff_t first = (deep.first * high->size + run_of(high, row + r).first) * wide->size;
        INDEX corner = (INDEX)(top * wide->size) + left;
        for (INDEX i = 0; i < (INDEX)count; i++) {
            best[at + i] = -(REAL)INFINITY;
            corners[at + i] = corner + i * apart;
            where[at + i] = (INDEX)first + lefts[i];
        }
    }
    for (ptrdiff_t z = deep.first; z < deep.end; z += windows->axis[0].dilation) {
        for (ptrdiff_t j = 0; j < high->kernel; j++) {
            for (ptrdiff_t k = 0; k < wide->kernel; k++) {
                const part_of_row part = part_within(wide, k, start, start + count);
                const part_of_row none = {start + count, start + count, 0};
                for (ptrdiff_t r = 0; r < rows; r++) {
                    ptrdiff_t y = (row + r) * high->stride - high->padding + j * high->dilation;
                    int is_within = y >= 0 && y < high->size;
                    OF(line_up)(
                        line + r * count, image + z * plane + (is_within ? y : 0) * wide->size,
                        wide, is_within ? part : none, start, count);
                }
                ptrdiff_t offset = z * plane + j * high->dilation * wide->size + k * wide->dilation;
                OF(raise)(best, where, line, corners, (INDEX)offset, all);
            }
        }
    }
    for (ptrdiff_t i = 0; i < all; i++) {
        indices[i] = where[i];
    }
}

static void
OF(maximum)(
    REAL *to, int64_t *index, const REAL *image, const pooling_windows *windows, run deep,
    run high, run wide)
{
    const pooling_axis *axis = windows->axis;
    REAL best = -(REAL)INFINITY;
    int64_t where = (deep.first * axis[1].size + high.first) * axis[2].size + wide.first;
    for (ptrdiff_t z = deep.first; z < deep.end; z += axis[0].dilation) {
        for (ptrdiff_t y = high.first; y < high.end; y += axis[1].dilation) {
            ptrdiff_t line = (z * axis[1].size + y) * axis[2].size;
            for (ptrdiff_t x = wide.first; x < wide.end; x += axis[2].dilation) {
                REAL value = image[line + x];
                if (value > best || value != value) {
                    best = value;
                    where = line + x;
                }
            }
        }
    }
    *to = best;
    *index = where;
}

static void
OF(maxima)(
    void *maxima, int64_t *indices, const void *images, ptrdiff_t count,
    const pooling_windows *windows)
{
    const pooling_axis *axis = windows->axis;
    REAL *to = maxima;
    const REAL *image = images;
    ptrdiff_t size = elements_of(windows), width = axis[2].number;
    int together = go_together(windows) && size == (INDEX)size;
    ptrdiff_t most = greater(PIECE / width, 1), rows = 1;
    for (ptrdiff_t i = 0; i < count; i++, image += size) {
        for (ptrdiff_t z = 0; z < axis[0].number; z++) {
            run deep = run_of(axis, z);
            for (ptrdiff_t y = 0; y < axis[1].number; y += rows) {
                rows = together ? smaller(axis[1].number - y, most) : 1;
                run high = run_of(axis + 1, y);
                for (ptrdiff_t x = 0; together && x < width; x += PIECE) {
                    OF(maxima_together)(
                        to + x, indices + x, image, windows, deep, y, rows, x,
                        smaller(width - x, PIECE));
                }
                for (ptrdiff_t x = 0; !together && x < width; x++) {
                    run wide = run_of(axis + 2, x);
                    OF(maximum)(to + x, indices + x, image, windows, deep, high, wide);
                }
                to += rows * width;
                indices += rows * width;
            }
        }
    }
}

/* ---- averages -------------------------------------------------------------------------------- */

/* Add elements that are `step` apart to sums that are `to_step` apart. */
INLINE void
OF(add_spread)(
    REAL *restrict to, ptrdiff_t to_step, const REAL *restrict from, ptrdiff_t step,
    ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        to[i * to_step] += from[i * step];
    }
}

/* Add columns, of which the first is `first` of the image, to the sums of the windows of a row from
 * `start` on; or these sums to the columns, if `is_backward`. */
INLINE void
OF(add_columns)(
    REAL *sums, REAL *columns, ptrdiff_t first, const pooling_axis *axis, ptrdiff_t start,
    ptrdiff_t count, int is_backward)
{
#define ADD(stride)                                                                               \
    if (is_backward) {                                                                            \
        OF(add_spread)(column, stride, sum, 1, length);                                           \
    }                                                                                             \
    else {                                                                                        \
        OF(add_spread)(sum, 1, column, stride, length);                                           \
    }
    for (ptrdiff_t k = 0; axis->stride > 0 && k < axis->kernel; k++) {
        part_of_row part = part_within(axis, k, start, start + count);
        REAL *sum = sums + (part.low - start), *column = columns + (part.first - first);
        ptrdiff_t length = part.high - part.low;
        switch (axis->stride) { /* so that the compiler knows common steps */
        case 1:
            ADD(1)
            break;
        case 2:
            ADD(2)
            break;
        default:
            ADD(axis->stride)
        }
    }
#undef ADD
    for (ptrdiff_t i = 0; axis->stride == 0 && i < count; i++) {
        run wide = run_of(axis, start + i);
        for (ptrdiff_t x = wide.first - first; x < wide.end - first; x++) {
            if (is_backward) {
                columns[x] += sums[i];
            }
            else {
                sums[i] += columns[x];
            }
        }
    }
}

/* Add `count` elements of all rows of two runs, from the column `first` on, to columns; or the
 * columns to all these rows, if `is_backward`. */
INLINE void
OF(add_rows)(
    REAL *columns, REAL *image, const pooling_axis *axis, run deep, run high, ptrdiff_t first,
    ptrdiff_t count, int is_backward)
{
    for (ptrdiff_t z = deep.first; z < deep.end; z++) {
        for (ptrdiff_t y = high.first; y < high.end; y++) {
            REAL *row = image + (z * axis[1].size + y) * axis[2].size + first;
            if (is_backward) {
                OF(add_spread)(row, 1, columns, 1, count);
            }
            else {
                OF(add_spread)(columns, 1, row, 1, count);
            }
        }
    }
}

static REAL
OF(sum_in_blocks)(const REAL *image, const pooling_axis *axis, run deep, run high, run wide)
{
    OF(pairs) pairs;
    pairs.count = 0;
    for (ptrdiff_t z = deep.first; z < deep.end; z++) {
        for (ptrdiff_t y = high.first; y < high.end; y++) {
            const REAL *row = image + (z * axis[1].size + y) * axis[2].size;
            OF(add_blocks)(&pairs, row + wide.first, wide.end - wide.first);
        }
    }
    return OF(sum_of_blocks)(&pairs);
}

/* What the sum of a window is divided by, which has so many elements along the first axes. */
INLINE REAL
OF(divisor_of)(
    const pooling_axis *axis, pooling_divisor divisor, ptrdiff_t elements, ptrdiff_t window)
{
    return divisor.number != 0
               ? (REAL)divisor.number
               : (REAL)(elements * length_of(axis, window, divisor.counts_padding));
}

/* The averages of a row of windows, of which two runs are given. */
static void
OF(averages_of_row)(
    REAL *to, const REAL *image, const pooling_windows *windows, run deep, run high,
    ptrdiff_t elements, pooling_divisor divisor)
{
    const pooling_axis *axis = windows->axis;
    ptrdiff_t width = axis[2].number;
    if (!is_window_small(windows)) {
        for (ptrdiff_t x = 0; x < width; x++) {
            REAL sum = OF(sum_in_blocks)(image, axis, deep, high, run_of(axis + 2, x));
            to[x] = sum / OF(divisor_of)(axis + 2, divisor, elements, x);
        }
        return;
    }
    for (ptrdiff_t start = 0, count; start < width; start += count) {
        REAL columns[COLUMNS];
        count = windows_of_columns(axis + 2, start);
        ptrdiff_t first = run_of(axis + 2, start).first;
        ptrdiff_t length = greater(run_of(axis + 2, start + count - 1).end - first, 0);
        memset(columns, 0, (size_t)length * sizeof(REAL));
        OF(add_rows)(columns, (REAL *)image, axis, deep, high, first, length, 0);
        memset(to + start, 0, (size_t)count * sizeof(REAL));
        OF(add_columns)(to + start, columns, first, axis + 2, start, count, 0);
        for (ptrdiff_t x = start; x < start + count; x++) {
            to[x] /= OF(divisor_of)(axis + 2, divisor, elements, x);
        }
    }
}

/* Add the gradients of such averages to an image. */
static void
OF(gradients_of_row)(
    REAL *image, const REAL *grad, const pooling_windows *windows, run deep, run high,
    ptrdiff_t elements, pooling_divisor divisor)
{
    const pooling_axis *axis = windows->axis;
    ptrdiff_t width = axis[2].number;
    for (ptrdiff_t start = 0, count; start < width; start += count) {
        REAL shares[COLUMNS], columns[COLUMNS];
        count = windows_of_columns(axis + 2, start);
        for (ptrdiff_t x = 0; x < count; x++) {
            shares[x] =
                grad[start + x] / OF(divisor_of)(axis + 2, divisor, elements, start + x);
        }
        run wide = run_of(axis + 2, start);
        if (count == 1) { /* which may be longer than there is room for */
            for (ptrdiff_t x = wide.first, next; x < wide.end; x = next) {
                next = smaller(x + COLUMNS, wide.end);
                for (ptrdiff_t i = 0; i < next - x; i++) {
                    columns[i] = shares[0];
                }
                OF(add_rows)(columns, image, axis, deep, high, x, next - x, 1);
            }
            continue;
        }
        ptrdiff_t length = greater(run_of(axis + 2, start + count - 1).end - wide.first, 0);
        memset(columns, 0, (size_t)length * sizeof(REAL));
        OF(add_columns)(shares, columns, wide.first, axis + 2, start, count, 1);
        OF(add_rows)(columns, image, axis, deep, high, wide.first, length, 1);
    }
}

/* Both for all images; the gradients if `is_backward`. */
INLINE void
OF(averages_of_images)(
    REAL *averages, REAL *images, ptrdiff_t count, const pooling_windows *windows,
    pooling_divisor divisor, int is_backward)
{
    const pooling_axis *axis = windows->axis;
    for (ptrdiff_t i = 0; i < count; i++, images += elements_of(windows)) {
        for (ptrdiff_t z = 0; z < axis[0].number; z++) {
            run deep = run_of(axis, z);
            ptrdiff_t depth = length_of(axis, z, divisor.counts_padding);
            for (ptrdiff_t y = 0; y < axis[1].number; y++, averages += axis[2].number) {
                run high = run_of(axis + 1, y);
                ptrdiff_t elements = depth * length_of(axis + 1, y, divisor.counts_padding);
                if (is_backward) {
                    OF(gradients_of_row)(
                        images, averages, windows, deep, high, elements, divisor);
                }
                else {
                    OF(averages_of_row)(
                        averages, images, windows, deep, high, elements, divisor);
                }
            }
        }
    }
}

static void
OF(averages)(
    void *averages, const void *images, ptrdiff_t count, const pooling_windows *windows,
    pooling_divisor divisor)
{
    OF(averages_of_images)(averages, (REAL *)images, count, windows, divisor, 0);
}

static void
OF(averages_backward)(
    void *result, const void *gradients, ptrdiff_t count, const pooling_windows *windows,
    pooling_divisor divisor)
{
    memset(result, 0, (size_t)(count * elements_of(windows)) * sizeof(REAL));
    OF(averages_of_images)((REAL *)gradients, result, count, windows, divisor, 1);
}

/* ---- indices --------------------------------------------------------------------------------- */

static int
OF(write_at)(
    void *result, const void *values, const int64_t *indices, ptrdiff_t count,
    ptrdiff_t values_of_image, ptrdiff_t size, int adds)
{
    REAL *image = result;
    const REAL *from = values;
    memset(image, 0, (size_t)(count * size) * sizeof(REAL));
    for (ptrdiff_t i = 0; i < count; i++, image += size) {
        for (ptrdiff_t j = 0; j < values_of_image; j++) {
            int64_t index = *indices++;
            if ((uint64_t)index >= (uint64_t)size) {
                return 0;
            }
            image[index] = adds ? image[index] + *from++ : *from++;
        }
    }
    return 1;
}

/* ---- channels last --------------------------------------------------------------------------- */

/* The same of images whose channels come last in memory, and of results that lie so: with the bits of
 * those in C order. */
static void
OF(maxima_last)(
    void *maxima, int64_t *indices, const void *images, ptrdiff_t samples, ptrdiff_t channels,
    const pooling_windows *windows)
{
    const pooling_axis *axis = windows->axis;
    const REAL *image = images;
    REAL *to = maxima;
    ptrdiff_t count = windows_of(windows);
    for (ptrdiff_t i = 0; i < samples * count; i++, to += channels, indices += channels) {
        run runs[3];
        set_runs(windows, i % count, runs);
        const REAL *from = image + i / count * elements_of(windows) * channels;
        INDEX corner = (INDEX)place_of(axis, runs[0].first, runs[1].first, runs[2].first);
        for (ptrdiff_t c = 0; c < channels; c += PIECE) {
            ptrdiff_t some = smaller(channels - c, PIECE);
            REAL *restrict best = to + c;
            INDEX where[PIECE], corners[PIECE];
            for (ptrdiff_t k = 0; k < some; k++) {
                best[k] = -(REAL)INFINITY;
                where[k] = corners[k] = corner;
            }
            for (ptrdiff_t z = runs[0].first; z < runs[0].end; z += axis[0].dilation) {
                for (ptrdiff_t y = runs[1].first; y < runs[1].end; y += axis[1].dilation) {
                    for (ptrdiff_t x = runs[2].first; x < runs[2].end; x += axis[2].dilation) {
                        INDEX place = (INDEX)place_of(axis, z, y, x);
                        OF(raise)(
                            best, where, from + place * channels + c, corners, place - corner, some);
                    }
                }
            }
            for (ptrdiff_t k = 0; k < some; k++) {
                indices[c + k] = where[k];
            }
        }
    }
}

/* The average of a window of channels that lie side by side in a number or a vector: of columns,
 * which are sums. */
#define AVERAGE_LAST(type)                                                                        \
    {                                                                                             \
        type total = {0};                                                                         \
        for (ptrdiff_t x = wide.first; x < wide.end; x++) {                                       \
            type column = {0};                                                                    \
            for (ptrdiff_t z = deep.first; z < deep.end; z++) {                                   \
                for (ptrdiff_t y = high.first; y < high.end; y++) {                               \
                    column += *(const type *)(image + place_of(axis, z, y, x) * channels + c);    \
                }                                                                                 \
            }                                                                                     \
            total += column;                                                                      \
        }                                                                                         \
        *(type *)(to + c) = total / number;                                                       \
    }

/* The averages of one window. */
INLINE void
OF(average_last)(
    REAL *to, const REAL *image, ptrdiff_t channels, const pooling_axis *axis, run deep, run high,
    run wide, REAL number)
{
    typedef REAL vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL))));
    const ptrdiff_t length = VECTOR_BYTES / (ptrdiff_t)sizeof(REAL);
    ptrdiff_t c = 0;
    for (; c + length <= channels; c += length)
        AVERAGE_LAST(vector)
    for (; c < channels; c++)
        AVERAGE_LAST(REAL)
}
#undef AVERAGE_LAST

/* Of windows for which `is_window_small`. */
static void
OF(averages_last)(
    void *averages, const void *images, ptrdiff_t samples, ptrdiff_t channels,
    const pooling_windows *windows, pooling_divisor divisor)
{
    const pooling_axis *axis = windows->axis;
    const REAL *image = images;
    REAL *to = averages;
    for (ptrdiff_t i = 0; i < samples; i++, image += elements_of(windows) * channels) {
        for (ptrdiff_t z = 0; z < axis[0].number; z++) {
            run deep = run_of(axis, z);
            ptrdiff_t depth = length_of(axis, z, divisor.counts_padding);
            for (ptrdiff_t y = 0; y < axis[1].number; y++) {
                run high = run_of(axis + 1, y);
                ptrdiff_t elements = depth * length_of(axis + 1, y, divisor.counts_padding);
                for (ptrdiff_t x = 0; x < axis[2].number; x++, to += channels) {
                    OF(average_last)(
                        to, image, channels, axis, deep, high, run_of(axis + 2, x),
                        OF(divisor_of)(axis + 2, divisor, elements, x));
                }
            }
        }
    }
}

static int
OF(write_at_last)(
    void *result, const void *values, const int64_t *indices, ptrdiff_t samples,
    ptrdiff_t channels, ptrdiff_t values_of_image, ptrdiff_t size, int adds)
{
    REAL *image = result;
    const REAL *from = values;
    memset(image, 0, (size_t)(samples * channels * size) * sizeof(REAL));
    for (ptrdiff_t n = 0; n < samples; n++, image += size * channels) {
        for (ptrdiff_t j = 0; j < values_of_image; j++) {
            for (ptrdiff_t c = 0; c < channels; c++) {
                int64_t index = *indices++;
                if ((uint64_t)index >= (uint64_t)size) {
                    return 0;
                }
                REAL *to = image + index * channels + c;
                *to = adds ? *to + *from++ : *from++;
            }
        }
    }
    return 1;
}

/* Resampling in one precision; see resampling.h. */
#include "real.h"

#if REAL_BITS == 32
#define FLOOR floorf
#define TRUNC truncf
#define FABS fabsf
#else
#define FLOOR floor
#define TRUNC trunc
#define FABS fabs
#endif

/* ---- taps ------------------------------------------------------------------------------------ */

/* The elements under a bell curve: those from `first` to before `stop`, as whole numbers, whose
 * middles lie so far from `center`. */
typedef struct {
    REAL first, stop, center;
} OF(span);

/* How far the curves reach, in elements of the result where the image shrinks. */
INLINE double
OF(support_of)(const resampling *how, double *width)
{
    double step = step_of(how);
    *width = step > 1 ? step : 1;
    return (how->kind == RESAMPLE_CUBIC_SMOOTHED ? 2 : 1) * *width;
}

INLINE OF(span)
OF(span_of)(const resampling *how, ptrdiff_t place, double support)
{
    OF(span) made;
    made.center = ((REAL)place + C(0.5)) * (REAL)step_of(how);
    made.first = TRUNC(made.center - (REAL)(support - 0.5));
    made.first = made.first > 0 ? made.first : 0;
    made.stop = TRUNC(made.center + (REAL)(support + 0.5));
    made.stop = made.stop < (REAL)how->size ? made.stop : (REAL)how->size;
    return made;
}

/* The cubic convolution kernel at a distance (R. Keys, 1981). */
INLINE REAL
OF(cubic)(REAL x, REAL a)
{
    if (x < 1) {
        return ((a + C(2.)) * x - (a + C(3.))) * x * x + C(1.);
    }
    return x < 2 ? ((x - C(5.)) * x + C(8.)) * x * a - C(4.) * a : x * 0;
}

static ptrdiff_t
OF(count_taps)(const resampling *how)
{
    static const int counts[] = {1, 1, 2, 4};
    if (how->kind <= RESAMPLE_CUBIC) {
        return counts[how->kind] * how->length;
    }
    double width, support = OF(support_of)(how, &width);
    double most = 2 * ceil(support) + 1;
    if (!(most < (double)how->size)) {
        most = (double)how->size;
    }
    return most * (double)how->length < 0x1p40 ? (ptrdiff_t)most * how->length : -1;
}

/* Set the taps of one element of the result. */
static int
OF(set_smoothed)(
    int32_t *index, REAL *weight, const resampling *how, ptrdiff_t place, double support,
    REAL inverse, ptrdiff_t most)
{
    OF(span) span = OF(span_of)(how, place, support);
    REAL total = 0;
    int count = 0, is_cubic = how->kind == RESAMPLE_CUBIC_SMOOTHED;
    for (REAL at = span.first; at < span.stop && count < most; at = span.first + (REAL)count) {
        REAL x = FABS((at - span.center + C(0.5)) * inverse);
        REAL rest = C(1.) - x;
        weight[count] = is_cubic ? OF(cubic)(x, C(-0.5)) : rest > x * 0 ? rest : x * 0;
        index[count] = clip(at, how->size);
        total = count == 0 ? weight[0] : total + weight[count];
        count++;
    }
    if (count == 0) { /* of nothing: 0 divided by 0 */
        index[0] = clip(span.stop - C(0.5), how->size);
        weight[0] = 0;
        count = 1;
    }
    for (int k = 0; k < count; k++) {
        weight[k] /= total;
    }
    return count;
}

static void
OF(set_taps)(resampled_axis *axis, const resampling *how)
{
    int32_t *index = axis->index;
    REAL *weight = axis->weight, step = (REAL)step_of(how);
    ptrdiff_t size = axis->size = how->size;
    double width, support = OF(support_of)(how, &width);
    REAL inverse = (REAL)(1 / width);
    ptrdiff_t most = OF(count_taps)(how) / how->length;
    axis->length = how->length;
    axis->count = how->kind <= RESAMPLE_CUBIC ? (int)most : 0;
    for (ptrdiff_t i = 0; i < how->length; i++) {
        REAL source = how->align_corners ? (REAL)i * step : ((REAL)i + C(0.5)) * step - C(0.5);
        axis->begin[i] = index - axis->index;
        switch (how->kind) {
        case RESAMPLE_NEAREST: /* in single precision, whose rounding decides */
            index[0] = clip(floorf((float)i * (float)step_of(how)), size);
            break;
        case RESAMPLE_NEAREST_EXACT:
            index[0] = clip(floorf(((float)i + 0.5f) * (float)step_of(how)), size);
            break;
        case RESAMPLE_LINEAR: {
            source = source > 0 ? source : source == source ? 0 : source;
            REAL low = FLOOR(source), last = (REAL)(size - 1);
            low = low > last ? last : low;
            REAL after = source - low;
            after = after > 1 ? C(1.) : after;
            index[0] = clip(low, size);
            index[1] = clip(low + C(1.), size);
            weight[0] = C(1.) - after;
            weight[1] = after;
            break;
        }
        case RESAMPLE_CUBIC: {
            REAL low = FLOOR(source), after = source - low;
            for (int k = 0; k < 4; k++) {
                index[k] = clip(low + (REAL)(k - 1), size);
                weight[k] = OF(cubic)(FABS(after - (REAL)(k - 1)), C(-0.75));
            }
            break;
        }
        default: {
            int count = OF(set_smoothed)(index, weight, how, i, support, inverse, most);
            index += count;
            weight += count;
        }
        }
        if (how->kind <= RESAMPLE_NEAREST_EXACT) {
            weight[0] = C(1.);
        }
        index += axis->count;
        weight += axis->count;
    }
    axis->begin[how->length] = index - axis->index;
}

static void
OF(turn_taps)(resampled_axis *turned, const resampled_axis *axis)
{
    const REAL *weight = axis->weight;
    REAL *to = turned->weight;
    ptrdiff_t *begin = turned->begin;
    turned->size = axis->length;
    turned->length = axis->size;
    memset(begin, 0, (size_t)(axis->size + 1) * sizeof *begin);
    for (ptrdiff_t j = 0; j < axis->begin[axis->length]; j++) {
        begin[axis->index[j] + 1]++;
    }
    for (ptrdiff_t i = 0; i < axis->size; i++) {
        begin[i + 1] += begin[i];
    }
    for (ptrdiff_t i = 0; i < axis->length; i++) {
        for (ptrdiff_t j = axis->begin[i]; j < axis->begin[i + 1]; j++) {
            ptrdiff_t at = begin[axis->index[j]]++;
            turned->index[at] = (int32_t)i;
            to[at] = weight[j];
        }
    }
    memmove(begin + 1, begin, (size_t)axis->size * sizeof *begin);
    begin[0] = 0;
    turned->count = begin[1] == 2 ? 2 : 0;
    for (ptrdiff_t i = 0; turned->count == 2 && i < axis->size; i++) {
        turned->count = begin[i + 1] - begin[i] == 2 ? 2 : 0;
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Set, or add, one to four rows with their weights. */
#define ROWS(is_first, expression)                                                                \
    for (ptrdiff_t i = 0; i < count; i++) {                                                       \
        REAL sum = is_first ? a[i] * w[0] : to[i] + a[i] * w[0];                                  \
        to[i] = expression;                                                                       \
    }
#define FOUR_ROWS(is_first)                                                                       \
    switch (rows) {                                                                               \
    case 1:                                                                                       \
        ROWS(is_first, sum)                                                                       \
        break;                                                                                    \
    case 2:                                                                                       \
        ROWS(is_first, sum + b[i] * w[1])                                                         \
        break;                                                                                    \
    case 3:                                                                                       \
        ROWS(is_first, (sum + b[i] * w[1]) + c[i] * w[2])                                         \
        break;                                                                                    \
    default:                                                                                      \
        ROWS(is_first, ((sum + b[i] * w[1]) + c[i] * w[2]) + d[i] * w[3])                         \
    }

static void
OF(sum_rows)(
    REAL *restrict to, const REAL *from, const int32_t *index, const REAL *weight,
    ptrdiff_t taps, ptrdiff_t count)
{
    if (taps == 0) {
        memset(to, 0, (size_t)count * sizeof(REAL));
    }
    for (ptrdiff_t k = 0; k < taps; k += 4) {
        ptrdiff_t rows = taps - k < 4 ? taps - k : 4;
        REAL w[4];
        const REAL *row[4];
        for (ptrdiff_t j = 0; j < 4; j++) {
            ptrdiff_t at = j < rows ? k + j : k;
            row[j] = from + index[at] * count;
            w[j] = weight[at];
        }
        const REAL *a = row[0], *b = row[1], *c = row[2], *d = row[3];
        if (k == 0) {
            FOUR_ROWS(1)
        }
        else {
            FOUR_ROWS(0)
        }
    }
}

/* Sum elements that lie side by side. */
static void
OF(sum_elements)(REAL *restrict to, const REAL *restrict from, const resampled_axis *axis)
{
    const ptrdiff_t *begin = axis->begin;
    const int32_t *index = axis->index;
    const REAL *weight = axis->weight;
    if (axis->count == 2) {
        for (ptrdiff_t i = 0; i < axis->length; i++) {
            to[i] = from[index[2 * i]] * weight[2 * i] + from[index[2 * i + 1]] * weight[2 * i + 1];
        }
        return;
    }
    for (ptrdiff_t i = 0; i < axis->length; i++) {
        ptrdiff_t k = begin[i], end = begin[i + 1];
        REAL sum = k < end ? from[index[k]] * weight[k] : 0;
        for (k++; k < end; k++) {
            sum += from[index[k]] * weight[k];
        }
        to[i] = sum;
    }
}

static void
OF(sum_along)(
    REAL *to, const REAL *from, const resampled_axis *axis, surroundings around)
{
    ptrdiff_t given = axis->size * around.inner, made = axis->length * around.inner;
    for (ptrdiff_t n = 0; n < around.outer; n++, to += made, from += given) {
        if (around.inner == 1) {
            OF(sum_elements)(to, from, axis);
            continue;
        }
        for (ptrdiff_t i = 0; i < axis->length; i++) {
            ptrdiff_t first = axis->begin[i];
            OF(sum_rows)(
                to + i * around.inner, from, axis->index + first,
                (const REAL *)axis->weight + first, axis->begin[i + 1] - first, around.inner);
        }
    }
}

static void
OF(sum)(
    void *result, const void *images, void *scratch, const resampled_images *how,
    int is_first_first)
{
    ptrdiff_t given = product_of(how->axis, 0, how->ndim, 0) * how->inner;
    ptrdiff_t made = product_of(how->axis, 0, how->ndim, 1) * how->inner;
    REAL *rooms[2] = {scratch, scratch};
    if (how->ndim > 2) {
        rooms[1] += count_scratch(how, is_first_first) / 2;
    }
    for (ptrdiff_t n = 0; n < how->outer; n++) {
        const REAL *from = (const REAL *)images + n * given;
        for (int number = 0; number < how->ndim; number++) {
            int axis = axis_in_turn(how, number, is_first_first);
            REAL *to = number == how->ndim - 1 ? (REAL *)result + n * made : rooms[number];
            OF(sum_along)(
                to, from, how->axis + axis, surroundings_of(how, axis, is_first_first));
            from = to;
        }
    }
}

#undef ROWS
#undef FOUR_ROWS
#undef FLOOR
#undef TRUNC
#undef FABS

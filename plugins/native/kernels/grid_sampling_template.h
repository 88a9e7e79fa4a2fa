/* Grid sampling in one precision; see grid_sampling.h. Every loop over the points of a block is one
 * that the compiler turns into vectors, but those that add to elements of an image. */
#include "real.h"

/* What the points of a block take along one axis: which elements, 0 where `inside` is 0, by what
 * these are multiplied, and how much that changes with the coordinate. */
typedef struct {
    INDEX place[MOST_ALONG][BLOCK], inside[MOST_ALONG][BLOCK];
    REAL weight[MOST_ALONG][BLOCK], slope[MOST_ALONG][BLOCK];
    REAL move[BLOCK]; /* how far places move with coordinates */
} OF(axis_taps);

/* What they take of an image. */
typedef struct {
    INDEX at[MOST_TAPS][BLOCK], inside[MOST_TAPS][BLOCK];
    REAL weight[MOST_TAPS][BLOCK];
    int count, all_inside;
} OF(image_taps);

/* What the size of an axis decides. */
typedef struct {
    REAL length, last, half;
    REAL greatest; /* the last element, or the greatest number below it */
    REAL low, span; /* of reflections */
    grid_padding padding;
} OF(extent);

static OF(extent)
OF(extent_of)(ptrdiff_t size, const grid_sampling *how)
{
    OF(extent) made;
    made.length = (REAL)size;
    made.last = made.greatest = (REAL)(size - 1);
    if ((double)made.greatest > (double)(size - 1)) {
        made.greatest = OF(of_bits)(OF(bits_of)(made.greatest) - 1);
    }
    made.half = (how->align_corners ? made.last : made.length) * C(0.5);
    made.low = how->align_corners ? 0 : C(-0.5);
    /* Of one element with its middle at both ends there is nothing to reflect. */
    made.span = !how->align_corners ? made.length : made.last > 1 ? made.last : 1;
    made.padding = how->padding;
    return made;
}

/* ---- taps ------------------------------------------------------------------------------------ */

/* Below this number the remainder of a division by a whole number is exact without fmod. */
#if REAL_BITS == 32
#define FAR 0x1p22f
#define FMOD fmodf
#define FLOOR floorf
#define RINT rintf
#define WHOLE(x) ((INDEX)(x))
#else
#define FAR 0x1p51
#define FMOD fmod
#define FLOOR floor
#define RINT rint
/* The low bits of a sum: AVX2 does not convert to 64 bits. */
#define WHOLE(x) ((INDEX)(bits_of_f64(floor(x) + 0x1p52) & 0xffffffff))
#endif

/* Reflect places at both ends until they lie between, and change the sign of what moves on the
 * other side of a mirror. */
static void
OF(reflect)(REAL *restrict place, REAL *restrict move, const OF(extent) *extent, int count)
{
    REAL low = extent->low, span = extent->span;
    int is_far = 0;
    REAL given[BLOCK];
    memcpy(given, place, (size_t)count * sizeof(REAL));
    for (int i = 0; i < count; i++) {
        REAL moved = given[i] - low, distance = OF(absolute)(moved);
        REAL flips = FLOOR(distance / span), rest = distance - flips * span;
        REAL is_below = rest < 0 ? C(1.) : 0; /* the quotient was rounded up */
        flips -= is_below;
        rest += is_below * span;
        REAL half = flips * C(0.5);
        int is_even = half == FLOOR(half);
        place[i] = is_even ? rest + low : (span + low) - rest;
        move[i] = (moved < 0) == is_even ? -move[i] : move[i];
        is_far |= !(distance < FAR);
    }
    for (int i = 0; is_far && i < count; i++) {
        REAL moved = given[i] - low, distance = OF(absolute)(moved);
        if (!(distance < FAR)) { /* the sign of the move is any there */
            REAL rest = FMOD(distance, span), flips = FLOOR(distance / span);
            place[i] = FMOD(flips, 2) == 0 ? rest + low : (span + low) - rest;
        }
    }
}

/* Put places within the image, NaN at its begin, and let those beyond the elements not move: the
 * outermost ones do not either. */
static void
OF(put_within)(REAL *restrict place, REAL *restrict move, const OF(extent) *extent, int count)
{
    if (extent->padding == GRID_REFLECTION) {
        OF(reflect)(place, move, extent, count);
    }
    REAL last = extent->last;
    for (int i = 0; i < count; i++) {
        REAL x = place[i];
        move[i] = (x > 0) & (x < last) ? move[i] : 0;
        x = x > 0 ? x : 0; /* NaN too */
        place[i] = x < last ? x : last;
    }
}

/* Set which elements places are, and whether there are such. */
static void
OF(set_places)(
    INDEX *restrict place, INDEX *restrict inside, const REAL *restrict at, REAL greatest,
    int count)
{
    for (int i = 0; i < count; i++) {
        REAL x = at[i];
        int is_inside = (x >= 0) & (x <= greatest);
        place[i] = WHOLE(is_inside ? x : 0);
        inside[i] = -(INDEX)is_inside;
    }
}

static void
OF(take_cubic)(OF(axis_taps) *taps, REAL *place, const OF(extent) *extent, int count)
{
    REAL low[BLOCK];
    for (int i = 0; i < count; i++) {
        low[i] = FLOOR(place[i]);
        REAL after = place[i] - low[i], before = C(1.) - after;
        REAL near[2] = {after, before}, far[2] = {after + C(1.), before + C(1.)};
        for (int k = 0; k < 2; k++) {
            REAL x = near[k], y = far[k], sign = k ? C(-1.) : C(1.);
            taps->weight[1 + k][i] =
                (x * (CUBIC + C(2.)) - (CUBIC + C(3.))) * x * x + C(1.);
            taps->weight[3 * k][i] =
                ((y * CUBIC - C(5.) * CUBIC) * y + C(8.) * CUBIC) * y - C(4.) * CUBIC;
            taps->slope[1 + k][i] =
                (x * (C(3.) * (CUBIC + C(2.))) - C(2.) * (CUBIC + C(3.))) * x * sign;
            taps->slope[3 * k][i] =
                ((y * (C(3.) * CUBIC) - C(10.) * CUBIC) * y + C(8.) * CUBIC) * sign;
        }
    }
    for (int k = 0; k < 4; k++) {
        REAL at[BLOCK], unused[BLOCK] = {0};
        for (int i = 0; i < count; i++) {
            at[i] = low[i] + (REAL)(k - 1);
        }
        if (extent->padding != GRID_ZEROS) {
            OF(put_within)(at, unused, extent, count);
        }
        OF(set_places)(taps->place[k], taps->inside[k], at, extent->greatest, count);
    }
}

/* Set what `count` points take along an axis, of which the coordinates are `step` apart. */
static void
OF(take_along)(
    OF(axis_taps) *taps, const REAL *coordinate, ptrdiff_t step, ptrdiff_t size,
    const grid_sampling *how, int count)
{
    OF(extent) extent = OF(extent_of)(size, how);
    REAL place[BLOCK], half = extent.half, length = extent.length;
    int align_corners = how->align_corners;
    for (int i = 0; i < count; i++) {
        place[i] = coordinate[i * step] + C(1.);
    }
    for (int i = 0; i < count; i++) {
        REAL x = place[i];
        place[i] = align_corners ? x * half : (x * length - C(1.)) * C(0.5);
        taps->move[i] = half;
    }
    if (how->mode == GRID_CUBIC) {
        OF(take_cubic)(taps, place, &extent, count);
        return;
    }
    if (how->padding != GRID_ZEROS) {
        OF(put_within)(place, taps->move, &extent, count);
    }
    if (how->mode == GRID_NEAREST) {
        for (int i = 0; i < count; i++) {
            place[i] = RINT(place[i]);
        }
        OF(set_places)(taps->place[0], taps->inside[0], place, extent.greatest, count);
        return;
    }
    REAL next[BLOCK];
    for (int i = 0; i < count; i++) {
        REAL low = FLOOR(place[i]), after = place[i] - low;
        taps->weight[0][i] = C(1.) - after;
        taps->weight[1][i] = after;
        taps->slope[0][i] = C(-1.);
        taps->slope[1][i] = C(1.);
        place[i] = low;
        next[i] = low + C(1.);
    }
    OF(set_places)(taps->place[0], taps->inside[0], place, extent.greatest, count);
    OF(set_places)(taps->place[1], taps->inside[1], next, extent.greatest, count);
}

/* The tap along each axis of a tap of an image: those of the last axis come fastest. */
INLINE void
OF(split)(int tap, int along, int ndim, int *each)
{
    for (int axis = ndim - 1; axis >= 0; axis--, tap /= along) {
        each[axis] = tap % along;
    }
}

/* Set what points take of an image from what they take along each axis. */
static void
OF(combine)(
    OF(image_taps) *taps, const OF(axis_taps) *axes, const grid_sampling *how, int count)
{
    int along = taps_along(how->mode), each[3];
    INDEX all = -1;
    taps->count = how->ndim == 3 ? along * along * along : along * along;
    for (int t = 0; t < taps->count; t++) {
        INDEX *restrict at = taps->at[t], *restrict inside = taps->inside[t];
        REAL *restrict weight = taps->weight[t];
        OF(split)(t, along, how->ndim, each);
        for (int axis = 0; axis < how->ndim; axis++) {
            const INDEX *place = axes[axis].place[each[axis]];
            const INDEX *is_there = axes[axis].inside[each[axis]];
            const REAL *factor = axes[axis].weight[each[axis]];
            INDEX size = (INDEX)how->sizes[axis];
            if (axis == 0) {
                memcpy(at, place, sizeof taps->at[t]);
                memcpy(inside, is_there, sizeof taps->inside[t]);
                memcpy(weight, factor, sizeof taps->weight[t]);
                continue;
            }
            for (int i = 0; i < count; i++) {
                at[i] = at[i] * size + place[i];
                inside[i] &= is_there[i];
                weight[i] *= factor[i];
            }
        }
        for (int i = 0; i < count; i++) {
            at[i] &= inside[i];
            all &= inside[i];
        }
    }
    taps->all_inside = all != 0;
}

/* Set the taps of `count` points. */
static void
OF(take)(
    OF(image_taps) *taps, OF(axis_taps) *axes, const REAL *grid, const grid_sampling *how,
    int count)
{
    for (int axis = 0; axis < how->ndim; axis++) {
        OF(take_along)(
            axes + axis, grid + (how->ndim - 1 - axis), how->ndim, how->sizes[axis], how, count);
    }
    OF(combine)(taps, axes, how, count);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Add what `count` points take of an image by four taps, or by the only one. */
INLINE void
OF(add_taps)(
    REAL *restrict to, const REAL *restrict image, const OF(image_taps) *taps, int first,
    int number, int is_masked, int count)
{
    for (int i = 0; i < count; i++) {
        REAL sum = first == 0 ? 0 : to[i];
        for (int k = 0; k < number; k++) {
            REAL found = image[taps->at[first + k][i]];
            found = is_masked && !taps->inside[first + k][i] ? 0 : found;
            REAL part = number == 1 ? found : found * taps->weight[first + k][i];
            sum = first + k == 0 ? part : sum + part;
        }
        to[i] = sum;
    }
}

INLINE void
OF(sum_taps)(
    REAL *to, const REAL *image, const OF(image_taps) *taps, int is_masked, int count)
{
    if (taps->count == 1) {
        OF(add_taps)(to, image, taps, 0, 1, is_masked, count);
        return;
    }
    OF(add_taps)(to, image, taps, 0, 4, is_masked, count);
    for (int first = 4; first < taps->count; first += 4) {
        OF(add_taps)(to, image, taps, first, 4, is_masked, count);
    }
}

static void
OF(values)(void *values, const void *images, const void *grid, const grid_sampling *how)
{
    ptrdiff_t size = elements_of(how), points = how->points;
    for (ptrdiff_t n = 0; n < how->images; n++) {
        for (ptrdiff_t start = 0; start < points; start += BLOCK) {
            OF(axis_taps) axes[3];
            OF(image_taps) taps;
            int count = points - start < BLOCK ? (int)(points - start) : BLOCK;
            const REAL *at = (const REAL *)grid + (n * points + start) * how->ndim;
            OF(take)(&taps, axes, at, how, count);
            for (ptrdiff_t c = n * how->channels; c < (n + 1) * how->channels; c++) {
                const REAL *image = (const REAL *)images + c * size;
                REAL *to = (REAL *)values + c * points + start;
                if (taps.all_inside) {
                    OF(sum_taps)(to, image, &taps, 0, count);
                }
                else {
                    OF(sum_taps)(to, image, &taps, 1, count);
                }
            }
        }
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Add the gradients of points to those of the elements that they took. */
static void
OF(spread)(
    REAL *restrict image, const REAL *restrict grad, const OF(image_taps) *taps, int count)
{
    for (int i = 0; i < count; i++) {
        for (int t = 0; t < taps->count; t++) {
            if (taps->inside[t][i]) {
                image[taps->at[t][i]] += taps->count == 1 ? grad[i] : grad[i] * taps->weight[t][i];
            }
        }
    }
}

/* Add to how much each tap counts for its weight. */
static void
OF(count_taps)(
    REAL counts[][BLOCK], const REAL *restrict image, const REAL *restrict grad,
    const OF(image_taps) *taps, int count)
{
    for (int t = 0; t < taps->count; t++) {
        REAL *restrict sums = counts[t];
        for (int i = 0; i < count; i++) {
            REAL found = image[taps->at[t][i]];
            sums[i] += grad[i] * (taps->inside[t][i] ? found : 0);
        }
    }
}

/* Write the gradients of coordinates along an axis, `step` apart: the products of the weights with
 * the slopes of that axis in their place. */
static void
OF(move_points)(
    REAL *to, ptrdiff_t step, REAL counts[][BLOCK], const OF(axis_taps) *axes, int axis,
    const grid_sampling *how, int count)
{
    int along = taps_along(how->mode), each[3];
    int number = how->ndim == 3 ? along * along * along : along * along;
    REAL sums[BLOCK] = {0};
    for (int t = 0; t < number; t++) {
        REAL product[BLOCK];
        OF(split)(t, along, how->ndim, each);
        for (int other = 0; other < how->ndim; other++) {
            const REAL *factor = other == axis ? axes[other].slope[each[other]]
                                               : axes[other].weight[each[other]];
            for (int i = 0; i < count; i++) {
                product[i] = other == 0 ? factor[i] : product[i] * factor[i];
            }
        }
        for (int i = 0; i < count; i++) {
            sums[i] += counts[t][i] * product[i];
        }
    }
    int may_rest = how->padding != GRID_ZEROS && how->mode == GRID_LINEAR;
    for (int i = 0; i < count; i++) { /* what does not move has no gradient, not even NaN */
        REAL move = axes[axis].move[i];
        to[i * step] = may_rest && move == 0 ? 0 : sums[i] * move;
    }
}

static void
OF(gradients)(
    void *to_images, void *to_grid, const void *grad, const void *images, const void *grid,
    const grid_sampling *how)
{
    ptrdiff_t size = elements_of(how), points = how->points;
    if (to_images != NULL) {
        memset(to_images, 0, (size_t)(how->images * how->channels * size) * sizeof(REAL));
    }
    if (to_grid != NULL && how->mode == GRID_NEAREST) {
        memset(to_grid, 0, (size_t)(how->images * points * how->ndim) * sizeof(REAL));
        to_grid = NULL;
    }
    for (ptrdiff_t n = 0; n < how->images; n++) {
        for (ptrdiff_t start = 0; start < points; start += BLOCK) {
            OF(axis_taps) axes[3];
            OF(image_taps) taps;
            REAL counts[MOST_TAPS][BLOCK] = {{0}};
            int count = points - start < BLOCK ? (int)(points - start) : BLOCK;
            ptrdiff_t first = (n * points + start) * how->ndim;
            OF(take)(&taps, axes, (const REAL *)grid + first, how, count);
            for (ptrdiff_t c = n * how->channels; c < (n + 1) * how->channels; c++) {
                const REAL *of_points = (const REAL *)grad + c * points + start;
                if (to_images != NULL) {
                    OF(spread)((REAL *)to_images + c * size, of_points, &taps, count);
                }
                if (to_grid != NULL) {
                    OF(count_taps)(
                        counts, (const REAL *)images + c * size, of_points, &taps, count);
                }
            }
            for (int axis = 0; to_grid != NULL && axis < how->ndim; axis++) {
                REAL *to = (REAL *)to_grid + first + (how->ndim - 1 - axis);
                OF(move_points)(to, how->ndim, counts, axes, axis, how, count);
            }
        }
    }
}

#undef FAR
#undef FMOD
#undef FLOOR
#undef RINT
#undef WHOLE

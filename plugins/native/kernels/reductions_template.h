/* Reductions in one precision; see reductions.h. Rows and columns combine elements in one order, so
 * that a result has the same bits in every layout. */
#include "real.h"

#undef TILE
#define TILE (TILE_BYTES / (int)sizeof(REAL))

/* A register of elements, anywhere in memory, and of their bits. Loops over lanes that choose
 * between numbers GCC does not turn into vectors by itself. */
typedef REAL OF(numbers) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL))));
typedef UINT OF(bits) __attribute__((vector_size(VECTOR_BYTES)));
#define VECTOR_LENGTH (VECTOR_BYTES / (int)sizeof(REAL))
#define VECTORS (LANES / VECTOR_LENGTH)
#define NUMBERS_AT(pointer, k) (*(const OF(numbers) *)((pointer) + (k) * VECTOR_LENGTH))

INLINE REAL
OF(term_of)(term which, REAL x, REAL center)
{
    switch (which) {
    case SQUARE:
        return x * x;
    case SIZE:
        return OF(absolute)(x);
    case DEVIATION:
        return x - center;
    case SQUARED_DEVIATION:
        return (x - center) * (x - center);
    case POWER:
        return OF(exp)(x - center);
    case NOT_NAN:
        return x == x ? x : 0;
    default:
        return x;
    }
}

/* NaN wins over numbers. */
INLINE REAL
OF(combined)(reduction_kind kind, REAL a, REAL b)
{
    switch (kind) {
    case REDUCTION_PRODUCT:
        return a * b;
    case REDUCTION_GREATEST:
        return (a > b) | (a != a) ? a : b;
    default:
        return (a < b) | (a != a) ? a : b;
    }
}

/* The same of vectors. */
INLINE OF(numbers)
OF(combined_vectors)(reduction_kind kind, OF(numbers) a, OF(numbers) b)
{
    if (kind == REDUCTION_PRODUCT) {
        return a * b;
    }
    OF(bits) is_first = (OF(bits))(kind == REDUCTION_GREATEST ? a > b : a < b) | (OF(bits))(a != a);
    return (OF(numbers))((is_first & (OF(bits))a) | (~is_first & (OF(bits))b));
}

/* A term of vectors; powers are computed in lanes. */
INLINE OF(numbers)
OF(term_of_vector)(term which, OF(numbers) x, REAL center)
{
    OF(numbers) away = x - center;
    OF(bits) is_number = (OF(bits))(x == x);
    return which == NOT_NAN             ? (OF(numbers))(is_number & (OF(bits))x)
           : which == SQUARE            ? x * x
           : which == SIZE              ? (OF(numbers))((OF(bits))x & (UINT)-1 >> 1)
           : which == DEVIATION         ? away
           : which == SQUARED_DEVIATION ? away * away
                                        : x;
}

INLINE REAL
OF(neutral)(reduction_kind kind)
{
    return kind == REDUCTION_PRODUCT    ? 1
           : kind == REDUCTION_GREATEST ? -(REAL)INFINITY
                                        : (REAL)INFINITY;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A block of a row, whose elements are copied into `room` if they do not lie side by side. */
INLINE const REAL *
OF(block_of)(REAL *room, const REAL *row, ptrdiff_t step, ptrdiff_t start, ptrdiff_t count)
{
    if (step == 1) {
        return row + start;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        room[i] = row[(start + i) * step];
    }
    return room;
}

/* The sum of terms of the elements that are combined into one. */
INLINE REAL
OF(sum_terms)(term which, const REAL *array, const reduction *axes, REAL center)
{
    OF(pairs) pairs;
    pairs.count = 0;
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0;
    do {
        for (ptrdiff_t start = 0; start < axes->row.size; start += BLOCK) {
            ptrdiff_t rest = axes->row.size - start, count = rest < BLOCK ? rest : BLOCK;
            REAL room[BLOCK], lanes[LANES] = {0};
            const REAL *block =
                OF(block_of)(room, array + offset, axes->row.step, start, count);
            OF(numbers) vectors[VECTORS] = {{0}};
            ptrdiff_t i = 0;
            for (; which != POWER && i + LANES <= count; i += LANES) {
                for (int k = 0; k < VECTORS; k++) {
                    vectors[k] += OF(term_of_vector)(which, NUMBERS_AT(block + i, k), center);
                }
            }
            memcpy(lanes, vectors, sizeof lanes);
            for (; i + LANES <= count; i += LANES) {
                for (int j = 0; j < LANES; j++) {
                    lanes[j] += OF(term_of)(which, block[i + j], center);
                }
            }
            for (int j = 0; i < count; i++, j++) {
                lanes[j] += OF(term_of)(which, block[i], center);
            }
            OF(add_block)(&pairs, OF(sum_of_lanes)(lanes));
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    return OF(sum_of_blocks)(&pairs);
}

/* The elements that are combined into one, in lanes. */
INLINE REAL
OF(combine)(reduction_kind kind, const REAL *array, const reduction *axes)
{
    REAL lanes[LANES];
    for (int j = 0; j < LANES; j++) {
        lanes[j] = OF(neutral)(kind);
    }
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0;
    do {
        for (ptrdiff_t start = 0; start < axes->row.size; start += BLOCK) {
            ptrdiff_t rest = axes->row.size - start, count = rest < BLOCK ? rest : BLOCK;
            REAL room[BLOCK];
            const REAL *block =
                OF(block_of)(room, array + offset, axes->row.step, start, count);
            OF(numbers) vectors[VECTORS];
            memcpy(vectors, lanes, sizeof lanes);
            ptrdiff_t i = 0;
            for (; i + LANES <= count; i += LANES) {
                for (int k = 0; k < VECTORS; k++) {
                    vectors[k] =
                        OF(combined_vectors)(kind, vectors[k], NUMBERS_AT(block + i, k));
                }
            }
            memcpy(lanes, vectors, sizeof lanes);
            for (int j = 0; i < count; i++, j++) {
                lanes[j] = OF(combined)(kind, lanes[j], block[i]);
            }
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            lanes[j] = OF(combined)(kind, lanes[j], lanes[j + half]);
        }
    }
    return lanes[0];
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The same sums of `width` columns side by side. */
INLINE void
OF(sum_terms_of_columns)(
    term which, REAL *restrict sums, const REAL *array, const reduction *axes,
    const REAL *restrict centers, int width)
{
    REAL waiting[LEVELS][TILE];
    size_t blocks = 0;
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0, step = axes->row.step;
    do {
        for (ptrdiff_t start = 0; start < axes->row.size; start += BLOCK) {
            ptrdiff_t rest = axes->row.size - start, count = rest < BLOCK ? rest : BLOCK;
            const REAL *block = array + offset + start * step;
            REAL lanes[LANES][TILE];
            for (int i = 0; i < count; i++) {
                REAL *restrict lane = lanes[i % LANES];
                const REAL *restrict line = block + i * step;
                if (i < LANES) {
                    for (int c = 0; c < width; c++) {
                        lane[c] = 0 + OF(term_of)(which, line[c], centers[c]); /* no -0 */
                    }
                    continue;
                }
                for (int c = 0; c < width; c++) {
                    lane[c] += OF(term_of)(which, line[c], centers[c]);
                }
            }
            ptrdiff_t filled = count < LANES ? count : LANES;
            for (int half = LANES / 2; half > 0; half /= 2) {
                for (int j = 0; j + half < filled; j++) { /* the other lanes would add 0 */
                    for (int c = 0; c < width; c++) {
                        lanes[j][c] += lanes[j + half][c];
                    }
                }
                filled = filled < half ? filled : half;
            }
            int level = 0;
            for (size_t full = blocks++; full & 1; full >>= 1, level++) {
                for (int c = 0; c < width; c++) {
                    lanes[0][c] = waiting[level][c] + lanes[0][c];
                }
            }
            memcpy(waiting[level], lanes[0], (size_t)width * sizeof(REAL));
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    int is_first = 1;
    for (int level = 0; blocks >> level; level++) {
        if (blocks >> level & 1) {
            for (int c = 0; c < width; c++) {
                sums[c] = is_first ? waiting[level][c] : waiting[level][c] + sums[c];
            }
            is_first = 0;
        }
    }
}

INLINE void
OF(combine_columns)(
    reduction_kind kind, REAL *restrict results, const REAL *array, const reduction *axes,
    int width)
{
    REAL lanes[LANES][TILE];
    ptrdiff_t filled = axes->row.size < LANES ? axes->row.size : LANES;
    for (int j = 0; j < filled; j++) {
        for (int c = 0; c < width; c++) {
            lanes[j][c] = OF(neutral)(kind);
        }
    }
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0, step = axes->row.step;
    do {
        for (ptrdiff_t i = 0; i < axes->row.size; i++) {
            REAL *restrict lane = lanes[i % BLOCK % LANES];
            const REAL *restrict line = array + offset + i * step;
            for (int c = 0; c < width; c++) {
                lane[c] = OF(combined)(kind, lane[c], line[c]);
            }
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j + half < filled; j++) {
            for (int c = 0; c < width; c++) {
                lanes[j][c] = OF(combined)(kind, lanes[j][c], lanes[j + half][c]);
            }
        }
        filled = filled < half ? filled : half;
    }
    memcpy(results, lanes[0], (size_t)width * sizeof(REAL));
}

/* ---- one function for each term and kind ----------------------------------------------------- */

#define TERM(name, which)                                                                         \
    static __attribute__((noinline)) REAL OF(name##_of_row)(                                      \
        const REAL *array, const reduction *axes, REAL center)                                    \
    {                                                                                             \
        return OF(sum_terms)(which, array, axes, center);                                         \
    }                                                                                             \
    static __attribute__((noinline)) void OF(name##_of_columns)(                                  \
        REAL *sums, const REAL *array, const reduction *axes, const REAL *centers, int width)     \
    {                                                                                             \
        OF(sum_terms_of_columns)(which, sums, array, axes, centers, width);                       \
    }
TERM(sums, AS_IT_IS)
TERM(squares, SQUARE)
TERM(sizes, SIZE)
TERM(deviations, DEVIATION)
TERM(squared_deviations, SQUARED_DEVIATION)
TERM(powers, POWER)
TERM(numbers_alone, NOT_NAN)
#undef TERM

#define KIND(name, kind)                                                                          \
    static __attribute__((noinline)) REAL OF(name##_of_row)(                                      \
        const REAL *array, const reduction *axes)                                                 \
    {                                                                                             \
        return OF(combine)(kind, array, axes);                                                    \
    }                                                                                             \
    static __attribute__((noinline)) void OF(name##_of_columns)(                                  \
        REAL *results, const REAL *array, const reduction *axes, int width)                       \
    {                                                                                             \
        OF(combine_columns)(kind, results, array, axes, width);                                   \
    }
KIND(products, REDUCTION_PRODUCT)
KIND(greatest, REDUCTION_GREATEST)
KIND(least, REDUCTION_LEAST)
#undef KIND

static REAL
OF(one)(reduction_kind kind, const REAL *array, const reduction *axes, double number)
{
    REAL count = (REAL)axes->elements;
    switch (kind) {
    case REDUCTION_SUM:
        return OF(sums_of_row)(array, axes, 0);
    case REDUCTION_NAN_SUM:
        return OF(numbers_alone_of_row)(array, axes, 0);
    case REDUCTION_MEAN:
        return OF(sums_of_row)(array, axes, 0) / count;
    case REDUCTION_NORM:
        return OF(root)(OF(squares_of_row)(array, axes, 0));
    case REDUCTION_SUM_OF_SIZES:
        return OF(sizes_of_row)(array, axes, 0);
    case REDUCTION_GREATEST_SIZE:
        return OF(combined)(
            REDUCTION_GREATEST, OF(absolute)(OF(greatest_of_row)(array, axes)),
            OF(absolute)(OF(least_of_row)(array, axes)));
    case REDUCTION_VARIANCE: {
        REAL mean = OF(sums_of_row)(array, axes, 0) / count;
        REAL rest = OF(deviations_of_row)(array, axes, mean);
        REAL squares = OF(squared_deviations_of_row)(array, axes, mean);
        REAL variance = (squares - rest * rest / count) / (REAL)number;
        return variance < 0 ? 0 : variance; /* NaN stays */
    }
    case REDUCTION_LOG_SUM_EXP: {
        REAL top = OF(greatest_of_row)(array, axes);
        top = OF(absolute)(top) < (REAL)INFINITY ? top : 0;
        return (REAL)log((double)OF(powers_of_row)(array, axes, top)) + top;
    }
    case REDUCTION_PRODUCT:
        return OF(products_of_row)(array, axes);
    case REDUCTION_GREATEST:
        return OF(greatest_of_row)(array, axes);
    default:
        return OF(least_of_row)(array, axes);
    }
}

/* The same of columns side by side. */
static void
OF(several)(
    reduction_kind kind, REAL *results, const REAL *array, const reduction *axes, double number,
    int width)
{
    REAL count = (REAL)axes->elements, centers[TILE] = {0}, sums[TILE];
    switch (kind) {
    case REDUCTION_SUM:
    case REDUCTION_MEAN:
        OF(sums_of_columns)(results, array, axes, centers, width);
        for (int c = 0; kind == REDUCTION_MEAN && c < width; c++) {
            results[c] /= count;
        }
        break;
    case REDUCTION_NAN_SUM:
        OF(numbers_alone_of_columns)(results, array, axes, centers, width);
        break;
    case REDUCTION_NORM:
        OF(squares_of_columns)(results, array, axes, centers, width);
        for (int c = 0; c < width; c++) {
            results[c] = OF(root)(results[c]);
        }
        break;
    case REDUCTION_SUM_OF_SIZES:
        OF(sizes_of_columns)(results, array, axes, centers, width);
        break;
    case REDUCTION_GREATEST_SIZE:
        OF(greatest_of_columns)(results, array, axes, width);
        OF(least_of_columns)(sums, array, axes, width);
        for (int c = 0; c < width; c++) {
            results[c] = OF(combined)(
                REDUCTION_GREATEST, OF(absolute)(results[c]), OF(absolute)(sums[c]));
        }
        break;
    case REDUCTION_VARIANCE:
        OF(sums_of_columns)(centers, array, axes, results, width);
        for (int c = 0; c < width; c++) {
            centers[c] /= count;
        }
        OF(deviations_of_columns)(sums, array, axes, centers, width);
        OF(squared_deviations_of_columns)(results, array, axes, centers, width);
        for (int c = 0; c < width; c++) {
            REAL variance = (results[c] - sums[c] * sums[c] / count) / (REAL)number;
            results[c] = variance < 0 ? 0 : variance;
        }
        break;
    case REDUCTION_LOG_SUM_EXP:
        OF(greatest_of_columns)(centers, array, axes, width);
        for (int c = 0; c < width; c++) {
            centers[c] = OF(absolute)(centers[c]) < (REAL)INFINITY ? centers[c] : 0;
        }
        OF(powers_of_columns)(sums, array, axes, centers, width);
        for (int c = 0; c < width; c++) {
            results[c] = (REAL)log((double)sums[c]) + centers[c];
        }
        break;
    case REDUCTION_PRODUCT:
        OF(products_of_columns)(results, array, axes, width);
        break;
    case REDUCTION_GREATEST:
        OF(greatest_of_columns)(results, array, axes, width);
        break;
    default:
        OF(least_of_columns)(results, array, axes, width);
    }
}

/* ---- whole arrays ---------------------------------------------------------------------------- */

/* Which of the kept axes lies side by side, or has short rows that are copied so; -1 for none. */
static int
OF(axis_of_columns)(const reduction *axes)
{
    int found = -1;
    if (axes->row.step == 1 && axes->row.size > 1) {
        int has_short_rows = axes->reduced_count == 0 && axes->row.size <= SHORT_ROW;
        return has_short_rows ? axes->kept_count - 1 : -1;
    }
    for (int i = 0; i < axes->kept_count; i++) {
        found = axes->kept[i].step == 1 ? i : found;
    }
    return found;
}

static void
OF(reduce)(
    reduction_kind kind, void *results, const void *elements, const reduction *axes,
    double number)
{
    REAL *result = results;
    const REAL *array = elements;
    int at = OF(axis_of_columns)(axes);
    reduction_axis others[MOST_REDUCED_AXES];
    int count = 0;
    for (int i = 0; i < axes->kept_count; i++) {
        if (i != at) {
            others[count++] = axes->kept[i];
        }
    }
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, to = 0;
    do {
        if (at < 0) {
            result[to] = OF(one)(kind, array + offset, axes, number);
            continue;
        }
        const reduction_axis *wide = axes->kept + at;
        for (ptrdiff_t start = 0; start < wide->size; start += TILE) {
            int width = wide->size - start < TILE ? (int)(wide->size - start) : TILE;
            const REAL *from = array + offset + start * wide->step;
            REAL made[TILE];
            if (axes->row.step == 1 && axes->row.size > 1) {
                REAL aside[SHORT_ROW * TILE];
                reduction turned = *axes;
                turned.row.step = width;
                for (ptrdiff_t i = 0; i < axes->row.size; i++) {
                    for (int c = 0; c < width; c++) {
                        aside[i * width + c] = from[c * wide->step + i];
                    }
                }
                OF(several)(kind, made, aside, &turned, number, width);
            }
            else {
                OF(several)(kind, made, from, axes, number, width);
            }
            REAL *target = result + to + start * wide->step_of_result;
            for (int c = 0; c < width; c++) {
                target[c * wide->step_of_result] = made[c];
            }
        }
    } while (advance(others, count, index, &offset, &to));
}

#undef VECTOR_LENGTH
#undef VECTORS
#undef NUMBERS_AT

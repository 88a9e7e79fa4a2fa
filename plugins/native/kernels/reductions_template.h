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
#define TILE_VECTORS (TILE / VECTOR_LENGTH)
#define NUMBERS_AT(pointer, k) (*(const OF(numbers) *)((pointer) + (k) * VECTOR_LENGTH))
/* Chains of comparisons that do not wait for each other, of the registers that there are. */
#define CHAINS (VECTORS < 4 ? 4 / VECTORS : 1)
/* Columns whose sums stay in registers. */
#undef GROUP
#define GROUP 8

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

/* Where the processor has the function below as one instruction. */
#if defined(X86_VECTORS)
typedef REAL OF(native) __attribute__((vector_size(VECTOR_BYTES), may_alias));
#if REAL_BITS == 32
#define EXTREMUM(which, b, a) JOIN(X86_VECTORS(which), ps)(b, a)
#else
#define EXTREMUM(which, b, a) JOIN(X86_VECTORS(which), pd)(b, a)
#endif
#endif

/* Of equal elements the first. A NaN `b` is left out: those that reduce arrays look for NaN. */
INLINE REAL
OF(combined)(reduction_kind kind, REAL a, REAL b)
{
    return kind == REDUCTION_PRODUCT    ? a * b
           : kind == REDUCTION_GREATEST ? (b > a ? b : a)
                                        : (b < a ? b : a);
}

/* The same of vectors. */
INLINE OF(numbers)
OF(combined_vectors)(reduction_kind kind, OF(numbers) a, OF(numbers) b)
{
    if (kind == REDUCTION_PRODUCT) {
        return a * b;
    }
#if defined(EXTREMUM)
    return kind == REDUCTION_GREATEST
               ? (OF(numbers))EXTREMUM(max, (OF(native))b, (OF(native))a)
               : (OF(numbers))EXTREMUM(min, (OF(native))b, (OF(native))a);
#endif
    OF(bits) is_second = (OF(bits))(kind == REDUCTION_GREATEST ? b > a : b < a);
    return (OF(numbers))((is_second & (OF(bits))b) | (~is_second & (OF(bits))a));
}

/* Which lanes an extremum has to be NaN in; a product is by itself. */
INLINE OF(bits)
OF(nan_in)(reduction_kind kind, OF(numbers) x)
{
    return kind == REDUCTION_PRODUCT ? (OF(bits)){0} : (OF(bits))(x != x);
}

/* A term of vectors. */
INLINE OF(numbers)
OF(term_of_vector)(term which, OF(numbers) x, OF(numbers) center)
{
    OF(numbers) away = x - center;
    if (which == POWER) {
        for (int j = 0; j < VECTOR_LENGTH; j++) {
            away[j] = OF(exp)(away[j]);
        }
        return away;
    }
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
    OF(numbers) centers = center - (OF(numbers)){0};
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0;
    do {
        for (ptrdiff_t start = 0; start < axes->row.size; start += BLOCK) {
            ptrdiff_t rest = axes->row.size - start, count = rest < BLOCK ? rest : BLOCK;
            REAL room[BLOCK], lanes[LANES];
            const REAL *block =
                OF(block_of)(room, array + offset, axes->row.step, start, count);
            OF(numbers) vectors[VECTORS] = {{0}};
            ptrdiff_t i = 0;
            for (; i + LANES <= count; i += LANES) {
                for (int k = 0; k < VECTORS; k++) {
                    vectors[k] += OF(term_of_vector)(which, NUMBERS_AT(block + i, k), centers);
                }
            }
            memcpy(lanes, vectors, sizeof lanes);
            for (int j = 0; i < count; i++, j++) {
                lanes[j] += OF(term_of)(which, block[i], center);
            }
            OF(add_block)(&pairs, OF(sum_of_lanes)(lanes));
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    return OF(sum_of_blocks)(&pairs);
}

/* Combine lanes with full lines of them, and add all elements to sums, which are NaN if one of them
 * is. Parts of the lines do not wait for each other where the result is the same in any order. */
INLINE void
OF(combine_lines)(
    reduction_kind kind, REAL *lanes, const REAL *lines, ptrdiff_t count, OF(numbers) *sum)
{
    OF(numbers) vectors[CHAINS][VECTORS], sums[CHAINS] = {{0}};
    memcpy(vectors[0], lanes, sizeof vectors[0]);
    ptrdiff_t part = kind == REDUCTION_PRODUCT || count < MANY_LINES ? 0 : count / CHAINS;
    for (int b = 1; b < CHAINS && part > 0; b++) {
        memcpy(vectors[b], lanes, sizeof vectors[b]);
    }
    for (ptrdiff_t i = 0; i < part; i++) {
        for (int b = 0; b < CHAINS; b++) {
            for (int k = 0; k < VECTORS; k++) {
                OF(numbers) x = NUMBERS_AT(lines + (b * part + i) * LANES, k);
                vectors[b][k] = OF(combined_vectors)(kind, vectors[b][k], x);
                sums[b] += x;
            }
        }
    }
    for (int b = 1; b < CHAINS && part > 0; b++) {
        for (int k = 0; k < VECTORS; k++) {
            vectors[0][k] = OF(combined_vectors)(kind, vectors[0][k], vectors[b][k]);
        }
        sums[0] += sums[b];
    }
    for (ptrdiff_t i = part * CHAINS; i < count; i++) {
        for (int k = 0; k < VECTORS; k++) {
            OF(numbers) x = NUMBERS_AT(lines + i * LANES, k);
            vectors[0][k] = OF(combined_vectors)(kind, vectors[0][k], x);
            sums[0] += kind == REDUCTION_PRODUCT ? (OF(numbers)){0} : x;
        }
    }
    *sum += sums[0];
    memcpy(lanes, vectors[0], sizeof vectors[0]);
}

/* Whether one of the elements that are combined into one is NaN. */
static __attribute__((noinline)) int
OF(has_nan)(const REAL *array, const reduction *axes)
{
    int found = 0;
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0;
    do {
        for (ptrdiff_t i = 0; i < axes->row.size; i++) {
            REAL x = array[offset + i * axes->row.step];
            found |= x != x;
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    return found;
}

/* The elements that are combined into one, in lanes. */
INLINE REAL
OF(combine)(reduction_kind kind, const REAL *array, const reduction *axes)
{
    REAL lanes[LANES], rest_of_sum = 0;
    OF(numbers) sum = {0};
    for (int j = 0; j < LANES; j++) {
        lanes[j] = OF(neutral)(kind);
    }
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0, length = axes->row.size;
    ptrdiff_t most = axes->row.step == 1 ? length : BLOCK;
    do {
        for (ptrdiff_t start = 0; start < length; start += most) {
            ptrdiff_t rest = length - start, count = rest < most ? rest : most;
            REAL room[BLOCK];
            const REAL *block =
                OF(block_of)(room, array + offset, axes->row.step, start, count);
            OF(combine_lines)(kind, lanes, block, count / LANES, &sum);
            for (ptrdiff_t i = count / LANES * LANES, j = 0; i < count; i++, j++) {
                lanes[j] = OF(combined)(kind, lanes[j], block[i]);
                rest_of_sum += block[i];
            }
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            lanes[j] = OF(combined)(kind, lanes[j], lanes[j + half]);
        }
    }
    OF(bits) is_none = (OF(bits))(sum != sum);
    UINT is_suspect = rest_of_sum != rest_of_sum;
    for (int j = 0; j < VECTOR_LENGTH; j++) {
        is_suspect |= is_none[j];
    }
    /* Infinities of both signs make a sum NaN, too. */
    int is_nan = kind != REDUCTION_PRODUCT && is_suspect && OF(has_nan)(array, axes);
    return is_nan ? (REAL)NAN : lanes[0];
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Some of the columns side by side; fewer than a vector has are followed by zeros. */
INLINE OF(numbers)
OF(columns_at)(const REAL *line, int k, int width)
{
    if (width >= VECTOR_LENGTH) {
        return NUMBERS_AT(line, k);
    }
    OF(numbers) some = {0};
    memcpy(&some, line, (size_t)width * sizeof(REAL));
    return some;
}

/* The sums of terms of a block of columns, which are `vectors` side by side. `lanes` are added as a
 * tree, from the left: lane j has the rows j, j + LANES, … */
INLINE void
OF(sum_block_of_columns)(
    term which, OF(numbers) *sums, const REAL *block, ptrdiff_t step, ptrdiff_t count,
    const REAL *centers, int width, int vectors, int lanes)
{
    static const unsigned char order[LANES] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
    OF(numbers) waiting[LANES][GROUP], lane[GROUP];
    for (int n = 0; n < lanes; n++) {
        for (int k = 0; k < vectors; k++) {
            lane[k] = (OF(numbers)){0};
        }
        for (ptrdiff_t i = order[n] * lanes / LANES; i < count; i += LANES) {
            for (int k = 0; k < vectors; k++) {
                lane[k] += OF(term_of_vector)(
                    which, OF(columns_at)(block + i * step, k, width), NUMBERS_AT(centers, k));
            }
        }
        int level = 0;
        for (int full = n; full & 1; full >>= 1, level++) {
            for (int k = 0; k < vectors; k++) {
                lane[k] = waiting[level][k] + lane[k];
            }
        }
        memcpy(waiting[level], lane, (size_t)vectors * sizeof *lane);
    }
    memcpy(sums, lane, (size_t)vectors * sizeof *lane);
}

/* The same sums of `width` columns side by side, which are fewer than a vector has, or fill some
 * vectors. */
INLINE void
OF(sum_terms_of_columns)(
    term which, REAL *sums, const REAL *array, const reduction *axes, const REAL *centers,
    int width)
{
    OF(numbers) waiting[LEVELS][TILE_VECTORS], made[TILE_VECTORS];
    int vectors = width < VECTOR_LENGTH ? 1 : width / VECTOR_LENGTH;
    size_t blocks = 0;
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0, step = axes->row.step;
    do {
        for (ptrdiff_t start = 0; start < axes->row.size; start += BLOCK) {
            ptrdiff_t rest = axes->row.size - start, count = rest < BLOCK ? rest : BLOCK;
            const REAL *block = array + offset + start * step;
            int lanes = LANES, k = 0;
            while (lanes / 2 >= count) { /* the others would add 0 */
                lanes /= 2;
            }
            for (int some; k < vectors; k += some) {
                const REAL *from = block + k * VECTOR_LENGTH, *around = centers + k * VECTOR_LENGTH;
                some = vectors - k >= GROUP ? GROUP : vectors - k >= GROUP / 2 ? GROUP / 2 : 1;
                OF(numbers) *to = made + k;
                switch (some) { /* numbers that the compiler knows */
                case GROUP:
                    OF(sum_block_of_columns)(
                        which, to, from, step, count, around, width, GROUP, lanes);
                    break;
                case GROUP / 2:
                    OF(sum_block_of_columns)(
                        which, to, from, step, count, around, width, GROUP / 2, lanes);
                    break;
                default:
                    OF(sum_block_of_columns)(which, to, from, step, count, around, width, 1, lanes);
                }
            }
            int level = 0;
            for (size_t full = blocks++; full & 1; full >>= 1, level++) {
                for (k = 0; k < vectors; k++) {
                    made[k] = waiting[level][k] + made[k];
                }
            }
            memcpy(waiting[level], made, (size_t)vectors * sizeof *made);
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    int is_first = 1;
    for (int level = 0; blocks >> level; level++) {
        if (blocks >> level & 1) {
            for (int k = 0; k < vectors; k++) {
                made[k] = is_first ? waiting[level][k] : waiting[level][k] + made[k];
            }
            is_first = 0;
        }
    }
    memcpy(sums, made, (size_t)width * sizeof(REAL));
}

INLINE void
OF(combine_columns)(
    reduction_kind kind, REAL *results, const REAL *array, const reduction *axes, int width)
{
    OF(numbers) lanes[LANES][TILE_VECTORS];
    OF(bits) is_nan[TILE_VECTORS] = {{0}};
    int vectors = width < VECTOR_LENGTH ? 1 : width / VECTOR_LENGTH;
    ptrdiff_t filled = axes->row.size < LANES ? axes->row.size : LANES;
    for (int j = 0; j < filled; j++) {
        for (int k = 0; k < vectors; k++) {
            lanes[j][k] = OF(neutral)(kind) - (OF(numbers)){0};
        }
    }
    ptrdiff_t index[MOST_REDUCED_AXES] = {0}, offset = 0, unused = 0, step = axes->row.step;
    do {
        for (ptrdiff_t start = 0; start < axes->row.size; start += BLOCK) {
            ptrdiff_t rest = axes->row.size - start, count = rest < BLOCK ? rest : BLOCK;
            const REAL *block = array + offset + start * step;
            for (ptrdiff_t i = 0; i < count; i++, block += step) {
                for (int k = 0; k < vectors; k++) {
                    OF(numbers) x = OF(columns_at)(block, k, width), *lane = &lanes[i % LANES][k];
                    *lane = OF(combined_vectors)(kind, *lane, x);
                    is_nan[k] |= OF(nan_in)(kind, x);
                }
            }
        }
    } while (advance(axes->reduced, axes->reduced_count, index, &offset, &unused));
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j + half < filled; j++) {
            for (int k = 0; k < vectors; k++) {
                lanes[j][k] = OF(combined_vectors)(kind, lanes[j][k], lanes[j + half][k]);
            }
        }
        filled = filled < half ? filled : half;
    }
    for (int c = 0; c < width; c++) {
        int k = c / VECTOR_LENGTH, j = c % VECTOR_LENGTH;
        results[c] = is_nan[k][j] ? (REAL)NAN : lanes[0][k][j];
    }
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
    }                                                                                             \
    INLINE void OF(name)(                                                                         \
        REAL *sums, const REAL *array, const reduction *axes, const REAL *centers, int width)     \
    {                                                                                             \
        if (width == A_ROW) {                                                                     \
            *sums = OF(name##_of_row)(array, axes, *centers);                                     \
        }                                                                                         \
        else {                                                                                    \
            OF(name##_of_columns)(sums, array, axes, centers, width);                             \
        }                                                                                         \
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
    }                                                                                             \
    INLINE void OF(name)(REAL *results, const REAL *array, const reduction *axes, int width)      \
    {                                                                                             \
        if (width == A_ROW) {                                                                     \
            *results = OF(name##_of_row)(array, axes);                                            \
        }                                                                                         \
        else {                                                                                    \
            OF(name##_of_columns)(results, array, axes, width);                                   \
        }                                                                                         \
    }
KIND(products, REDUCTION_PRODUCT)
KIND(greatest, REDUCTION_GREATEST)
KIND(least, REDUCTION_LEAST)
#undef KIND

/* Reduce a row, or columns side by side. */
static void
OF(reduce_some)(
    reduction_kind kind, REAL *results, const REAL *array, const reduction *axes, double number,
    int width)
{
    REAL count = (REAL)axes->elements, centers[TILE] = {0}, sums[TILE];
    int made = width == A_ROW ? 1 : width;
    switch (kind) {
    case REDUCTION_SUM:
    case REDUCTION_MEAN:
        OF(sums)(results, array, axes, centers, width);
        for (int c = 0; kind == REDUCTION_MEAN && c < made; c++) {
            results[c] /= count;
        }
        break;
    case REDUCTION_NAN_SUM:
        OF(numbers_alone)(results, array, axes, centers, width);
        break;
    case REDUCTION_NORM:
        OF(squares)(results, array, axes, centers, width);
        for (int c = 0; c < made; c++) {
            results[c] = OF(root)(results[c]);
        }
        break;
    case REDUCTION_SUM_OF_SIZES:
        OF(sizes)(results, array, axes, centers, width);
        break;
    case REDUCTION_GREATEST_SIZE:
        OF(greatest)(results, array, axes, width);
        OF(least)(sums, array, axes, width);
        for (int c = 0; c < made; c++) {
            results[c] = OF(combined)(
                REDUCTION_GREATEST, OF(absolute)(results[c]), OF(absolute)(sums[c]));
        }
        break;
    case REDUCTION_VARIANCE:
        OF(sums)(centers, array, axes, centers, width);
        for (int c = 0; c < made; c++) {
            centers[c] /= count;
        }
        OF(deviations)(sums, array, axes, centers, width);
        OF(squared_deviations)(results, array, axes, centers, width);
        for (int c = 0; c < made; c++) {
            REAL variance = (results[c] - sums[c] * sums[c] / count) / (REAL)number;
            results[c] = variance < 0 ? 0 : variance; /* NaN stays */
        }
        break;
    case REDUCTION_LOG_SUM_EXP:
        OF(greatest)(centers, array, axes, width);
        for (int c = 0; c < made; c++) {
            centers[c] = OF(absolute)(centers[c]) < (REAL)INFINITY ? centers[c] : 0;
        }
        OF(powers)(sums, array, axes, centers, width);
        for (int c = 0; c < made; c++) {
            results[c] = (REAL)log((double)sums[c]) + centers[c];
        }
        break;
    case REDUCTION_PRODUCT:
        OF(products)(results, array, axes, width);
        break;
    case REDUCTION_GREATEST:
        OF(greatest)(results, array, axes, width);
        break;
    default:
        OF(least)(results, array, axes, width);
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
            OF(reduce_some)(kind, result + to, array + offset, axes, number, A_ROW);
            continue;
        }
        const reduction_axis *wide = axes->kept + at;
        for (ptrdiff_t start = 0, width; start < wide->size; start += width) {
            width = wide->size - start < TILE ? wide->size - start : TILE;
            if (width < VECTOR_LENGTH && start > 0) {
                start = wide->size - VECTOR_LENGTH; /* some once more, to the same results */
                width = VECTOR_LENGTH;
            }
            else if (width > VECTOR_LENGTH) {
                width -= width % VECTOR_LENGTH;
            }
            const REAL *from = array + offset + start * wide->step;
            REAL *target = result + to + start * wide->step_of_result, room[TILE];
            REAL *made = wide->step_of_result == 1 ? target : room;
            if (axes->row.step == 1 && axes->row.size > 1) {
                REAL aside[SHORT_ROW * TILE];
                reduction turned = *axes;
                turned.row.step = width;
                for (ptrdiff_t i = 0; i < axes->row.size; i++) {
                    for (int c = 0; c < width; c++) {
                        aside[i * width + c] = from[c * wide->step + i];
                    }
                }
                OF(reduce_some)(kind, made, aside, &turned, number, (int)width);
            }
            else {
                OF(reduce_some)(kind, made, from, axes, number, (int)width);
            }
            for (int c = 0; made == room && c < width; c++) {
                target[c * wide->step_of_result] = made[c];
            }
        }
    } while (advance(others, count, index, &offset, &to));
}

#undef VECTOR_LENGTH
#undef VECTORS
#undef TILE_VECTORS
#undef CHAINS
#undef NUMBERS_AT
#undef EXTREMUM

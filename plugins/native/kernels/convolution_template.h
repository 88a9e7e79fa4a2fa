/* Convolutions in one precision; see convolution.h. */
#include "real.h"

enum { OF(LANES) = VECTOR_BYTES / (int)sizeof(REAL) };
typedef REAL OF(vector) __attribute__((vector_size(VECTOR_BYTES)));
#if REAL_BITS == 32
static const UINT OF(EXPONENT) = 0x7f800000u;
#else
static const UINT OF(EXPONENT) = 0x7ff0000000000000u;
#endif

INLINE OF(vector)
OF(loaded)(const REAL *from)
{
    OF(vector) made;
    memcpy(&made, from, sizeof made);
    return made;
}

/* x * y + sums in every lane. */
INLINE OF(vector)
OF(multiplied)(OF(vector) x, OF(vector) y, OF(vector) sums)
{
#if HAS_FMA
    for (int lane = 0; lane < OF(LANES); lane++) {
        sums[lane] = FMA(x[lane], y[lane], sums[lane]);
    }
    return sums;
#else
    return x * y + sums;
#endif
}

INLINE OF(vector)
OF(repeated)(REAL number)
{
    return number - (OF(vector)){0};
}

/* Copy a line of a source into a room, its phases one after the other. */
INLINE void
OF(fill_line)(REAL *row, const REAL *from, const room_axis *axis)
{
    ptrdiff_t step = axis->step;
    for (ptrdiff_t phase = 0; phase < axis->phases; phase++, row += axis->phase_step) {
        ptrdiff_t begin = phase - axis->padding, left = axis->size - begin;
        ptrdiff_t first = begin, last = left;
        if (step > 1) {
            first = begin < 0 ? (step - 1 - begin) / step : 0;
            last = left > 0 ? (left + step - 1) / step : 0;
        }
        else {
            first = begin < 0 ? -begin : 0;
        }
        last = last < axis->extent ? last : axis->extent;
        if (step == 1 && first < last) {
            memcpy(row + first, from + begin + first, (size_t)(last - first) * sizeof *row);
        }
        else if (step == 2) { /* which the compiler makes vectors of */
            for (ptrdiff_t m = first; m < last; m++) {
                row[m] = from[begin + m * 2];
            }
        }
        for (ptrdiff_t m = first; step > 2 && m < last; m++) {
            row[m] = from[begin + m * step];
        }
    }
}

/* Copy a channel of a source into its room, of which the rest is 0. */
static void
OF(fill_room)(REAL *room, const REAL *x, const pass *by)
{
    const room_axis *deep = by->room, *high = deep + 1, *wide = deep + 2;
    for (ptrdiff_t i = 0; i < deep->phases; i++) {
        for (ptrdiff_t p = 0; p < deep->extent; p++) {
            ptrdiff_t plane = p * deep->step + i - deep->padding;
            for (ptrdiff_t j = 0; plane >= 0 && plane < deep->size && j < high->phases; j++) {
                REAL *row = room + i * deep->phase_step + p * deep->place_step +
                            j * high->phase_step;
                ptrdiff_t line = j - high->padding;
                for (ptrdiff_t q = 0; q < high->extent && line < high->size; q++) {
                    if (line >= 0) {
                        OF(fill_line)(row, x + (plane * high->size + line) * wide->size, wide);
                    }
                    line += high->step;
                    row += high->place_step;
                }
            }
        }
    }
}

/* Copy what a pass computes of a channel to where it belongs, or for `gathers` from there. */
static void
OF(copy_lines)(REAL *channel, REAL *aside, const pass *by, const ptrdiff_t *sizes, int gathers)
{
    const course *to = by->to;
    ptrdiff_t rest = to[0].number * to[1].number * to[2].number; /* from a line on */
    int is_whole = to[2].number == sizes[2] && to[1].step == 1 && to[0].step == 1 &&
                   (to[1].number == sizes[1] || to[0].number == 1);
    for (ptrdiff_t p = 0; p < to[0].number; p++) {
        for (ptrdiff_t q = 0; q < to[1].number; q++, rest -= to[2].number) {
            REAL *line = aside + p * by->steps[0] + q * by->steps[1];
            REAL *row = channel + to[2].first +
                        ((to[0].first + p * to[0].step) * sizes[1] + to[1].first + q * to[1].step) *
                            sizes[2];
            if (gathers) {
                memcpy(line, row, (size_t)to[2].number * sizeof *row);
            }
            else if (is_whole && to[2].number <= OF(LANES) && rest >= OF(LANES)) {
                /* What is too much is in the place of the next line. */
                memcpy(row, line, sizeof(OF(vector)));
            }
            else if (to[2].step == 1) {
                memcpy(row, line, (size_t)to[2].number * sizeof *row);
            }
            else {
                for (ptrdiff_t n = 0; n < to[2].number; n++) {
                    row[n * to[2].step] = line[n];
                }
            }
        }
    }
}

/* Sums of `rows` channels over `vectors` registers of results, which are `pitch` elements apart:
 * set for the first terms, else added. Factors of a term are `rows` numbers. */
INLINE void
OF(sum_tile)(
    int rows, int vectors, REAL *results, ptrdiff_t pitch, const REAL *room,
    const ptrdiff_t *offsets, ptrdiff_t count, const REAL *factors, int is_first)
{
    OF(vector) sums[TILE_ROWS * LINE_VECTORS];
#pragma GCC unroll 32
    for (int i = 0; i < rows * vectors; i++) {
        sums[i] = (OF(vector)){0};
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        OF(vector) x[LINE_VECTORS];
#pragma GCC unroll 8
        for (int j = 0; j < vectors; j++) {
            x[j] = OF(loaded)(room + offsets[k] + j * OF(LANES));
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            OF(vector) factor = OF(repeated)(factors[k * rows + i]);
#pragma GCC unroll 8
            for (int j = 0; j < vectors; j++) {
                sums[i * vectors + j] =
                    OF(multiplied)(factor, x[j], sums[i * vectors + j]);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < vectors; j++) {
            REAL *to = results + i * pitch + j * OF(LANES);
            OF(vector) sum = sums[i * vectors + j];
            sum = is_first ? sum : OF(loaded)(to) + sum;
            memcpy(to, &sum, sizeof sum);
        }
    }
}

/* How many rows are computed together, of those that are left. */
INLINE ptrdiff_t
OF(together)(ptrdiff_t rest)
{
    return rest > TILE_ROWS / 2 ? TILE_ROWS : rest > 1 ? TILE_ROWS / 2 : 1;
}

/* The sums of all rows over some registers of results. */
INLINE void
OF(sum_rows)(
    int vectors, REAL *results, ptrdiff_t between, ptrdiff_t rows, const REAL *room,
    const ptrdiff_t *offsets, ptrdiff_t count, const REAL *factors, int is_first)
{
#define TILE(height)                                                                              \
    OF(sum_tile)(height, vectors, results, between, room, offsets, count, factors, is_first)
    for (ptrdiff_t row = 0, some; row < rows; row += some) {
        some = OF(together)(rows - row);
        if (some == 1) {
            TILE(1);
        }
        else if (some == TILE_ROWS) {
            TILE(TILE_ROWS);
        }
        else {
            TILE(TILE_ROWS / 2);
        }
        results += some * between;
        factors += some * count;
    }
#undef TILE
}

/* Copy what the rooms of some images have at places, so that a register has no elements that lie
 * between lines, and set where it is then. Return the number of elements at a place. */
static ptrdiff_t
OF(make_dense)(
    REAL *dense, const REAL *room, ptrdiff_t room_step, ptrdiff_t images, const pass *by,
    ptrdiff_t *offsets, ptrdiff_t count)
{
    const course *to = by->to;
    ptrdiff_t whole = in_registers(images * by->pitch, OF(LANES)), step = OF(LANES);
    for (ptrdiff_t k = 0; k < count; k++) {
        REAL *line = dense + k * whole;
        for (ptrdiff_t image = 0; image < images; image++) {
            const REAL *x = room + image * room_step + offsets[k];
            for (ptrdiff_t p = 0; p < to[0].number; p++) {
                for (ptrdiff_t q = 0; q < to[1].number; q++, line += to[2].number) {
                    const REAL *from = x + p * by->room[0].place_step + q * by->room[1].place_step;
                    /* What is too much is in the place of what comes next. */
                    for (ptrdiff_t n = 0; n < to[2].number; n += step) {
                        memcpy(line + n, from + n, sizeof(OF(vector)));
                    }
                }
            }
        }
        memset(line, 0, (size_t)(whole - images * by->pitch) * sizeof *line);
        offsets[k] = k * whole;
    }
    return whole;
}

/* What a pass computes of a group's channels, into `aside`. */
static void
OF(sum_pass)(
    REAL *aside, const REAL *room, ptrdiff_t images, const REAL *w,
    ptrdiff_t row_step, ptrdiff_t channel_step, ptrdiff_t rows, ptrdiff_t sources,
    const pass *by, const image_windows *windows, some_terms *terms, REAL *factors, REAL *dense)
{
    ptrdiff_t *offsets = terms->offsets, step = OF(LANES), pitch = by->pitch, count;
    ptrdiff_t between = by->between, blocks = by->is_dense ? 1 : images;
    for (ptrdiff_t start = 0; start < by->terms; start += count) {
        set_terms(by, windows, start, channel_step, terms);
        count = terms->count;
        REAL *to = factors;
        for (ptrdiff_t row = 0, some; row < rows; row += some) {
            some = OF(together)(rows - row);
            for (ptrdiff_t k = 0; k < count; k++) {
                for (ptrdiff_t i = 0; i < some; i++) {
                    *to++ = row + i < rows ? w[(row + i) * row_step + terms->weights[k]] : 0;
                }
            }
        }
        if (by->is_dense) {
            pitch = OF(make_dense)(
                dense, room, sources * by->room_size, images, by, offsets, count);
        }
        for (ptrdiff_t block = 0; block < blocks; block++) {
            const REAL *x = by->is_dense ? dense : room + block * sources * by->room_size;
            REAL *y = aside + block * pitch;
            ptrdiff_t n = 0;
#define TILE(vectors)                                                                             \
    for (; n + vectors * step <= pitch; n += vectors * step)                                  \
        OF(sum_rows)(vectors, y + n, between, rows, x + n, offsets, count, factors, start == 0)
            if (rows == 1) {
                for (; n + LINE_VECTORS * step <= pitch; n += LINE_VECTORS * step) {
                    OF(sum_tile)(
                        1, LINE_VECTORS, y + n, between, x + n, offsets, count, factors,
                        start == 0);
                }
            }
            TILE(TILE_VECTORS);
            TILE(2);
            TILE(1);
#undef TILE
        }
    }
}

/* The sum of all lanes. */
INLINE REAL
OF(sum_of)(OF(vector) sums)
{
    REAL parts[OF(LANES)];
    memcpy(parts, &sums, sizeof parts);
#pragma GCC unroll 8
    for (int width = OF(LANES) / 2; width > 0; width /= 2) {
#pragma GCC unroll 8
        for (int lane = 0; lane < width; lane++) {
            parts[lane] += parts[lane + width];
        }
    }
    return parts[0];
}

/* Add to the weights of some rows and terms the sums of products of images and of results, which
 * are followed by zeros. */
INLINE void
OF(weigh_tile)(
    int rows, REAL *w, ptrdiff_t row_step, const ptrdiff_t *weights, ptrdiff_t most_rows,
    ptrdiff_t most_terms, const REAL *room, ptrdiff_t room_step, const ptrdiff_t *offsets,
    const REAL *results, ptrdiff_t between, ptrdiff_t images, ptrdiff_t pitch)
{
    OF(vector) sums[WEIGHT_ROWS * WEIGHT_PLACES];
    const REAL *x[WEIGHT_PLACES], *y[WEIGHT_ROWS];
#pragma GCC unroll 32
    for (int i = 0; i < rows * WEIGHT_PLACES; i++) {
        sums[i] = (OF(vector)){0};
    }
    for (ptrdiff_t image = 0; image < images; image++, room += room_step, results += pitch) {
#pragma GCC unroll 8
        for (int j = 0; j < WEIGHT_PLACES; j++) {
            x[j] = room + offsets[j < most_terms ? j : 0];
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            y[i] = results + (i < most_rows ? i : 0) * between;
        }
        for (ptrdiff_t n = 0; n < pitch; n += OF(LANES)) {
            OF(vector) factors[WEIGHT_ROWS];
#pragma GCC unroll 8
            for (int i = 0; i < rows; i++) {
                factors[i] = OF(loaded)(y[i] + n);
            }
#pragma GCC unroll 8
            for (int j = 0; j < WEIGHT_PLACES; j++) {
                OF(vector) element = OF(loaded)(x[j] + n);
#pragma GCC unroll 8
                for (int i = 0; i < rows; i++) {
                    sums[j * rows + i] =
                        OF(multiplied)(factors[i], element, sums[j * rows + i]);
                }
            }
        }
    }
    for (int j = 0; j < WEIGHT_PLACES && j < most_terms; j++) {
        for (int i = 0; i < rows && i < most_rows; i++) {
            w[i * row_step + weights[j]] += OF(sum_of)(sums[j * rows + i]);
        }
    }
}

/* Add to the weights of a group what some images and results have. */
static void
OF(weigh_pass)(
    REAL *w, const REAL *room, REAL *results, ptrdiff_t images, const convolution *of,
    ptrdiff_t places, const pass *by, const image_windows *windows, some_terms *terms, REAL *dense)
{
    ptrdiff_t *offsets = terms->offsets, row_step = of->depth * places, count;
    ptrdiff_t room_step = of->depth * by->room_size, between = by->between, pitch = by->pitch;
    ptrdiff_t blocks = by->is_dense ? 1 : images, used = images * pitch;
    const REAL *x = by->is_dense ? dense : room;
    for (ptrdiff_t row = 0; by->is_dense && row < of->rows; row++) {
        memset(results + row * between + used, 0, (size_t)(between - used) * sizeof *results);
    }
    for (ptrdiff_t start = 0; start < by->terms; start += count) {
        set_terms(by, windows, start, places, terms);
        count = terms->count;
        if (by->is_dense) {
            pitch = OF(make_dense)(dense, room, room_step, images, by, offsets, count);
        }
        for (ptrdiff_t k = 0; k < count; k += WEIGHT_PLACES) {
            ptrdiff_t rest = count - k;
            for (ptrdiff_t row = 0, some; row < of->rows; row += some) {
                some = of->rows - row > 1 ? WEIGHT_ROWS : 1;
#define TILE(count)                                                                               \
    OF(weigh_tile)                                                                                \
    (count, w + row * row_step, row_step, terms->weights + k, of->rows - row, rest, x,            \
     room_step, offsets + k, results + row * between, between, blocks, pitch)
                if (some == 1) {
                    TILE(1);
                }
                else {
                    TILE(WEIGHT_ROWS);
                }
#undef TILE
            }
        }
    }
}

static void
OF(convolve)(
    void *made, const void *one, const void *other, const convolution *of, convolution_part part,
    void *memory)
{
    int is_spread = part == IMAGES;
    const window *axis = of->windows.axis;
    ptrdiff_t image = axis[0].size * axis[1].size * axis[2].size;
    ptrdiff_t result = axis[0].number * axis[1].number * axis[2].number;
    ptrdiff_t places = axis[0].kernel * axis[1].kernel * axis[2].kernel;
    ptrdiff_t sources = is_spread ? of->rows : of->depth, rows = is_spread ? of->depth : of->rows;
    ptrdiff_t source = is_spread ? result : image, target = is_spread ? image : result;
    ptrdiff_t row_step = is_spread ? places : of->depth * places;
    ptrdiff_t channel_step = is_spread ? of->depth * places : places, sizes[WINDOW_AXES];
    ptrdiff_t along[WINDOW_AXES], passes = 1;
    for (int i = 0; i < WINDOW_AXES; i++) {
        along[i] = courses_along(axis + i, is_spread);
        passes *= along[i];
        sizes[i] = is_spread ? axis[i].size : axis[i].number;
    }
    parts by = parts_of(of, part);
    double aside_size;
    ptrdiff_t size = (ptrdiff_t)elements_of_rooms(of, part, &by, &aside_size);
    REAL *room = memory, *aside = room + size, *factors = aside + (ptrdiff_t)aside_size;
    REAL *dense = factors + (rows + TILE_ROWS) * MOST_TERMS;
    REAL *targets = part == WEIGHTS ? (REAL *)other : made; /* which weights do not change */
    for (ptrdiff_t start = 0; start < by.count; start += by.band) {
        image_windows band = band_of(&of->windows, &by, start, is_spread);
        ptrdiff_t below = start;
        for (int i = by.axis + 1; i < WINDOW_AXES; i++) {
            below *= sizes[i];
        }
        pass pass = room_of(&band, is_spread);
        some_terms terms;
        int is_any = 0;
        memset(room, 0, (size_t)size * sizeof *room);
        if (part == WEIGHTS) {
            memset(aside, 0, (size_t)aside_size * sizeof *aside);
        }
        for (ptrdiff_t block = 0; block < of->images * of->groups; block++) {
            ptrdiff_t group = block % of->groups, first = block / of->groups * by.images;
            ptrdiff_t rest = of->images - first, images = rest < by.images ? rest : by.images;
            if (images <= 0) {
                break;
            }
            for (ptrdiff_t i = 0; i < images * sources; i++) {
                ptrdiff_t at = (first + i / sources) * of->groups * sources + group * sources;
                const REAL *from = (const REAL *)one + (at + i % sources) * source;
                OF(fill_room)(room + i * pass.room_size, from, &pass);
            }
            for (ptrdiff_t number = 0; number < passes; number++) {
                ptrdiff_t courses[WINDOW_AXES] = {
                    number / along[2] / along[1], number / along[2] % along[1], number % along[2]};
                if (passes > 1 || block == 0) {
                    terms.known = -1;
                    is_any = set_course(
                        &pass, &band, courses, sources, rows, by.images, OF(LANES));
                }
                if (!is_any) {
                    continue;
                }
                const REAL *w = (const REAL *)other + group * of->rows * of->depth * places;
                if (part != WEIGHTS) {
                    OF(sum_pass)(
                        aside, room, images, w, row_step, channel_step, rows, sources, &pass, &band,
                        &terms, factors, dense);
                }
                for (ptrdiff_t i = 0; i < rows * images; i++) {
                    ptrdiff_t row = i % rows, own = i / rows;
                    ptrdiff_t channel = ((first + own) * of->groups + group) * rows + row;
                    OF(copy_lines)(
                        targets + channel * target + below,
                        aside + row * pass.between + own * pass.pitch, &pass, sizes,
                        part == WEIGHTS);
                }
                if (part == WEIGHTS) {
                    OF(weigh_pass)(
                        (REAL *)made + group * of->rows * of->depth * places, room, aside, images,
                        of, places, &pass, &band, &terms, dense);
                }
            }
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

/* Channels that lie side by side in a number or a vector, of some windows: terms in the order of
 * `sum_tile`. */
#define SUM_APART(type, loaded, multiplied)                                                       \
    {                                                                                             \
        type sums[APART_WINDOWS];                                                                 \
        _Pragma("GCC unroll 8") for (int n = 0; n < some; n++)                                    \
        {                                                                                         \
            sums[n] = (type){0};                                                                  \
        }                                                                                         \
        for (ptrdiff_t i = deep.first; i < deep.end; i++) {                                       \
            for (ptrdiff_t j = high.first; j < high.end; j++) {                                   \
                ptrdiff_t line = (deep.start + i * axis[0].dilation) * axis[1].size +             \
                                 high.start + j * axis[1].dilation;                               \
                ptrdiff_t at = line * axis[2].size + wide.start;                                  \
                ptrdiff_t place = (i * axis[1].kernel + j) * axis[2].kernel;                      \
                for (ptrdiff_t k = wide.first; k < wide.end; k++) {                               \
                    type factor = loaded(w + (place + k) * channels + c);                         \
                    const REAL *from = x + (at + k * axis[2].dilation) * channels + c;            \
                    _Pragma("GCC unroll 8") for (int n = 0; n < some; n++)                        \
                    {                                                                             \
                        sums[n] = multiplied(factor, loaded(from + n * step), sums[n]);           \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
        _Pragma("GCC unroll 8") for (int n = 0; n < some; n++)                                    \
        {                                                                                         \
            memcpy(to + n * channels + c, &sums[n], sizeof sums[n]);                              \
        }                                                                                         \
    }

/* The results of some windows of a row, which have the same places. */
INLINE void
OF(sum_apart)(
    int some, REAL *to, const REAL *x, const REAL *w, ptrdiff_t channels, const window *axis,
    places deep, places high, places wide)
{
    ptrdiff_t c = 0, step = axis[2].stride * channels;
    for (; c + OF(LANES) <= channels; c += OF(LANES))
        SUM_APART(OF(vector), OF(loaded), OF(multiplied))
    for (; c < channels; c++)
        SUM_APART(REAL, *, FMA)
}
#undef SUM_APART

static void
OF(convolve_apart)(
    void *results, const void *images, const void *weights, ptrdiff_t count, ptrdiff_t channels,
    const image_windows *windows)
{
    const window *axis = windows->axis;
    const REAL *x = images;
    REAL *to = results;
    ptrdiff_t size = axis[0].size * axis[1].size * axis[2].size * channels;
    for (ptrdiff_t i = 0; i < count; i++, x += size) {
        for (ptrdiff_t z = 0; z < axis[0].number; z++) {
            for (ptrdiff_t y = 0; y < axis[1].number; y++) {
                places deep = places_of(axis, z), high = places_of(axis + 1, y);
                for (ptrdiff_t n = 0, some; n < axis[2].number; n += some, to += some * channels) {
                    places wide = places_of(axis + 2, n);
                    some = axis[2].number - n < APART_WINDOWS ? 1 : APART_WINDOWS;
                    places last = places_of(axis + 2, n + some - 1);
                    if (some == 1 || wide.first != last.first || wide.end != last.end) {
                        some = 1;
                        OF(sum_apart)(1, to, x, weights, channels, axis, deep, high, wide);
                    }
                    else {
                        OF(sum_apart)(
                            APART_WINDOWS, to, x, weights, channels, axis, deep, high, wide);
                    }
                }
            }
        }
    }
}

/* Convolutions and their gradients without patches.
 *
 * The images of a group are copied once, with what windows have beyond them, to where the windows
 * of a line, and the lines, follow each other at every place: a register of results is the sum,
 * over channels and places, of a register of such elements times a weight. What lies between two
 * lines is computed too, and dropped. */
#include "convolution.h"

#include <string.h>

enum {
    MOST_TERMS = 128,           /* of a sum in registers; such sums are added in memory */
    BAND_ELEMENTS = 1 << 18,    /* of images and results that are computed together: the cache */
    BLOCK_WINDOWS = 512,        /* of small images, which share what is read of weights */
    WEIGHED_WINDOWS = 2048,     /* of images whose products are added in registers */
    DENSE_WINDOWS = 2048,       /* of which the elements at a place may be copied */
    DENSE_ROWS = 8,             /* how many rows a copy costs as much as */
    MOST_LANES = VECTOR_BYTES / 4,
};

/* Registers that sums are in: as many as there are, less those for the factors. */
#if VECTOR_BYTES == 64 || defined(__aarch64__)
enum { TILE_ROWS = 8, TILE_VECTORS = 3, WEIGHT_ROWS = 4, WEIGHT_PLACES = 6 };
#elif VECTOR_BYTES == 32
enum { TILE_ROWS = 4, TILE_VECTORS = 3, WEIGHT_ROWS = 3, WEIGHT_PLACES = 4 };
#else
enum { TILE_ROWS = 4, TILE_VECTORS = 2, WEIGHT_ROWS = 2, WEIGHT_PLACES = 4 };
#endif
enum { LINE_VECTORS = 8 }; /* of a single row */
enum { APART_WINDOWS = 4 }; /* which share what is read of weights */

/* An axis of a room: place `p` of a phase has element `p * step + phase - padding` of the source,
 * 0 where there is none. Steps of memory are in elements. */
typedef struct {
    ptrdiff_t phases, extent, step, padding, size, phase_step, place_step;
} room_axis;

/* What is computed along an axis: elements `first + n * step`, from those places of the window that
 * are `tap_step` apart; the first of them lies at `start` of the room for n = 0. */
typedef struct {
    ptrdiff_t number, first, step, tap, tap_step, taps, start;
} course;

/* One pass: the room of a source, and what is computed from it. `span` is the number of places of
 * the room from the first to the last element that is computed; where it `is_dense`, the elements
 * of each place are copied to where nothing lies between lines. Results of images are `pitch`
 * elements apart, those of channels `between`, those of planes and lines `steps`. */
typedef struct {
    room_axis room[WINDOW_AXES];
    course to[WINDOW_AXES];
    ptrdiff_t room_size, span, pitch, between, terms, places, steps[WINDOW_AXES - 1];
    int is_spread, is_dense;
} pass;

INLINE ptrdiff_t
floor_of(ptrdiff_t number, ptrdiff_t divisor)
{
    return number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor);
}

/* For results, a phase has the elements that windows have at places of the same remainder. Images
 * are computed from results as these lie. */
static room_axis
room_along(const window *axis, int is_spread)
{
    ptrdiff_t across = (axis->kernel - 1) * axis->dilation, step = axis->stride;
    if (!is_spread) {
        ptrdiff_t phases = step <= across ? step : across + 1;
        return (room_axis){phases, axis->number + across / step, step, axis->padding, axis->size, 0,
                           0};
    }
    ptrdiff_t extent = (axis->size - 1) / step + (step > 1) + 1 + across / step;
    ptrdiff_t lowest = floor_of(axis->padding, step) - across / step;
    return (room_axis){1, extent, 1, -lowest, axis->number, 0, 0};
}

/* After how many places of windows the distance to their begin is a multiple of the stride. */
INLINE ptrdiff_t
period_of(const window *axis)
{
    ptrdiff_t divisor = axis->stride, rest = axis->dilation;
    while (rest != 0) {
        ptrdiff_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return axis->stride / divisor;
}

/* How many courses there are along an axis: elements of an image with places in common. */
INLINE ptrdiff_t
courses_along(const window *axis, int is_spread)
{
    ptrdiff_t period = is_spread ? period_of(axis) : 1;
    return period < axis->kernel ? period : axis->kernel;
}

/* What is computed from a place of the window, the first of its course. */
static course
course_along(const window *axis, int is_spread, ptrdiff_t tap)
{
    ptrdiff_t step = axis->stride, remainder = tap * axis->dilation % step;
    if (!is_spread) {
        return (course){axis->number, 0, 1, 0, 1, axis->kernel, 0};
    }
    ptrdiff_t begin = -floor_of(remainder - axis->padding, step), period = period_of(axis);
    ptrdiff_t end = floor_of(axis->size - 1 + axis->padding - remainder, step) + 1;
    ptrdiff_t lowest = floor_of(axis->padding, step) - (axis->kernel - 1) * axis->dilation / step;
    return (course){end - begin, begin * step + remainder - axis->padding, step, tap, period,
                    (axis->kernel - 1 - tap) / period + 1, begin - lowest};
}

/* Where the room has a place of the window. */
INLINE ptrdiff_t
place_of(const pass *made, const window *axis, int i, ptrdiff_t tap)
{
    const room_axis *room = made->room + i;
    ptrdiff_t across = tap * axis[i].dilation, step = axis[i].stride;
    if (made->is_spread) {
        return (made->to[i].start - across / step) * room->place_step;
    }
    return across % step * room->phase_step + across / step * room->place_step;
}

/* Lay a room out. */
static pass
room_of(const image_windows *windows, int is_spread)
{
    pass made = {.is_spread = is_spread};
    ptrdiff_t size = 1;
    for (int i = WINDOW_AXES - 1; i >= 0; i--) {
        made.room[i] = room_along(windows->axis + i, is_spread);
        made.room[i].place_step = size;
        size *= made.room[i].extent;
    }
    for (int i = WINDOW_AXES - 1; i >= 0; i--) {
        made.room[i].phase_step = size;
        size *= made.room[i].phases;
    }
    made.room_size = size;
    return made;
}

INLINE ptrdiff_t
in_registers(ptrdiff_t count, ptrdiff_t lanes)
{
    return (count + lanes - 1) / lanes * lanes;
}

/* Set what is computed, for a course along each axis, of `rows` channels of some images, in
 * registers of `lanes` elements, from `sources` channels. Return whether there is any. */
static int
set_course(
    pass *made, const image_windows *windows, const ptrdiff_t *courses, ptrdiff_t sources,
    ptrdiff_t rows, ptrdiff_t images, ptrdiff_t lanes)
{
    ptrdiff_t count = 1;
    made->span = 1;
    made->places = 1;
    for (int i = 0; i < WINDOW_AXES; i++) {
        made->to[i] = course_along(windows->axis + i, made->is_spread, courses[i]);
        made->span += (made->to[i].number - 1) * made->room[i].place_step;
        made->places *= made->to[i].taps;
        if (made->to[i].number < 1) {
            return 0;
        }
        count *= made->to[i].number;
    }
    ptrdiff_t dense = in_registers(images * count, lanes);
    made->pitch = in_registers(made->span, lanes);
    made->is_dense = rows > DENSE_ROWS && dense <= DENSE_WINDOWS &&
                     (images * made->pitch - dense) * rows > DENSE_ROWS * dense;
    made->between = made->is_dense ? dense : images * made->pitch;
    made->steps[0] = made->room[0].place_step;
    made->steps[1] = made->room[1].place_step;
    if (made->is_dense) {
        made->pitch = count;
        made->steps[0] = made->to[1].number * made->to[2].number;
        made->steps[1] = made->to[2].number;
    }
    made->terms = sources * made->places;
    return 1;
}

/* Terms of a sum, of which `known` is the number of the first or -1: where a room has them, and
 * their weights. */
typedef struct {
    ptrdiff_t known, count, offsets[MOST_TERMS], weights[MOST_TERMS];
} some_terms;

/* Set the terms from one on. The weights of the channels of a source are `channel_step` apart. */
static void
set_terms(
    const pass *made, const image_windows *windows, ptrdiff_t start, ptrdiff_t channel_step,
    some_terms *terms)
{
    if (terms->known == start) {
        return;
    }
    ptrdiff_t *offsets = terms->offsets, *weights = terms->weights;
    const window *axis = windows->axis;
    const course *to = made->to;
    ptrdiff_t rest = made->terms - start, count = rest < MOST_TERMS ? rest : MOST_TERMS;
    ptrdiff_t line = start / to[2].taps, k = start % to[2].taps, j = line % to[1].taps;
    ptrdiff_t i = line / to[1].taps % to[0].taps, channel = line / to[1].taps / to[0].taps;
    for (ptrdiff_t n = 0; n < count; n++) {
        ptrdiff_t taps[WINDOW_AXES] = {i, j, k}, tap = 0;
        offsets[n] = channel * made->room_size;
        for (int a = 0; a < WINDOW_AXES; a++) {
            ptrdiff_t own = to[a].tap + taps[a] * to[a].tap_step;
            offsets[n] += place_of(made, axis, a, own);
            tap = tap * axis[a].kernel + own;
        }
        weights[n] = channel * channel_step + tap;
        k = k + 1 < to[2].taps ? k + 1 : 0;
        j += k == 0;
        i += j == to[1].taps;
        j = j < to[1].taps ? j : 0;
        channel += i == to[0].taps;
        i = i < to[0].taps ? i : 0;
    }
    terms->count = count;
    terms->known = made->is_dense ? -1 : start; /* which then lie elsewhere */
}

/* How a convolution is parted: into bands along an axis, of results or of images, and blocks of
 * images. */
typedef struct {
    int axis;
    ptrdiff_t count, band, images;
} parts;

/* The elements of a room of one source, and of what is computed of one channel, as numbers that do
 * not overflow. */
static void
count_elements(const image_windows *windows, int is_spread, double *room, double *aside)
{
    *room = *aside = 1;
    for (int i = 0; i < WINDOW_AXES; i++) {
        room_axis along = room_along(windows->axis + i, is_spread);
        *room *= (double)along.extent * (double)along.phases;
        *aside *= (double)along.extent;
    }
}

static parts
parts_of(const convolution *of, convolution_part part)
{
    int is_spread = part == IMAGES, axis = 0;
    const window *axes = of->windows.axis;
    while (axis < WINDOW_AXES - 1 && (is_spread ? axes[axis].size : axes[axis].number) == 1) {
        axis++;
    }
    ptrdiff_t count = is_spread ? axes[axis].size : axes[axis].number;
    double room, aside;
    count_elements(&of->windows, is_spread, &room, &aside);
    double bands = (room * (double)(is_spread ? of->rows : of->depth) +
                    aside * (double)(is_spread ? of->depth : of->rows)) / BAND_ELEMENTS;
    ptrdiff_t band = bands <= 1 ? count : (ptrdiff_t)((double)count / bands) + 1;
    ptrdiff_t least = axis == WINDOW_AXES - 1 ? 4 * MOST_LANES : 1;
    band = band < least ? least : band;
    double together = part == WEIGHTS ? WEIGHED_WINDOWS : BLOCK_WINDOWS;
    ptrdiff_t images = band < count ? 1 : (ptrdiff_t)(together / aside);
    images = images < 1 ? 1 : images < of->images ? images : of->images;
    return (parts){axis, count, band < count ? band : count, images};
}

/* The windows of a band from an element on. */
static image_windows
band_of(const image_windows *windows, const parts *by, ptrdiff_t start, int is_spread)
{
    image_windows made = *windows;
    window *axis = made.axis + by->axis;
    ptrdiff_t rest = by->count - start, count = rest < by->band ? rest : by->band;
    if (is_spread) {
        axis->padding += start;
        axis->size = count;
    }
    else {
        axis->padding -= start * axis->stride;
        axis->number = count;
    }
    return made;
}

/* The elements of the rooms of a block, and of what is computed of it. */
static double
elements_of_rooms(const convolution *of, convolution_part part, const parts *by, double *aside)
{
    double room;
    image_windows band = band_of(&of->windows, by, 0, part == IMAGES);
    count_elements(&band, part == IMAGES, &room, aside);
    double images = (double)by->images, rows = (double)(part == IMAGES ? of->depth : of->rows);
    *aside = (*aside + MOST_LANES) * images * (rows + TILE_ROWS);
    return room * images * (double)(part == IMAGES ? of->rows : of->depth) + MOST_LANES;
}

static double
elements_of_memory(const convolution *of, convolution_part part)
{
    double aside;
    parts by = parts_of(of, part);
    double rooms = elements_of_rooms(of, part, &by, &aside);
    ptrdiff_t rows = part == IMAGES ? of->depth : of->rows;
    double dense = rows > DENSE_ROWS ? DENSE_WINDOWS + MOST_LANES : 0;
    return rooms + aside + (double)MOST_TERMS * ((double)(rows + TILE_ROWS) + dense);
}

/* The places of a window that are in the image, along an axis, and where the first place is. */
typedef struct {
    ptrdiff_t first, end, start;
} places;

INLINE places
places_of(const window *axis, ptrdiff_t number)
{
    places made = {0, axis->kernel, number * axis->stride - axis->padding};
    while (made.first < axis->kernel && made.start + made.first * axis->dilation < 0) {
        made.first++;
    }
    while (made.end > made.first && made.start + (made.end - 1) * axis->dilation >= axis->size) {
        made.end--;
    }
    return made;
}

#define TEMPLATE "convolution_template.h"
#include "both_precisions.h"

const convolution_kernels JOIN(convolution, ISA) = {
    elements_of_memory, {convolve_f32, convolve_f64}, {are_finite_f32, are_finite_f64},
    {convolve_apart_f32, convolve_apart_f64}};

/* Steps of an LSTM in one precision; see recurrence.h. */
#include "real.h"

INLINE REAL
OF(sigmoid)(REAL x)
{
    return C(1.) / (C(1.) + OF(exp)(-x));
}

/* Open four gates in place, and write the next states. */
static void
OF(open_row)(
    REAL *restrict entrance, REAL *restrict kept, REAL *restrict new, REAL *restrict leave,
    REAL *restrict cell, REAL *restrict state, const REAL *restrict before, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL in = OF(sigmoid)(entrance[i]), rest = OF(sigmoid)(kept[i]);
        REAL candidate = OF(tanh)(new[i]), out = OF(sigmoid)(leave[i]);
        REAL next = rest * before[i] + in * candidate;
        entrance[i] = in;
        kept[i] = rest;
        new[i] = candidate;
        leave[i] = out;
        cell[i] = next;
        state[i] = out * OF(tanh)(next);
    }
}

static void
OF(add_to)(REAL *restrict to, const REAL *restrict from, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

static void
OF(step)(
    void *gates, void *cells, void *hidden, const void *given, const void *product,
    const void *bias, const void *other_bias, const void *cx, lstm_size size)
{
    ptrdiff_t count = size.size, width = 4 * count;
    for (ptrdiff_t row = 0; row < size.rows; row++) {
        REAL *open = (REAL *)gates + row * width;
        memcpy(open, (const REAL *)given + row * width, (size_t)width * sizeof(REAL));
        OF(add_to)(open, (const REAL *)product + row * width, width);
        if (bias != NULL) {
            OF(add_to)(open, bias, width);
        }
        if (other_bias != NULL) {
            OF(add_to)(open, other_bias, width);
        }
        OF(open_row)(
            open, open + count, open + 2 * count, open + 3 * count,
            (REAL *)cells + row * count, (REAL *)hidden + row * count,
            (const REAL *)cx + row * count, count);
    }
}

/* Write the gradients of what opened the gates of a row, of which `open` are the gates. */
static void
OF(back_row)(
    REAL *restrict made, REAL *restrict of_cell, const REAL *restrict of_hidden,
    const REAL *restrict open, const REAL *restrict cell, const REAL *restrict before,
    ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL entrance = open[i], kept = open[count + i], new = open[2 * count + i];
        REAL leave = open[3 * count + i], shown = OF(tanh)(cell[i]), of_state = of_hidden[i];
        REAL sum = of_cell[i] + of_state * (leave * (C(1.) - shown * shown));
        made[i] = sum * (entrance * (C(1.) - entrance) * new);
        made[count + i] = sum * (kept * (C(1.) - kept) * before[i]);
        made[2 * count + i] = sum * ((C(1.) - new * new) * entrance);
        made[3 * count + i] = of_state * (leave * (C(1.) - leave) * shown);
        of_cell[i] = sum * kept;
    }
}

static void
OF(back)(
    void *step, void *back, void *to_cell, const void *to_hidden, const void *to_cells,
    const void *to_gates, const void *gates, const void *cells, const void *before,
    lstm_size size)
{
    ptrdiff_t count = size.size, width = 4 * count, states = size.rows * count;
    if (to_hidden != NULL) {
        OF(add_to)(back, to_hidden, states);
    }
    if (to_cells != NULL) {
        OF(add_to)(to_cell, to_cells, states);
    }
    for (ptrdiff_t row = 0; row < size.rows; row++) {
        REAL *made = (REAL *)step + row * width;
        const REAL *open = (const REAL *)gates + row * width;
        OF(back_row)(
            made, (REAL *)to_cell + row * count, (const REAL *)back + row * count, open,
            (const REAL *)cells + row * count, (const REAL *)before + row * count, count);
        for (ptrdiff_t i = 0; to_gates != NULL && i < width; i++) {
            int is_new = i >= 2 * count && i < 3 * count;
            REAL slope = is_new ? C(1.) - open[i] * open[i] : open[i] * (C(1.) - open[i]);
            made[i] += ((const REAL *)to_gates)[row * width + i] * slope;
        }
    }
}

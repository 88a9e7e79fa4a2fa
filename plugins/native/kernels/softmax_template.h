/* Softmax in one precision; see softmax.c. Rows that are runs of memory are computed piece by
 * piece, rows that lie side by side WIDTH at a time; both add in the same order. The functions take
 * the kind as a constant, with which they are compiled.
 *
 * A softmax is of `input`; `output` is not read. A gradient is of `input`, the gradient of the
 * output, and of `output`. */
#include "real.h"

INLINE int
OF(is_forward)(kind which)
{
    return which <= LOG_SOFTMAX;
}

/* What is summed up along a row. Softmax keeps it for the result. */
INLINE REAL
OF(term)(kind which, REAL *result, REAL input, REAL output)
{
    switch (which) {
    case SOFTMAX:
    case SAFE_SOFTMAX:
        return *result = OF(exp_not_positive)(*result);
    case LOG_SOFTMAX:
        return OF(exp_not_positive)(*result);
    case SOFTMAX_BACKWARD:
        return input * output;
    default:
        return input;
    }
}

/* The number that all elements of a row are finished with, of their sum. */
INLINE REAL
OF(divisor)(kind which, REAL sum)
{
    switch (which) {
    case SOFTMAX:
    case SAFE_SOFTMAX:
        return C(1.) / sum;
    case LOG_SOFTMAX:
        return (REAL)log((double)sum);
    default:
        return sum;
    }
}

INLINE REAL
OF(finished)(kind which, REAL result, REAL input, REAL output, REAL number)
{
    switch (which) {
    case SOFTMAX:
    case SAFE_SOFTMAX:
        return result * number;
    case LOG_SOFTMAX:
        return result - number;
    case SOFTMAX_BACKWARD:
        return (input - number) * output;
    default:
        return FMA(-number, OF(exp)(output), input);
    }
}

/* ---- rows that are runs of memory ------------------------------------------------------------ */

/* The greatest element, where NaN counts as the least. */
INLINE REAL
OF(greatest)(const REAL *row, ptrdiff_t length)
{
    REAL lanes[LANES];
    for (int j = 0; j < LANES; j++) {
        lanes[j] = -INFINITY;
    }
    ptrdiff_t i = 0;
    for (; i + LANES <= length; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            lanes[j] = row[i + j] > lanes[j] ? row[i + j] : lanes[j];
        }
    }
    for (int j = 0; i < length; i++, j++) {
        lanes[j] = row[i] > lanes[j] ? row[i] : lanes[j];
    }
    REAL most = lanes[0];
    for (int j = 1; j < LANES; j++) {
        most = lanes[j] > most ? lanes[j] : most;
    }
    return most;
}

INLINE void
OF(subtract_greatest)(kind which, REAL *result, const REAL *input, ptrdiff_t length)
{
    REAL most = OF(greatest)(input, length);
    if (which == SAFE_SOFTMAX && most == -INFINITY) {
        /* A row of minus infinities has no greatest element to subtract: its powers are 0. */
        most = 0;
    }
    for (ptrdiff_t i = 0; i < length; i++) {
        result[i] = input[i] - most;
    }
}

INLINE void
OF(terms)(
    kind which, REAL *terms, REAL *result, const REAL *input, const REAL *output, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        terms[i] = OF(is_forward)(which) ? OF(term)(which, result + i, 0, 0)
                                         : OF(term)(which, result, input[i], output[i]);
    }
}

INLINE void
OF(finish)(
    kind which, REAL *result, const REAL *input, const REAL *output, ptrdiff_t length, REAL sum)
{
    if (which == SAFE_SOFTMAX && sum == 0) {
        return; /* of minus infinities: all zero already */
    }
    REAL number = OF(divisor)(which, sum);
    for (ptrdiff_t i = 0; i < length; i++) {
        result[i] = OF(is_forward)(which) ? OF(finished)(which, result[i], 0, 0, number)
                                          : OF(finished)(which, 0, input[i], output[i], number);
    }
}

INLINE void
OF(long_row)(kind which, REAL *result, const REAL *input, const REAL *output, ptrdiff_t length)
{
    REAL terms[PIECE];
    OF(pairs) pairs;
    pairs.count = 0;
    if (OF(is_forward)(which)) {
        OF(subtract_greatest)(which, result, input, length);
    }
    for (ptrdiff_t start = 0; start < length; start += PIECE) {
        ptrdiff_t count = length - start < PIECE ? length - start : PIECE;
        OF(terms)(which, terms, result + start, input + start, output + start, count);
        OF(add_blocks)(&pairs, terms, count);
    }
    OF(finish)(which, result, input, output, length, OF(sum_of_blocks)(&pairs));
}

/* As many rows as one piece holds: their terms are one loop, however short a row is. */
INLINE void
OF(short_rows)(
    kind which, REAL *result, const REAL *input, const REAL *output, ptrdiff_t rows,
    ptrdiff_t length)
{
    REAL terms[PIECE];
    if (OF(is_forward)(which)) {
        for (ptrdiff_t row = 0; row < rows; row++) {
            ptrdiff_t at = row * length;
            OF(subtract_greatest)(which, result + at, input + at, length);
        }
    }
    OF(terms)(which, terms, result, input, output, rows * length);
    for (ptrdiff_t row = 0; row < rows; row++) {
        ptrdiff_t at = row * length;
        REAL sum = OF(sum)(terms + at, length);
        OF(finish)(which, result + at, input + at, output + at, length, sum);
    }
}

/* ---- rows that lie side by side -------------------------------------------------------------- */

/* The sum of the lanes of each column, in the order of `sum_of_lanes`; the lanes become 0. */
INLINE void
OF(sums_of_lanes)(REAL *sums, REAL (*lanes)[WIDTH])
{
    for (int half = LANES / 2; half >= 4; half /= 2) {
        for (int k = 0; k < half; k++) {
            for (int j = 0; j < WIDTH; j++) {
                lanes[k][j] += lanes[k + half][j];
            }
        }
    }
    for (int j = 0; j < WIDTH; j++) {
        sums[j] = (lanes[0][j] + lanes[2][j]) + (lanes[1][j] + lanes[3][j]);
    }
    for (int k = 0; k < LANES; k++) {
        for (int j = 0; j < WIDTH; j++) {
            lanes[k][j] = 0;
        }
    }
}

/* Sums of the terms of the columns. */
INLINE void
OF(sums_of_columns)(
    kind which, REAL *sums, const REAL *greatest, REAL *result, const REAL *input,
    const REAL *output, ptrdiff_t length, ptrdiff_t inner)
{
    REAL lanes[LANES][WIDTH] = {{0}}, waiting[LEVELS][WIDTH];
    ptrdiff_t blocks = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        ptrdiff_t at = i * inner;
        REAL *lane = lanes[i % LANES];
        for (int j = 0; j < WIDTH; j++) {
            if (OF(is_forward)(which)) {
                result[at + j] = input[at + j] - greatest[j];
                lane[j] += OF(term)(which, result + at + j, 0, 0);
            }
            else {
                lane[j] += OF(term)(which, result, input[at + j], output[at + j]);
            }
        }
        if (i % BLOCK == BLOCK - 1 || i == length - 1) {
            OF(sums_of_lanes)(sums, lanes);
            int level = 0;
            for (ptrdiff_t count = blocks++; count & 1; count >>= 1, level++) {
                for (int j = 0; j < WIDTH; j++) {
                    sums[j] = waiting[level][j] + sums[j];
                }
            }
            memcpy(waiting[level], sums, sizeof waiting[level]);
        }
    }
    int is_first = 1;
    for (int level = 0; blocks >> level; level++) {
        for (int j = 0; blocks >> level & 1 && j < WIDTH; j++) {
            sums[j] = is_first ? waiting[level][j] : waiting[level][j] + sums[j];
        }
        is_first &= !(blocks >> level & 1);
    }
}

INLINE void
OF(columns)(
    kind which, REAL *result, const REAL *input, const REAL *output, ptrdiff_t length,
    ptrdiff_t inner)
{
    REAL numbers[WIDTH], sums[WIDTH];
    for (int j = 0; j < WIDTH; j++) {
        numbers[j] = -INFINITY;
    }
    if (OF(is_forward)(which)) {
        for (ptrdiff_t i = 0; i < length; i++) {
            const REAL *row = input + i * inner;
            for (int j = 0; j < WIDTH; j++) {
                numbers[j] = row[j] > numbers[j] ? row[j] : numbers[j];
            }
        }
        for (int j = 0; which == SAFE_SOFTMAX && j < WIDTH; j++) {
            numbers[j] = numbers[j] == -INFINITY ? 0 : numbers[j];
        }
    }
    OF(sums_of_columns)(which, sums, numbers, result, input, output, length, inner);
    for (int j = 0; j < WIDTH; j++) {
        numbers[j] = which == SAFE_SOFTMAX && sums[j] == 0 ? 1 : OF(divisor)(which, sums[j]);
    }
    for (ptrdiff_t i = 0; i < length; i++) {
        ptrdiff_t at = i * inner;
        for (int j = 0; j < WIDTH; j++) {
            result[at + j] =
                OF(is_forward)(which)
                    ? OF(finished)(which, result[at + j], 0, 0, numbers[j])
                    : OF(finished)(which, 0, input[at + j], output[at + j], numbers[j]);
        }
    }
}

typedef void OF(columns_function)(
    REAL *result, const REAL *input, const REAL *output, ptrdiff_t length, ptrdiff_t inner);

/* Rows `first` to `first + count` of all, at most WIDTH, which are copied side by side. */
INLINE void
OF(gathered)(
    kind which, OF(columns_function) *columns, REAL *result, const REAL *input,
    const REAL *output, ptrdiff_t length, ptrdiff_t inner, ptrdiff_t first, int count)
{
    REAL inputs[MOST_GATHERED * WIDTH], outputs[MOST_GATHERED * WIDTH];
    REAL results[MOST_GATHERED * WIDTH];
    for (int j = 0; j < WIDTH; j++) {
        ptrdiff_t row = first + (j < count ? j : 0); /* those beyond repeat the first */
        ptrdiff_t at = row / inner * length * inner + row % inner;
        for (ptrdiff_t i = 0; i < length; i++, at += inner) {
            inputs[i * WIDTH + j] = input[at];
            if (!OF(is_forward)(which)) {
                outputs[i * WIDTH + j] = output[at];
            }
        }
    }
    columns(results, inputs, outputs, length, WIDTH);
    for (int j = 0; j < count; j++) {
        ptrdiff_t row = first + j;
        ptrdiff_t at = row / inner * length * inner + row % inner;
        for (ptrdiff_t i = 0; i < length; i++, at += inner) {
            result[at] = results[i * WIDTH + j];
        }
    }
}

/* ---- the kernels ----------------------------------------------------------------------------- */

INLINE void
OF(runs)(
    kind which, REAL *result, const REAL *input, const REAL *output, ptrdiff_t outer,
    ptrdiff_t length)
{
    ptrdiff_t step = length > PIECE ? 1 : PIECE / length;
    for (ptrdiff_t row = 0; row < outer; row += step) {
        ptrdiff_t at = row * length, rows = outer - row < step ? outer - row : step;
        if (length > PIECE) {
            OF(long_row)(which, result + at, input + at, output + at, length);
        }
        else {
            OF(short_rows)(which, result + at, input + at, output + at, rows, length);
        }
    }
}

INLINE void
OF(compute)(
    kind which, OF(columns_function) *columns, REAL *result, const REAL *input,
    const REAL *output, ptrdiff_t outer, ptrdiff_t length, ptrdiff_t inner)
{
    ptrdiff_t count;
    if (inner == 1 && length > MOST_GATHERED) {
        OF(runs)(which, result, input, output, outer, length);
    }
    else if (inner < WIDTH) {
        for (ptrdiff_t row = 0; row < outer * inner; row += count) {
            count = outer * inner - row < WIDTH ? outer * inner - row : WIDTH;
            OF(gathered)(
                which, columns, result, input, output, length, inner, row, (int)count);
        }
    }
    else {
        for (ptrdiff_t row = 0; row < outer; row++) {
            for (ptrdiff_t column = 0; column < inner; column += WIDTH) {
                /* The last ones begin with some that are computed already, to the same bits. */
                ptrdiff_t start = inner - column < WIDTH ? inner - WIDTH : column;
                ptrdiff_t at = row * length * inner + start;
                columns(result + at, input + at, output + at, length, inner);
            }
        }
    }
}

#define KERNEL(name, which)                                                                       \
    static __attribute__((noinline)) void JOIN(name, OF(columns))(                                \
        REAL *result, const REAL *input, const REAL *output, ptrdiff_t length, ptrdiff_t inner)   \
    {                                                                                             \
        OF(columns)(which, result, input, output, length, inner);                                 \
    }                                                                                             \
    static void OF(name)(                                                                         \
        void *result, const void *input, const void *output, ptrdiff_t outer, ptrdiff_t length,   \
        ptrdiff_t inner)                                                                          \
    {                                                                                             \
        OF(compute)(                                                                              \
            which, JOIN(name, OF(columns)), result, input, output, outer, length, inner);         \
    }
KERNEL(softmax, SOFTMAX)
KERNEL(safe_softmax, SAFE_SOFTMAX)
KERNEL(log_softmax, LOG_SOFTMAX)
KERNEL(softmax_backward, SOFTMAX_BACKWARD)
KERNEL(log_softmax_backward, LOG_SOFTMAX_BACKWARD)
#undef KERNEL

/* ---- weights of attention -------------------------------------------------------------------- */

/* Scale and mask the scores of a query. */
INLINE void
OF(cover_row)(
    REAL *row, const char *mask, ptrdiff_t step, int is_truth, REAL factor, ptrdiff_t count)
{
    for (ptrdiff_t j = 0; j < count; j++) {
        const char *at = mask + j * step;
        REAL score = row[j] * factor;
        row[j] = !is_truth ? score + *(const REAL *)at : *at ? score : -(REAL)INFINITY;
    }
}

static void
OF(cover)(
    void *scores, const char *mask, ptrdiff_t row_step, ptrdiff_t step, int is_truth, double scale,
    ptrdiff_t rows, ptrdiff_t pitch, ptrdiff_t count)
{
    REAL *row = scores, factor = (REAL)scale;
    for (ptrdiff_t i = 0; i < rows; i++, row += pitch, mask += row_step) {
        if (is_truth && step == 1) {
            OF(cover_row)(row, mask, 1, 1, factor, count);
        }
        else if (!is_truth && step == sizeof(REAL)) {
            OF(cover_row)(row, mask, sizeof(REAL), 0, factor, count);
        }
        else {
            OF(cover_row)(row, mask, step, is_truth, factor, count);
        }
    }
}

static void
OF(weigh)(
    void *scores, void *logarithms, double scale, ptrdiff_t rows, ptrdiff_t pitch,
    ptrdiff_t length, ptrdiff_t more, ptrdiff_t most)
{
    REAL *row = scores, *logarithm = logarithms, factor = (REAL)scale;
    for (ptrdiff_t i = 0; i < rows; i++, row += pitch, length += more) {
        ptrdiff_t count = length < most ? length : most;
        for (ptrdiff_t j = 0; j < pitch; j++) {
            row[j] = (UINT)j < (UINT)count ? row[j] * factor : -(REAL)INFINITY;
        }
        REAL greatest = OF(greatest)(row, pitch);
        greatest = greatest == -INFINITY ? 0 : greatest;
        OF(pairs) pairs;
        pairs.count = 0;
        for (ptrdiff_t start = 0; start < pitch; start += PIECE) {
            ptrdiff_t stop = pitch - start < PIECE ? pitch : start + PIECE;
            for (ptrdiff_t j = start; j < stop; j++) {
                row[j] = OF(exp_not_positive)(row[j] - greatest);
            }
            OF(add_blocks)(&pairs, row + start, stop - start);
        }
        REAL sum = OF(sum_of_blocks)(&pairs);
        REAL inverse = sum == 0 ? 0 : 1 / sum;
        for (ptrdiff_t j = 0; j < pitch; j++) {
            row[j] *= inverse;
        }
        logarithm[i] = sum == 0 ? 0 : (REAL)log((double)sum) + greatest;
    }
}

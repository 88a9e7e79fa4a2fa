/* Softmax and its logarithm along the middle axis of dense arrays of the shape (outer, length,
 * inner), with their gradients. */
#ifndef DOVETAIL_SOFTMAX_H
#define DOVETAIL_SOFTMAX_H

#include "instruction_set.h"

typedef enum {
    SOFTMAX,
    SAFE_SOFTMAX,
    LOG_SOFTMAX,
    SOFTMAX_BACKWARD,
    LOG_SOFTMAX_BACKWARD,
} softmax_kind;

enum {
    SOFTMAX_WIDTH = 16, /* rows that lie side by side and are computed together */
    SOFTMAX_MOST_GATHERED = 48, /* elements of a row up to which copying rows side by side pays */
};

/* Writes into `result`, which overlaps nothing that is read. A softmax is of `input` alone; a
 * gradient is of the gradient of the output, `input`, and of `output`. No extent is 0. Where more
 * than SOFTMAX_MOST_GATHERED elements make a row, `inner` is 1 or at least SOFTMAX_WIDTH. */
typedef void softmax_kernel(
    void *result, const void *input, const void *output, ptrdiff_t outer, ptrdiff_t length,
    ptrdiff_t inner);

/* Writes the weights of attention over scores, which are scaled first, for rows that begin `pitch`
 * elements apart. The first row has `length` scores, each next one `more` more, up to `most`; what
 * follows them up to `pitch` becomes 0. The logarithms are those of the sums of powers: 0 for a row
 * of minus infinities, whose weights are 0. */
typedef void weighing_kernel(
    void *scores, void *logarithms, double scale, ptrdiff_t rows, ptrdiff_t pitch,
    ptrdiff_t length, ptrdiff_t more, ptrdiff_t most);

/* Scales the scores of `count` keys in each row, and adds those of a mask, or writes minus infinity
 * where it has a truth value that is false. Steps of the mask are in bytes. */
typedef void covering_kernel(
    void *scores, const char *mask, ptrdiff_t row_step, ptrdiff_t step, int is_truth, double scale,
    ptrdiff_t rows, ptrdiff_t pitch, ptrdiff_t count);

/* By precision, of which the first is single, and kind. */
typedef struct {
    softmax_kernel *of[2][LOG_SOFTMAX_BACKWARD + 1];
    weighing_kernel *weigh[2];
    covering_kernel *cover[2];
} softmax_kernels;

#endif

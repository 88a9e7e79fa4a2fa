/* The pointwise part of one step of an LSTM, and of its gradient. */
#ifndef DOVETAIL_RECURRENCE_H
#define DOVETAIL_RECURRENCE_H

#include "instruction_set.h"

/* Rows of four gates for each of `size` numbers: entrance, kept, new, exit. All arrays are in C
 * order and overlap only where said. */
typedef struct {
    ptrdiff_t rows, size;
} lstm_size;

typedef struct {
    /* Open the gates that are a sum of rows and biases, which may be NULL: write them, and the next
     * cell and hidden states. */
    void (*step)(
        void *gates, void *cells, void *hidden, const void *given, const void *product,
        const void *bias, const void *other_bias, const void *cx, lstm_size size);
    /* Write the gradients of what opened the gates from those of the hidden states, `back`, and of
     * the cell states, `to_cell`, which becomes that of the states before. Gradients of the results
     * of this step, which may be NULL, are added. */
    void (*back)(
        void *step, void *back, void *to_cell, const void *to_hidden, const void *to_cells,
        const void *to_gates, const void *gates, const void *cells, const void *before,
        lstm_size size);
} recurrence_kernels_of;

/* By precision, of which the first is single. */
typedef struct {
    recurrence_kernels_of of[2];
} recurrence_kernels;

#endif

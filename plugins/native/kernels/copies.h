/* Copies of memory in another order of axes. */
#ifndef DOVETAIL_COPIES_H
#define DOVETAIL_COPIES_H

#include "instruction_set.h"

/* Write a matrix of `rows` and `columns`, whose columns lie side by side in memory with `step`
 * elements between the first ones of two, in rows that begin `pitch` elements apart. The memories
 * do not overlap. */
typedef void transposition(
    void *result, const void *matrix, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t step,
    ptrdiff_t pitch);

/* By size of elements: 4 and 8 bytes. */
typedef struct {
    transposition *transpose[2];
} copy_kernels;

#endif

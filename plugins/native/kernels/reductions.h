/* Reductions over any axes of strided memory. */
#ifndef DOVETAIL_REDUCTIONS_H
#define DOVETAIL_REDUCTIONS_H

#include "instruction_set.h"

typedef enum {
    REDUCTION_SUM,
    REDUCTION_NAN_SUM,
    REDUCTION_MEAN,
    REDUCTION_PRODUCT,
    REDUCTION_GREATEST,
    REDUCTION_LEAST,
    REDUCTION_VARIANCE,
    REDUCTION_NORM,
    REDUCTION_SUM_OF_SIZES,
    REDUCTION_GREATEST_SIZE,
    REDUCTION_LOG_SUM_EXP,
} reduction_kind;

enum { MOST_REDUCED_AXES = 32 };

/* Steps are in elements. */
typedef struct {
    ptrdiff_t size, step;
    ptrdiff_t step_of_result;
} reduction_axis;

/* `row` is the last of the axes that are reduced, and `reduced` the others in their order; `kept`
 * are all the others. No size is 0. Elements are combined in this order, rows in blocks. */
typedef struct {
    reduction_axis kept[MOST_REDUCED_AXES], reduced[MOST_REDUCED_AXES], row;
    int kept_count, reduced_count;
    ptrdiff_t elements; /* that are combined into one */
} reduction;

/* `number` is what the squares of a variance are divided by. The result overlaps nothing that is
 * read. */
typedef void reduction_kernel(
    reduction_kind kind, void *result, const void *array, const reduction *axes, double number);

/* By precision, of which the first is single. */
typedef struct {
    reduction_kernel *of[2];
} reduction_kernels;

#endif

/* Steps of optimizers, element by element: every operation is rounded as an array of its own would
 * be, so that the bits are those of the rules in Python. */
#ifndef DOVETAIL_OPTIMIZERS_H
#define DOVETAIL_OPTIMIZERS_H

#include "instruction_set.h"

/* Numbers of a step, by the names of the rule. */
typedef struct {
    double rate, epsilon, beta1, beta2, decay, shrink, sign;
} adam_numbers;

typedef struct {
    double rate, momentum, undamped, decay, nesterov, sign;
} sgd_numbers;

typedef void adam_kernel(
    void *value, const void *gradient, void *mean, void *square, adam_numbers numbers,
    ptrdiff_t count);

/* `buffer` is NULL without momentum. */
typedef void sgd_kernel(
    void *value, const void *gradient, void *buffer, sgd_numbers numbers, ptrdiff_t count);

/* By precision, of which the first is single. */
typedef struct {
    adam_kernel *adam[2];
    sgd_kernel *sgd[2];
} optimizer_kernels;

#endif

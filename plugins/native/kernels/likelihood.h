/* The negative log likelihood of classes, with its gradient. */
#ifndef DOVETAIL_LIKELIHOOD_H
#define DOVETAIL_LIKELIHOOD_H

#include "instruction_set.h"

/* The classes of samples. `weight` has one number for each class, or is NULL. */
typedef struct {
    const int64_t *targets;
    const void *weight;
    int64_t ignored;
    ptrdiff_t samples, classes;
} target_classes;

/* Writes the loss of each sample into `losses`, or, for NULL, their sum into `total` and that of
 * the weights into `total_weight`. Strides are in bytes; elements may be unaligned. Returns whether
 * every target is a class or ignored: nothing is read beside the input. */
typedef int likelihood_kernel(
    void *losses, void *total, void *total_weight, const char *input, ptrdiff_t sample_stride,
    ptrdiff_t class_stride, target_classes target);

/* Writes the gradients at the target classes into zeros. `grads` is one for each
 * sample, or one for all, divided by `total_weight` if that is not NULL. Returns as above. */
typedef int likelihood_backward_kernel(
    void *to_input, const void *grads, int is_one, const void *total_weight,
    target_classes target);

/* By precision, of which the first is single. */
typedef struct {
    likelihood_kernel *forward[2];
    likelihood_backward_kernel *backward[2];
} likelihood_kernels;

#endif

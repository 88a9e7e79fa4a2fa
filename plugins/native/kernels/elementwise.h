/* Functions of every element: activations with their gradients, bounds, error functions. */
#ifndef DOVETAIL_ELEMENTWISE_H
#define DOVETAIL_ELEMENTWISE_H

#include "instruction_set.h"

/* Each of one array, or of a gradient and an array. */
#define ELEMENTWISE_FUNCTIONS(of_one, of_two)                                                     \
    of_one(celu) of_one(clamp) of_one(elu) of_one(erf) of_one(erfc) of_one(expm1) of_one(gelu)    \
    of_one(gelu_tanh) of_one(hardshrink) of_one(hardsigmoid) of_one(hardswish)                    \
    of_one(leaky_relu) of_one(log1p) of_one(mish) of_one(relu) of_one(rsqrt) of_one(sigmoid)      \
    of_one(sign) of_one(silu) of_one(softplus) of_one(softshrink) of_one(threshold)               \
    of_two(elu_backward) of_two(elu_backward_of_result) of_two(gelu_backward)                     \
    of_two(gelu_tanh_backward) of_two(hardsigmoid_backward) of_two(hardswish_backward)            \
    of_two(hardtanh_backward) of_two(leaky_relu_backward) of_two(log_sigmoid_backward)            \
    of_two(mish_backward) of_two(shrink_backward) of_two(sigmoid_backward)                        \
    of_two(silu_backward) of_two(softplus_backward) of_two(tanh_backward)                         \
    of_two(threshold_backward)

typedef enum {
#define NAME(function) ELEMENTWISE_##function,
    ELEMENTWISE_FUNCTIONS(NAME, NAME)
#undef NAME
    ELEMENTWISE_COUNT,
} elementwise_function;

/* Writes `count` elements into `result`, which overlaps nothing that is read. `second` is not read
 * by functions of one array, `numbers` not by functions without parameters. */
typedef void elementwise_kernel(
    void *result, const void *first, const void *second, const double *numbers, ptrdiff_t count);

/* By precision, of which the first is single, and function. */
typedef struct {
    elementwise_kernel *of[2][ELEMENTWISE_COUNT];
} elementwise_kernels;

#define DECLARE(set) extern const elementwise_kernels JOIN(elementwise, set);
FOR_INSTRUCTION_SETS(DECLARE)
#undef DECLARE

#endif

/* Functions of every element: activations with their gradients, bounds, error functions, sums with
 * scaled addends, products and quotients, what divisions leave, ways from one number to another. */
#ifndef DOVETAIL_ELEMENTWISE_H
#define DOVETAIL_ELEMENTWISE_H

#include "instruction_set.h"

/* Those with a gradient have it before the array. */
#define ELEMENTWISE_FUNCTIONS(do)                                                                 \
    do(celu) do(clamp) do(elu) do(erf) do(erfc) do(expm1) do(gelu) do(gelu_tanh) do(hardshrink)   \
    do(hardsigmoid) do(hardswish) do(leaky_relu) do(log1p) do(mish) do(relu) do(rsqrt)            \
    do(sigmoid) do(sign) do(silu) do(softplus) do(softshrink) do(threshold) do(elu_backward)      \
    do(elu_backward_of_result) do(gelu_backward) do(gelu_tanh_backward) do(hardsigmoid_backward)  \
    do(hardswish_backward) do(hardtanh_backward) do(leaky_relu_backward)                          \
    do(log_sigmoid_backward) do(mish_backward) do(shrink_backward) do(sigmoid_backward)           \
    do(silu_backward) do(softplus_backward) do(tanh_backward) do(threshold_backward)              \
    do(product_sum) do(quotient_sum) do(scaled_sum) do(step_from_end) do(step_from_start)         \
    do(fmod) do(huber_terms) do(remainder) do(square) do(cube) do(subtract_from)                  \
    do(squared_difference)

typedef enum {
#define NAME(function) ELEMENTWISE_##function,
    ELEMENTWISE_FUNCTIONS(NAME)
#undef NAME
    ELEMENTWISE_COUNT,
} elementwise_function;

/* Writes `count` elements into the last array of `data`, which comes after the inputs. It may be one
 * of them, but for what divisions leave, and overlaps no other. `numbers` are the parameters. */
typedef void elementwise_kernel(char *const *data, const double *numbers, ptrdiff_t count);

/* By precision, of which the first is single, and function. */
typedef struct {
    elementwise_kernel *of[2][ELEMENTWISE_COUNT];
} elementwise_kernels;

#endif

/* Functions of every element: activations with their gradients, bounds, error functions, sums with
 * scaled addends, products and quotients, what divisions leave, ways from one number to another. */
#ifndef DOVETAIL_ELEMENTWISE_H
#define DOVETAIL_ELEMENTWISE_H

#include "instruction_set.h"

/* Those with a gradient have it before the array. */
#define ELEMENTWISE_FUNCTIONS(do)                                                                 \
    do(absolute_value) do(at_least) do(at_most) do(binary_entropy) do(celu) do(clamp)             \
    do(clamp_between) do(copysign) do(cos) do(cube) do(elu) do(elu_backward)                      \
    do(elu_backward_of_result) do(erf) do(erfc) do(erfinv) do(expm1) do(floor_divide) do(fmod)    \
    do(frac) do(gelu) do(gelu_backward) do(gelu_tanh) do(gelu_tanh_backward) do(hardshrink)       \
    do(hardsigmoid) do(hardsigmoid_backward) do(hardswish) do(hardswish_backward)                 \
    do(hardtanh_backward) do(heaviside) do(huber_terms) do(hypot) do(leaky_relu)                  \
    do(leaky_relu_backward) do(lerp) do(lgamma) do(log1p) do(log_sigmoid)                         \
    do(log_sigmoid_backward) do(logaddexp) do(logaddexp2) do(logit) do(mish) do(mish_backward)    \
    do(nan_to_num) do(nextafter) do(power_of_size) do(prelu) do(prelu_backward)                   \
    do(prelu_backward_of_weight) do(product) do(product_sum) do(quotient) do(quotient_sum)        \
    do(reciprocal) do(angle) do(reciprocal_of_square) do(relu) do(remainder) do(round) do(rsqrt)  \
    do(scaled_sum) do(shrink_backward) do(sigmoid) do(sigmoid_backward) do(sign)                  \
    do(signed_power) do(silu) do(silu_backward) do(sin) do(sinc) do(softplus)                     \
    do(softplus_backward) do(softshrink) do(spherical_bessel_j0) do(sqrt) do(square)              \
    do(squared_difference) do(step_from_end) do(step_from_start) do(subtract_from)                \
    do(tanh_backward) do(threshold) do(threshold_backward) do(trigamma) do(trunc)                 \
    do(truncated_quotient) do(xlog1py) do(xlogy)

typedef enum {
#define NAME(function) ELEMENTWISE_##function,
    ELEMENTWISE_FUNCTIONS(NAME)
#undef NAME
    ELEMENTWISE_COUNT,
} elementwise_function;

/* Writes `count` elements into the last array of `data`, which comes after the inputs. It may be one
 * of them, and overlaps no other. `numbers` are the parameters. */
typedef void elementwise_kernel(char *const *data, const double *numbers, ptrdiff_t count);

/* By precision, of which the first is single, and function; NULL for none. */
typedef struct {
    elementwise_kernel *of[2][ELEMENTWISE_COUNT];
} elementwise_kernels;

#endif

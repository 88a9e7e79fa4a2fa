/* Layer, batch and group normalization of dense arrays, with their gradients. */
#ifndef DOVETAIL_NORMALIZATION_H
#define DOVETAIL_NORMALIZATION_H

#include "instruction_set.h"

/* Bytes of workspace for each of `columns` numbers, which is the length of a row of layer
 * normalization, else channels times pixels. */
enum { NORMALIZATION_WORKSPACE = 8 * sizeof(double) };

/* Images of the shape (samples, channels, pixels). */
typedef struct {
    ptrdiff_t samples, channels, pixels;
} image_shape;

/* Arrays that may be absent are NULL: weight, bias, and gradients that nobody asks for. No extent
 * is 0. Results overlap nothing that is read. */
typedef void layer_norm_kernel(
    void *result, void *mean, void *rstd, const void *input, const void *weight, const void *bias,
    double eps, ptrdiff_t rows, ptrdiff_t length);

typedef void layer_norm_backward_kernel(
    void *to_input, void *to_weight, void *to_bias, const void *grad, const void *input,
    const void *mean, const void *rstd, const void *weight, ptrdiff_t rows, ptrdiff_t length,
    void *workspace);

/* The running statistics are read from `running` and written to `moved`, mean first. In training
 * mean and rstd of the batch are written, else not looked at. */
typedef void batch_norm_kernel(
    void *result, void *mean, void *rstd, void *const moved[2], const void *input,
    const void *weight, const void *bias, const void *const running[2], int training,
    double momentum, double eps, image_shape shape, void *workspace);

/* `mean` is that of the batch or the running one. Where `training` is 0, `rstd` is the running
 * variance. */
typedef void batch_norm_backward_kernel(
    void *to_input, void *to_weight, void *to_bias, const void *grad, const void *input,
    const void *mean, const void *rstd, const void *weight, int training, double eps,
    image_shape shape, void *workspace);

typedef void group_norm_kernel(
    void *result, void *mean, void *rstd, const void *input, const void *weight, const void *bias,
    double eps, image_shape shape, ptrdiff_t groups);

typedef void group_norm_backward_kernel(
    void *to_input, void *to_weight, void *to_bias, const void *grad, const void *input,
    const void *mean, const void *rstd, const void *weight, image_shape shape, ptrdiff_t groups,
    void *workspace);

/* By precision, of which the first is single. */
typedef struct {
    layer_norm_kernel *layer_norm[2];
    layer_norm_backward_kernel *layer_norm_backward[2];
    batch_norm_kernel *batch_norm[2];
    batch_norm_backward_kernel *batch_norm_backward[2];
    group_norm_kernel *group_norm[2];
    group_norm_backward_kernel *group_norm_backward[2];
} normalization_kernels;

#endif

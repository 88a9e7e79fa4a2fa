/* Images and volumes sampled at the points of a grid, with the gradients. */
#include "grid_sampling.h"

#include "elementary.h"

#include <string.h>

enum {
    BLOCK = 64,     /* points whose taps are found together, and serve all channels */
    MOST_TAPS = 16, /* of a point */
    MOST_ALONG = 4, /* of a point along one axis */
};
#define CUBIC C(-0.75) /* slope parameter of the cubic convolution (R. Keys, 1981), PyTorch's */

/* How many elements a point takes along an axis. */
INLINE int
taps_along(grid_mode mode)
{
    return mode == GRID_NEAREST ? 1 : mode == GRID_LINEAR ? 2 : 4;
}

INLINE ptrdiff_t
elements_of(const grid_sampling *how)
{
    return how->sizes[0] * how->sizes[1] * (how->ndim == 3 ? how->sizes[2] : 1);
}

#define TEMPLATE "grid_sampling_template.h"
#include "both_precisions.h"

const grid_sampling_kernels JOIN(grid_sampling, ISA) = {
    {{values_f32, gradients_f32}, {values_f64, gradients_f64}}};

/* Softmax, safe softmax, log-softmax and their gradients. */
#include "softmax.h"

#include "elementary.h"
#include "sums.h"

#include <math.h>

typedef softmax_kind kind;

enum { PIECE = 4096 }; /* elements that stay in the first cache from one pass to the next */

#define WIDTH SOFTMAX_WIDTH
#define MOST_GATHERED SOFTMAX_MOST_GATHERED

#define TEMPLATE "softmax_template.h"
#include "both_precisions.h"

#define KERNELS_OF(type)                                                                          \
    {JOIN(softmax, type), JOIN(safe_softmax, type), JOIN(log_softmax, type),                      \
     JOIN(softmax_backward, type), JOIN(log_softmax_backward, type)}

const softmax_kernels JOIN(softmax, ISA) = {
    {KERNELS_OF(f32), KERNELS_OF(f64)},
    {JOIN(weigh, f32), JOIN(weigh, f64)},
    {JOIN(cover, f32), JOIN(cover, f64)}};

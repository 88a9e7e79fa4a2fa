/* Layer, batch and group normalization, with their gradients. */
#include "normalization.h"

#include "sums.h"

#include <math.h>
#include <string.h>

/* What is summed up of each element: a first and a second term. */
typedef enum {
    OF_INPUT,           /* x; nothing */
    OF_DEVIATIONS,      /* x - center and its square */
    OF_GRADIENT,        /* grad and grad * (x - center) */
    OF_WEIGHTED,        /* the same of grad * weight */
} terms;

enum {
    ROWS_ADDED = 64,   /* rows that are added in the precision of the kernel before doubles */
    FEW_PIXELS = 16,   /* below, the pixels of all channels of a sample are one row */
};

#define TEMPLATE "normalization_template.h"
#include "both_precisions.h"

#define BOTH(name) {JOIN(name, f32), JOIN(name, f64)}

const normalization_kernels JOIN(normalization, ISA) = {
    BOTH(layer_norm), BOTH(layer_norm_backward), BOTH(batch_norm), BOTH(batch_norm_backward),
    BOTH(group_norm), BOTH(group_norm_backward),
};

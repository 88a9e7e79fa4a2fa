/* Steps of optimizers. */
#include "optimizers.h"

#include <math.h>

#define REAL_BITS 32
#include "optimizers_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "optimizers_template.h"
#undef REAL_BITS

const optimizer_kernels JOIN(optimizers, ISA) = {
    {adam_f32, adam_f64},
    {sgd_f32, sgd_f64},
};

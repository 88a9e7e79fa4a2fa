/* Steps of optimizers. */
#include "optimizers.h"

#include <math.h>

#define TEMPLATE "optimizers_template.h"
#include "both_precisions.h"

const optimizer_kernels JOIN(optimizers, ISA) = {
    {adam_f32, adam_f64},
    {sgd_f32, sgd_f64},
};

/* The negative log likelihood of classes, with its gradient. */
#include "likelihood.h"

#include "sums.h"

#include <string.h>

INLINE int
is_class(int64_t target, ptrdiff_t classes)
{
    return (uint64_t)target < (uint64_t)classes; /* a negative one is beyond the last, too */
}

#define TEMPLATE "likelihood_template.h"
#include "both_precisions.h"

const likelihood_kernels JOIN(likelihood, ISA) = {
    {forward_f32, forward_f64},
    {backward_f32, backward_f64},
};

/* The negative log likelihood of classes, with its gradient. */
#include "likelihood.h"

#include "sums.h"

#include <string.h>

INLINE int
is_class(int64_t target, ptrdiff_t classes)
{
    return (uint64_t)target < (uint64_t)classes; /* a negative one is beyond the last, too */
}

#define REAL_BITS 32
#include "likelihood_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "likelihood_template.h"
#undef REAL_BITS

const likelihood_kernels JOIN(likelihood, ISA) = {
    {forward_f32, forward_f64},
    {backward_f32, backward_f64},
};

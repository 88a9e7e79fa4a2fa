/* Functions of every element; see elementwise.h. */
#include "elementwise.h"

#include "elementary.h"

#include <math.h>

enum { LINE = 64 }; /* elements whose divisions are looked at together */

#define REAL_BITS 32
#include "elementwise_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "elementwise_template.h"
#undef REAL_BITS

const elementwise_kernels JOIN(elementwise, ISA) = {{
#define NAME(function) function##_f32,
    {ELEMENTWISE_FUNCTIONS(NAME)},
#undef NAME
#define NAME(function) function##_f64,
    {ELEMENTWISE_FUNCTIONS(NAME)},
#undef NAME
}};

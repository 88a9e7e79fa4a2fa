/* Functions of every element; see elementwise.h. */
#include "elementwise.h"

#include "elementary.h"

#include <math.h>

enum { LINE = 64 }; /* elements that are looked at together */
enum { TRUNCATED, FLOORED, QUOTIENT }; /* what is wanted of a division */

#define TEMPLATE "elementwise_template.h"
#include "both_precisions.h"

const elementwise_kernels JOIN(elementwise, ISA) = {{
#define NAME(function) function##_f32,
    {ELEMENTWISE_FUNCTIONS(NAME)},
#undef NAME
#define NAME(function) function##_f64,
    {ELEMENTWISE_FUNCTIONS(NAME)},
#undef NAME
}};

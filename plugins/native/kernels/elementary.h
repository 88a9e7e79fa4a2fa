/* Elementary functions of one number, without branches, for loops that the compiler turns into
 * vectors. */
#ifndef DOVETAIL_ELEMENTARY_H
#define DOVETAIL_ELEMENTARY_H

#include "instruction_set.h"
#include "polynomials.h"

#include <math.h>
#include <string.h>

#define REAL_BITS 32
#include "elementary_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "elementary_template.h"
#undef REAL_BITS

#endif

/* Elementary functions of one number, without branches, for loops that the compiler turns into
 * vectors. */
#ifndef DOVETAIL_ELEMENTARY_H
#define DOVETAIL_ELEMENTARY_H

#include "instruction_set.h"
#include "polynomials.h"

#include <math.h>
#include <string.h>

#define TEMPLATE "elementary_template.h"
#include "both_precisions.h"

#endif

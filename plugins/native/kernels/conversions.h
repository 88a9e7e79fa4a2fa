/* Rows of numbers of half precision in single precision, and back. */
#ifndef DOVETAIL_CONVERSIONS_H
#define DOVETAIL_CONVERSIONS_H

#include "instruction_set.h"

typedef void widening_kernel(float *result, const uint16_t *halves, ptrdiff_t count);
typedef void narrowing_kernel(uint16_t *result, const float *numbers, ptrdiff_t count);

/* By half precision: float16 and bfloat16. */
typedef struct {
    widening_kernel *widen[2];
    narrowing_kernel *narrow[2]; /* rounded once, to even */
} conversion_kernels;

#endif

/* Rows of numbers of half precision in single precision, and back. */
#include "conversions.h"

#include "halves.h"

#define ROWS(name)                                                                                \
    static void widened_##name(float *result, const uint16_t *halves, ptrdiff_t count)            \
    {                                                                                             \
        widen_row_##name(result, halves, count);                                                  \
    }                                                                                             \
                                                                                                  \
    static void narrowed_##name(uint16_t *result, const float *numbers, ptrdiff_t count)          \
    {                                                                                             \
        narrow_row_##name(result, numbers, count);                                                \
    }
ROWS(float16)
ROWS(bfloat16)

const conversion_kernels JOIN(conversions, ISA) = {
    {widened_float16, widened_bfloat16},
    {narrowed_float16, narrowed_bfloat16},
};

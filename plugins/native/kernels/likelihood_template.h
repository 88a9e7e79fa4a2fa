/* The negative log likelihood in one precision; see likelihood.h. */
#include "real.h"

static int
OF(forward)(
    void *losses, void *total, void *total_weight, const char *input, ptrdiff_t sample_stride,
    ptrdiff_t class_stride, target_classes target)
{
    const REAL *weight = target.weight;
    REAL terms[BLOCK], weights[BLOCK];
    OF(pairs) sum, sum_of_weights;
    sum.count = sum_of_weights.count = 0;
    for (ptrdiff_t start = 0; start < target.samples; start += BLOCK) {
        ptrdiff_t count = target.samples - start < BLOCK ? target.samples - start : BLOCK;
        for (ptrdiff_t j = 0; j < count; j++) {
            int64_t at = target.targets[start + j];
            if (at == target.ignored) {
                terms[j] = weights[j] = 0;
                continue;
            }
            if (!is_class(at, target.classes)) {
                return 0;
            }
            REAL number;
            memcpy(
                &number, input + (start + j) * sample_stride + at * class_stride, sizeof number);
            weights[j] = weight == NULL ? 1 : weight[at];
            terms[j] = -number * weights[j];
        }
        if (losses != NULL) {
            memcpy((REAL *)losses + start, terms, (size_t)count * sizeof(REAL));
            continue;
        }
        OF(add_blocks)(&sum, terms, count);
        OF(add_blocks)(&sum_of_weights, weights, count);
    }
    if (losses == NULL) {
        *(REAL *)total = OF(sum_of_blocks)(&sum) + 0; /* no negative zero */
        *(REAL *)total_weight = OF(sum_of_blocks)(&sum_of_weights);
    }
    return 1;
}

static int
OF(backward)(
    void *to_input, const void *grads, int is_one, const void *total_weight, target_classes target)
{
    const REAL *weight = target.weight, *slopes = grads;
    REAL *to = to_input;
    for (ptrdiff_t i = 0; i < target.samples; i++, to += target.classes) {
        int64_t at = target.targets[i];
        if (at == target.ignored) {
            continue;
        }
        if (!is_class(at, target.classes)) {
            return 0;
        }
        REAL slope = -slopes[is_one ? 0 : i];
        slope = total_weight == NULL ? slope : slope / *(const REAL *)total_weight;
        to[at] = weight == NULL ? slope : slope * weight[at];
    }
    return 1;
}

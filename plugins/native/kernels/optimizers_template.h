/* Steps of optimizers in one precision; see optimizers.h. Each line of a rule is an operator of
 * dovetail.optim: adam.py, sgd.py. */
#include "real.h"

#undef SQRT
#if REAL_BITS == 32
#define SQRT sqrtf
#else
#define SQRT sqrt
#endif

static void
OF(adam)(
    void *value, const void *gradient, void *mean, void *square, adam_numbers numbers,
    ptrdiff_t count)
{
    REAL *restrict p = value, *restrict m = mean, *restrict v = square;
    const REAL *restrict grads = gradient;
    const double weight = 1 - numbers.beta1;
    const REAL share = (REAL)weight, far_share = (REAL)(weight - 1);
    const REAL beta2 = (REAL)numbers.beta2, rest = (REAL)(1 - numbers.beta2);
    const REAL decay = (REAL)numbers.decay, shrink = (REAL)numbers.shrink;
    const REAL epsilon = (REAL)numbers.epsilon, rate = (REAL)-numbers.rate;
    const REAL sign = (REAL)numbers.sign;
    const int decays = numbers.decay != 0, is_near = weight < 0.5;
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL grad = sign * grads[i], own = p[i] * shrink;
        grad = decays ? grad + own * decay : grad;
        REAL step = grad - m[i];
        m[i] = is_near ? m[i] + step * share : grad + step * far_share;
        REAL squared = grad * grad;
        v[i] = v[i] * beta2 + squared * rest;
        REAL quotient = m[i] / (SQRT(v[i]) + epsilon);
        p[i] = own + quotient * rate;
    }
}

static void
OF(sgd)(void *value, const void *gradient, void *buffer, sgd_numbers numbers, ptrdiff_t count)
{
    REAL *restrict p = value, *restrict b = buffer;
    const REAL *restrict grads = gradient;
    const REAL momentum = (REAL)numbers.momentum, undamped = (REAL)numbers.undamped;
    const REAL decay = (REAL)numbers.decay, rate = (REAL)-numbers.rate;
    const REAL sign = (REAL)numbers.sign;
    const int decays = numbers.decay != 0, is_nesterov = numbers.nesterov != 0;
    if (b == NULL) {
        for (ptrdiff_t i = 0; i < count; i++) {
            REAL grad = sign * grads[i];
            grad = decays ? grad + p[i] * decay : grad;
            p[i] = p[i] + grad * rate;
        }
        return;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL grad = sign * grads[i];
        grad = decays ? grad + p[i] * decay : grad;
        b[i] = b[i] * momentum + grad * undamped;
        grad = is_nesterov ? grad + b[i] * momentum : b[i];
        p[i] = p[i] + grad * rate;
    }
}

/* Normalization in one precision; see normalization.c. */
#include "normalization_sums.h"

/* ---- elements -------------------------------------------------------------------------------- */

/* (x - mean) * rstd * weight + bias */
INLINE void
OF(normalize)(
    REAL *restrict result, const REAL *input, const REAL *weight, const REAL *bias, REAL mean,
    REAL rstd, ptrdiff_t length, int has_weight, int has_bias)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        REAL even = (input[i] - mean) * rstd;
        even = has_weight ? even * weight[i] : even;
        result[i] = has_bias ? even + bias[i] : even;
    }
}

static __attribute__((noinline)) void
OF(normalize_row)(
    REAL *result, const REAL *input, const REAL *weight, const REAL *bias, REAL mean, REAL rstd,
    ptrdiff_t length)
{
    if (weight != NULL && bias != NULL) {
        OF(normalize)(result, input, weight, bias, mean, rstd, length, 1, 1);
    }
    else if (weight != NULL) {
        OF(normalize)(result, input, weight, bias, mean, rstd, length, 1, 0);
    }
    else {
        OF(normalize)(result, input, weight, bias, mean, rstd, length, 0, bias != NULL);
    }
}

/* (x - center) * scale + shift */
INLINE void
OF(stretch)(
    REAL *restrict result, const REAL *input, REAL center, REAL scale, REAL shift, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        result[i] = FMA(input[i] - center, scale, shift);
    }
}

/* The same with numbers for each column. */
INLINE void
OF(stretch_columns)(
    REAL *restrict result, const REAL *input, const REAL *centers, const REAL *scales,
    const REAL *shifts, ptrdiff_t rows, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < rows; i++, input += length, result += length) {
        for (ptrdiff_t j = 0; j < length; j++) {
            result[j] = FMA(input[j] - centers[j], scales[j], shifts[j]);
        }
    }
}

/* grad * scale + (x - center) * bend + shift */
INLINE void
OF(bend)(
    REAL *restrict result, const REAL *grad, const REAL *input, REAL scale, REAL center, REAL bend,
    REAL shift, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        result[i] = FMA(grad[i], scale, FMA(input[i] - center, bend, shift));
    }
}

/* The same with numbers for each column; grad * scale alone if not `is_bent`. */
INLINE void
OF(bend_columns)(
    REAL *restrict result, const REAL *grad, const REAL *input, const REAL *centers,
    const REAL *scales, const REAL *bends, const REAL *shifts, ptrdiff_t rows, ptrdiff_t length,
    int is_bent)
{
    for (ptrdiff_t i = 0; i < rows; i++, grad += length, input += length, result += length) {
        for (ptrdiff_t j = 0; j < length; j++) {
            REAL rest = is_bent ? FMA(input[j] - centers[j], bends[j], shifts[j]) : 0;
            result[j] = is_bent ? FMA(grad[j], scales[j], rest) : grad[j] * scales[j];
        }
    }
}

/* ---- layer normalization --------------------------------------------------------------------- */

/* Mean and reciprocal deviation of a run of memory. */
INLINE void
OF(statistics)(REAL *mean, REAL *rstd, const REAL *row, ptrdiff_t length, double eps)
{
    OF(two_sums) sums;
    OF(clear)(&sums);
    OF(add_input)(&sums, NULL, row, NULL, 0, length);
    *mean = OF(sum_of_blocks)(&sums.first) / (REAL)length;
    OF(clear)(&sums);
    OF(add_deviations)(&sums, NULL, row, NULL, *mean, length);
    REAL deviations = OF(sum_of_blocks)(&sums.first), squares = OF(sum_of_blocks)(&sums.second);
    REAL variance = OF(variance)(mean, deviations, squares, (REAL)length);
    *rstd = OF(reciprocal_root)(variance, eps);
}

static void
OF(layer_norm)(
    void *result, void *mean, void *rstd, const void *input, const void *weight, const void *bias,
    double eps, ptrdiff_t rows, ptrdiff_t length)
{
    REAL *means = mean, *inverses = rstd;
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *from = (const REAL *)input + row * length;
        OF(statistics)(means + row, inverses + row, from, length, eps);
        OF(normalize_row)(
            (REAL *)result + row * length, from, weight, bias, means[row], inverses[row], length);
    }
}

/* Add the gradients of weight and bias that a row brings. */
INLINE void
OF(add_to_parts)(
    REAL *restrict to_weight, REAL *restrict to_bias, const REAL *grad, const REAL *input,
    REAL mean, REAL rstd, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        to_weight[i] = FMA(grad[i], (input[i] - mean) * rstd, to_weight[i]);
        to_bias[i] += grad[i];
    }
}

static void
OF(layer_norm_backward)(
    void *to_input, void *to_weight, void *to_bias, const void *grad, const void *input,
    const void *mean, const void *rstd, const void *weight, ptrdiff_t rows, ptrdiff_t length,
    void *workspace)
{
    double *weights = workspace, *biases = weights + length;
    REAL *parts = (REAL *)(biases + length), *more = parts + length;
    memset(workspace, 0, 2 * length * sizeof(double));
    int needs_parts = to_weight != NULL || to_bias != NULL;
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *slopes = (const REAL *)grad + row * length;
        const REAL *from = (const REAL *)input + row * length;
        REAL center = ((const REAL *)mean)[row], inverse = ((const REAL *)rstd)[row];
        if (needs_parts) {
            if (row % ROWS_ADDED == 0) {
                memset(parts, 0, 2 * length * sizeof(REAL));
            }
            OF(add_to_parts)(parts, more, slopes, from, center, inverse, length);
            if (row % ROWS_ADDED == ROWS_ADDED - 1 || row == rows - 1) {
                for (ptrdiff_t i = 0; i < length; i++) {
                    weights[i] += parts[i];
                    biases[i] += more[i];
                }
            }
        }
        if (to_input == NULL) {
            continue;
        }
        OF(two_sums) sums;
        OF(clear)(&sums);
        (weight == NULL ? OF(add_gradient) : OF(add_weighted))(
            &sums, slopes, from, weight, center, length);
        REAL total = OF(sum_of_blocks)(&sums.first), along = OF(sum_of_blocks)(&sums.second);
        REAL bend = -inverse * inverse * inverse * along / (REAL)length;
        REAL shift = -inverse * total / (REAL)length;
        REAL *restrict to = (REAL *)to_input + row * length;
        if (weight == NULL) {
            OF(bend)(to, slopes, from, inverse, center, bend, shift, length);
            continue;
        }
        const REAL *scales = weight;
        for (ptrdiff_t i = 0; i < length; i++) {
            REAL scaled = slopes[i] * scales[i];
            to[i] = FMA(scaled, inverse, FMA(from[i] - center, bend, shift));
        }
    }
    for (ptrdiff_t i = 0; to_weight != NULL && i < length; i++) {
        ((REAL *)to_weight)[i] = (REAL)weights[i];
    }
    for (ptrdiff_t i = 0; to_bias != NULL && i < length; i++) {
        ((REAL *)to_bias)[i] = (REAL)biases[i];
    }
}

/* ---- batch normalization --------------------------------------------------------------------- */

typedef void OF(add_function)(
    OF(two_sums) *sums, const REAL *grad, const REAL *input, const REAL *weight, REAL center,
    ptrdiff_t length);

/* Sum the terms of each channel into `firsts` and `seconds`: `add` adds those of a run. `columns`
 * is room for three rows of channels times pixels. */
INLINE void
OF(sum_channels)(
    terms which, OF(add_function) *add, double *firsts, double *seconds, const REAL *grad,
    const REAL *input, const REAL *centers, image_shape shape, REAL *columns)
{
    ptrdiff_t length = shape.channels * shape.pixels;
    if (shape.pixels < FEW_PIXELS) {
        if (which != OF_INPUT) {
            OF(spread_pixels)(columns, centers, shape.channels, shape.pixels);
        }
        OF(sum_columns)(
            which, firsts, seconds, columns + length, grad, input, columns, shape.samples, length);
        OF(fold_pixels)(firsts, shape.channels, shape.pixels);
        OF(fold_pixels)(seconds, shape.channels, shape.pixels);
        return;
    }
    for (ptrdiff_t c = 0; c < shape.channels; c++) {
        OF(two_sums) sums;
        OF(clear)(&sums);
        for (ptrdiff_t n = 0; n < shape.samples; n++) {
            ptrdiff_t at = n * length + c * shape.pixels;
            const REAL *slopes = which >= OF_GRADIENT ? grad + at : NULL;
            REAL center = which == OF_INPUT ? 0 : centers[c];
            add(&sums, slopes, input + at, NULL, center, shape.pixels);
        }
        firsts[c] = OF(sum_of_blocks)(&sums.first);
        seconds[c] = OF(sum_of_blocks)(&sums.second);
    }
}

/* Write (x - center) * scale + shift, with numbers for each channel. `columns` is room for three
 * rows of channels times pixels. */
INLINE void
OF(stretch_channels)(
    REAL *result, const REAL *input, const REAL *centers, const REAL *scales, const REAL *shifts,
    image_shape shape, REAL *columns)
{
    ptrdiff_t length = shape.channels * shape.pixels;
    if (shape.pixels < FEW_PIXELS) {
        OF(spread_pixels)(columns, centers, shape.channels, shape.pixels);
        OF(spread_pixels)(columns + length, scales, shape.channels, shape.pixels);
        OF(spread_pixels)(columns + 2 * length, shifts, shape.channels, shape.pixels);
        OF(stretch_columns)(
            result, input, columns, columns + length, columns + 2 * length, shape.samples, length);
        return;
    }
    for (ptrdiff_t i = 0; i < shape.samples * shape.channels; i++) {
        ptrdiff_t c = i % shape.channels, at = i * shape.pixels;
        OF(stretch)(result + at, input + at, centers[c], scales[c], shifts[c], shape.pixels);
    }
}

static void
OF(batch_norm)(
    void *result, void *mean, void *rstd, void *const moved[2], const void *input,
    const void *weight, const void *bias, const void *const running[2], int training,
    double momentum, double eps, image_shape shape, void *workspace)
{
    ptrdiff_t channels = shape.channels, length = channels * shape.pixels;
    double *firsts = workspace, *seconds = firsts + length;
    REAL *scales = (REAL *)(seconds + length), *shifts = scales + length;
    REAL *columns = shifts + length;
    const REAL *centers = training ? mean : running[0];
    REAL count = (REAL)(shape.samples * shape.pixels);
    if (training) {
        REAL *means = mean;
        OF(sum_channels)(
            OF_INPUT, OF(add_input), firsts, seconds, NULL, input, NULL, shape, columns);
        for (ptrdiff_t c = 0; c < channels; c++) {
            means[c] = (REAL)(firsts[c] / count);
        }
        OF(sum_channels)(
            OF_DEVIATIONS, OF(add_deviations), firsts, seconds, NULL, input, means, shape, columns);
    }
    for (ptrdiff_t c = 0; c < channels; c++) {
        REAL variance = ((const REAL *)running[1])[c], last = ((const REAL *)running[0])[c];
        REAL unbiased = variance, now = last, share = 0;
        if (training) {
            now = centers[c];
            variance = OF(variance)(&now, (REAL)firsts[c], (REAL)seconds[c], count);
            ((REAL *)mean)[c] = now;
            unbiased = count > 1 ? variance * (count / (count - 1)) : (REAL)NAN;
            share = (REAL)momentum;
        }
        REAL inverse = OF(reciprocal_root)(variance, eps);
        scales[c] = weight == NULL ? inverse : inverse * ((const REAL *)weight)[c];
        shifts[c] = bias == NULL ? 0 : ((const REAL *)bias)[c];
        REAL *to_mean = (REAL *)moved[0] + c, *to_variance = (REAL *)moved[1] + c;
        *to_mean = last;
        *to_variance = ((const REAL *)running[1])[c];
        if (training) {
            ((REAL *)rstd)[c] = inverse;
            REAL kept = (REAL)(1 - momentum);
            *to_mean = *to_mean * kept + now * share;
            *to_variance = *to_variance * kept + unbiased * share;
        }
    }
    OF(stretch_channels)(result, input, centers, scales, shifts, shape, columns);
}

static void
OF(batch_norm_backward)(
    void *to_input, void *to_weight, void *to_bias, const void *grad, const void *input,
    const void *mean, const void *rstd, const void *weight, int training, double eps,
    image_shape shape, void *workspace)
{
    ptrdiff_t channels = shape.channels, pixels = shape.pixels, length = channels * pixels;
    double *firsts = workspace, *seconds = firsts + length;
    REAL *columns = (REAL *)(seconds + length);
    const REAL *centers = mean, *slopes = grad, *from = input;
    if (training || to_weight != NULL || to_bias != NULL) {
        OF(sum_channels)(
            OF_GRADIENT, OF(add_gradient), firsts, seconds, grad, input, centers, shape, columns);
    }
    REAL count = (REAL)(shape.samples * pixels);
    REAL *bends = columns, *shifts = bends + length, *scales = shifts + length;
    for (ptrdiff_t c = 0; c < channels; c++) {
        REAL inverse = ((const REAL *)rstd)[c];
        inverse = training ? inverse : OF(reciprocal_root)(inverse, eps);
        if (to_weight != NULL) {
            ((REAL *)to_weight)[c] = (REAL)seconds[c] * inverse;
        }
        if (to_bias != NULL) {
            ((REAL *)to_bias)[c] = (REAL)firsts[c];
        }
        scales[c] = weight == NULL ? inverse : inverse * ((const REAL *)weight)[c];
        if (training) {
            bends[c] = -scales[c] * inverse * inverse * (REAL)seconds[c] / count;
            shifts[c] = -scales[c] * (REAL)firsts[c] / count;
        }
    }
    if (to_input != NULL && pixels == 1) {
        OF(bend_columns)(
            to_input, grad, input, centers, scales, bends, shifts, shape.samples, length,
            training);
    }
    REAL *restrict to = to_input;
    for (ptrdiff_t n = 0; to != NULL && pixels > 1 && n < shape.samples; n++) {
        for (ptrdiff_t c = 0; c < channels; c++, to += pixels, slopes += pixels, from += pixels) {
            if (training) {
                OF(bend)(to, slopes, from, scales[c], centers[c], bends[c], shifts[c], pixels);
                continue;
            }
            for (ptrdiff_t k = 0; k < pixels; k++) {
                to[k] = slopes[k] * scales[c];
            }
        }
    }
}

/* ---- group normalization --------------------------------------------------------------------- */

static void
OF(group_norm)(
    void *result, void *mean, void *rstd, const void *input, const void *weight, const void *bias,
    double eps, image_shape shape, ptrdiff_t groups)
{
    ptrdiff_t each = shape.channels / groups, length = each * shape.pixels;
    const REAL *weights = weight, *biases = bias;
    REAL *means = mean, *inverses = rstd;
    for (ptrdiff_t row = 0; row < shape.samples * groups; row++) {
        const REAL *from = (const REAL *)input + row * length;
        REAL *to = (REAL *)result + row * length;
        OF(statistics)(means + row, inverses + row, from, length, eps);
        ptrdiff_t first = row % groups * each;
        if (shape.pixels == 1) {
            OF(normalize_row)(
                to, from, weights == NULL ? NULL : weights + first,
                biases == NULL ? NULL : biases + first, means[row], inverses[row], length);
            continue;
        }
        for (ptrdiff_t c = first; c < first + each; c++) {
            REAL scale = weights == NULL ? inverses[row] : inverses[row] * weights[c];
            REAL shift = biases == NULL ? 0 : biases[c];
            OF(stretch)(to, from, means[row], scale, shift, shape.pixels);
            from += shape.pixels;
            to += shape.pixels;
        }
    }
}

static void
OF(group_norm_backward)(
    void *to_input, void *to_weight, void *to_bias, const void *grad, const void *input,
    const void *mean, const void *rstd, const void *weight, image_shape shape, ptrdiff_t groups,
    void *workspace)
{
    ptrdiff_t each = shape.channels / groups, pixels = shape.pixels;
    double *of_weight = workspace, *of_bias = of_weight + shape.channels;
    memset(workspace, 0, 2 * shape.channels * sizeof(double));
    for (ptrdiff_t row = 0; row < shape.samples * groups; row++) {
        REAL center = ((const REAL *)mean)[row], inverse = ((const REAL *)rstd)[row];
        const REAL *slopes = (const REAL *)grad + row * each * pixels;
        const REAL *from = (const REAL *)input + row * each * pixels;
        double total = 0, along = 0;
        for (ptrdiff_t k = 0; k < each; k++) {
            ptrdiff_t c = row % groups * each + k;
            OF(two_sums) sums;
            OF(clear)(&sums);
            OF(add_gradient)(
                &sums, slopes + k * pixels, from + k * pixels, NULL, center, pixels);
            REAL first = OF(sum_of_blocks)(&sums.first), second = OF(sum_of_blocks)(&sums.second);
            REAL scale = weight == NULL ? 1 : ((const REAL *)weight)[c];
            of_bias[c] += first;
            of_weight[c] += second * inverse;
            total += first * scale;
            along += second * scale;
        }
        if (to_input == NULL) {
            continue;
        }
        REAL count = (REAL)(each * pixels);
        REAL bend = -inverse * inverse * inverse * (REAL)along / count;
        REAL shift = -inverse * (REAL)total / count;
        REAL *to = (REAL *)to_input + row * each * pixels;
        for (ptrdiff_t k = 0; k < each; k++) {
            ptrdiff_t c = row % groups * each + k, at = k * pixels;
            REAL scale = weight == NULL ? inverse : inverse * ((const REAL *)weight)[c];
            OF(bend)(to + at, slopes + at, from + at, scale, center, bend, shift, pixels);
        }
    }
    for (ptrdiff_t c = 0; c < shape.channels; c++) {
        if (to_weight != NULL) {
            ((REAL *)to_weight)[c] = (REAL)of_weight[c];
        }
        if (to_bias != NULL) {
            ((REAL *)to_bias)[c] = (REAL)of_bias[c];
        }
    }
}

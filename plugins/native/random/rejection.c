/* Numbers that are proposed until one is accepted, in PyTorch's order of draws, as rows of the kernel
 * table: see rejection_sampling.py, their reference. The first argument is the generator's
 * numpy.random.MT19937, the second a shape, the next the parameters of each number, in double
 * precision; the caller holds the generator's lock. */
#include "twister.h"

#include <math.h>

enum { WORDS = 1024 }; /* that are drawn at once; what is left is given back */

static const double PI = 3.141592653589793;
static const double THIRD = 11184811. / 33554432; /* of single precision, as in PyTorch */

typedef struct {
    twister *source, before; /* before the words were drawn */
    uint32_t words[WORDS];
    int at, is_filled;
    double kept; /* the second normal number of a pair, or NaN */
} stream;

static double
uniform(stream *draws)
{
    if (draws->at == WORDS) {
        draws->before = *draws->source;
        draw_words(draws->source, draws->words, WORDS);
        draws->at = 0;
        draws->is_filled = 1;
    }
    uint64_t pair = (uint64_t)draws->words[draws->at] << 32 | draws->words[draws->at + 1];
    draws->at += 2;
    return (double)(pair & (((uint64_t)1 << 53) - 1)) * 0x1p-53;
}

static double
normal(stream *draws)
{
    double kept = draws->kept;
    if (kept == kept) {
        draws->kept = NAN;
        return kept;
    }
    double angle = 2 * PI * uniform(draws), radius = sqrt(-2 * log1p(-uniform(draws)));
    draws->kept = radius * sin(angle);
    return radius * cos(angle);
}

/* ---- one number ------------------------------------------------------------------------------ */

/* A proposal of transformed rejection, and the two numbers that it is accepted by. */
typedef struct {
    double k, us, v;
} proposal;

static proposal
propose(stream *draws, double a, double b, double shift)
{
    double u = uniform(draws) - 0.5, v = uniform(draws), us = 0.5 - fabs(u);
    return (proposal){us != 0 ? floor((2 * a / us + b) * u + shift) : -1, us, v};
}

static double
poisson(stream *draws, double rate, double unused)
{
    if (!(0 < rate && rate < INFINITY)) {
        return isnan(rate) || rate > 0 ? rate : 0;
    }
    if (rate < 10) {
        double end = exp(-rate), product = uniform(draws), count = 0;
        for (; product > end; count++) {
            product *= uniform(draws);
        }
        return count;
    }
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        proposal p = propose(draws, a, b, rate + 0.43);
        if (p.us >= 0.07 && p.v <= v_r) {
            return p.k;
        }
        if (p.k < 0 || (p.us < 0.013 && p.v > p.us)) {
            continue;
        }
        double bound = -rate + p.k * log(rate) - lgamma(p.k + 1);
        if (p.v == 0 ||
            log(p.v) + log(inverse_alpha) - log(a / (p.us * p.us) + b) <= bound) {
            return p.k;
        }
    }
}

/* What Stirling's formula lacks of log(k!). */
static double
stirling(double k)
{
    if (k < 10) {
        return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.9189385332046727);
    }
    double square = (k + 1) * (k + 1);
    return (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / (k + 1);
}

static double
transformed_binomial(stream *draws, double count, double chance)
{
    double deviation = sqrt(count * chance * (1 - chance)), b = 1.15 + 2.53 * deviation;
    double a = -0.0873 + 0.0248 * b + 0.01 * chance, v_r = 0.92 - 4.2 / b;
    double ratio = chance / (1 - chance), alpha = (2.83 + 5.1 / b) * deviation;
    double m = floor((count + 1) * chance);
    for (;;) {
        proposal p = propose(draws, a, b, count * chance + 0.5);
        double k = p.k;
        if (p.us >= 0.07 && p.v <= v_r) {
            return k;
        }
        if (k < 0 || k > count) {
            continue;
        }
        double bound = (m + 0.5) * log((m + 1) / (ratio * (count - m + 1))) +
                       (count + 1) * log((count - m + 1) / (count - k + 1)) +
                       (k + 0.5) * log(ratio * (count - k + 1) / (k + 1)) + stirling(m) +
                       stirling(count - m) - stirling(k) - stirling(count - k);
        if (p.v == 0 || log(p.v * alpha / (a / (p.us * p.us) + b)) <= bound) {
            return k;
        }
    }
}

/* A binomial number for a chance of at most a half. */
static double
rare(stream *draws, double count, double chance)
{
    if (count * chance >= 10) {
        return transformed_binomial(draws, count, chance);
    }
    double passed = 0, found = 0, rate = log1p(-chance);
    for (;; found++) {
        double drawn = uniform(draws);
        passed += drawn != 0 ? ceil(log(drawn) / rate) : count + 1;
        if (passed > count) {
            return found;
        }
    }
}

static double
binomial(stream *draws, double count, double chance)
{
    if (isnan(chance) || isnan(count)) {
        return chance + count;
    }
    if (count <= 0 || chance <= 0 || chance >= 1) {
        return count <= 0 || chance <= 0 ? 0 : count;
    }
    if (count == INFINITY) {
        return count;
    }
    return chance > 0.5 ? count - rare(draws, count, 1 - chance) : rare(draws, count, chance);
}

static double
gamma_number(stream *draws, double alpha, double unused)
{
    double scale = 1;
    if (alpha < 1) {
        if (alpha == 0) {
            return 0;
        }
        scale = pow(1 - uniform(draws), 1 / alpha);
        alpha += 1;
    }
    double d = alpha - THIRD, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(draws), y = 1 + c * x;
        if (y <= 0) {
            continue;
        }
        double v = y * y * y, u = 1 - uniform(draws), square = x * x;
        if (u < 1 - 0.0331 * square * square ||
            log(u) < 0.5 * square + d * (1 - v + log(v))) {
            return scale * d * v;
        }
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef double number_function(stream *draws, double first, double second);

static void
draw_all(
    number_function *draw, stream *draws, double *made, const double *first, const double *second,
    npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        made[i] = draw(draws, first[i], second[i]);
    }
    if (draws->is_filled) {
        *draws->source = draws->before;
        skip_words(draws->source, draws->at);
    }
}

/* The numbers of a shape for arrays of parameters, of which the second is the first if it is NULL. */
static PyArrayObject *
numbers_of(PyObject *const *arguments, number_function *draw, PyObject *second, stream *draws)
{
    npy_intp dims[NPY_MAXDIMS];
    int ndim = read_ints(arguments[1], dims);
    draws->source = twister_of(arguments[0]);
    draws->at = WORDS;
    draws->is_filled = 0;
    if (ndim < 0 || draws->source == NULL || precision_of(arguments[2]) != 1 ||
        !has_shape(arguments[2], ndim, dims) || (second != NULL && precision_of(second) != 1) ||
        (second != NULL && !has_shape(second, ndim, dims))) {
        return NULL;
    }
    PyArrayObject *made = new_array(ndim, dims, 1), *one = in_c_order(arguments[2]);
    PyArrayObject *other = in_c_order(second == NULL ? arguments[2] : second);
    if (made == NULL || one == NULL || other == NULL) {
        Py_CLEAR(made);
    }
    else {
        RELEASED(
            PyArray_SIZE(made),
            draw_all(
                draw, draws, PyArray_DATA(made), PyArray_DATA(one), PyArray_DATA(other),
                PyArray_SIZE(made)));
    }
    Py_XDECREF(one);
    Py_XDECREF(other);
    return made;
}

COMPUTE(draw_poisson)
{
    stream draws;
    return (PyObject *)numbers_of(arguments, poisson, NULL, &draws);
}

COMPUTE(draw_binomial)
{
    stream draws;
    return arguments[3] == NULL
               ? NULL
               : (PyObject *)numbers_of(arguments, binomial, arguments[3], &draws);
}

/* random.gamma(bits, size, alpha, kept): the numbers, and the new `kept`. */
COMPUTE(draw_gamma)
{
    stream draws = {.kept = NAN};
    if (is_given(arguments[3]) && !read_number(arguments[3], &draws.kept)) {
        return NULL;
    }
    PyArrayObject *made = numbers_of(arguments, gamma_number, NULL, &draws);
    if (made == NULL) {
        return NULL;
    }
    double kept = draws.kept;
    PyObject *rest = kept == kept ? PyFloat_FromDouble(kept) : Py_NewRef(Py_None);
    results both = {{(PyObject *)made, rest}, 2, rest == NULL};
    return tuple_of(&both);
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "random/rejection.c", __LINE__, compute, {"bits", "size", __VA_ARGS__}, 0}
const kernel_row rejection_rows[] = {
    ROW("random.poisson", draw_poisson, "rates"),
    ROW("random.binomial", draw_binomial, "counts", "chances"),
    ROW("random.gamma", draw_gamma, "alphas", "kept"),
    {NULL},
};

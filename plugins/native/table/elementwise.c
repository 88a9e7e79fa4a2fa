/* Functions of every element as operators. Half precision is computed in single precision, and
 * rounded once. */
#include "elementwise.h"
#include "integers.h"

#include <math.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct {
    elementwise_kernel *kernel;
    const double *numbers;
    int inputs, half; /* which half precision, -1 for single and double precision */
} evaluation;

static void
evaluate_row(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const evaluation *call = context;
    call->kernel(data, call->numbers, length);
}

/* Widen some elements into a room, one that stands for all too. */
static void
fill_room(int half, float *room, const char *data, npy_intp step, npy_intp count)
{
    if (widen_elements(half, room, data, step, count) == 0) {
        for (npy_intp i = 1; i < count; i++) {
            room[i] = room[0];
        }
    }
}

static void
evaluate_row_of_halves(
    const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const evaluation *call = context;
    int last = call->inputs;
    float rooms[MOST_INPUTS + 1][ROOM] __attribute__((aligned(64)));
    char *const wide[] = {
        (char *)rooms[0], (char *)rooms[1], (char *)rooms[2], (char *)rooms[3]};
    for (npy_intp start = 0; start < length; start += ROOM) {
        npy_intp count = length - start < ROOM ? length - start : ROOM;
        for (int i = 0; i < last; i++) {
            fill_room(call->half, rooms[i], data[i] + start * steps[i], steps[i], count);
        }
        call->kernel(wide, call->numbers, count);
        narrow_elements(
            call->half, data[last] + start * steps[last], steps[last], rooms[last], count);
    }
}

int
half_of_plain(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return object != NULL && PyArray_CheckExact(object) && PyArray_ISNOTSWAPPED(array)
               ? half_of(array)
               : -1;
}

/* Whether an object is an array of a precision, or of half precision. */
static int
is_of(PyObject *object, int precision, int half)
{
    return half < 0 ? precision_of(object) == precision : half_of_plain(object) == half;
}

PyObject *
evaluate_kernel(
    elementwise_kernel *kernel, int inputs, PyObject *const *arrays, const double *numbers,
    PyObject *out)
{
    int precision = precision_of(arrays[0]);
    int half = precision < 0 ? half_of_plain(arrays[0]) : -1;
    if (kernel == NULL || (precision < 0 && half < 0)) {
        return NULL;
    }
    evaluation call = {kernel, numbers, inputs, half};
    row_call given = {
        half < 0 ? evaluate_row : evaluate_row_of_halves,
        &call,
        inputs,
        {NULL},
        (PyArrayObject *)out,
        PyArray_DESCR((PyArrayObject *)arrays[0]),
        half >= 0,
    };
    for (int i = 0; i < inputs; i++) {
        if (!is_of(arrays[i], precision, half)) {
            return NULL;
        }
        given.inputs[i] = (PyArrayObject *)arrays[i];
    }
    return out == NULL || (is_of(out, precision, half) && PyArray_ISWRITEABLE(given.out))
               ? compute_rows(&given)
               : NULL;
}

PyObject *
evaluate_into(
    elementwise_function function, int inputs, PyObject *const *arrays, const double *numbers,
    PyObject *out)
{
    int precision = precision_of(arrays[0]) == 1;
    return evaluate_kernel(
        kernels_in_force->elementwise->of[precision][function], inputs, arrays, numbers, out);
}

PyObject *
of_first(PyObject *const *arguments, elementwise_function function, const double *numbers)
{
    return evaluate_into(function, 1, arguments, numbers, arguments[OUT]);
}

/* The same of the first two arguments. */
static PyObject *
of_pair(PyObject *const *arguments, elementwise_function function, const double *numbers)
{
    return evaluate_into(function, 2, arguments, numbers, arguments[OUT]);
}

/* ---- numbers --------------------------------------------------------------------------------- */

double
as_number_of(PyObject *array, double number)
{
    int half = half_of_plain(array);
    float single = (float)number;
    if (precision_of(array) == 1) {
        return number;
    }
    if (half >= 0 && isfinite(single)) {
        uint16_t rounded;
        kernels_in_force->conversions->narrow[half](&rounded, &single, 1);
        kernels_in_force->conversions->widen[half](&single, &rounded, 1);
    }
    return single;
}

int
read_parameter(PyObject *object, PyObject *array, double otherwise, double *number)
{
    *number = otherwise;
    if (object != NULL && !read_number(object, number)) {
        return 0;
    }
    return !isfinite(*number) || isfinite(as_number_of(array, *number));
}

/* The same of a bound of sizes, which is rounded to half precision. */
static int
read_size_bound(PyObject *object, PyObject *array, double *number)
{
    int is_number = read_parameter(object, array, 0.5, number);
    *number = half_of_plain(array) >= 0 ? as_number_of(array, *number) : *number;
    return is_number;
}

/* The same of a bound, which is no NaN, and where None is `otherwise`. */
static int
read_bound(PyObject *object, PyObject *array, double otherwise, double *number)
{
    return read_parameter(object == Py_None ? NULL : object, array, otherwise, number) &&
           !isnan(*number);
}

/* ---- operators ------------------------------------------------------------------------------- */

PyObject *
of_one(PyObject *const *arguments, int function)
{
    return of_first(arguments, function, NULL);
}

PyObject *
of_two(PyObject *const *arguments, int function)
{
    return arguments[1] == NULL ? NULL : of_pair(arguments, function, NULL);
}

/* Which of two functions a gelu is, by how it is approximated; -1 for neither. */
static int
read_approximation(PyObject *object, int exact, int by_tanh)
{
    if (object == NULL) {
        return exact;
    }
    if (!PyUnicode_Check(object)) {
        return -1;
    }
    return PyUnicode_CompareWithASCIIString(object, "none") == 0   ? exact
           : PyUnicode_CompareWithASCIIString(object, "tanh") == 0 ? by_tanh
                                                                   : -1;
}

COMPUTE(gelu)
{
    int function = read_approximation(arguments[1], ELEMENTWISE_gelu, ELEMENTWISE_gelu_tanh);
    return function < 0 ? NULL : of_first(arguments, function, NULL);
}

COMPUTE(gelu_backward)
{
    int function = read_approximation(
        arguments[2], ELEMENTWISE_gelu_backward, ELEMENTWISE_gelu_tanh_backward);
    return function < 0 || arguments[1] == NULL
               ? NULL
               : of_pair(arguments, function, NULL);
}

/* Limit integers to two bounds, of which not both are NULL or None. */
static PyObject *
limit_integers(PyObject *const *arguments, PyObject *least, PyObject *greatest)
{
    if (!is_given(least)) {
        return of_integers(INTEGER_minimum, arguments[0], greatest, arguments[OUT]);
    }
    int is_last = !is_given(greatest);
    PyObject *out = is_last ? arguments[OUT] : NULL;
    PyObject *made = of_integers(INTEGER_maximum, arguments[0], least, out);
    if (made != NULL && !is_last) {
        out = arguments[OUT] == NULL ? made : arguments[OUT];
        Py_SETREF(made, of_integers(INTEGER_minimum, made, greatest, out));
    }
    return made;
}

/* Limit the first argument to two bounds, NULL or None for none. */
static PyObject *
limit(
    PyObject *const *arguments, PyObject *least, PyObject *greatest, double low, double high)
{
    double numbers[2];
    if (integers_of(arguments[0]) != NULL) {
        return limit_integers(arguments, least, greatest);
    }
    return read_bound(least, arguments[0], low, numbers) &&
                   read_bound(greatest, arguments[0], high, numbers + 1)
               ? of_first(arguments, ELEMENTWISE_clamp, numbers)
               : NULL;
}

COMPUTE(clamp)
{
    return is_given(arguments[1]) || is_given(arguments[2])
               ? limit(arguments, arguments[1], arguments[2], -INFINITY, INFINITY)
               : NULL;
}

COMPUTE(clamp_max)
{
    return is_given(arguments[1])
               ? limit(arguments, NULL, arguments[1], -INFINITY, INFINITY)
               : NULL;
}

/* Bounds that are arrays, of which one may be None. */
COMPUTE(clamp_between)
{
    PyObject *least = arguments[1], *greatest = arguments[2];
    int has_both = is_given(least) && is_given(greatest);
    PyObject *const one[] = {arguments[0], is_given(least) ? least : greatest};
    if (!is_given(one[1])) {
        return NULL;
    }
    if (integers_of(arguments[0]) != NULL) {
        return limit_integers(arguments, least, greatest);
    }
    return has_both ? evaluate_into(
                          ELEMENTWISE_clamp_between, 3, arguments, NULL, arguments[OUT])
                    : evaluate_into(
                          is_given(least) ? ELEMENTWISE_at_least : ELEMENTWISE_at_most, 2, one,
                          NULL, arguments[OUT]);
}

COMPUTE(clamp_max_array)
{
    PyObject *const all[ARGUMENTS] = {
        [0] = arguments[0], [2] = arguments[1], [OUT] = arguments[OUT]};
    return clamp_between(all, 0);
}

COMPUTE(hardtanh)
{
    return arguments[1] == Py_None || arguments[2] == Py_None || integers_of(arguments[0]) != NULL
               ? NULL
               : limit(arguments, arguments[1], arguments[2], -1, 1);
}

/* Functions of arrays and of the numbers behind them: how many of each, and the default of a number,
 * NAN for one that is required. */
static const struct {
    int arrays, count;
    double otherwise[2];
} with_numbers[] = {
    [ELEMENTWISE_hardtanh_backward] = {2, 2, {NAN, NAN}},
    [ELEMENTWISE_leaky_relu] = {1, 1, {0.01}},
    [ELEMENTWISE_softplus] = {1, 2, {1, 20}},
    [ELEMENTWISE_softplus_backward] = {2, 2, {NAN, NAN}},
    [ELEMENTWISE_threshold] = {1, 2, {NAN, NAN}},
    [ELEMENTWISE_threshold_backward] = {2, 1, {NAN}},
};

COMPUTE_OF(of_numbers, function)
{
    int arrays = with_numbers[function].arrays;
    PyObject *array = arguments[arrays - 1];
    double numbers[2];
    for (int i = 0; i < with_numbers[function].count; i++) {
        PyObject *number = arguments[arrays + i];
        double otherwise = with_numbers[function].otherwise[i];
        if (array == NULL || (number == NULL && isnan(otherwise)) ||
            !read_parameter(number, array, otherwise, numbers + i)) {
            return NULL;
        }
    }
    return evaluate_into(function, arrays, arguments, numbers, arguments[OUT]);
}

COMPUTE(shrink_backward)
{
    double bound;
    return arguments[1] != NULL && arguments[2] != NULL &&
                   read_size_bound(arguments[2], arguments[1], &bound)
               ? of_pair(arguments, ELEMENTWISE_shrink_backward, &bound)
               : NULL;
}

COMPUTE(leaky_relu_backward)
{
    int is_result;
    double slope;
    return arguments[1] != NULL && arguments[2] != NULL && read_flag(arguments[3], &is_result) &&
                   read_parameter(arguments[2], arguments[1], 0, &slope) &&
                   (!is_result || slope >= 0)
               ? of_pair(arguments, ELEMENTWISE_leaky_relu_backward, &slope)
               : NULL;
}

COMPUTE(hardshrink)
{
    double bound;
    return read_size_bound(arguments[1], arguments[0], &bound)
               ? of_first(arguments, ELEMENTWISE_hardshrink, &bound)
               : NULL;
}

COMPUTE(softshrink)
{
    double bound;
    return read_parameter(arguments[1], arguments[0], 0.5, &bound) && bound >= 0 &&
                   isfinite(bound)
               ? of_first(arguments, ELEMENTWISE_softshrink, &bound)
               : NULL;
}

/* Set alpha, scale and input_scale of elu, of which the last is positive. */
static int
read_factors(PyObject *const *arguments, PyObject *array, double *factors)
{
    for (int i = 0; i < 3; i++) {
        if (!read_parameter(arguments[i], array, 1, factors + i)) {
            return 0;
        }
    }
    return factors[2] > 0 && isfinite(factors[2]);
}

COMPUTE(elu)
{
    double factors[3];
    if (!read_factors(arguments + 1, arguments[0], factors)) {
        return NULL;
    }
    double numbers[3] = {factors[0] * factors[1], factors[1], factors[2]};
    return of_first(arguments, ELEMENTWISE_elu, numbers);
}

COMPUTE(celu)
{
    double numbers[2];
    if (!read_parameter(arguments[1], arguments[0], 1, numbers) || !(numbers[0] > 0) ||
        !isfinite(numbers[0])) {
        return NULL;
    }
    numbers[1] = 1 / numbers[0];
    return of_first(arguments, ELEMENTWISE_celu, numbers);
}

COMPUTE(elu_backward)
{
    int is_result;
    double factors[3];
    PyObject *array = arguments[5];
    if (array == NULL || arguments[1] == NULL || arguments[2] == NULL || arguments[3] == NULL ||
        !read_flag(arguments[4], &is_result) || !read_factors(arguments + 1, array, factors) ||
        (is_result && !(factors[0] >= 0))) {
        return NULL;
    }
    double both = factors[0] * factors[1];
    double numbers[3] = {is_result ? both : both * factors[2], factors[1], factors[2]};
    PyObject *const arrays[] = {arguments[0], array};
    return evaluate_into(
        is_result ? ELEMENTWISE_elu_backward_of_result : ELEMENTWISE_elu_backward, 2, arrays,
        numbers, arguments[OUT]);
}

COMPUTE(logit)
{
    double numbers[2] = {-INFINITY, INFINITY};
    if (is_given(arguments[1])) {
        if (!read_number(arguments[1], numbers)) {
            return NULL;
        }
        numbers[1] = 1 - numbers[0];
    }
    return of_first(arguments, ELEMENTWISE_logit, numbers);
}

/* The first derivative of digamma alone. */
COMPUTE(polygamma)
{
    npy_intp n;
    return arguments[1] != NULL && read_int(arguments[0], &n) && n == 1
               ? evaluate_into(ELEMENTWISE_trigamma, 1, arguments + 1, NULL, arguments[OUT])
               : NULL;
}

/* Degrees and radians: times a number, which the sign of no zero hides. */
COMPUTE_OF(scaled, is_degrees)
{
    double turn = 3.14159265358979323846, numbers[2] = {-0.0, -turn / 180};
    numbers[1] = is_degrees ? -180 / turn : numbers[1];
    return of_first(arguments, ELEMENTWISE_subtract_from, numbers);
}

#define VARIANT(operator, compute, variant, ...)                                                  \
    {operator, "table/elementwise.c", __LINE__, compute, {__VA_ARGS__}, 1, NULL, variant, 1}
#define ROW(operator, compute, ...) VARIANT(operator, compute, 0, __VA_ARGS__)
#define ONE(name) VARIANT(#name, of_one, ELEMENTWISE_##name, "self")
#define TWO(name, ...) VARIANT(#name, of_two, ELEMENTWISE_##name, __VA_ARGS__)
#define NUMBERS(name, ...) VARIANT(#name, of_numbers, ELEMENTWISE_##name, __VA_ARGS__)
#define GRADIENT "grad_output", "self"
const kernel_row elementwise_rows[] = {
    ROW("celu", celu, "self", "alpha"),
    ROW("clamp", clamp, "self", "min", "max"),
    ROW("clamp.Tensor", clamp_between, "self", "min", "max"),
    ROW("clamp_max", clamp_max, "self", "max"),
    ROW("clamp_max.Tensor", clamp_max_array, "self", "max"),
    ROW("clamp_min", clamp, "self", "min"),
    ROW("clamp_min.Tensor", clamp_between, "self", "min"),
    VARIANT("deg2rad", scaled, 0, "self"),
    ROW("elu", elu, "self", "alpha", "scale", "input_scale"),
    ROW("elu_backward", elu_backward, "grad_output", "alpha", "scale", "input_scale", "is_result",
        "self_or_result"),
    ONE(cos),
    ONE(erf),
    ONE(erfc),
    ONE(erfinv),
    ONE(expm1),
    ONE(frac),
    ROW("gelu", gelu, "self", "approximate"),
    ROW("gelu_backward", gelu_backward, GRADIENT, "approximate"),
    ROW("hardshrink", hardshrink, "self", "lambd"),
    ROW("hardshrink_backward", shrink_backward, "grad_out", "self", "lambd"),
    ONE(hardsigmoid),
    TWO(hardsigmoid_backward, GRADIENT),
    ONE(hardswish),
    TWO(hardswish_backward, GRADIENT),
    ROW("hardtanh", hardtanh, "self", "min_val", "max_val"),
    NUMBERS(hardtanh_backward, GRADIENT, "min_val", "max_val"),
    NUMBERS(leaky_relu, "self", "negative_slope"),
    ROW("leaky_relu_backward", leaky_relu_backward, GRADIENT, "negative_slope", "self_is_result"),
    ONE(lgamma),
    ONE(log1p),
    TWO(log_sigmoid_backward, GRADIENT, "buffer"),
    ROW("logit", logit, "self", "eps"),
    ONE(mish),
    TWO(mish_backward, GRADIENT),
    ONE(angle),
    ROW("polygamma", polygamma, "n", "self"),
    VARIANT("rad2deg", scaled, 1, "self"),
    ONE(reciprocal),
    ONE(relu),
    ONE(round),
    ONE(rsqrt),
    VARIANT("sgn", of_one, ELEMENTWISE_sign, "self"),
    ONE(sigmoid),
    TWO(sigmoid_backward, "grad_output", "output"),
    ONE(sign),
    ONE(silu),
    ONE(sin),
    ONE(sinc),
    VARIANT("special_spherical_bessel_j0", of_one, ELEMENTWISE_spherical_bessel_j0, "self"),
    ONE(sqrt),
    TWO(silu_backward, GRADIENT),
    NUMBERS(softplus, "self", "beta", "threshold"),
    NUMBERS(softplus_backward, GRADIENT, "beta", "threshold"),
    ROW("softshrink", softshrink, "self", "lambd"),
    ROW("softshrink_backward", shrink_backward, GRADIENT, "lambd"),
    TWO(tanh_backward, "grad_output", "output"),
    NUMBERS(threshold, "self", "threshold", "value"),
    NUMBERS(threshold_backward, GRADIENT, "threshold"),
    {NULL},
};

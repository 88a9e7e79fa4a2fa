/* Arithmetic of several arrays and numbers as operators. */
#include "elementwise.h"
#include "integers.h"

#include <float.h>
#include <math.h>

/* A combination of arrays and a number that their dtype holds. */
static PyObject *
combine(
    elementwise_function function, int inputs, PyObject *const *arguments, double number)
{
    return isfinite(as_number_of(arguments[0], number))
               ? evaluate_into(function, inputs, arguments, &number, arguments[OUT])
               : NULL;
}

/* The sum of an array and one that is scaled by alpha, which PyTorch rounds to half precision: a
 * new array, or the one that is given. */
COMPUTE_OF(scaled_sum, sign)
{
    double alpha;
    return read_number(arguments[2], &alpha)
               ? combine(
                     ELEMENTWISE_scaled_sum, 2, arguments,
                     sign * as_number_of(arguments[0], alpha))
               : NULL;
}

/* An array plus a scaled product or quotient of two others. */
COMPUTE_OF(add_scaled, function)
{
    double value = 1;
    return arguments[3] == NULL || read_number(arguments[3], &value)
               ? combine(function, 3, arguments, value)
               : NULL;
}

/* A number on the way to an end: from the nearer end, so that a weight of 1 gives that. */
COMPUTE(interpolate)
{
    double weight;
    if (!read_number(arguments[2], &weight)) {
        return NULL;
    }
    return fabs(weight) < 0.5
               ? combine(ELEMENTWISE_step_from_start, 2, arguments, weight)
               : combine(ELEMENTWISE_step_from_end, 2, arguments, 1 - weight);
}

/* Huber's loss of every element. */
COMPUTE(huber_terms)
{
    double bound;
    return read_number(arguments[2], &bound)
               ? combine(ELEMENTWISE_huber_terms, 2, arguments, bound)
               : NULL;
}

/* An array less one that is scaled, in half precision one that is not. */
COMPUTE(subtract_from_array)
{
    double alpha = 1;
    if (arguments[1] == NULL || (arguments[2] != NULL && !read_number(arguments[2], &alpha)) ||
        (alpha != 1 && half_of_plain(arguments[0]) >= 0)) {
        return NULL;
    }
    PyObject *const turned[ARGUMENTS] = {
        [0] = arguments[1], [1] = arguments[0], [OUT] = arguments[OUT]};
    return combine(ELEMENTWISE_scaled_sum, 2, turned, -alpha);
}

/* A number from which a scaled array is subtracted, in half precision one that is not scaled. */
COMPUTE(subtract_from)
{
    double numbers[2] = {0, 1};
    if (!read_number(arguments[1], &numbers[0]) ||
        (arguments[2] != NULL && !read_number(arguments[2], &numbers[1])) ||
        (numbers[1] != 1 && half_of_plain(arguments[0]) >= 0)) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        numbers[i] = as_number_of(arguments[0], numbers[i]);
        if (!isfinite(numbers[i])) {
            return NULL;
        }
    }
    return of_first(arguments, ELEMENTWISE_subtract_from, numbers);
}

/* ---- two arrays, or an array and a number ----------------------------------------------------- */

/* A new array without dimensions of the dtype of an array, which holds the number. NULL without an
 * exception if it cannot. */
static PyObject *
number_like(PyObject *object, PyObject *array)
{
    double number;
    if ((precision_of(array) < 0 && half_of_plain(array) < 0) || !read_number(object, &number) ||
        !isfinite(as_number_of(array, number))) {
        return NULL;
    }
    PyArrayObject *made = new_of_dtype(PyArray_DESCR((PyArrayObject *)array), 0, NULL);
    if (made != NULL && PyArray_SETITEM(made, PyArray_DATA(made), object) < 0) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* Divisions of integers; PyTorch has no quotients of the wider ones without a sign. */
static PyObject *
divide_integers(PyObject *const *arguments, elementwise_function function)
{
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    int is_quotient = function == ELEMENTWISE_floor_divide;
    if (is_quotient && PyArray_ISUNSIGNED(array) && PyArray_ITEMSIZE(array) > 1) {
        return NULL;
    }
    integer_loop loop = is_quotient                         ? INTEGER_floor_divide
                        : function == ELEMENTWISE_fmod      ? INTEGER_fmod
                        : function == ELEMENTWISE_remainder ? INTEGER_remainder
                                                            : INTEGER_LOOPS;
    return loop == INTEGER_LOOPS
               ? NULL
               : of_integers(loop, arguments[0], arguments[1], arguments[OUT]);
}

/* A function of two arrays, of which the second may be a number. */
COMPUTE_OF(of_number, function)
{
    double number;
    if (integers_of(arguments[0]) != NULL) {
        return divide_integers(arguments, function);
    }
    if (!read_number(arguments[1], &number)) {
        return of_two(arguments, function);
    }
    PyObject *other = number_like(arguments[1], arguments[0]), *result = NULL;
    if (other != NULL) {
        PyObject *const arrays[] = {arguments[0], other};
        result = evaluate_into(function, 2, arrays, NULL, arguments[OUT]);
        Py_DECREF(other);
    }
    return result;
}

/* The next number in half precision is another one in single precision. */
COMPUTE(nextafter_of_wide)
{
    return precision_of(arguments[0]) < 0 ? NULL : of_two(arguments, ELEMENTWISE_nextafter);
}

COMPUTE(divide_in_mode)
{
    PyObject *mode = arguments[2];
    if (mode == NULL || !PyUnicode_Check(mode)) {
        return NULL;
    }
    if (PyUnicode_CompareWithASCIIString(mode, "floor") == 0) {
        return of_number(arguments, ELEMENTWISE_floor_divide);
    }
    if (PyUnicode_CompareWithASCIIString(mode, "trunc") != 0) {
        return NULL;
    }
    PyArrayObject *array = integers_of(arguments[0]);
    if (array != NULL) {
        return PyArray_ISSIGNED(array)
                   ? truncated_quotient(arguments[0], arguments[1], arguments[OUT])
                   : NULL;
    }
    if (half_of_plain(arguments[0]) < 0) {
        return of_number(arguments, ELEMENTWISE_truncated_quotient);
    }
    PyObject *quotient = of_number(arguments, ELEMENTWISE_quotient); /* rounded before */
    if (quotient != NULL) {
        Py_SETREF(quotient, evaluate_into(ELEMENTWISE_trunc, 1, &quotient, NULL, quotient));
    }
    return quotient;
}

COMPUTE(interpolate_by_array)
{
    return arguments[1] != NULL && arguments[2] != NULL
               ? evaluate_into(ELEMENTWISE_lerp, 3, arguments, NULL, arguments[OUT])
               : NULL;
}

/* The results of two functions of the same arrays, of which they take so many. */
static PyObject *
of_both(
    PyObject *const *arguments, elementwise_function first, int first_inputs,
    elementwise_function second, int second_inputs)
{
    PyObject *one = evaluate_into(first, first_inputs, arguments, NULL, NULL);
    PyObject *other =
        one == NULL ? NULL : evaluate_into(second, second_inputs, arguments, NULL, NULL);
    PyObject *both = other == NULL ? NULL : PyTuple_Pack(2, one, other);
    Py_XDECREF(one);
    Py_XDECREF(other);
    return both;
}

COMPUTE(prelu_backward)
{
    return arguments[1] != NULL && arguments[2] != NULL
               ? of_both(
                     arguments, ELEMENTWISE_prelu_backward, 3,
                     ELEMENTWISE_prelu_backward_of_weight, 2)
               : NULL;
}

COMPUTE(log_sigmoid)
{
    PyArrayObject *x = plain_array(arguments[0]);
    return x != NULL && PyArray_IS_C_CONTIGUOUS(x) /* as the results are of any memory */
               ? of_both(arguments, ELEMENTWISE_log_sigmoid, 1, ELEMENTWISE_power_of_size, 1)
               : NULL;
}

/* Numbers in place of NaN and infinities: by default 0 and the ends of the dtype. */
COMPUTE(replace_infinite)
{
    int precision = precision_of(arguments[0]), half = half_of_plain(arguments[0]);
    double greatest = precision == 1 ? DBL_MAX : half == 0 ? 65504 : half == 1 ? 0x1.fep127 : FLT_MAX;
    double defaults[3] = {0, greatest, -greatest}, numbers[3];
    for (int i = 0; i < 3; i++) {
        PyObject *given = arguments[i + 1] == Py_None ? NULL : arguments[i + 1];
        if (!read_parameter(given, arguments[0], defaults[i], numbers + i)) {
            return NULL;
        }
    }
    return of_first(arguments, ELEMENTWISE_nan_to_num, numbers);
}

/* ---- powers ---------------------------------------------------------------------------------- */

static PyUFuncObject *numpy_power; /* found with the first power, and kept */
static ufunc_loop power_loops[2];  /* by precision */

/* NumPy's powers of absolute values, whose loops take ten times as long for negative numbers. */
static void
raise_elements(char *const *data, npy_intp count, int precision)
{
    elementwise_kernel *const *kernels = kernels_in_force->elementwise->of[precision];
    const ufunc_loop *loop = power_loops + precision;
    npy_intp item = precision ? sizeof(double) : sizeof(float), steps[] = {item, item, item};
    double sizes[ROOM], powers[ROOM];
    for (npy_intp start = 0; start < count; start += ROOM) {
        npy_intp length = count - start < ROOM ? count - start : ROOM;
        char *x = data[0] + start * item, *y = data[1] + start * item;
        kernels[ELEMENTWISE_absolute_value]((char *[]){x, (char *)sizes}, NULL, length);
        loop->function((char *[]){(char *)sizes, y, (char *)powers}, &length, steps, loop->data);
        kernels[ELEMENTWISE_signed_power](
            (char *[]){x, y, (char *)powers, data[2] + start * item}, NULL, length);
    }
}

static void
raise_singles(char *const *data, const double *numbers, ptrdiff_t count)
{
    raise_elements(data, count, 0);
}

static void
raise_doubles(char *const *data, const double *numbers, ptrdiff_t count)
{
    raise_elements(data, count, 1);
}

COMPUTE(power_of_arrays)
{
    int precision = precision_of(arguments[0]) == 1;
    ufunc_loop *loop = power_loops + precision;
    /* Once it is found it is not written again: another thread may run it without the lock. */
    if (arguments[1] == NULL ||
        (loop->function == NULL &&
         !find_ufunc_loop("power", &numpy_power, precision ? NPY_DOUBLE : NPY_FLOAT, loop))) {
        return NULL;
    }
    return evaluate_kernel(
        precision ? raise_doubles : raise_singles, 2, arguments, NULL, arguments[OUT]);
}

/* Squares, cubes and what is divided by them, as products; other powers by numbers. */
COMPUTE(power)
{
    double exponent;
    int precision = precision_of(arguments[0]);
    if (!read_number(arguments[1], &exponent)) {
        return NULL;
    }
    if (integers_of(arguments[0]) != NULL && exponent >= 0) {
        return exponent == 2 && PyLong_CheckExact(arguments[1])
                   ? of_integers(INTEGER_multiply, arguments[0], arguments[0], arguments[OUT])
                   : of_integers(INTEGER_power, arguments[0], arguments[1], arguments[OUT]);
    }
    if (precision < 0 && half_of_plain(arguments[0]) < 0) {
        return NULL;
    }
    int function = exponent == 2      ? ELEMENTWISE_square
                   : exponent == 0.5  ? ELEMENTWISE_sqrt
                   : exponent == 3    ? ELEMENTWISE_cube
                   : exponent == -1   ? ELEMENTWISE_reciprocal
                   : exponent == -0.5 ? ELEMENTWISE_rsqrt
                   : exponent == -2   ? ELEMENTWISE_reciprocal_of_square
                                      : -1;
    if (function >= 0) {
        return of_first(arguments, function, NULL);
    }
    PyArrayObject *x = (PyArrayObject *)arguments[0];
    if (exponent == 0) { /* else NumPy's ones */
        return arguments[OUT] == NULL && PyArray_IS_C_CONTIGUOUS(x)
                   ? new_ones(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_DESCR(x))
                   : NULL;
    }
    PyObject *number = number_like(arguments[1], arguments[0]), *result = NULL;
    if (number != NULL) {
        PyObject *given[MOST_PARAMETERS + 1] = {arguments[0], number};
        given[OUT] = arguments[OUT];
        result = power_of_arrays(given, 0);
        Py_DECREF(number);
    }
    return result;
}

/* ---- complex numbers -------------------------------------------------------------------------- */

/* Define a function of rows that writes real and imaginary parts. */
#define JOIN_ROW(type)                                                                            \
    static void join_row_##type(                                                                  \
        const void *context, char *const *data, const npy_intp *steps, npy_intp length)           \
    {                                                                                             \
        const npy_intp item = sizeof(type);                                                       \
        const type *xs = (const type *)data[0], *ys = (const type *)data[1];                      \
        type *restrict both = (type *)data[2];                                                    \
        int is_dense = steps[0] == item && steps[1] == item && steps[2] == 2 * item;              \
        for (npy_intp i = 0; is_dense && i < length; i++) {                                       \
            both[2 * i] = xs[i];                                                                  \
            both[2 * i + 1] = ys[i];                                                              \
        }                                                                                         \
        for (npy_intp i = 0; !is_dense && i < length; i++) {                                      \
            type *to = (type *)(data[2] + i * steps[2]);                                          \
            type x = *(const type *)(data[0] + i * steps[0]);                                     \
            type y = *(const type *)(data[1] + i * steps[1]);                                     \
            to[0] = x;                                                                            \
            to[1] = y;                                                                            \
        }                                                                                         \
    }
JOIN_ROW(float)
JOIN_ROW(double)

COMPUTE(complex_of_parts)
{
    int precision = precision_of(arguments[0]);
    if (precision < 0 || precision_of(arguments[1]) != precision) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DescrFromType(precision ? NPY_CDOUBLE : NPY_CFLOAT);
    row_call call = {
        precision ? join_row_double : join_row_float, NULL, 2,
        {(PyArrayObject *)arguments[0], (PyArrayObject *)arguments[1]}, NULL, dtype, 1};
    PyObject *made = compute_rows(&call);
    Py_XDECREF(dtype);
    return made;
}

COMPUTE(complex_of_polar)
{
    if (arguments[1] == NULL || precision_of(arguments[0]) < 0) {
        return NULL;
    }
    PyObject *parts[2] = {NULL, NULL}, *made = NULL;
    for (int i = 0; i < 2; i++) {
        PyObject *wave = evaluate_into(
            i ? ELEMENTWISE_sin : ELEMENTWISE_cos, 1, arguments + 1, NULL, NULL);
        PyObject *const arrays[] = {arguments[0], wave};
        parts[i] = wave == NULL ? NULL : evaluate_into(ELEMENTWISE_product, 2, arrays, NULL, NULL);
        Py_XDECREF(wave);
    }
    if (parts[0] != NULL && parts[1] != NULL) {
        made = complex_of_parts(parts, 0);
    }
    Py_XDECREF(parts[0]);
    Py_XDECREF(parts[1]);
    return made;
}

/* ---- vectors of three elements ----------------------------------------------------------------- */

#define CROSS(type)                                                                               \
    static void cross_of_##type(                                                                  \
        type *to, const type *x, const type *y, npy_intp outer, npy_intp inner)                   \
    {                                                                                             \
        for (npy_intp i = 0; i < outer * inner; i++) {                                            \
            npy_intp at = i / inner * 3 * inner + i % inner, next = at + inner, last = next + inner; \
            to[at] = x[next] * y[last] - x[last] * y[next];                                       \
            to[next] = x[last] * y[at] - x[at] * y[last];                                         \
            to[last] = x[at] * y[next] - x[next] * y[at];                                         \
        }                                                                                         \
    }
CROSS(float)
CROSS(double)

COMPUTE(cross)
{
    int precision = precision_of(arguments[0]), axis;
    PyArrayObject *x = (PyArrayObject *)arguments[0];
    if (precision < 0 || precision_of(arguments[1]) != precision || PyArray_SIZE(x) == 0 ||
        !have_one_shape(arguments[0], arguments[1])) {
        return NULL;
    }
    axis = PyArray_NDIM(x) - 1;
    if (axis < 0 || !read_optional_axis(arguments[2], axis + 1, &axis) ||
        PyArray_DIM(x, axis) != 3) {
        return NULL;
    }
    axis_sizes sizes = sizes_around(x, axis);
    PyArrayObject *left = in_c_order(arguments[0]), *right = in_c_order(arguments[1]);
    PyArrayObject *made = left == NULL || right == NULL
                              ? NULL
                              : new_array(PyArray_NDIM(x), PyArray_DIMS(x), precision);
    if (made != NULL && precision) {
        cross_of_double(
            PyArray_DATA(made), PyArray_DATA(left), PyArray_DATA(right), sizes.outer, sizes.inner);
    }
    else if (made != NULL) {
        cross_of_float(
            PyArray_DATA(made), PyArray_DATA(left), PyArray_DATA(right), sizes.outer, sizes.inner);
    }
    Py_XDECREF(left);
    Py_XDECREF(right);
    return (PyObject *)made;
}

/* ---- probabilities ---------------------------------------------------------------------------- */

#define ARE_CHANCES(type)                                                                         \
    for (npy_intp i = 0; i < size; i++) {                                                         \
        type chance = ((const type *)PyArray_DATA(array))[i];                                     \
        are_valid &= (chance >= 0) & (chance <= 1);                                               \
    }

int
are_chances(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int precision = precision_of(object), are_valid = 1;
    if (precision < 0 || !PyArray_ISCARRAY_RO(array)) {
        return -1;
    }
    npy_intp size = PyArray_SIZE(array);
    if (precision) {
        ARE_CHANCES(double)
    }
    else {
        ARE_CHANCES(float)
    }
    return are_valid;
}

COMPUTE(probabilities)
{
    int are_valid = are_chances(arguments[0]);
    return are_valid < 0 ? NULL : PyBool_FromLong(are_valid);
}

#define VARIANT(operator, compute, variant, ...)                                                  \
    {operator, "table/arithmetic.c", __LINE__, compute, {__VA_ARGS__}, 1, NULL, variant, 1}
#define ROW(operator, compute, ...) VARIANT(operator, compute, 0, __VA_ARGS__)
#define WIDE(operator, compute, ...)                                                              \
    {operator, "table/arithmetic.c", __LINE__, compute, {__VA_ARGS__}, .takes_out = 1}
#define PAIR(operator, name) VARIANT(operator, of_number, ELEMENTWISE_##name, "self", "other")
#define SUM "self", "other", "alpha"
#define THREE "self", "tensor1", "tensor2", "value"
const kernel_row arithmetic_rows[] = {
    {"_prelu_kernel_backward", "table/arithmetic.c", __LINE__, prelu_backward,
     {"grad_output", "self", "weight"}, 1},
    VARIANT("_prelu_kernel", of_two, ELEMENTWISE_prelu, "self", "weight"),
    VARIANT("add.Tensor", scaled_sum, 1, SUM),
    {"are_probabilities", "table/arithmetic.c", __LINE__, probabilities, {"x"}},
    VARIANT("binary_entropy_terms", of_two, ELEMENTWISE_binary_entropy, "x", "target"),
    {"complex", "table/arithmetic.c", __LINE__, complex_of_parts, {"real", "imag"}},
    VARIANT("addcdiv", add_scaled, ELEMENTWISE_quotient_sum, THREE),
    VARIANT("addcmul", add_scaled, ELEMENTWISE_product_sum, THREE),
    PAIR("copysign.Scalar", copysign),
    PAIR("copysign.Tensor", copysign),
    ROW("div.Scalar_mode", divide_in_mode, "self", "other", "rounding_mode"),
    ROW("div.Tensor_mode", divide_in_mode, "self", "other", "rounding_mode"),
    PAIR("floor_divide", floor_divide),
    PAIR("floor_divide.Scalar", floor_divide),
    PAIR("fmod.Scalar", fmod),
    PAIR("fmod.Tensor", fmod),
    VARIANT("heaviside", of_two, ELEMENTWISE_heaviside, "self", "values"),
    {"linalg_cross", "table/arithmetic.c", __LINE__, cross, {"self", "other", "dim"}},
    ROW("huber_terms", huber_terms, "x", "target", "bound"),
    PAIR("hypot", hypot),
    ROW("lerp.Scalar", interpolate, "self", "end", "weight"),
    ROW("lerp.Tensor", interpolate_by_array, "self", "end", "weight"),
    PAIR("logaddexp", logaddexp),
    PAIR("logaddexp2", logaddexp2),
    {"log_sigmoid_forward", "table/arithmetic.c", __LINE__, log_sigmoid, {"self"}, 1},
    ROW("nan_to_num", replace_infinite, "self", "nan", "posinf", "neginf"),
    WIDE("nextafter", nextafter_of_wide, "self", "other"),
    {"polar", "table/arithmetic.c", __LINE__, complex_of_polar, {"abs", "angle"}},
    ROW("pow.Tensor_Scalar", power, "self", "exponent"),
    ROW("pow.Tensor_Tensor", power_of_arrays, "self", "exponent"),
    PAIR("remainder.Scalar", remainder),
    PAIR("remainder.Tensor", remainder),
    ROW("rsub.Scalar", subtract_from, SUM),
    ROW("rsub.Tensor", subtract_from_array, SUM),
    PAIR("special_xlog1py", xlog1py),
    PAIR("special_xlog1py.other_scalar", xlog1py),
    VARIANT("squared_differences", of_two, ELEMENTWISE_squared_difference, "x", "target"),
    VARIANT("sub.Tensor", scaled_sum, -1, SUM),
    PAIR("xlogy.Scalar_Other", xlogy),
    PAIR("xlogy.Tensor", xlogy),
    {NULL},
};

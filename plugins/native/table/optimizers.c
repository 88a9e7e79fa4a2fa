/* Steps of optimizers for the parameters of a group: all of it is checked before anything is
 * written. */
#include "table.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ARRAYS = 5, MOST_NUMBERS = 8 };

typedef struct {
    const char *start, *end;
} memory;

/* The step of one parameter. */
typedef struct {
    PyArrayObject *arrays[MOST_ARRAYS];
    double numbers[MOST_NUMBERS];
    int precision;
} parameter_step;

static int
compare_starts(const void *one, const void *other)
{
    const char *first = ((const memory *)one)->start, *second = ((const memory *)other)->start;
    return (first > second) - (first < second);
}

/* Whether some arrays share memory. */
static int
overlap(memory *found, Py_ssize_t count)
{
    qsort(found, (size_t)count, sizeof(memory), compare_starts);
    for (Py_ssize_t i = 1; i < count; i++) {
        if (found[i].start < found[i - 1].end) {
            return 1;
        }
    }
    return 0;
}

/* Whether a number is one in single precision too, as operators on arrays demand. */
static int
fits_precision(double number, int precision)
{
    return precision || isinf((float)number) == isinf(number);
}

/* Read a tuple of floats. Return whether it is one. */
static int
read_numbers(PyObject *given, int count, int precision, double *numbers)
{
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != count) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (!read_number(PyTuple_GET_ITEM(given, i), &numbers[i]) ||
            !fits_precision(numbers[i], precision)) {
            return 0;
        }
    }
    return 1;
}

/* Read the arrays of a parameter: `alike` of one shape and precision in C order, further ones are
 * numbers. All but the gradient, the second, can be written. Return whether these are such. */
static int
read_arrays(PyObject *given, int alike, int count, parameter_step *step)
{
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != count) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        PyObject *array = PyTuple_GET_ITEM(given, i), *first = PyTuple_GET_ITEM(given, 0);
        int found = precision_of(array);
        if (found < 0) {
            return 0;
        }
        step->arrays[i] = (PyArrayObject *)array;
        step->precision = i == 0 ? found : step->precision;
        int fits = i < alike ? found == step->precision && have_one_shape(array, first)
                             : PyArray_SIZE(step->arrays[i]) == 1;
        if (!fits || !PyArray_IS_C_CONTIGUOUS(step->arrays[i]) ||
            !PyArray_ISALIGNED(step->arrays[i]) ||
            (i != 1 && !PyArray_ISWRITEABLE(step->arrays[i]))) {
            return 0;
        }
    }
    return 1;
}

typedef void step_taker(const parameter_step *step, npy_intp size);

static void
take_each(step_taker *take, const parameter_step *steps, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        take(&steps[i], PyArray_SIZE(steps[i].arrays[0]));
    }
}

static void
take_adam(const parameter_step *step, npy_intp size)
{
    const double *n = step->numbers;
    adam_numbers numbers = {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
    kernels_in_force->optimizers->adam[step->precision](
        PyArray_DATA(step->arrays[0]), PyArray_DATA(step->arrays[1]),
        PyArray_DATA(step->arrays[2]), PyArray_DATA(step->arrays[3]), numbers, size);
    if (PyArray_TYPE(step->arrays[4]) == NPY_FLOAT) {
        *(float *)PyArray_DATA(step->arrays[4]) = (float)n[7];
    }
    else {
        *(double *)PyArray_DATA(step->arrays[4]) = n[7];
    }
}

static void
take_sgd(const parameter_step *step, npy_intp size)
{
    const double *n = step->numbers;
    sgd_numbers numbers = {n[0], n[1], n[2], n[3], n[4], n[5]};
    kernels_in_force->optimizers->sgd[step->precision](
        PyArray_DATA(step->arrays[0]), PyArray_DATA(step->arrays[1]),
        step->arrays[2] == NULL ? NULL : PyArray_DATA(step->arrays[2]), numbers, size);
}

/* How many arrays of a parameter are alike, how many there are, and how many numbers. */
typedef struct {
    int alike, count, numbers;
    step_taker *take;
} step_rule;

enum { ADAM, SGD, SGD_WITH_MOMENTUM };
static const step_rule rules[] = {{4, 5, 8, take_adam}, {2, 2, 6, take_sgd}, {3, 3, 6, take_sgd}};

/* Take the steps of a group: arrays and numbers of each parameter. Return True, or NULL without an
 * exception if one does not fit: then nothing was written. */
COMPUTE(take_steps)
{
    const step_rule *rule = rules + variant;
    int count = rule->count;
    PyObject *arrays = arguments[0], *numbers = arguments[1];
    if (arrays == NULL || numbers == NULL || !PyList_CheckExact(arrays) ||
        !PyList_CheckExact(numbers) || PyList_GET_SIZE(arrays) != PyList_GET_SIZE(numbers)) {
        return NULL;
    }
    Py_ssize_t steps = PyList_GET_SIZE(arrays), places = 0;
    parameter_step *read = PyMem_Calloc((size_t)steps + 1, sizeof(parameter_step));
    memory *found = PyMem_Calloc((size_t)(steps * count) + 1, sizeof(memory));
    int fits = read != NULL && found != NULL;
    if (!fits) {
        PyErr_NoMemory();
    }
    npy_intp total = 0;
    for (Py_ssize_t i = 0; fits && i < steps; i++) {
        fits = read_arrays(PyList_GET_ITEM(arrays, i), rule->alike, count, &read[i]) &&
               read_numbers(
                   PyList_GET_ITEM(numbers, i), rule->numbers, read[i].precision,
                   read[i].numbers);
        for (int j = 0; fits && j < count; j++) {
            const char *start = PyArray_BYTES(read[i].arrays[j]);
            found[places++] = (memory){start, start + PyArray_NBYTES(read[i].arrays[j])};
            total += PyArray_SIZE(read[i].arrays[j]);
        }
    }
    fits = fits && !overlap(found, places);
    if (fits) {
        RELEASED(total, take_each(rule->take, read, steps));
    }
    PyMem_Free(read);
    PyMem_Free(found);
    return fits ? Py_NewRef(Py_True) : NULL;
}

#define ROW(operator, rule)                                                                       \
    {operator, "table/optimizers.c", __LINE__, take_steps, {"arrays", "numbers"}, 0, NULL, rule}
const kernel_row optimizer_rows[] = {
    ROW("optimizer_step.adam", ADAM),
    ROW("optimizer_step.sgd", SGD),
    ROW("optimizer_step.sgd_with_momentum", SGD_WITH_MOMENTUM),
    {NULL},
};

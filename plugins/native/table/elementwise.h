/* Functions of every element, for the tables of operators (elementwise.c, arithmetic.c). */
#ifndef DOVETAIL_TABLE_ELEMENTWISE_H
#define DOVETAIL_TABLE_ELEMENTWISE_H

#include "layouts.h"

/* Which half precision a plain array is of, -1 for others. */
int half_of_plain(PyObject *object);

/* Return an array of a function of arrays of one dtype: `out`, or a new one if that is NULL; see
 * `bound_kernel`. */
PyObject *evaluate_into(
    elementwise_function function, int inputs, PyObject *const *arrays, const double *numbers,
    PyObject *out);

/* The same of a kernel for the precision of the arrays, single for half precision. */
PyObject *evaluate_kernel(
    elementwise_kernel *kernel, int inputs, PyObject *const *arrays, const double *numbers,
    PyObject *out);

/* The same of the first argument, with the array that is given as `out`. */
PyObject *of_first(
    PyObject *const *arguments, elementwise_function function, const double *numbers);

/* Functions of one array, or two, without parameters: see `bound_kernel`. */
PyObject *of_one(PyObject *const *arguments, int function);
PyObject *of_two(PyObject *const *arguments, int function);

/* The number that an array has for a number: infinity for one that is too large. */
double as_number_of(PyObject *array, double number);

/* Set a parameter, by default `otherwise`. Return whether it is a number that the dtype of `array`
 * holds. */
int read_parameter(PyObject *object, PyObject *array, double otherwise, double *number);

#endif

/* Integers and truth values, for the tables of operators (integers.c). */
#ifndef DOVETAIL_INTEGERS_H
#define DOVETAIL_INTEGERS_H

#include "layouts.h"

/* The loops that are used. */
#define INTEGER_LOOPS_OF(X)                                                                       \
    X(add) X(multiply) X(maximum) X(minimum) X(logical_or) X(logical_and) X(remainder) X(fmod)     \
    X(floor_divide) X(subtract) X(power)
#define INTEGER_LOOP(name) INTEGER_##name,
typedef enum { INTEGER_LOOPS_OF(INTEGER_LOOP) INTEGER_LOOPS } integer_loop;

/* An array of integers in the processor's byte order; NULL for any other object. */
PyArrayObject *integers_of(PyObject *object);

/* The array itself, or a copy in a type, aligned: a new reference. */
PyArrayObject *in_type(PyArrayObject *array, int type);

/* Combine the elements of an aligned array over the axes of a mask: by `add` and `multiply` in its
 * dtype, which has to be that of the result. NULL with an exception. */
PyObject *reduce_integers(integer_loop which, PyArrayObject *array, npy_uint64 mask, int keeps);

/* A function of integers and others of their dtype, or a number that this holds, written into `out`
 * unless it is NULL; see `bound_kernel`. A division by zero is the reference's. */
PyObject *of_integers(integer_loop which, PyObject *first, PyObject *other, PyObject *out);

/* The quotient rounded towards zero, in the same way. */
PyObject *truncated_quotient(PyObject *first, PyObject *other, PyObject *out);

#endif

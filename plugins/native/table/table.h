/* The kernel table: what compiled code computes, by operator. */
#ifndef DOVETAIL_TABLE_H
#define DOVETAIL_TABLE_H

#include "../core/native.h"
#include "../kernels/softmax.h"

/* The kernels of one instruction set. */
typedef struct {
    const char *name;
    const softmax_kernels *softmax;
} instruction_set;

/* instruction_sets.c: chooses the highest set that the processor has, or the one that
 * DOVETAIL_NATIVE_ISA names. Return 0, or -1 with an exception. */
extern const instruction_set *kernels_in_force;
int choose_instruction_set(PyObject *module);

enum { MOST_PARAMETERS = 8 };

/* Returns the result of an operator for the arguments of a call, of which missing ones are NULL;
 * NULL with an exception if it failed; NULL without one for dtypes and arguments that it does not
 * compute, which are the reference's. Shapes and strides are never a reason for that. */
typedef PyObject *bound_kernel(PyObject *const *arguments);

typedef struct {
    const char *operator, *file;
    int line;
    bound_kernel *compute;
    const char *parameters[MOST_PARAMETERS + 1]; /* ends with NULL */
} kernel_row;

/* One for each family; ends with a row without operator. */
extern const kernel_row softmax_rows[], view_rows[];

/* compiled_kernel.c: adds the type CompiledKernel and its functions to the module. Return 0, or -1
 * with an exception. */
int add_compiled_kernel_type(PyObject *module);

/* ---- arguments (arguments.c) ----------------------------------------------------------------- */

/* Elements from which the interpreter's lock is released. */
enum { RELEASE_FROM_ELEMENTS = 1 << 14 };

/* 0 for float32, 1 for float64; -1 for an object that is no array of NumPy's own class, of another
 * dtype or byte order, or absent. */
int precision_of(PyObject *object);

/* Whether two arrays have the same shape. */
int have_one_shape(PyObject *first, PyObject *second);

/* Set the index of the axis that an int names, of an array of `ndim` axes. Return whether it is
 * one: for 0 axes, those are 0 and -1. */
int read_axis(PyObject *object, int ndim, int *axis);

/* The array itself, or a copy, in C order and aligned: a new reference. */
PyArrayObject *in_c_order(PyObject *array);

/* A new array in C order with the shape and dtype of `array`. */
PyArrayObject *empty_like(PyObject *array);

#endif

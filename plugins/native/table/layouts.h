/* Functions of rows of elements, for operands of any layout (layouts.c). */
#ifndef DOVETAIL_LAYOUTS_H
#define DOVETAIL_LAYOUTS_H

#include "table.h"

enum {
    MOST_INPUTS = 3,
    ROOM = 1024, /* elements of a row that are computed at a time where they are copied */
};

/* Computes a row of elements: data and steps in bytes by operand, of which the last is written. */
typedef void row_function(
    const void *context, char *const *data, const npy_intp *steps, npy_intp length);

/* A function of rows with its inputs, and what it writes. */
typedef struct {
    row_function *function;
    const void *context;
    int count; /* inputs */
    PyArrayObject *inputs[MOST_INPUTS];
    PyArrayObject *out;   /* NULL: a new array, of `dtype` */
    PyArray_Descr *dtype; /* borrowed */
    int takes_steps;      /* 0: the elements of all operands lie side by side */
} row_call;

/* Return the array that is written, for inputs whose shapes are broadcast: a new one in the order
 * of memory of `elementwise_layout`. Inputs may overlap `out`. NULL without an exception for
 * shapes that do not fit: the reference says so. */
PyObject *compute_rows(const row_call *call);

/* Return a copy of an array in the order of memory that an elementwise result of `model` has, an
 * array of its shape. NULL with an exception. */
PyArrayObject *laid_like(PyArrayObject *array, PyArrayObject *model);

/* Write elements of half precision to a room of at least `count` in single precision, and return
 * their step there, in bytes: 0 if `step` is, where the room has one. */
npy_intp widen_elements(
    int half, float *room, const char *data, npy_intp step, npy_intp count);

/* Write numbers of single precision, side by side, to elements of half precision. */
void narrow_elements(int half, char *data, npy_intp step, const float *room, npy_intp count);

/* conversions.c: a copy of an array of half precision in single precision, and the other way. New
 * references; NULL with an exception. */
PyArrayObject *as_single(PyArrayObject *array);
PyArrayObject *as_half(PyArrayObject *array, PyArray_Descr *dtype, int half);

#endif

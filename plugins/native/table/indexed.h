/* What operators with indices read their arguments with (indexed.c). */
#ifndef DOVETAIL_INDEXED_H
#define DOVETAIL_INDEXED_H

#include "table.h"

/* What a call does with the elements of `x`, a new array or the one that is read; the arrays that
 * are held for it. */
typedef struct {
    indexed_elements elements;
    PyArrayObject *x, *index, *values;
} indexed_call;

/* Indices by axis of x, NULL for an axis of which all is taken; which are the first and the last,
 * and how many. */
typedef struct {
    PyArrayObject *of[NPY_MAXDIMS];
    int first, last, count;
} index_key;

/* Release the arrays of a call. */
void release_call(indexed_call *call);

/* The logarithm of the size of an array's elements, -1 for others than are moved. */
int size_class(PyArrayObject *array);

/* The type of elements that are combined, -1 for others. */
int type_of(PyArrayObject *array);

/* Whether an object is an array of NumPy's own class whose elements are moved. */
int is_array(PyObject *object);

/* Whether an object is an array of int32 or int64. */
int is_index(PyObject *object);

/* An index as int64: the array itself, or a copy. */
PyArrayObject *as_index(PyObject *index);

/* An index of one axis, or of none, with one axis. */
PyObject *as_vector(PyObject *index);

/* A copy with the axes in the same order in memory; of an expanded array, in C order. */
PyArrayObject *copy_of(PyArrayObject *array);

/* A number as an array without axes, of the dtype of x (scattering.c); NULL with an exception, or
 * without for numbers of other kinds and those that it does not hold. */
PyArrayObject *number_like(PyArrayObject *x, PyObject *number);

/* Append an axis: of how many values, and how far these lie apart. */
void add_axis(indexed_elements *elements, npy_intp size, npy_intp x, npy_intp index);

/* Set the axis that indices count along. */
void count_along(indexed_elements *elements, npy_intp step, npy_intp size, int wraps);

/* The number of values of a call. */
npy_intp count_values(const indexed_elements *elements);

/* Run a kernel, without the lock for many values. Return whether all indices are in range. */
int run_indexed(indexed_kernel *kernel, indexed_call *call);

/* Add the axes of values that an index has along one axis of x, and x in all others. */
void replace_axis(indexed_elements *elements, PyArrayObject *x, int axis, PyArrayObject *index);

/* Whether the first of two shapes is nowhere larger, but for one axis. */
int is_within(PyArrayObject *inner, PyArrayObject *outer, int but);

/* Add the axes of an index that has one for each value, along an axis of x. */
void follow_index(indexed_elements *elements, PyArrayObject *x, int axis, PyArrayObject *index);

/* Whether an index has an element for some of the elements of x, along an axis; the other axes of
 * both begin together. */
int read_places(PyObject *x, PyObject *dim, PyObject *index, int *axis);

/* Read a key of indices that are integers. Return whether it is one with at least one index. */
int read_key(PyObject *object, PyArrayObject *x, index_key *key);

/* Set the index and the axes of a call that names elements of x by a key: those of the indices
 * stand in the place of the indexed ones if these are neighbours, else first. Return whether there
 * are any values, and all indices are in range where several were looked at; with or without an
 * exception if not. */
int take_key(indexed_call *call, const index_key *key);

#endif

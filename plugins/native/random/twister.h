/* The state of a Mersenne Twister of NumPy, and the loops of NumPy's functions that random numbers
 * are made with. */
#ifndef DOVETAIL_TWISTER_H
#define DOVETAIL_TWISTER_H

#include "../table/table.h"

/* The layout of `mt19937_state` in NumPy. */
typedef struct {
    uint32_t words[TWISTER_WORDS];
    int at; /* words that have been drawn */
} twister;

/* The state of an object, which is numpy.random.MT19937. NULL without an exception for any other
 * object, and where NumPy's layout is not the one above; NULL with one if something failed. */
twister *twister_of(PyObject *bits);

/* Write the next `count` words. Needs no lock of the interpreter. */
void draw_words(twister *source, uint32_t *words, npy_intp count);

/* Draw words without use for them. */
void skip_words(twister *source, npy_intp count);

/* Functions of one argument. */
typedef enum { LOG, LOG1P, COS, SIN, FUNCTION_COUNT } numpy_function;

/* Replace `count` numbers of a precision by those of a function, or write those to `result`. Once
 * `twister_of` has returned a state, it needs no lock of the interpreter. */
void apply(numpy_function function, int precision, void *result, void *numbers, npy_intp count);

/* Draws: see plain_draws.py. The size may be an array in C order, too. */
bound_kernel uniform_numbers, choices, normal_numbers, waiting_times, integers_below, permutation;

#endif

/* Words of the Mersenne Twister (Matsumoto and Nishimura 1998, doi:10.1145/272991.272995) and the
 * numbers that they make. */
#ifndef DOVETAIL_RANDOM_H
#define DOVETAIL_RANDOM_H

#include "instruction_set.h"

enum {
    TWISTER_WORDS = 624,
    NORMAL_BLOCK = 16, /* normal numbers that are made together */
};

/* Replace the words of a state by the next ones. */
typedef void twister_renewal(uint32_t *state);

/* Write the outputs of `count` words of a state. */
typedef void twister_tempering(uint32_t *words, const uint32_t *state, ptrdiff_t count);

/* Write `count` numbers of [0, 1): of 24 bits of a word each, or of 53 bits of a pair. */
typedef void uniform_kernel(void *numbers, const uint32_t *words, ptrdiff_t count);

/* Write int64 remainders of words, or of pairs, divided by `width`, plus `low`. A width of 0 divides
 * nothing. */
typedef void integer_kernel(
    void *numbers, const uint32_t *words, ptrdiff_t count, uint64_t width, int64_t low);

/* Write which of `count` numbers of 53 bits are less than `p`. */
typedef void choice_kernel(
    unsigned char *chosen, const uint32_t *words, ptrdiff_t count, double p);

/* Take numbers of [0, 1) to [low, high): those that are rounded to `high` become `low`. */
typedef void bounding_kernel(void *numbers, ptrdiff_t count, double low, double high);

/* Multiply numbers by `scale` and add `shift`, rounded once. */
typedef void scaling_kernel(void *numbers, ptrdiff_t count, double scale, double shift);

/* Of blocks of NORMAL_BLOCK uniform numbers, the first half makes radii and the second half angles
 * (Box and Muller 1958, doi:10.1214/aoms/1177706645). Each step is one of NumPy's functions, or an
 * operation that is rounded once: the bits are those of the reference. */
typedef void block_splitting(void *radii, void *angles, const void *uniform, ptrdiff_t count);
typedef void radius_kernel(void *logarithms, ptrdiff_t count);
typedef void block_joining(
    void *numbers, const void *radii, const void *cosines, const void *sines, ptrdiff_t count);

/* Arrays of two: by precision, of which the first is single; `integers` by words and pairs. */
typedef struct {
    twister_renewal *renew;
    twister_tempering *temper;
    uniform_kernel *uniform[2];
    integer_kernel *integers[2];
    choice_kernel *choose;
    bounding_kernel *bound[2];
    scaling_kernel *scale[2];
    block_splitting *split[2];
    radius_kernel *radii[2];
    block_joining *join[2];
} random_kernels;

#endif

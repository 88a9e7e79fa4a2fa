/* Rows of elements in order: sorted, the first of the order, and the one of a rank.
 *
 * Elements are compared as keys: unsigned integers in the same order, in which NaN is the greatest
 * number and zeros of both signs are one. */
#ifndef DOVETAIL_ORDERING_H
#define DOVETAIL_ORDERING_H

#include "indexing.h"

/* Write the keys of elements that lie side by side. */
typedef void key_writer(uint64_t *keys, const void *elements, ptrdiff_t count);

/* Write for each value how many elements of a sorted sequence come before it in the order, and of
 * those that are equal too where `behind` is 1 and not 0. */
typedef void place_finder(
    int64_t *places, const void *values, ptrdiff_t count, const void *sorted, ptrdiff_t length,
    int behind);

/* The bytes that the kernels below need as room for one key of a row. */
enum { ROOM_OF_KEY = 48 };

/* Kernels for rows of at least one key; `room` has ROOM_OF_KEY bytes for each.
 *
 * `sort` writes the indices of the keys in order, `first` those of the `k` first of the order: equal
 * keys keep theirs. `select` returns the key that has so many before it in the order. */
typedef struct {
    key_writer *write_keys[INDEXED_TYPES]; /* NULL for complex numbers */
    uint64_t nan_key[INDEXED_TYPES];       /* of those of real numbers */
    place_finder *find_places[INDEXED_TYPES];
    void (*sort)(int64_t *order, const uint64_t *keys, ptrdiff_t count, void *room);
    void (*first)(
        int64_t *order, ptrdiff_t k, const uint64_t *keys, ptrdiff_t count, void *room);
    uint64_t (*select)(const uint64_t *keys, ptrdiff_t count, ptrdiff_t rank, void *room);
} ordering_kernels;

#endif

/* Running sums, products and extrema. */
#ifndef DOVETAIL_SCANS_H
#define DOVETAIL_SCANS_H

#include "indexing.h"

/* Arrays are (outer, length, inner) in C order; what runs along `length`, which is at least 1, does
 * so element after element. */
typedef void running_kernel(
    void *result, const void *array, ptrdiff_t outer, ptrdiff_t length, ptrdiff_t inner);

/* The greatest or least so far, and the index of the last element that it is. NaN is both. */
typedef void running_extremum(
    void *result, int64_t *indices, const void *array, ptrdiff_t outer, ptrdiff_t length,
    ptrdiff_t inner);

/* By type, NULL for those that are not computed: of integers, int64 alone has sums and products.
 * Single precision runs in double, half precision in single. */
typedef struct {
    running_kernel *sum[INDEXED_TYPES], *product[INDEXED_TYPES];
    running_extremum *greatest[INDEXED_TYPES], *least[INDEXED_TYPES];
} scan_kernels;

#endif

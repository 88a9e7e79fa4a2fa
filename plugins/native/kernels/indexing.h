/* Elements at indices along an axis of strided memory: read, written, or combined with others. */
#ifndef DOVETAIL_INDEXING_H
#define DOVETAIL_INDEXING_H

#include "instruction_set.h"

enum { MOST_INDEXED_AXES = 64 };

/* Elements that are combined, by their dtype; the last two are of half precision. */
typedef enum {
    INDEXED_BOOL,
    INDEXED_INT8,
    INDEXED_INT16,
    INDEXED_INT32,
    INDEXED_INT64,
    INDEXED_UINT8,
    INDEXED_UINT16,
    INDEXED_UINT32,
    INDEXED_UINT64,
    INDEXED_FLOAT32,
    INDEXED_FLOAT64,
    INDEXED_COMPLEX64,
    INDEXED_COMPLEX128,
    INDEXED_FLOAT16,
    INDEXED_BFLOAT16,
    INDEXED_TYPES,
} indexed_type;

typedef enum {
    INDEXED_ADD,
    INDEXED_MULTIPLY,
    INDEXED_GREATEST,
    INDEXED_LEAST,
    INDEXED_COMBINATIONS,
} indexed_combination;

/* For each value an int64 index, and an element of x: as many times `along` bytes from where the
 * value's own position puts it. Steps are in bytes, and nothing need be aligned. An index is at
 * least 0 and less than `size`, or, where `wrap` is `size` and not 0, counts from the end. */
typedef struct {
    char *x, *values;
    const char *index;
    ptrdiff_t along, size, wrap;
    int ndim;
    ptrdiff_t shape[MOST_INDEXED_AXES];
    ptrdiff_t x_steps[MOST_INDEXED_AXES], value_steps[MOST_INDEXED_AXES];
    ptrdiff_t index_steps[MOST_INDEXED_AXES];
} indexed_elements;

/* Go through all values in C order. Return whether all indices are in range: each is looked at
 * before it is used, and the first that is not ends the loop. */
typedef int indexed_kernel(const indexed_elements *elements);

/* Elements are moved by the logarithm of their size in bytes, 1 to 16. Complex numbers have no
 * order: these kernels are NULL. */
typedef struct {
    indexed_kernel *read[5], *write[5];
    indexed_kernel *combine[INDEXED_COMBINATIONS][INDEXED_TYPES];
    indexed_kernel *add_offsets; /* adds to values of int64 how far away in bytes the elements lie */
} indexing_kernels;

#endif

/* Sums in one precision; see sums.h. */
#include "real.h"

/* The sum of the lanes, as a tree. */
INLINE REAL
OF(sum_of_lanes)(const REAL *lanes)
{
    REAL eight[8], four[4];
    for (int j = 0; j < 8; j++) {
        eight[j] = lanes[j] + lanes[j + 8];
    }
    for (int j = 0; j < 4; j++) {
        four[j] = eight[j] + eight[j + 4];
    }
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Sums of blocks that wait for their partners: one of 2^k blocks at level k, where bit k of `count`
 * is set. */
typedef struct {
    REAL waiting[LEVELS];
    size_t count;
} OF(pairs);

INLINE void
OF(add_block)(OF(pairs) *pairs, REAL sum)
{
    int level = 0;
    for (size_t count = pairs->count++; count & 1; count >>= 1) {
        sum = pairs->waiting[level++] + sum;
    }
    pairs->waiting[level] = sum;
}

INLINE REAL
OF(sum_of_blocks)(const OF(pairs) *pairs)
{
    REAL sum = 0;
    int is_first = 1;
    for (int level = 0; pairs->count >> level; level++) {
        if (pairs->count >> level & 1) {
            sum = is_first ? pairs->waiting[level] : pairs->waiting[level] + sum;
            is_first = 0;
        }
    }
    return sum;
}

/* Add the blocks of a part of a row that begins with a block. */
INLINE void
OF(add_blocks)(OF(pairs) *pairs, const REAL *part, ptrdiff_t length)
{
    for (ptrdiff_t start = 0; start < length; start += BLOCK) {
        ptrdiff_t stop = length - start < BLOCK ? length : start + BLOCK;
        REAL lanes[LANES] = {0};
        ptrdiff_t i = start;
        for (; i + LANES <= stop; i += LANES) {
            for (int j = 0; j < LANES; j++) {
                lanes[j] += part[i + j];
            }
        }
        for (int j = 0; i < stop; i++, j++) {
            lanes[j] += part[i];
        }
        OF(add_block)(pairs, OF(sum_of_lanes)(lanes));
    }
}

INLINE REAL
OF(sum)(const REAL *row, ptrdiff_t length)
{
    OF(pairs) pairs;
    pairs.count = 0;
    OF(add_blocks)(&pairs, row, length);
    return OF(sum_of_blocks)(&pairs);
}

/* Sums whose order is the same for every layout and instruction set. Element i of a row is added in
 * lane i % LANES; rows are summed in blocks, and blocks in pairs, so that errors grow as those of
 * pairwise summation. */
#ifndef DOVETAIL_SUMS_H
#define DOVETAIL_SUMS_H

#include "instruction_set.h"

enum {
    LANES = 16,
    BLOCK = 256,   /* elements of a row that are added before pairs are formed */
    LEVELS = 56,   /* pairs of pairs …: enough for rows of 2^63 elements */
};

#define TEMPLATE "sums_template.h"
#include "both_precisions.h"

#endif

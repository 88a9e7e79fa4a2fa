/* The rows of a call of a ufunc, by the loop that computes one of them. */
#ifndef DOVETAIL_UFUNC_ROWS_H
#define DOVETAIL_UFUNC_ROWS_H

#include "native.h"

#define MAX_DIMS 8
#define MAX_OPERANDS 3 /* two inputs and the output */

/* Rows of two operands up to this length are computed several at a time, those of an operand that do
 * not follow each other in a room of so many bytes: a call of the loop takes as long as 64 elements. */
#define JOINED_ROW 128
#define ROW_ROOM 8192
#define LONG_ROW 64 /* in which an element may be copied */

typedef struct {
    PyUFuncGenericFunction function; /* NULL: no loop for this type */
    void *data;
    int result_type;
    int spreads, item; /* whether one element is faster as a row of its copies; its bytes */
} typed_loop;

/* The elements of a call: strides per operand, the output last. */
typedef struct {
    int ndim;
    int count; /* operands */
    npy_intp dims[MAX_DIMS];
    npy_intp strides[MAX_OPERANDS][MAX_DIMS];
    char *data[MAX_OPERANDS];
} geometry;

/* The operands of some rows at a time: where the rows of one do not follow each other in memory, they
 * are copied to a room, again if others than before are needed. */
typedef struct {
    int is_copied[MAX_OPERANDS], items[MAX_OPERANDS];
    npy_intp count; /* of rows at a time; 1: rows are computed where they are */
    const char *copied[MAX_OPERANDS];
    npy_intp copied_rows[MAX_OPERANDS];
    char rooms[MAX_OPERANDS - 1][ROW_ROOM] __attribute__((aligned(64)));
} joined_rows;

/* Set how many rows are computed at a time, of the arrays of a call. */
void join_rows(joined_rows *rows, const geometry *g, PyArrayObject *const *arrays);

/* Compute all rows. */
void run_rows(const typed_loop *loop, geometry *g, joined_rows *rows);

#endif

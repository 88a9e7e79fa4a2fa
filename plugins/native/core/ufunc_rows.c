/* Calls of a ufunc row by row, or several short rows at a time. */
#include "ufunc_rows.h"

/* The rows of the result follow each other. Some loops of one operand, and of complex numbers, round
 * otherwise in rows of another length. */
void
join_rows(joined_rows *rows, const geometry *g, PyArrayObject *const *arrays)
{
    int inner = g->ndim - 1, out = g->count - 1, largest = 1;
    npy_intp length = g->dims[inner];
    rows->count = 1;
    if (g->ndim < 2 || out < 2 || length < 1 || length > JOINED_ROW ||
        PyArray_ISCOMPLEX(arrays[0])) {
        return;
    }
    for (int i = 0; i <= out; i++) {
        npy_intp step = g->strides[i][inner];
        int item = rows->items[i] = (int)PyArray_ITEMSIZE(arrays[i]);
        if (step != item && (step != 0 || i == out)) {
            return;
        }
        rows->is_copied[i] = step == 0 || g->strides[i][inner - 1] != step * length;
        rows->copied[i] = NULL;
        largest = item > largest ? item : largest;
    }
    npy_intp most = ROW_ROOM / (length * largest);
    if (!rows->is_copied[out] && most > 1) {
        rows->count = g->dims[inner - 1] < most ? g->dims[inner - 1] : most;
    }
}

static void
copy_rows(char *room, const char *from, npy_intp count, npy_intp length, npy_intp gap, int item)
{
    for (npy_intp i = 0; i < count; i++, from += gap) {
        memcpy(room, from, (size_t)(length * item));
        room += length * item;
    }
}

/* The same of elements that stand for a row each. */
#define SPREAD(type)                                                                              \
    for (npy_intp i = 0; i < count; i++) {                                                        \
        type element = *(const type *)(from + i * gap);                                           \
        for (npy_intp j = 0; j < length; j++) {                                                   \
            ((type *)room)[i * length + j] = element;                                             \
        }                                                                                         \
    }

static void
spread_elements(char *room, const char *from, npy_intp count, npy_intp length, npy_intp gap, int item)
{
    switch (item) {
    case 1:
        SPREAD(uint8_t) break;
    case 2:
        SPREAD(uint16_t) break;
    case 4:
        SPREAD(uint32_t) break;
    case 8:
        SPREAD(uint64_t) break;
    default:
        SPREAD(npy_longdouble)
    }
}

/* Run the loop over the rows of the last two axes. */
static void
run_joined(const typed_loop *loop, const geometry *g, joined_rows *rows)
{
    int inner = g->ndim - 1, count = g->count;
    npy_intp length = g->dims[inner], total = g->dims[inner - 1], steps[MAX_OPERANDS];
    for (npy_intp start = 0; start < total; start += rows->count) {
        npy_intp some = total - start < rows->count ? total - start : rows->count;
        npy_intp elements = some * length;
        char *data[MAX_OPERANDS];
        for (int i = 0; i < count; i++) {
            npy_intp gap = g->strides[i][inner - 1];
            int item = rows->items[i];
            char *from = data[i] = g->data[i] + start * gap;
            steps[i] = item;
            if (!rows->is_copied[i]) {
                continue;
            }
            data[i] = rows->rooms[i];
            if (rows->copied[i] != from || rows->copied_rows[i] < some) {
                rows->copied[i] = from;
                rows->copied_rows[i] = some;
                if (g->strides[i][inner] != 0) {
                    copy_rows(data[i], from, some, length, gap, item);
                }
                else {
                    spread_elements(data[i], from, some, length, gap, item);
                }
            }
        }
        loop->function(data, &elements, steps, loop->data);
    }
}

static void
run_row(const typed_loop *loop, const geometry *g, joined_rows *rows)
{
    npy_intp steps[MAX_OPERANDS], length = g->dims[g->ndim - 1], some = length;
    int spread = -1;
    char *data[MAX_OPERANDS]; /* a loop may move the pointers that it is given */
    memcpy(data, g->data, sizeof data);
    for (int i = 0; i < g->count; i++) {
        steps[i] = g->strides[i][g->ndim - 1];
        if (loop->spreads && i < g->count - 1 && steps[i] == 0 && length > LONG_ROW) {
            spread = i;
        }
    }
    if (spread >= 0 && steps[1 - spread] == loop->item && g->count == 3) {
        some = ROW_ROOM / loop->item < length ? ROW_ROOM / loop->item : length;
        repeat_item(rows->rooms[0], data[spread], loop->item, some * loop->item);
    }
    else {
        spread = -1;
    }
    for (npy_intp start = 0; start < length; start += some) {
        npy_intp elements = length - start < some ? length - start : some;
        for (int i = 0; i < g->count; i++) {
            data[i] = i == spread ? rows->rooms[0] : g->data[i] + start * steps[i];
        }
        npy_intp strides[MAX_OPERANDS] = {steps[0], steps[1], steps[2]};
        if (spread >= 0) {
            strides[spread] = loop->item;
        }
        loop->function(data, &elements, strides, loop->data);
    }
}

void
run_rows(const typed_loop *loop, geometry *g, joined_rows *rows)
{
    npy_intp at[MAX_DIMS] = {0};
    for (;;) {
        if (rows->count > 1) {
            run_joined(loop, g, rows);
        }
        else {
            run_row(loop, g, rows);
        }
        int axis = g->ndim - (rows->count > 1) - 2;
        for (; axis >= 0; axis--) {
            int is_done = ++at[axis] == g->dims[axis];
            npy_intp back = is_done ? g->dims[axis] - 1 : -1;
            for (int i = 0; i < g->count; i++) {
                g->data[i] -= g->strides[i][axis] * back;
            }
            if (!is_done) {
                break;
            }
            at[axis] = 0;
        }
        if (axis < 0) {
            return;
        }
    }
}


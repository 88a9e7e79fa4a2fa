/* One step of an LSTM, and all steps of a layer with their gradients, as operators. Products are
 * NumPy's. */
#include "table.h"

/* Rows of all steps from which a weight is copied: BLAS multiplies few rows by a view of it up to
 * three times as slowly. */
enum { ROWS_TO_TURN = 64 };

/* Whether an array has a precision and a shape, of whose sizes those beyond `ndim` do not count. */
static int
is_of(PyObject *object, int precision, int ndim, npy_intp first, npy_intp second, npy_intp third)
{
    npy_intp shape[3] = {first, second, third};
    return precision_of(object) == precision && has_shape(object, ndim, shape);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias): hidden state, cell
 * state, gates. */
COMPUTE(cell)
{
    int precision = precision_of(arguments[2]);
    const void *given, *product, *cx, *bias[2] = {NULL, NULL};
    if (precision < 0) {
        return NULL;
    }
    PyArrayObject *state = (PyArrayObject *)arguments[2];
    int last = PyArray_NDIM(state) - 1;
    if (last < 0 || PyArray_SIZE(state) == 0) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS], count = PyArray_SIZE(state);
    memcpy(shape, PyArray_DIMS(state), (size_t)(last + 1) * sizeof *shape);
    lstm_size size = {count / shape[last], shape[last]};
    npy_intp width = 4 * size.size;
    shape[last] = width;
    for (int i = 0; i < 2; i++) {
        if (precision_of(arguments[i]) != precision ||
            !has_shape(arguments[i], last + 1, shape) ||
            (is_given(arguments[3 + i]) &&
             !is_of(arguments[3 + i], precision, 1, width, 0, 0))) {
            return NULL;
        }
    }
    operands taken = {0};
    int fits = take_operand(&taken, arguments[0], precision, 4 * count, &given) &&
               take_operand(&taken, arguments[1], precision, 4 * count, &product) &&
               take_operand(&taken, arguments[2], precision, count, &cx);
    for (int i = 0; fits && i < 2; i++) {
        fits = !is_given(arguments[3 + i]) ||
               take_operand(&taken, arguments[3 + i], precision, width, &bias[i]);
    }
    results made = {.failed = !fits};
    if (fits) {
        void *hidden = add_result(&made, empty_like(arguments[2]));
        void *cells = add_result(&made, empty_like(arguments[2]));
        void *gates = add_result(&made, new_array(last + 1, shape, precision));
        if (!made.failed) {
            RELEASED(
                4 * count, kernels_in_force->recurrence->of[precision].step(
                               gates, cells, hidden, given, product, bias[0], bias[1], cx, size));
        }
    }
    release_operands(&taken);
    return tuple_of(&made);
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* The step of a number, of an array of several in C order, as an array: a new reference. */
static PyObject *
step_of(PyObject *array, npy_intp step)
{
    return PySequence_GetItem(array, step);
}

/* Write the product of two matrices. Return 0, or -1 with an exception. */
static int
multiply(PyObject *first, PyObject *second, PyArrayObject *result)
{
    PyObject *made = PyArray_MatrixProduct2(first, second, result);
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

/* The transpose of a weight, which is copied where many rows are multiplied by it. */
static PyObject *
turned_weight(PyArrayObject *weight, npy_intp rows)
{
    PyObject *view = PyArray_Transpose(weight, NULL);
    if (view == NULL || rows < ROWS_TO_TURN) {
        return view;
    }
    PyObject *made = (PyObject *)in_c_order(view);
    Py_DECREF(view);
    return made;
}

/* Numbers of steps, sequences and of a state; whether gates (steps, sequences, 4 * size), states
 * (sequences, size), a weight (4 * size, size) and a bias are those of a layer. */
typedef struct {
    int precision;
    npy_intp steps, rows, size;
} layer;

static int
read_layer(
    PyObject *gates, PyObject *hx, PyObject *cx, PyObject *weight, PyObject *bias, layer *read)
{
    int precision = read->precision = precision_of(gates);
    if (precision < 0 || PyArray_NDIM((PyArrayObject *)gates) != 3 ||
        PyArray_SIZE((PyArrayObject *)gates) == 0) {
        return 0;
    }
    npy_intp *shape = PyArray_DIMS((PyArrayObject *)gates);
    read->steps = shape[0];
    read->rows = shape[1];
    read->size = shape[2] / 4;
    return shape[2] % 4 == 0 && is_of(hx, precision, 2, read->rows, read->size, 0) &&
           is_of(cx, precision, 2, read->rows, read->size, 0) &&
           is_of(weight, precision, 2, shape[2], read->size, 0) &&
           (!is_given(bias) || is_of(bias, precision, 1, shape[2], 0, 0));
}

/* lstm_steps(gates, hx, cx, weight, bias, reverse): hidden states, cell states, gates. */
COMPUTE(sequence)
{
    layer read;
    int reverse;
    PyObject *bias = arguments[4];
    if (!read_layer(arguments[0], arguments[1], arguments[2], arguments[3], bias, &read) ||
        !read_optional_flag(arguments[5], &reverse)) {
        return NULL;
    }
    int precision = read.precision;
    npy_intp states[3] = {read.steps, read.rows, read.size}, all = read.rows * read.size;
    npy_intp opened[3] = {read.steps, read.rows, 4 * read.size};
    lstm_size size = {read.rows, read.size};
    const void *given, *cx, *added = NULL;
    operands taken = {0};
    int fits = take_operand(&taken, arguments[0], precision, 4 * all * read.steps, &given) &&
               take_operand(&taken, arguments[2], precision, all, &cx) &&
               (!is_given(bias) || take_operand(&taken, bias, precision, 4 * read.size, &added));
    results made = {.failed = !fits};
    char *all_hidden = NULL, *all_cells = NULL, *all_gates = NULL;
    PyArrayObject *product = NULL;
    PyObject *turned = NULL, *state = Py_NewRef(arguments[1]);
    if (fits) {
        all_hidden = add_result(&made, new_array(3, states, precision));
        all_cells = add_result(&made, new_array(3, states, precision));
        all_gates = add_result(&made, new_array(3, opened, precision));
        product = new_array(2, opened + 1, precision);
        turned = turned_weight((PyArrayObject *)arguments[3], read.steps * read.rows);
        fits = !made.failed && product != NULL && turned != NULL;
    }
    npy_intp item = precision ? 8 : 4;
    for (npy_intp i = 0; fits && i < read.steps; i++) {
        npy_intp step = reverse ? read.steps - 1 - i : i;
        fits = state != NULL && multiply(state, turned, product) == 0;
        if (fits) {
            npy_intp at = step * all * item;
            void *cells = all_cells + at, *hidden = all_hidden + at, *gates = all_gates + 4 * at;
            const void *one = (const char *)given + 4 * at;
            const void *other = PyArray_DATA(product);
            RELEASED(
                4 * all, kernels_in_force->recurrence->of[precision].step(
                             gates, cells, hidden, one, other, added, NULL, cx, size));
            cx = cells;
            Py_SETREF(state, step_of(made.made[0], step));
        }
    }
    made.failed = !fits || state == NULL;
    Py_XDECREF(state);
    Py_XDECREF(turned);
    Py_XDECREF(product);
    release_operands(&taken);
    return tuple_of(&made);
}

/* The states before all steps, (steps * rows, size). */
static PyArrayObject *
states_before(const void *first, const void *states, const layer *read, int reverse)
{
    npy_intp shape[2] = {read->steps * read->rows, read->size};
    PyArrayObject *made = new_array(2, shape, read->precision);
    if (made != NULL) {
        size_t one = (size_t)(read->rows * read->size) * (read->precision ? 8 : 4);
        size_t rest = one * (size_t)(read->steps - 1);
        char *to = PyArray_BYTES(made);
        memcpy(reverse ? to + rest : to, first, one);
        memcpy(reverse ? to : to + one, (const char *)states + (reverse ? one : 0), rest);
    }
    return made;
}

/* Add the gradients of the weight and of the bias that are asked for to the results, whose first
 * are those of the gates. */
static void
add_parameters(results *made, PyArrayObject *before, const layer *read, const int *asked)
{
    npy_intp shape[2] = {read->steps * read->rows, 4 * read->size};
    PyArray_Dims wanted = {shape, 2};
    PyArrayObject *rows = (PyArrayObject *)PyArray_Newshape(
        (PyArrayObject *)made->made[0], &wanted, NPY_CORDER);
    PyObject *turned = rows == NULL ? NULL : PyArray_Transpose(rows, NULL);
    made->failed |= turned == NULL;
    if (asked[3] && !made->failed) {
        add_result(
            made, (PyArrayObject *)PyArray_MatrixProduct(turned, (PyObject *)before));
    }
    else {
        add_none(made);
    }
    if (asked[4] && !made->failed) {
        add_result(made, (PyArrayObject *)PyArray_Sum(rows, 0, PyArray_TYPE(rows), NULL));
    }
    else {
        add_none(made);
    }
    Py_XDECREF(turned);
    Py_XDECREF(rows);
}

/* lstm_steps.backward(grads, hx, cx, weight, bias, hidden, cells, gates, reverse, mask): the
 * gradients of the gates before they were opened, of the first states, of the weight and of the
 * bias. */
COMPUTE(sequence_backward)
{
    layer read;
    int reverse, asked[5];
    PyObject *grads = arguments[0], *bias = arguments[4];
    if (grads == NULL || !(PyTuple_Check(grads) || PyList_CheckExact(grads)) ||
        PySequence_Fast_GET_SIZE(grads) != 3 ||
        !read_layer(arguments[7], arguments[1], arguments[2], arguments[3], bias, &read) ||
        !read_flag(arguments[8], &reverse) || !read_flags(arguments[9], 5, asked)) {
        return NULL;
    }
    asked[4] = asked[4] && is_given(bias);
    int precision = read.precision;
    npy_intp all = read.rows * read.size, total = all * read.steps, item = precision ? 8 : 4;
    npy_intp states[3] = {read.steps, read.rows, read.size};
    for (int i = 0; i < 5; i++) { /* the gradients, and the states */
        PyObject *each = i < 3 ? PySequence_Fast_GET_ITEM(grads, i) : arguments[2 + i];
        npy_intp last = i == 2 ? 4 * read.size : read.size;
        if ((i >= 3 || each != Py_None) &&
            !is_of(each, precision, 3, read.steps, read.rows, last)) {
            return NULL;
        }
    }
    const void *to[3], *hx, *cx, *hidden, *cells, *gates;
    operands taken = {0};
    int fits = take_operand(&taken, arguments[1], precision, all, &hx) &&
               take_operand(&taken, arguments[2], precision, all, &cx) &&
               take_operand(&taken, arguments[5], precision, total, &hidden) &&
               take_operand(&taken, arguments[6], precision, total, &cells) &&
               take_operand(&taken, arguments[7], precision, 4 * total, &gates);
    for (int i = 0; fits && i < 3; i++) {
        fits = take_optional(
            &taken, PySequence_Fast_GET_ITEM(grads, i), precision, i == 2 ? 4 * total : total,
            &to[i]);
    }
    results made = {.failed = !fits};
    PyArrayObject *before = NULL;
    char *to_gates = NULL;
    void *back = NULL, *to_cell = NULL;
    npy_intp opened[3] = {read.steps, read.rows, 4 * read.size};
    if (fits) {
        int type = precision ? NPY_DOUBLE : NPY_FLOAT;
        to_gates = add_result(&made, new_array(3, opened, precision));
        back = add_result(&made, (PyArrayObject *)PyArray_ZEROS(2, states + 1, type, 0));
        to_cell = add_result(&made, (PyArrayObject *)PyArray_ZEROS(2, states + 1, type, 0));
        before = asked[3] ? states_before(hx, hidden, &read, reverse) : NULL;
        fits = !made.failed && (before != NULL || !asked[3]);
    }
    lstm_size size = {read.rows, read.size};
    for (npy_intp i = 0; fits && i < read.steps; i++) {
        npy_intp step = reverse ? i : read.steps - 1 - i;
        npy_intp earlier = reverse ? step + 1 : step - 1, at = step * all * item;
        const void *of[3];
        for (int k = 0; k < 3; k++) {
            of[k] = to[k] == NULL ? NULL : (const char *)to[k] + (k == 2 ? 4 : 1) * at;
        }
        const void *cell_before = earlier < 0 || earlier >= read.steps
                                      ? cx
                                      : (const void *)((const char *)cells + earlier * all * item);
        void *target = to_gates + 4 * at;
        const void *open = (const char *)gates + 4 * at, *shown = (const char *)cells + at;
        const recurrence_kernels_of *kernels = &kernels_in_force->recurrence->of[precision];
        RELEASED(
            4 * all, kernels->back(target, back, to_cell, of[0], of[1], of[2], open, shown,
                                   cell_before, size));
        PyObject *row = step_of(made.made[0], step);
        fits = row != NULL && multiply(row, arguments[3], (PyArrayObject *)made.made[1]) == 0;
        Py_XDECREF(row);
    }
    made.failed = !fits;
    if (fits) {
        add_parameters(&made, before, &read, asked);
    }
    Py_XDECREF(before);
    release_operands(&taken);
    return tuple_of(&made);
}

#define ROW(operator, compute, widened, ...)                                                      \
    {operator, "table/recurrence.c", __LINE__, compute, {__VA_ARGS__}, 0, widened}
const kernel_row recurrence_rows[] = {
    ROW("_thnn_fused_lstm_cell", cell, "3xxx", "input_gates", "hidden_gates", "cx",
        "input_bias", "hidden_bias"),
    ROW("lstm_steps", sequence, "4xxx", "gates", "hx", "cx", "weight", "bias", "reverse"),
    ROW("lstm_steps.backward", sequence_backward, NULL, "grads", "hx", "cx", "weight", "bias",
        "hidden", "cells", "gates", "reverse", "mask"),
    {NULL},
};

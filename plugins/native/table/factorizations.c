/* Factors, inverses, solutions and spectra of small matrices, by the inner loops of numpy.linalg,
 * which compute them from Python in several microseconds more. The interpreter's lock is held, so
 * that no other thread forks while LAPACK computes. What fails, and what takes long, is the
 * reference's. Single precision is computed in double, as numpy.linalg does. */
#include "table.h"

#include <fenv.h>
#include <math.h>

enum {
    MOST_WORK = 1 << 18, /* matrices times the cube of their sides: some 100 microseconds */
    MOST_ARRAYS = 4,
};

#define LOOPS_OF(X)                                                                               \
    X(cholesky_lo) X(eigh_lo) X(eigh_up) X(inv) X(qr_r_raw) X(qr_reduced) X(solve)      \
    X(svd_f) X(svd_s)
#define LOOP_NAME(name) "linalg._umath_linalg." #name,
#define LOOP(name) LOOP_##name,
enum { LOOPS_OF(LOOP) LOOPS };
static const char *const names[] = {LOOPS_OF(LOOP_NAME)};
static PyUFuncObject *ufuncs[LOOPS]; /* found with the first use, and kept */

/* The matrices of an argument or a result. A vector has one column, or is `flat` where the loop takes
 * none. Those that are real are so of complex ones too. */
typedef struct {
    PyArrayObject *array;
    npy_intp rows, columns;
    int is_vector, is_flat, is_real;
} operand;

/* The arguments and results of a loop with its sizes. */
typedef struct {
    operand operands[MOST_ARRAYS];
    npy_intp sizes[3];
    int inputs, count;
} matrix_call;

static int
wide_type(PyArrayObject *array)
{
    int type = PyArray_TYPE(array);
    return type == NPY_FLOAT ? NPY_DOUBLE : type == NPY_CFLOAT ? NPY_CDOUBLE : type;
}

static void
add_input(matrix_call *call, PyArrayObject *array, int is_vector)
{
    int last = PyArray_NDIM(array) - 1;
    call->operands[call->count++] = (operand){
        (PyArrayObject *)PyArray_FromArray(
            array, PyArray_DescrFromType(wide_type(array)),
            NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED),
        PyArray_DIM(array, last - !is_vector), is_vector ? 1 : PyArray_DIM(array, last), is_vector,
        0, 0};
    call->inputs = call->count;
}

/* Add a new result for each matrix of `model`, column by column in memory. */
static void
add_output(matrix_call *call, PyArrayObject *model, operand made)
{
    npy_intp shape[NPY_MAXDIMS];
    int batch = PyArray_NDIM(model) - 2, ndim = batch;
    memcpy(shape, PyArray_DIMS(model), sizeof *shape * (size_t)batch);
    if (!made.is_vector) {
        shape[ndim++] = made.columns;
    }
    shape[ndim++] = made.rows;
    made.array = (PyArrayObject *)PyArray_EMPTY(
        ndim, shape, made.is_real ? NPY_DOUBLE : wide_type(model), 0);
    call->operands[call->count++] = made;
}

/* Run a loop over all matrices. Return whether it could, and none failed; 0 may have an exception. */
static int
run_loop(int which, const matrix_call *call, npy_intp count)
{
    const operand *last = call->operands + call->count - 1;
    ufunc_loop loop;
    if (call->operands[0].array == NULL || last->array == NULL ||
        !find_ufunc_loop(
            names[which], &ufuncs[which], PyArray_TYPE(call->operands[0].array), &loop)) {
        return 0;
    }
    char *data[MOST_ARRAYS];
    npy_intp dims[4] = {count}, steps[3 * MOST_ARRAYS];
    int at = call->count;
    memcpy(dims + 1, call->sizes, sizeof call->sizes);
    for (int i = 0; i < call->count; i++) {
        const operand *each = call->operands + i;
        if (each->array == NULL) {
            return 0;
        }
        npy_intp item = PyArray_ITEMSIZE(each->array);
        int is_input = i < call->inputs;
        data[i] = PyArray_BYTES(each->array);
        steps[i] = each->rows * each->columns * item;
        steps[at++] = is_input ? each->columns * item : item;
        if (!each->is_flat) {
            steps[at++] = is_input ? item : each->rows * item;
        }
    }
    feclearexcept(FE_INVALID); /* by which the loops say that a matrix has failed */
    loop.function(data, dims, steps, loop.data);
    return !fetestexcept(FE_INVALID);
}

/* An array in the precision of `model`, with its last two axes exchanged if it is of matrices. Takes
 * the reference to it. */
static PyArrayObject *
as_result(PyArrayObject *model, PyArrayObject *array, int is_turned)
{
    if (wide_type(model) != PyArray_TYPE(model)) {
        int type = PyArray_ISCOMPLEX(array) ? NPY_CFLOAT : NPY_FLOAT;
        Py_SETREF(
            array, (PyArrayObject *)PyArray_FromArray(
                       array, PyArray_DescrFromType(type), NPY_ARRAY_FORCECAST));
    }
    if (array != NULL && is_turned) {
        int last = PyArray_NDIM(array) - 1;
        Py_SETREF(array, (PyArrayObject *)PyArray_SwapAxes(array, last - 1, last));
    }
    return array;
}

/* Run a loop and return its results, of which the first may be the only one, and zeros as LAPACK's
 * infos if `has_info`. Releases the operands. NULL as `bound_kernel`. */
static PyObject *
finish(int which, matrix_call *call, PyArrayObject *model, int has_info)
{
    int ndim = PyArray_NDIM(model);
    npy_intp size = PyArray_DIM(model, ndim - 1), other = PyArray_DIM(model, ndim - 2);
    results made = {0};
    int is_done = run_loop(which, call, PyArray_SIZE(model) / (size * other));
    for (int i = 0; i < call->count; i++) {
        PyArrayObject *array = call->operands[i].array;
        if (i < call->inputs || !is_done) {
            Py_XDECREF(array);
            continue;
        }
        add_result(&made, as_result(model, array, !call->operands[i].is_vector));
    }
    if (!is_done) {
        PyErr_Clear(); /* another NumPy may lack the loop */
        return NULL;
    }
    if (has_info) {
        add_result(
            &made, (PyArrayObject *)PyArray_ZEROS(ndim - 2, PyArray_DIMS(model), NPY_INT32, 0));
    }
    return tuple_of(&made);
}

/* Matrices with elements that LAPACK computes soon; NULL for another array, or one without elements. */
static PyArrayObject *
matrices_in(PyObject *object)
{
    PyArrayObject *x = plain_array(object);
    int type = x == NULL ? NPY_VOID : PyArray_TYPE(x);
    int is_known = type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT ||
                   type == NPY_CDOUBLE;
    if (!is_known || PyArray_NDIM(x) < 2 || PyArray_SIZE(x) == 0 || !PyArray_ISNOTSWAPPED(x)) {
        return NULL;
    }
    int last = PyArray_NDIM(x) - 1;
    npy_intp size = PyArray_DIM(x, last), other = PyArray_DIM(x, last - 1);
    return PyArray_SIZE(x) <= MOST_WORK / (size < other ? size : other) ? x : NULL;
}

static PyArrayObject *
square_matrices(PyObject *object)
{
    PyArrayObject *x = matrices_in(object);
    int last = x == NULL ? 0 : PyArray_NDIM(x) - 1;
    return x != NULL && PyArray_DIM(x, last) == PyArray_DIM(x, last - 1) ? x : NULL;
}

static int
is_flag(PyObject *object, int otherwise, int wanted)
{
    int flag = otherwise;
    return (object == NULL || read_flag(object, &flag)) && flag == wanted;
}

/* ---- operators ------------------------------------------------------------------------------- */

COMPUTE_OF(of_square, which)
{
    PyArrayObject *x = square_matrices(arguments[0]);
    if (x == NULL || (which == LOOP_cholesky_lo && !is_flag(arguments[1], 0, 0))) {
        return NULL;
    }
    npy_intp n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    matrix_call call = {.sizes = {n}};
    add_input(&call, x, 0);
    add_output(&call, x, (operand){NULL, n, n, 0, 0, 0});
    PyObject *made = finish(which, &call, x, 1);
    if (made != NULL && which == LOOP_cholesky_lo) {
        /* Of a factor that is not finite the info is the reference's: 0 times such a number is NaN. */
        PyArrayObject *factor = (PyArrayObject *)PyTuple_GET_ITEM(made, 0);
        int is_single = PyArray_TYPE(x) == NPY_FLOAT || PyArray_TYPE(x) == NPY_CFLOAT;
        npy_intp count = PyArray_NBYTES(factor) / (is_single ? 4 : 8);
        const void *data = PyArray_DATA(factor);
        double sum = 0;
        for (npy_intp i = 0; i < count; i++) {
            sum += 0 * (is_single ? (double)((const float *)data)[i] : ((const double *)data)[i]);
        }
        if (sum != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* The triangle above the vectors of reflections, column by column. */
static PyArrayObject *
upper_triangle(PyArrayObject *a, npy_intp rows)
{
    npy_intp shape[] = {PyArray_DIM(a, 1), rows}, item = PyArray_ITEMSIZE(a);
    PyArrayObject *made = (PyArrayObject *)PyArray_ZEROS(2, shape, PyArray_TYPE(a), 0);
    for (npy_intp j = 0; made != NULL && j < shape[0]; j++) {
        for (npy_intp i = 0; i < rows && i <= j; i++) {
            memcpy(
                PyArray_BYTES(made) + (j * rows + i) * item,
                PyArray_BYTES(a) + (i * shape[0] + j) * item, (size_t)item);
        }
    }
    return made;
}

/* The orthonormal and the triangular factor of one matrix. */
COMPUTE(orthonormal)
{
    PyArrayObject *x = matrices_in(arguments[0]);
    PyObject *mode = arguments[1];
    if (x == NULL || PyArray_NDIM(x) != 2 ||
        (mode != NULL && !(PyUnicode_Check(mode) &&
                           PyUnicode_CompareWithASCIIString(mode, "reduced") == 0))) {
        return NULL;
    }
    npy_intp m = PyArray_DIM(x, 0), n = PyArray_DIM(x, 1), p = m < n ? m : n, turned[] = {p, m};
    int type = wide_type(x), is_done;
    operand a = {
        (PyArrayObject *)PyArray_FromArray(
            x, PyArray_DescrFromType(type), NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY),
        m, n, 0, 0, 0};
    operand factors = {(PyArrayObject *)PyArray_EMPTY(1, &p, type, 0), p, 1, 1, 1, 0};
    operand q = {(PyArrayObject *)PyArray_EMPTY(2, turned, type, 0), m, p, 0, 0, 0};
    matrix_call first = {{a, factors}, {m, n, p}, 1, 2}, second = {{a, factors, q}, {m, n, p}, 2, 3};
    results made = {0};
    is_done = factors.array != NULL && run_loop(LOOP_qr_r_raw, &first, 1) &&
              run_loop(LOOP_qr_reduced, &second, 1);
    if (is_done) {
        PyArrayObject *r = upper_triangle(a.array, p);
        add_result(&made, as_result(x, (PyArrayObject *)Py_NewRef(q.array), 1));
        add_result(&made, r == NULL ? NULL : as_result(x, r, 1));
    }
    Py_XDECREF(a.array);
    Py_XDECREF(factors.array);
    Py_XDECREF(q.array);
    PyErr_Clear();
    return is_done ? tuple_of(&made) : NULL;
}

COMPUTE(solutions)
{
    PyArrayObject *a = square_matrices(arguments[0]), *b = plain_array(arguments[1]);
    if (a == NULL || b == NULL || PyArray_TYPE(a) != PyArray_TYPE(b) || !PyArray_ISNOTSWAPPED(b) ||
        PyArray_SIZE(b) == 0 || !is_flag(arguments[2], 1, 1)) {
        return NULL;
    }
    int ndim = PyArray_NDIM(a), is_vector = ndim == 2 && PyArray_NDIM(b) == 1;
    npy_intp n = PyArray_DIM(a, ndim - 1);
    npy_intp columns = is_vector ? 1 : PyArray_DIM(b, PyArray_NDIM(b) - 1);
    if (is_vector ? PyArray_DIM(b, 0) != n
                  : PyArray_NDIM(b) != ndim || PyArray_SIZE(b) * n > MOST_WORK ||
                        memcmp(
                            PyArray_DIMS(a), PyArray_DIMS(b), sizeof n * (size_t)(ndim - 1)) != 0) {
        return NULL;
    }
    matrix_call call = {.sizes = {n, columns}};
    add_input(&call, a, 0);
    add_input(&call, b, is_vector);
    add_output(&call, a, (operand){NULL, n, columns, is_vector, 0, 0});
    return finish(LOOP_solve, &call, a, 1);
}

COMPUTE(eigenvectors)
{
    PyArrayObject *x = square_matrices(arguments[0]);
    PyObject *triangle = arguments[1];
    if (x == NULL || !is_flag(arguments[2], 1, 1) ||
        (triangle != NULL && !PyUnicode_Check(triangle))) {
        return NULL;
    }
    int is_upper = triangle != NULL && PyUnicode_CompareWithASCIIString(triangle, "U") == 0;
    if (!is_upper && triangle != NULL && PyUnicode_CompareWithASCIIString(triangle, "L") != 0) {
        return NULL;
    }
    npy_intp n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    matrix_call call = {.sizes = {n}};
    add_input(&call, x, 0);
    add_output(&call, x, (operand){NULL, n, 1, 1, 1, 1});
    add_output(&call, x, (operand){NULL, n, n, 0, 0, 0});
    return finish(is_upper ? LOOP_eigh_up : LOOP_eigh_lo, &call, x, 0);
}

COMPUTE(singular_vectors)
{
    PyArrayObject *x = matrices_in(arguments[0]);
    int is_full = 0;
    if (x == NULL || (arguments[1] != NULL && !read_flag(arguments[1], &is_full)) ||
        !is_flag(arguments[2], 1, 1) || is_given(arguments[3])) {
        return NULL;
    }
    int last = PyArray_NDIM(x) - 1;
    npy_intp m = PyArray_DIM(x, last - 1), n = PyArray_DIM(x, last), p = m < n ? m : n;
    matrix_call call = {.sizes = {m, n, p}};
    add_input(&call, x, 0);
    add_output(&call, x, (operand){NULL, m, is_full ? m : p, 0, 0, 0});
    add_output(&call, x, (operand){NULL, p, 1, 1, 1, 1});
    add_output(&call, x, (operand){NULL, is_full ? n : p, n, 0, 0, 0});
    return finish(is_full ? LOOP_svd_f : LOOP_svd_s, &call, x, 0);
}

const kernel_row factorization_rows[] = {
    {"_linalg_eigh", "table/factorizations.c", __LINE__, eigenvectors, {"A", "UPLO", "compute_v"}},
    {"_linalg_svd", "table/factorizations.c", __LINE__, singular_vectors,
     {"A", "full_matrices", "compute_uv", "driver"}},
    {"linalg_cholesky_ex", "table/factorizations.c", __LINE__, of_square,
     {"self", "upper", "check_errors"}, .variant = LOOP_cholesky_lo},
    {"linalg_inv_ex", "table/factorizations.c", __LINE__, of_square, {"A", "check_errors"},
     .variant = LOOP_inv},
    {"linalg_qr", "table/factorizations.c", __LINE__, orthonormal, {"A", "mode"}},
    {"linalg_solve_ex", "table/factorizations.c", __LINE__, solutions,
     {"A", "B", "left", "check_errors"}},
    {NULL},
};

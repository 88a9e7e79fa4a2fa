/* Products of matrices and vectors, by the inner loop of numpy.matmul.
 *
 * The interpreter's lock is held, so that no other thread forks while BLAS computes. Where there are
 * other threads, products that take long are the reference's, which lets them run. */
#include "table.h"

enum {
    MOST_MULTIPLICATIONS = 1 << 20, /* beside other threads: some 20 microseconds */
    MANY_INTEGERS = 1 << 14, /* multiplications, which the reference has BLAS do */
    ROWS_TO_TURN = 32, /* and elements of a transpose, from which it is copied */
    SIZE_TO_TURN = 1 << 11,
};

static PyUFuncObject *numpy_matmul; /* found with the first product, and kept */

int
find_ufunc_loop(const char *name, PyUFuncObject **kept, int type, ufunc_loop *loop)
{
    if (*kept == NULL) {
        const char *end = strrchr(name, '.');
        PyObject *numpy =
            PyImport_ImportModule(end == NULL ? "numpy" : "numpy.linalg._umath_linalg");
        PyObject *found =
            numpy == NULL ? NULL : PyObject_GetAttrString(numpy, end == NULL ? name : end + 1);
        Py_XDECREF(numpy);
        if (found == NULL || !PyObject_TypeCheck(found, &PyUFunc_Type)) {
            Py_XDECREF(found);
            return 0;
        }
        *kept = (PyUFuncObject *)found;
    }
    const PyUFuncObject *ufunc = *kept;
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + i * ufunc->nargs;
        if (types[0] == type && types[ufunc->nin - 1] == type) {
            loop->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[i];
            loop->function = ufunc->functions[i];
            return 1;
        }
    }
    return 0;
}

int
find_product_loop(int type, ufunc_loop *loop)
{
    return find_ufunc_loop("matmul", &numpy_matmul, type, loop);
}

void
multiply_matrices(
    const ufunc_loop *loop, product_sizes sizes, matrices left, matrices right, matrices result)
{
    char *operands[] = {left.data, right.data, result.data};
    npy_intp dims[] = {sizes.count, sizes.rows, sizes.inner, sizes.columns};
    npy_intp steps[] = {left.matrix, right.matrix, result.matrix, left.row,   left.column,
                        right.row,   right.column, result.row,    result.column};
    loop->function(operands, dims, steps, loop->data);
}

/* Whether no thread of Python but this one exists. */
static int
is_alone(void)
{
    return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) == NULL;
}

/* An array of one of BLAS's dtypes, or of integers. */
static PyArrayObject *
blas_array(PyObject *object, int ndim)
{
    PyArrayObject *x = plain_array(object);
    if (x == NULL || PyArray_NDIM(x) != ndim || !PyArray_ISBEHAVED_RO(x)) {
        return NULL;
    }
    int type = PyArray_TYPE(x);
    return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT ||
                   type == NPY_CDOUBLE || PyArray_ISINTEGER(x)
               ? x
               : NULL;
}

/* The matrices of an array of two or three axes. */
static matrices
matrices_of(PyArrayObject *x)
{
    int last = PyArray_NDIM(x) - 1;
    return (matrices){
        PyArray_BYTES(x), last == 2 ? PyArray_STRIDE(x, 0) : 0, PyArray_STRIDE(x, last - 1),
        PyArray_STRIDE(x, last)};
}

matrices
transposed(matrices x)
{
    return (matrices){x.data, x.matrix, x.column, x.row};
}

/* Multiply by a transpose in single precision, which BLAS reads slowly on the right. Few rows are
 * those of ``(right.T @ left.T).T``; for more, the transpose is copied. Return 1, 0 where neither
 * pays, or -1 with an exception. */
static int
multiply_by_transpose(
    const ufunc_loop *loop, product_sizes sizes, matrices left, matrices right, char *result)
{
    const npy_intp item = sizeof(float);
    transposition *transpose = kernels_in_force->copies->transpose[0];
    int is_exchanged = sizes.rows % 8 == 0 && 4 * sizes.rows <= sizes.inner &&
                       2 * sizes.rows <= sizes.columns;
    if (sizes.count > 1 || right.row != item || right.column <= item ||
        right.column % item != 0 || sizes.inner * sizes.columns < SIZE_TO_TURN ||
        (!is_exchanged && sizes.rows < ROWS_TO_TURN)) {
        return 0;
    }
    npy_intp held = is_exchanged ? sizes.rows : sizes.inner;
    char *room = PyMem_RawMalloc((size_t)(held * sizes.columns * item));
    if (room == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    matrices made = {result, 0, sizes.columns * item, item};
    if (is_exchanged) {
        matrices exchanged = {room, 0, sizes.rows * item, item};
        multiply_matrices(
            loop, (product_sizes){1, sizes.columns, sizes.inner, sizes.rows}, transposed(right),
            transposed(left), exchanged);
        transpose(result, room, sizes.rows, sizes.columns, sizes.rows, sizes.columns);
    }
    else {
        transpose(
            room, right.data, sizes.inner, sizes.columns, right.column / item, sizes.columns);
        matrices copied = {room, 0, sizes.columns * item, item};
        multiply_matrices(loop, sizes, left, copied, made);
    }
    PyMem_RawFree(room);
    return 1;
}

/* A new array of a product, with the shape that the caller says; NULL as `bound_kernel`. */
static PyArrayObject *
product(
    PyArrayObject *model, product_sizes sizes, matrices left, matrices right, int ndim,
    const npy_intp *dims)
{
    npy_intp work = sizes.count;
    ufunc_loop loop;
    if (sizes.count < 1 || sizes.rows < 1 || sizes.inner < 1 || sizes.columns < 1 ||
        __builtin_mul_overflow(work, sizes.rows, &work) ||
        __builtin_mul_overflow(work, sizes.inner, &work) ||
        __builtin_mul_overflow(work, sizes.columns, &work) ||
        (work > MOST_MULTIPLICATIONS && !is_alone()) ||
        (PyArray_ISINTEGER(model) && work >= MANY_INTEGERS) ||
        !find_product_loop(PyArray_TYPE(model), &loop)) {
        return NULL;
    }
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(model), ndim, dims);
    if (made == NULL) {
        return NULL;
    }
    npy_intp item = PyArray_ITEMSIZE(made), row = sizes.columns * item;
    int is_made = PyArray_TYPE(made) != NPY_FLOAT ? 0
                                                  : multiply_by_transpose(
                                                        &loop, sizes, left, right,
                                                        PyArray_BYTES(made));
    if (is_made < 0) {
        Py_DECREF(made);
        return NULL;
    }
    if (!is_made) {
        matrices result = {PyArray_BYTES(made), sizes.rows * row, row, item};
        multiply_matrices(&loop, sizes, left, right, result);
    }
    return made;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* mm and bmm: arrays of `ndim` axes. */
COMPUTE_OF(multiply, ndim)
{
    PyArrayObject *x = blas_array(arguments[0], ndim), *other = blas_array(arguments[1], ndim);
    if (x == NULL || other == NULL || PyArray_TYPE(x) != PyArray_TYPE(other) ||
        PyArray_DIM(x, ndim - 1) != PyArray_DIM(other, ndim - 2) ||
        (ndim == 3 && PyArray_DIM(x, 0) != PyArray_DIM(other, 0))) {
        return NULL;
    }
    product_sizes sizes = {ndim == 3 ? PyArray_DIM(x, 0) : 1, PyArray_DIM(x, ndim - 2),
                           PyArray_DIM(x, ndim - 1), PyArray_DIM(other, ndim - 1)};
    npy_intp dims[] = {sizes.count, sizes.rows, sizes.columns};
    return (PyObject *)product(
        x, sizes, matrices_of(x), matrices_of(other), ndim, dims + 3 - ndim);
}

COMPUTE(mv)
{
    PyArrayObject *x = blas_array(arguments[0], 2), *vector = blas_array(arguments[1], 1);
    if (x == NULL || vector == NULL || PyArray_TYPE(x) != PyArray_TYPE(vector) ||
        PyArray_DIM(x, 1) != PyArray_DIM(vector, 0)) {
        return NULL;
    }
    product_sizes sizes = {1, PyArray_DIM(x, 0), PyArray_DIM(x, 1), 1};
    matrices right = {PyArray_BYTES(vector), 0, PyArray_STRIDE(vector, 0), PyArray_ITEMSIZE(vector)};
    return (PyObject *)product(x, sizes, matrices_of(x), right, 1, PyArray_DIMS(x));
}

/* Inner products; `is_conjugated` is whether the first vector is. */
COMPUTE_OF(dot, is_conjugated)
{
    PyArrayObject *x = blas_array(arguments[0], 1), *other = blas_array(arguments[1], 1);
    if (x == NULL || other == NULL || PyArray_TYPE(x) != PyArray_TYPE(other) ||
        (is_conjugated && PyArray_ISCOMPLEX(x)) || PyArray_DIM(x, 0) != PyArray_DIM(other, 0)) {
        return NULL;
    }
    npy_intp item = PyArray_ITEMSIZE(x);
    matrices left = {PyArray_BYTES(x), 0, item, PyArray_STRIDE(x, 0)};
    matrices right = {PyArray_BYTES(other), 0, PyArray_STRIDE(other, 0), item};
    return (PyObject *)product(
        x, (product_sizes){1, 1, PyArray_DIM(x, 0), 1}, left, right, 0, NULL);
}

/* Add numbers, whose row or column is one for all where its step is 0, to a matrix in C order. */
#define ADD(name, type)                                                                           \
    static void name(type *to, matrices added, npy_intp rows, npy_intp columns)                   \
    {                                                                                             \
        for (npy_intp i = 0; i < rows; i++, to += columns) {                                      \
            const char *from = added.data + i * added.row;                                        \
            const type *restrict line = (const type *)from;                                       \
            for (npy_intp j = 0; added.column == sizeof(type) && j < columns; j++) {              \
                to[j] += line[j];                                                                 \
            }                                                                                     \
            for (npy_intp j = 0; added.column != sizeof(type) && j < columns; j++) {              \
                to[j] += *(const type *)(from + j * added.column);                                \
            }                                                                                     \
        }                                                                                         \
    }
ADD(add_single, float)
ADD(add_double, double)

/* ``x @ other + added`` for real matrices, of which `added` is broadcast to the product. */
static PyObject *
add_product(PyArrayObject *x, PyArrayObject *other, PyObject *given, int is_turned)
{
    PyArrayObject *added = plain_array(given);
    if (x == NULL || other == NULL || added == NULL || !PyArray_ISBEHAVED_RO(added) || PyArray_NDIM(added) < 1 || PyArray_NDIM(added) > 2 ||
        precision_of(given) < 0 || PyArray_TYPE(x) != PyArray_TYPE(other) ||
        PyArray_TYPE(x) != PyArray_TYPE(added) ||
        PyArray_DIM(x, 1) != PyArray_DIM(other, is_turned)) {
        return NULL;
    }
    product_sizes sizes = {1, PyArray_DIM(x, 0), PyArray_DIM(x, 1), PyArray_DIM(other, !is_turned)};
    int last = PyArray_NDIM(added) - 1;
    npy_intp rows = last == 1 ? PyArray_DIM(added, 0) : 1, columns = PyArray_DIM(added, last);
    if ((rows != 1 && rows != sizes.rows) || (columns != 1 && columns != sizes.columns)) {
        return NULL;
    }
    matrices own = {PyArray_BYTES(added), 0, rows == 1 ? 0 : PyArray_STRIDE(added, 0),
                    columns == 1 ? 0 : PyArray_STRIDE(added, last)};
    matrices right = is_turned ? transposed(matrices_of(other)) : matrices_of(other);
    npy_intp dims[] = {sizes.rows, sizes.columns};
    PyArrayObject *made = product(x, sizes, matrices_of(x), right, 2, dims);
    if (made != NULL && PyArray_TYPE(made) == NPY_FLOAT) {
        add_single(PyArray_DATA(made), own, sizes.rows, sizes.columns);
    }
    else if (made != NULL) {
        add_double(PyArray_DATA(made), own, sizes.rows, sizes.columns);
    }
    return (PyObject *)made;
}

/* Whether a factor is absent, or 1. */
static int
is_one(PyObject *factor)
{
    double number;
    return factor == NULL || (read_number(factor, &number) && number == 1);
}

COMPUTE(addmm)
{
    return is_one(arguments[3]) && is_one(arguments[4])
               ? add_product(
                     blas_array(arguments[1], 2), blas_array(arguments[2], 2), arguments[0], 0)
               : NULL;
}

/* ``mat @ vec + self`` for real numbers. */
COMPUTE(addmv)
{
    PyArrayObject *added = plain_array(arguments[0]);
    if (added == NULL || !PyArray_ISBEHAVED_RO(added) || PyArray_NDIM(added) != 1 ||
        precision_of(arguments[0]) < 0 || !is_one(arguments[3]) || !is_one(arguments[4])) {
        return NULL;
    }
    PyArrayObject *made = (PyArrayObject *)mv(arguments + 1, 0);
    npy_intp count = made == NULL ? 0 : PyArray_DIM(made, 0), size = PyArray_DIM(added, 0);
    if (made == NULL || PyArray_TYPE(made) != PyArray_TYPE(added) ||
        (size != count && size != 1)) {
        Py_XDECREF(made);
        return NULL;
    }
    matrices own = {PyArray_BYTES(added), 0, size == 1 ? 0 : PyArray_STRIDE(added, 0), 0};
    if (PyArray_TYPE(made) == NPY_FLOAT) {
        add_single(PyArray_DATA(made), own, count, 1);
    }
    else {
        add_double(PyArray_DATA(made), own, count, 1);
    }
    return (PyObject *)made;
}

COMPUTE(linear)
{
    return add_product(blas_array(arguments[0], 2), blas_array(arguments[1], 2), arguments[2], 1);
}

#define ROW(operator, compute, widened, variant, ...)                                             \
    {operator, "table/products.c", __LINE__, compute, {__VA_ARGS__}, 0, widened, variant}
const kernel_row product_rows[] = {
    ROW("mm", multiply, "2x", 2, "self", "mat2"),
    ROW("bmm", multiply, "2x", 3, "self", "mat2"),
    ROW("dot", dot, "2x", 0, "self", "tensor"),
    ROW("mv", mv, "2x", 0, "self", "vec"),
    ROW("vdot", dot, "2x", 1, "self", "other"),
    ROW("addmm", addmm, "3x", 0, "self", "mat1", "mat2", "beta", "alpha"),
    ROW("addmv", addmv, "3x", 0, "self", "mat", "vec", "beta", "alpha"),
    ROW("linear", linear, "3x", 0, "input", "weight", "bias"),
    {NULL},
};

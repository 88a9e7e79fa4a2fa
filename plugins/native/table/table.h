/* The kernel table: what compiled code computes, by operator. */
#ifndef DOVETAIL_TABLE_H
#define DOVETAIL_TABLE_H

#include "../core/native.h"
#include "../kernels/conversions.h"
#include "../kernels/copies.h"
#include "../kernels/elementwise.h"
#include "../kernels/grid_sampling.h"
#include "../kernels/indexing.h"
#include "../kernels/likelihood.h"
#include "../kernels/normalization.h"
#include "../kernels/optimizers.h"
#include "../kernels/ordering.h"
#include "../kernels/pooling.h"
#include "../kernels/random.h"
#include "../kernels/recurrence.h"
#include "../kernels/reductions.h"
#include "../kernels/resampling.h"
#include "../kernels/scans.h"
#include "../kernels/softmax.h"
#include "../kernels/convolution.h"
#include "../kernels/windows.h"

/* All tables of kernels: of which type, and as what. */
#define KERNEL_TABLES(X, set) \
    X(conversion, conversions, set) X(convolution, convolution, set) X(copy, copies, set) \
    X(elementwise, elementwise, set) X(grid_sampling, grid_sampling, set) \
    X(indexing, indexing, set) X(likelihood, likelihood, set) \
    X(normalization, normalization, set) X(optimizer, optimizers, set) \
    X(ordering, ordering, set) X(pooling, pooling, set) X(random, random, set) \
    X(recurrence, recurrence, set) X(reduction, reductions, set) X(resampling, resampling, set) \
    X(scan, scans, set) X(softmax, softmax, set) X(window, windows, set)

#define DECLARE_TABLE(type, name, set) extern const type##_kernels JOIN(name, set);
#define DECLARE_TABLES(set) KERNEL_TABLES(DECLARE_TABLE, set)
FOR_INSTRUCTION_SETS(DECLARE_TABLES)

/* The kernels of one instruction set. */
typedef struct {
    const char *name;
#define TABLE_OF_SET(type, name, set) const type##_kernels *name;
    KERNEL_TABLES(TABLE_OF_SET, )
} instruction_set;

/* instruction_sets.c: chooses the highest set that the processor has, or the one that
 * DOVETAIL_NATIVE_ISA names. Return 0, or -1 with an exception. */
extern const instruction_set *kernels_in_force;
int choose_instruction_set(PyObject *module);

enum {
    MOST_PARAMETERS = 10,
    OUT = MOST_PARAMETERS, /* where among the arguments the array is that is written, or NULL */
    SOURCE,                /* and what rows that draw find the default generator by, or NULL */
    ARGUMENTS,
};

/* Returns the result of an operator for the arguments of a call, of which missing ones are NULL;
 * NULL with an exception if it failed; NULL without one for dtypes and arguments that it does not
 * compute, which are the reference's. Shapes and strides are never a reason for that. `variant` is
 * that of the row: which of several operators that one function computes. */
typedef PyObject *bound_kernel(PyObject *const *arguments, int variant);

/* What the definition of one begins with, which rows name as `compute`; the second gives `variant`
 * another name. */
#define COMPUTE(name) COMPUTE_OF(name, variant)
#define COMPUTE_OF(name, variant) static PyObject *name(PyObject *const *arguments, int variant)

typedef struct {
    const char *operator, *file;
    int line;
    bound_kernel *compute;
    const char *parameters[MOST_PARAMETERS + 1]; /* ends with NULL */
    int takes_halves; /* float16 and bfloat16, computed in single precision and rounded once */
    /* By what half precision is computed where `compute` does not take it: how many of the first
     * arguments have to be of one half precision, and a letter for the dtype of each result: x is
     * theirs, a and what follows that of an argument, s that of the other arguments, 1 single
     * precision or that of indices. The others may be of integers, or of single precision, but for
     * rows with x alone. NULL: by the reference. */
    const char *widened;
    int variant;
    /* The result is written into the array that is given as `out`, if one is, and which may be one
     * of the inputs: the result has its shape and dtype, or the reference is asked. */
    int takes_out;
    int draws; /* random numbers: `SOURCE` is the capabilities of the reference's arrays */
} kernel_row;

/* The families of rows, each of which ends with a row without operator. */
#define ROW_FAMILIES(X) \
    X(arithmetic) X(attention) X(border) X(conversion) X(copy) X(creation) X(drawing) \
    X(elementwise) X(extremum) X(factorization) X(grid_sampling) X(indexing) X(likelihood) X(normalization) X(optimizer) \
    X(ordering) X(pooling) X(product) X(progression) X(random) X(recurrence) X(reduction) \
    X(rejection) X(resampling) X(scan) X(scattering) X(searching) X(softmax) X(view) \
    X(window)

#define DECLARE_ROWS(family) extern const kernel_row family##_rows[];
ROW_FAMILIES(DECLARE_ROWS)

/* ---- products (products.c) ------------------------------------------------------------------- */

/* Sizes of ``(count, rows, inner) @ (count, inner, columns)``. */
typedef struct {
    npy_intp count, rows, inner, columns;
} product_sizes;

/* Where the elements of an operand are: the first one, and steps in bytes to the next matrix, row
 * and column. */
typedef struct {
    char *data;
    npy_intp matrix, row, column;
} matrices;

/* The inner loop of a ufunc of NumPy for inputs of one type; `kept` keeps the ufunc, which is one of
 * "linalg._umath_linalg" where the name says so.
 * Return whether there is one; 0 may have an exception. The second is that of numpy.matmul. */
typedef struct {
    PyUFuncGenericFunction function;
    void *data;
} ufunc_loop;
int find_ufunc_loop(const char *name, PyUFuncObject **kept, int type, ufunc_loop *loop);
int find_product_loop(int type, ufunc_loop *loop);

/* The same matrices with rows as columns. */
matrices transposed(matrices x);

/* Write products by BLAS. The interpreter's lock is held, so that no other thread forks meanwhile. */
void multiply_matrices(
    const ufunc_loop *loop, product_sizes sizes, matrices left, matrices right, matrices result);

/* widened.c: the result of an operator for arguments in half precision, by its kernel for single
 * precision; NULL as `bound_kernel`. */
PyObject *compute_widened(const kernel_row *row, PyObject *const *arguments);

/* compiled_kernel.c: adds the type CompiledKernel and its functions to the module. Return 0, or -1
 * with an exception. */
int add_compiled_kernel_type(PyObject *module);

/* ---- arguments (arguments.c) ----------------------------------------------------------------- */

/* Around a call of a kernel over so many elements. */
#define RELEASED(elements, call)                                                                  \
    do {                                                                                          \
        if ((elements) < RELEASE_FROM_ELEMENTS) {                                                 \
            call;                                                                                 \
        }                                                                                         \
        else {                                                                                    \
            Py_BEGIN_ALLOW_THREADS                                                                \
            call;                                                                                 \
            Py_END_ALLOW_THREADS                                                                  \
        }                                                                                         \
    } while (0)

/* 0 for float32, 1 for float64; -1 for an object that is no array of NumPy's own class, of another
 * dtype or byte order, or absent. */
int precision_of(PyObject *object);

/* Which half precision an array or a dtype has: 0 for float16, 1 for bfloat16, -1 for none. */
int half_of(PyArrayObject *array);
int half_of_dtype(PyArray_Descr *dtype);

/* arithmetic.c: whether all elements of an array are from 0 to 1; -1 for one that is not in C order,
 * or of another dtype than single and double precision. */
int are_chances(PyObject *object);

/* An array of NumPy's own class; NULL for any other object. */
PyArrayObject *plain_array(PyObject *object);

/* Whether strides tell the order of all axes, so that NumPy's copy lies in memory as PyTorch's. */
int says_its_order(PyArrayObject *array);

/* Whether an argument is neither absent nor None. */
int is_given(PyObject *object);

/* Whether an object is the dtype of an array. */
int is_dtype_of(PyObject *object, PyObject *array);

/* Whether two arrays have the same shape; whether an array has a shape. */
int have_one_shape(PyObject *first, PyObject *second);
int has_shape(PyObject *array, int ndim, const npy_intp *shape);

/* Set the index of the axis that an int names, of an array of `ndim` axes. Return whether it is
 * one: for 0 axes, those are 0 and -1. */
int read_axis(PyObject *object, int ndim, int *axis);

/* The same of an axis that may be absent, and is kept as it is then. */
int read_optional_axis(PyObject *object, int ndim, int *axis);

/* The number of elements along an axis, and of those before and after it; 1 without axes. */
typedef struct {
    npy_intp outer, length, inner;
} axis_sizes;
axis_sizes sizes_around(PyArrayObject *array, int axis);

/* The array itself, or a copy, in C order and aligned: a new reference. */
PyArrayObject *in_c_order(PyObject *array);

/* memory_formats.c. Whether the memory format of an array of images or volumes is that with the
 * channels last, as PyTorch sees it; those of one element in many dimensions may have several. */
int is_channels_last(PyArrayObject *array);

/* The same of an array that is not in C order too, or whose elements lie so without gaps: there
 * strides of axes of one element do not count. */
int is_channels_last_alone(PyArrayObject *array);

/* Whether the channels of all arrays of a list come last in memory, and not in C order too. */
int are_channels_last(PyObject *list);

/* The array with its channels as the last axis, in C order and aligned: a new reference. */
PyArrayObject *in_channels_last(PyObject *array);

/* A new array whose channels come last in memory. */
PyArrayObject *new_channels_last(int ndim, const npy_intp *shape, PyArray_Descr *dtype);

/* The array as `in_channels_last` returns it if `is_last`, else as `in_c_order` does; and a new array
 * of that format. */
PyArrayObject *in_format(PyObject *array, int is_last);
PyArrayObject *new_in_format(int ndim, const npy_intp *shape, PyArray_Descr *dtype, int is_last);

/* A view with the channels as the last axis; and one with the last axis as the channels, which takes
 * the reference to the array. */
PyArrayObject *with_channels_last(PyArrayObject *array);
PyArrayObject *with_channels_second(PyArrayObject *array);

/* The array, or a copy of it, whose channels come last in memory: a new reference. */
PyObject *laid_in_channels_last(PyObject *array);

/* Arrays of a call in C order, which are held until `release_operands`. Where `failed`, a function
 * has returned with an exception. */
enum { MOST_OPERANDS = 10 };
typedef struct {
    PyArrayObject *held[MOST_OPERANDS];
    int count, failed;
} operands;

/* Hold an array of a precision and number of elements, and return whether the object is one; set
 * `data` to its first element. `take_optional` takes None too, whose `data` is NULL. */
int take_operand(
    operands *taken, PyObject *object, int precision, npy_intp size, const void **data);
int take_optional(
    operands *taken, PyObject *object, int precision, npy_intp size, const void **data);
void release_operands(operands *taken);

/* Set what a number is. Return whether it is a Python float or int. */
int read_number(PyObject *object, double *number);

/* Set an int. Return whether the object is one that fits. */
int read_int(PyObject *object, npy_intp *value);

/* Read a tuple of at most NPY_MAXDIMS ints; return how many, or -1. */
int read_ints(PyObject *object, npy_intp *values);

/* Set a size, which is at least 0. Return whether the object is such an int. */
int read_size(PyObject *object, npy_intp *size);

/* Set what True or False is. Return whether the object is one of them. */
int read_flag(PyObject *object, int *flag);

/* The same of a flag that is absent where it is False. */
int read_optional_flag(PyObject *object, int *flag);

/* Read True and False of a tuple or list of `count`. Return whether it is one. */
int read_flags(PyObject *object, int count, int *flags);

/* creation.c. Whether an array of these sizes has fewer than 2**63 bytes, where empty axes count as
 * 1. Negative sizes are none. */
int is_addressable(int ndim, const npy_intp *dims, npy_intp item);

/* A new array in C order of a dtype. NULL without an exception if it has no addresses. */
PyArrayObject *new_of_dtype(PyArray_Descr *dtype, int ndim, const npy_intp *shape);

/* creation.c: return a new array of ones in C order, or NULL with or without an exception. */
PyObject *new_ones(int ndim, const npy_intp *dims, PyArray_Descr *dtype);

/* A new array in C order of a precision. */
PyArrayObject *new_array(int ndim, const npy_intp *shape, int precision);

/* What a call returns, in order; NULL is None. Where `failed`, something could not be made. */
enum { MOST_RESULTS = 5 };
typedef struct {
    PyObject *made[MOST_RESULTS];
    int count, failed;
} results;

/* Add an array, to which it takes the reference, and return its first element; NULL is a failure.
 * `add_none` adds None, and returns NULL. */
void *add_result(results *made, PyArrayObject *array);
void *add_none(results *made);

/* The tuple of results. If they failed, all are released and it is NULL. */
PyObject *tuple_of(results *made);

/* A new array in C order with the shape and dtype of `array`. */
PyArrayObject *empty_like(PyObject *array);

#endif

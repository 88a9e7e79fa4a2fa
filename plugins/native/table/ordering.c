/* Elements in their order: sorted, the greatest, of a rank, the most frequent and distinct. Equal
 * elements keep their order, and NaN is the greatest number. */
#include "indexed.h"
#include "layouts.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* The rows of an array along an axis, one after another, and room for one of them. */
typedef struct {
    PyArrayObject *array, *own; /* the array, and one with the axis as the last one in C order */
    const char *from;
    npy_intp rows, length, item, order[NPY_MAXDIMS];
    int axis, type;
    uint64_t turned; /* all bits where the greatest come first */
    uint64_t *keys;
    int64_t *indices;
    void *room;
} ordered_rows;

static const ordering_kernels *
kernels(void)
{
    return kernels_in_force->ordering;
}

static void
close_rows(ordered_rows *rows)
{
    Py_XDECREF(rows->own);
    PyMem_RawFree(rows->keys);
}

/* Make room for the rows of an array whose dtype has an order, along an axis; NULL: all elements in C
 * order are one row. Return whether there is room; 0 has an exception. */
static int
open_rows(ordered_rows *rows, PyObject *object, const int *axis, int greatest_first)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int ndim = PyArray_NDIM(array), n = 0;
    rows->array = array;
    rows->type = type_of(array);
    rows->item = PyArray_ITEMSIZE(array);
    rows->turned = greatest_first ? ~(uint64_t)0 : 0;
    rows->axis = axis == NULL ? 0 : *axis;
    rows->length = axis == NULL ? PyArray_SIZE(array) : PyArray_DIM(array, *axis);
    rows->rows = PyArray_SIZE(array) / rows->length;
    for (int i = 0; i < ndim; i++) {
        if (axis == NULL || i != *axis) {
            rows->order[n++] = i;
        }
    }
    if (axis != NULL) {
        rows->order[n] = *axis;
    }
    PyArray_Dims permuted = {rows->order, ndim};
    PyObject *view = PyArray_Transpose(array, &permuted);
    rows->own = view == NULL ? NULL : in_c_order(view);
    Py_XDECREF(view);
    if (rows->own == NULL) {
        return 0;
    }
    rows->from = PyArray_BYTES(rows->own);
    rows->keys = PyMem_RawMalloc((size_t)rows->length * (2 * sizeof(uint64_t) + ROOM_OF_KEY));
    if (rows->keys == NULL) {
        close_rows(rows);
        PyErr_NoMemory();
        return 0;
    }
    rows->indices = (int64_t *)(rows->keys + rows->length);
    rows->room = rows->indices + rows->length;
    return 1;
}

/* Whether an object is an array of the cpu with elements whose dtype has an order. */
static int
has_order(PyObject *object)
{
    int type = is_array(object) ? type_of((PyArrayObject *)object) : -1;
    return type >= 0 && kernels()->write_keys[type] != NULL &&
           PyArray_SIZE((PyArrayObject *)object) > 0;
}

/* The same of one with axes; set which one is named, the last one by default. */
static int
has_order_along(PyObject *object, PyObject *dim, int *axis)
{
    int ndim = has_order(object) ? PyArray_NDIM((PyArrayObject *)object) : 0;
    *axis = ndim - 1;
    return ndim > 0 && read_optional_axis(dim, ndim, axis);
}

static const char *
take_row(const ordered_rows *rows, npy_intp row)
{
    const char *from = rows->from + row * rows->length * rows->item;
    kernels()->write_keys[rows->type](rows->keys, from, rows->length);
    for (npy_intp i = 0; rows->turned && i < rows->length; i++) {
        rows->keys[i] = ~rows->keys[i];
    }
    return from;
}

/* Copy the elements of a row at indices. */
static void
copy_elements(char *to, const char *from, const int64_t *indices, npy_intp count, npy_intp item)
{
    for (npy_intp i = 0; i < count; i++) {
        switch (item) {
        case 4:
            memcpy(to + i * 4, from + indices[i] * 4, 4);
            break;
        case 8:
            memcpy(to + i * 8, from + indices[i] * 8, 8);
            break;
        default:
            memcpy(to + i * item, from + indices[i] * item, (size_t)item);
        }
    }
}

/* ---- the first of the order ------------------------------------------------------------------ */

static void
find_first(const ordered_rows *rows, npy_intp k, char *values, int64_t *indices)
{
    for (npy_intp row = 0; row < rows->rows; row++) {
        const char *from = take_row(rows, row);
        kernels()->first(indices + row * k, k, rows->keys, rows->length, rows->room);
        copy_elements(
            values + row * k * rows->item, from, indices + row * k, k, rows->item);
    }
}

/* An array whose last axis is moved back, in the order of memory of `model`, else in C order. Takes
 * the reference. */
static PyArrayObject *
moved_back(PyArrayObject *array, int axis, PyArrayObject *model)
{
    int last = array == NULL ? axis : PyArray_NDIM(array) - 1;
    int is_c = model == NULL || PyArray_IS_C_CONTIGUOUS(model);
    if (array == NULL || (axis == last && is_c)) {
        return array;
    }
    npy_intp order[NPY_MAXDIMS];
    for (int i = 0; i <= last; i++) {
        order[i] = i < axis ? i : i == axis ? last : i - 1;
    }
    PyArray_Dims permuted = {order, last + 1};
    PyObject *view = PyArray_Transpose(array, &permuted);
    PyArrayObject *made = view == NULL ? NULL
                          : is_c       ? in_c_order(view)
                                       : laid_like((PyArrayObject *)view, model);
    Py_XDECREF(view);
    Py_DECREF(array);
    return made;
}

/* The first `k` of the order along an axis, and their indices, in the order of memory of `model`,
 * else in C order. */
static PyObject *
first_along(
    PyObject *object, int axis, npy_intp k, int greatest_first, PyArrayObject *model)
{
    ordered_rows rows = {0};
    if (!open_rows(&rows, object, &axis, greatest_first)) {
        return NULL;
    }
    npy_intp dims[NPY_MAXDIMS];
    int last = PyArray_NDIM(rows.own) - 1;
    memcpy(dims, PyArray_DIMS(rows.own), sizeof *dims * (size_t)last);
    dims[last] = k;
    PyArrayObject *values = new_of_dtype(PyArray_DESCR(rows.array), last + 1, dims);
    PyArrayObject *indices = (PyArrayObject *)PyArray_SimpleNew(last + 1, dims, NPY_INT64);
    if (values != NULL && indices != NULL) {
        char *to = PyArray_BYTES(values);
        int64_t *at = PyArray_DATA(indices);
        RELEASED(PyArray_SIZE(rows.own), find_first(&rows, k, to, at));
    }
    close_rows(&rows);
    results made = {0};
    add_result(&made, moved_back(values, axis, model));
    add_result(&made, moved_back(indices, axis, model));
    return tuple_of(&made);
}

COMPUTE(sort)
{
    int axis, greatest_first;
    if (!has_order_along(arguments[0], arguments[1], &axis) ||
        !read_optional_flag(arguments[2], &greatest_first)) {
        return NULL;
    }
    PyArrayObject *x = (PyArrayObject *)arguments[0];
    return first_along(arguments[0], axis, PyArray_DIM(x, axis), greatest_first, x);
}

COMPUTE(sort_stable)
{
    PyObject *const others[] = {arguments[0], arguments[2], arguments[3]};
    return sort(others, 0);
}

COMPUTE(topk)
{
    npy_intp k;
    int axis, greatest_first = 1;
    return has_order_along(arguments[0], arguments[2], &axis) && arguments[1] != NULL &&
                   read_int(arguments[1], &k) && k >= 1 &&
                   k <= PyArray_DIM((PyArrayObject *)arguments[0], axis) &&
                   (arguments[3] == NULL || read_flag(arguments[3], &greatest_first))
               ? first_along(arguments[0], axis, k, greatest_first, NULL)
               : NULL;
}

/* ---- one element of a row -------------------------------------------------------------------- */

typedef enum { RANK, MEDIAN, MEDIAN_OF_NUMBERS, MODE } choice;

static int
is_nan_key(const ordered_rows *rows, uint64_t key)
{
    return kernels()->nan_key[rows->type] == key && key != 0;
}

/* How many elements of a row are NaN. */
static npy_intp
count_nans(const ordered_rows *rows)
{
    uint64_t nan = kernels()->nan_key[rows->type];
    npy_intp count = 0;
    for (npy_intp i = 0; nan && i < rows->length; i++) {
        count += rows->keys[i] == nan;
    }
    return count;
}

/* The index of the element of a rank. */
static npy_intp
index_of_rank(const ordered_rows *rows, npy_intp rank)
{
    uint64_t found = kernels()->select(rows->keys, rows->length, rank, rows->room);
    npy_intp i = 0;
    for (npy_intp n = 0; n < rows->length; n++) {
        rank -= rows->keys[n] < found;
    }
    for (;; i++) {
        if (rows->keys[i] == found && rank-- == 0) {
            return i;
        }
    }
}

/* The last index of the element that occurs most often, the least of several. NaN is like none. */
static npy_intp
index_of_mode(const ordered_rows *rows)
{
    npy_intp start = 0, longest = 0, found = 0;
    kernels()->sort(rows->indices, rows->keys, rows->length, rows->room);
    for (npy_intp i = 0; i < rows->length; i++) {
        uint64_t key = rows->keys[rows->indices[i]];
        if (key != rows->keys[rows->indices[start]] || is_nan_key(rows, key)) {
            start = i;
        }
        if (i - start + 1 > longest) {
            longest = i - start + 1;
            found = rows->indices[i];
        }
    }
    return found;
}

static npy_intp
index_of(const ordered_rows *rows, choice chosen, npy_intp rank)
{
    npy_intp nans = chosen == MEDIAN || chosen == MEDIAN_OF_NUMBERS ? count_nans(rows) : 0;
    npy_intp numbers = rows->length - nans;
    switch (chosen) {
    case RANK:
        return index_of_rank(rows, rank);
    case MEDIAN:
        return index_of_rank(rows, nans > 0 ? numbers : (numbers - 1) / 2);
    case MEDIAN_OF_NUMBERS:
        return index_of_rank(rows, numbers > 0 ? (numbers - 1) / 2 : 0);
    default:
        return index_of_mode(rows);
    }
}

static void
choose_elements(
    const ordered_rows *rows, choice chosen, npy_intp rank, char *values, int64_t *indices)
{
    for (npy_intp row = 0; row < rows->rows; row++) {
        const char *from = take_row(rows, row);
        indices[row] = index_of(rows, chosen, rank);
        copy_elements(values + row * rows->item, from, indices + row, 1, rows->item);
    }
}

/* One element of each row along an axis, and its index. */
static PyObject *
chosen_along(PyObject *object, int axis, int keeps, choice chosen, npy_intp rank)
{
    ordered_rows rows = {0};
    if (!open_rows(&rows, object, &axis, 0)) {
        return NULL;
    }
    npy_intp dims[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i < PyArray_NDIM(rows.array); i++) {
        if (i != axis || keeps) {
            dims[ndim++] = i == axis ? 1 : PyArray_DIM(rows.array, i);
        }
    }
    results made = {0};
    char *values = add_result(&made, new_of_dtype(PyArray_DESCR(rows.array), ndim, dims));
    int64_t *indices =
        add_result(&made, (PyArrayObject *)PyArray_SimpleNew(ndim, dims, NPY_INT64));
    if (!made.failed) {
        RELEASED(
            PyArray_SIZE(rows.own), choose_elements(&rows, chosen, rank, values, indices));
    }
    close_rows(&rows);
    return tuple_of(&made);
}

COMPUTE_OF(choose_along, chosen)
{
    int axis, keeps;
    return has_order_along(arguments[0], arguments[1], &axis) &&
                   read_optional_flag(arguments[2], &keeps)
               ? chosen_along(arguments[0], axis, keeps, chosen, 0)
               : NULL;
}

COMPUTE(kthvalue)
{
    npy_intp k;
    int axis, keeps;
    return has_order_along(arguments[0], arguments[2], &axis) &&
                   read_optional_flag(arguments[3], &keeps) && arguments[1] != NULL &&
                   read_int(arguments[1], &k) && k >= 1 &&
                   k <= PyArray_DIM((PyArrayObject *)arguments[0], axis)
               ? chosen_along(arguments[0], axis, keeps, RANK, k - 1)
               : NULL;
}

/* The median of all elements. */
COMPUTE_OF(median, chosen)
{
    ordered_rows rows = {0};
    if (!has_order(arguments[0]) || !open_rows(&rows, arguments[0], NULL, 0)) {
        return NULL;
    }
    int64_t index;
    PyArrayObject *made = new_of_dtype(PyArray_DESCR(rows.array), 0, NULL);
    if (made != NULL) {
        char *value = PyArray_BYTES(made);
        RELEASED(rows.length, choose_elements(&rows, chosen, 0, value, &index));
    }
    close_rows(&rows);
    return (PyObject *)made;
}

/* ---- distinct elements ----------------------------------------------------------------------- */

/* Write for each element of the sorted row the number of its group, if that is asked for; and move
 * the first index of each group to its number, and where it starts to the room. Return how many. */
static npy_intp
find_groups(const ordered_rows *rows, int64_t *groups)
{
    int64_t *starts = rows->room;
    npy_intp count = 0;
    take_row(rows, 0);
    kernels()->sort(rows->indices, rows->keys, rows->length, rows->room);
    uint64_t before = 0;
    for (npy_intp i = 0; i < rows->length; i++) {
        int64_t index = rows->indices[i];
        uint64_t key = rows->keys[index];
        if (i == 0 || key != before || is_nan_key(rows, key)) {
            starts[count] = i;
            rows->indices[count++] = index;
            before = key;
        }
        if (groups != NULL) {
            groups[index] = count - 1;
        }
    }
    return count;
}

/* The distinct elements in order, the group of each element and the sizes of groups. */
COMPUTE(unique)
{
    int has_groups, has_counts;
    ordered_rows rows = {0};
    if (!has_order(arguments[0]) || !read_optional_flag(arguments[2], &has_groups) ||
        !read_optional_flag(arguments[3], &has_counts) ||
        !open_rows(&rows, arguments[0], NULL, 0)) {
        return NULL;
    }
    npy_intp none = 0, count = 0;
    PyArrayObject *array = rows.array;
    PyArrayObject *groups = (PyArrayObject *)(
        has_groups ? PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), NPY_INT64)
                   : PyArray_SimpleNew(1, &none, NPY_INT64));
    if (groups != NULL) {
        int64_t *to = has_groups ? PyArray_DATA(groups) : NULL;
        RELEASED(rows.length, count = find_groups(&rows, to));
    }
    results made = {0};
    char *values = add_result(&made, new_of_dtype(PyArray_DESCR(array), 1, &count));
    add_result(&made, groups);
    int64_t *counts = add_result(
        &made, (PyArrayObject *)PyArray_SimpleNew(1, has_counts ? &count : &none, NPY_INT64));
    if (!made.failed) {
        const int64_t *starts = rows.room;
        copy_elements(values, rows.from, rows.indices, count, rows.item);
        for (npy_intp i = 0; has_counts && i < count; i++) {
            counts[i] = (i + 1 < count ? starts[i + 1] : rows.length) - starts[i];
        }
    }
    close_rows(&rows);
    return tuple_of(&made);
}

#define VARIANT(operator, compute, variant, ...)                                                  \
    {operator, "table/ordering.c", __LINE__, compute, {__VA_ARGS__}, 1, NULL, variant}
#define ROW(operator, compute, ...) VARIANT(operator, compute, 0, __VA_ARGS__)
#define ALONG "self", "dim", "keepdim"
const kernel_row ordering_rows[] = {
    ROW("sort", sort, "self", "dim", "descending"),
    ROW("sort.stable", sort_stable, "self", "stable", "dim", "descending"),
    ROW("topk", topk, "self", "k", "dim", "largest", "sorted"),
    ROW("kthvalue", kthvalue, "self", "k", "dim", "keepdim"),
    ROW("_unique2", unique, "self", "sorted", "return_inverse", "return_counts"),
    VARIANT("median", median, MEDIAN, "self"),
    VARIANT("nanmedian", median, MEDIAN_OF_NUMBERS, "self"),
    VARIANT("median.dim", choose_along, MEDIAN, ALONG),
    VARIANT("nanmedian.dim", choose_along, MEDIAN_OF_NUMBERS, ALONG),
    VARIANT("mode", choose_along, MODE, ALONG),
    {NULL},
};

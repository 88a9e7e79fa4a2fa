/* Where elements are: nonzero, searchsorted, bincount, equal. */
#include "indexed.h"

static PyArrayObject *
behaved_array(PyObject *object)
{
    PyArrayObject *x = plain_array(object);
    return x != NULL && PyArray_ISBEHAVED_RO(x) ? x : NULL;
}

/* ---- places ---------------------------------------------------------------------------------- */

COMPUTE(nonzero)
{
    PyArrayObject *x = behaved_array(arguments[0]);
    if (x == NULL || PyArray_NDIM(x) == 0) {
        return NULL;
    }
    /* NumPy is fast with truth values along one axis. */
    PyObject *mask = half_of(x) == 1 /* whose comparisons warn of NaN */
                         ? Py_NewRef(x)
                         : PyObject_RichCompare(arguments[0], Py_False, Py_NE);
    PyObject *line = mask == NULL ? NULL : PyArray_Ravel((PyArrayObject *)mask, NPY_CORDER);
    PyObject *places = line == NULL ? NULL : PyArray_Nonzero((PyArrayObject *)line);
    Py_XDECREF(mask);
    Py_XDECREF(line);
    if (places == NULL) {
        return NULL;
    }
    PyArrayObject *found = (PyArrayObject *)PyTuple_GET_ITEM(places, 0);
    npy_intp count = PyArray_SIZE(found), dims[2] = {count, PyArray_NDIM(x)};
    /* Axis by axis, as in PyTorch. */
    PyArrayObject *made = (PyArrayObject *)PyArray_EMPTY(2, dims, NPY_INT64, 1);
    int64_t *rest = made == NULL ? NULL : PyArray_DATA(made);
    if (rest != NULL) {
        memcpy(rest, PyArray_DATA(found), (size_t)count * sizeof *rest);
    }
    for (int axis = PyArray_NDIM(x) - 1; rest != NULL && axis > 0; axis--) {
        int64_t *to = rest + axis * count, length = PyArray_DIM(x, axis), row = 0;
        for (npy_intp i = 0; i < count; i++) {
            if (rest[i] - row * length >= length) { /* most are in the same row */
                row = rest[i] / length;
            }
            to[i] = rest[i] - row * length;
            rest[i] = row;
        }
    }
    Py_DECREF(places);
    return (PyObject *)made;
}

COMPUTE(searchsorted)
{
    PyArrayObject *own = behaved_array(arguments[0]), *values = behaved_array(arguments[1]);
    int is_narrow = 0, is_behind = 0, type = own == NULL ? -1 : type_of(own);
    if (values == NULL || type < 0 || type != type_of(values) || PyArray_NDIM(own) != 1 ||
        !PyArray_IS_C_CONTIGUOUS(own) || !PyArray_IS_C_CONTIGUOUS(values) ||
        !read_optional_flag(arguments[2], &is_narrow) || is_narrow ||
        !read_optional_flag(arguments[3], &is_behind) || is_given(arguments[4]) ||
        is_given(arguments[5])) {
        return NULL;
    }
    place_finder *find_places = kernels_in_force->ordering->find_places[type];
    PyArrayObject *made = find_places == NULL ? NULL
                                              : (PyArrayObject *)PyArray_SimpleNew(
                                                    PyArray_NDIM(values), PyArray_DIMS(values),
                                                    NPY_INT64);
    if (made != NULL) {
        int64_t *places = PyArray_DATA(made);
        const char *from = PyArray_BYTES(values), *sorted = PyArray_BYTES(own);
        npy_intp count = PyArray_SIZE(values), length = PyArray_SIZE(own);
        RELEASED(count, find_places(places, from, count, sorted, length, is_behind));
    }
    return (PyObject *)made;
}

/* ---- counts ---------------------------------------------------------------------------------- */

COMPUTE(bincount)
{
    PyArrayObject *x = behaved_array(arguments[0]);
    npy_intp bins = 0;
    if (x == NULL || PyArray_NDIM(x) != 1 || PyArray_TYPE(x) != NPY_INT64 ||
        PyArray_SIZE(x) == 0 || !PyArray_IS_C_CONTIGUOUS(x) || is_given(arguments[1]) ||
        (arguments[2] != NULL && !read_size(arguments[2], &bins))) {
        return NULL;
    }
    const int64_t *numbers = PyArray_DATA(x);
    npy_intp size = PyArray_SIZE(x);
    for (npy_intp i = 0; i < size; i++) {
        if (numbers[i] < 0 || numbers[i] == INT64_MAX) {
            return NULL;
        }
        bins = numbers[i] >= bins ? numbers[i] + 1 : bins;
    }
    if (!is_addressable(1, &bins, sizeof(int64_t))) {
        return NULL;
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_ZEROS(1, &bins, NPY_INT64, 0);
    int64_t *counts = made == NULL ? NULL : PyArray_DATA(made);
    for (npy_intp i = 0; counts != NULL && i < size; i++) {
        counts[numbers[i]]++;
    }
    return (PyObject *)made;
}

/* ---- equal ----------------------------------------------------------------------------------- */

COMPUTE(equal)
{
    PyArrayObject *x = behaved_array(arguments[0]), *other = behaved_array(arguments[1]);
    if (x == NULL || other == NULL || PyArray_TYPE(x) != PyArray_TYPE(other) ||
        !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(other)) {
        return NULL;
    }
    if (!PyArray_SAMESHAPE(x, other)) {
        Py_RETURN_FALSE;
    }
    const void *first = PyArray_DATA(x), *second = PyArray_DATA(other);
    npy_intp size = PyArray_SIZE(x), i = 0;
    int precision = precision_of(arguments[0]);
    if (precision < 0 && half_of(x) >= 0) {
        const uint16_t *halves = first, *others = second, least_nan = half_of(x) ? 0x7f81 : 0x7c01;
        while (i < size && (((halves[i] | others[i]) & 0x7fff) == 0 /* zeros of both signs */ ||
                            (halves[i] == others[i] && (halves[i] & 0x7fff) < least_nan))) {
            i++;
        }
        return PyBool_FromLong(i == size);
    }
    if (precision < 0) {
        const npy_bool *truths = first, *others = second;
        if (PyTypeNum_ISBOOL(PyArray_TYPE(x))) { /* any byte but 0 is true */
            while (i < size && !truths[i] == !others[i]) {
                i++;
            }
            return PyBool_FromLong(i == size);
        }
        return PyTypeNum_ISINTEGER(PyArray_TYPE(x))
                   ? PyBool_FromLong(memcmp(first, second, (size_t)PyArray_NBYTES(x)) == 0)
                   : NULL;
    }
    while (i < size && (precision == 0 ? ((const float *)first)[i] == ((const float *)second)[i]
                                       : ((const double *)first)[i] == ((const double *)second)[i])) {
        i++;
    }
    return PyBool_FromLong(i == size);
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "table/searching.c", __LINE__, compute, {__VA_ARGS__}}
const kernel_row searching_rows[] = {
    ROW("nonzero", nonzero, "self"),
    ROW("searchsorted.Tensor", searchsorted, "sorted_sequence", "self", "out_int32", "right", "side",
        "sorter"),
    ROW("bincount", bincount, "self", "weights", "minlength"),
    ROW("equal", equal, "self", "other"),
    {NULL},
};

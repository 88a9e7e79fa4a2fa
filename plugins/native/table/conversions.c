/* Copies in another dtype. */
#include "layouts.h"

static void
widen_row(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const int half = *(const int *)context;
    for (npy_intp start = 0; start < length; start += ROOM) {
        npy_intp count = length - start < ROOM ? length - start : ROOM;
        const char *from = data[0] + start * steps[0];
        char *to = data[1] + start * steps[1];
        if (steps[0] != 0 && steps[1] == sizeof(float)) {
            widen_elements(half, (float *)to, from, steps[0], count);
            continue;
        }
        float room[ROOM];
        npy_intp step = widen_elements(half, room, from, steps[0], count) / sizeof *room;
        for (npy_intp i = 0; i < count; i++) {
            *(float *)(to + i * steps[1]) = room[i * step];
        }
    }
}

static void
narrow_row(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const int half = *(const int *)context;
    for (npy_intp start = 0; start < length; start += ROOM) {
        npy_intp count = length - start < ROOM ? length - start : ROOM;
        const char *from = data[0] + start * steps[0];
        char *to = data[1] + start * steps[1];
        if (steps[0] == sizeof(float)) {
            narrow_elements(half, to, steps[1], (const float *)from, count);
            continue;
        }
        float room[ROOM];
        for (npy_intp i = 0; i < count; i++) {
            room[i] = *(const float *)(from + i * steps[0]);
        }
        narrow_elements(half, to, steps[1], room, count);
    }
}

/* Define a function of rows that converts as C does, and as NumPy, which warns of some numbers. */
#define CONVERT_ROW(name, from_type, to_type)                                                     \
    static void name(                                                                             \
        const void *context, char *const *data, const npy_intp *steps, npy_intp length)           \
    {                                                                                             \
        const char *from = data[0];                                                               \
        char *to = data[1];                                                                       \
        int is_dense = steps[0] == sizeof(from_type) && steps[1] == sizeof(to_type);              \
        for (npy_intp i = 0; is_dense && i < length; i++) {                                       \
            ((to_type *)to)[i] = (to_type)((const from_type *)from)[i];                           \
        }                                                                                         \
        for (npy_intp i = 0; !is_dense && i < length; i++, from += steps[0], to += steps[1]) {    \
            *(to_type *)to = (to_type)*(const from_type *)from;                                   \
        }                                                                                         \
    }
CONVERT_ROW(double_to_float, double, float)
#define CONVERT_ROWS(from)                                                                        \
    CONVERT_ROW(from##_to_bool, from, _Bool)                                                      \
    CONVERT_ROW(from##_to_int8, from, int8_t)                                                     \
    CONVERT_ROW(from##_to_uint8, from, uint8_t)                                                   \
    CONVERT_ROW(from##_to_int16, from, int16_t)                                                   \
    CONVERT_ROW(from##_to_int32, from, int32_t)                                                   \
    CONVERT_ROW(from##_to_int64, from, int64_t)
CONVERT_ROWS(float)
CONVERT_ROWS(double)

/* What converts real numbers where NumPy would warn of some; NULL for other dtypes. */
static row_function *
converter(int from, int to)
{
    static const struct {
        int to;
        row_function *of_float, *of_double;
    } converters[] = {
        {NPY_FLOAT, NULL, double_to_float},
        {NPY_BOOL, float_to_bool, double_to_bool},
        {NPY_INT8, float_to_int8, double_to_int8},
        {NPY_UINT8, float_to_uint8, double_to_uint8},
        {NPY_INT16, float_to_int16, double_to_int16},
        {NPY_INT32, float_to_int32, double_to_int32},
        {NPY_INT64, float_to_int64, double_to_int64},
    };
    for (size_t i = 0; i < sizeof converters / sizeof *converters; i++) {
        if (converters[i].to == to) {
            return from == NPY_FLOAT    ? converters[i].of_float
                   : from == NPY_DOUBLE ? converters[i].of_double
                                        : NULL;
        }
    }
    return NULL;
}

PyArrayObject *
as_single(PyArrayObject *array)
{
    int half = half_of(array);
    PyArray_Descr *single = PyArray_DescrFromType(NPY_FLOAT);
    row_call call = {widen_row, &half, 1, {array}, NULL, single, 1};
    PyArrayObject *result = (PyArrayObject *)compute_rows(&call);
    Py_XDECREF(single);
    return result;
}

PyArrayObject *
as_half(PyArrayObject *array, PyArray_Descr *dtype, int half)
{
    row_call call = {narrow_row, &half, 1, {array}, NULL, dtype, 1};
    return (PyArrayObject *)compute_rows(&call);
}

/* A copy with another dtype, without the reference. */
static PyArrayObject *
cast_by_numpy(PyArrayObject *array, PyArray_Descr *dtype)
{
    Py_XINCREF(dtype); /* which the next call takes */
    return dtype == NULL ? NULL
                         : (PyArrayObject *)PyArray_FromArray(
                               array, dtype, NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSURECOPY);
}

/* Whether the cast of a dtype of NumPy's own to another, which has no `converter`, warns of no
 * number. */
static int
is_quiet_cast(int from, int to)
{
    if (!PyTypeNum_ISNUMBER(to) && to != NPY_BOOL) {
        return 0;
    }
    if (PyTypeNum_ISINTEGER(from) || from == NPY_BOOL) {
        return to != NPY_HALF;
    }
    return (from == NPY_FLOAT && (to == NPY_DOUBLE || to == NPY_CFLOAT || to == NPY_CDOUBLE)) ||
           (from == NPY_DOUBLE && to == NPY_CDOUBLE) || (from == NPY_CFLOAT && to == NPY_CDOUBLE);
}

int
convert_into(PyArrayObject *to, PyArrayObject *from)
{
    int own = PyArray_TYPE(from), other = PyArray_TYPE(to);
    row_function *function = converter(own, other);
    if (function == NULL) {
        return !is_quiet_cast(own, other) ? 0 : PyArray_CopyInto(to, from) < 0 ? -1 : 1;
    }
    row_call call = {function, NULL, 1, {from}, to, PyArray_DESCR(to), 1};
    PyObject *made = compute_rows(&call);
    Py_XDECREF(made);
    return made != NULL ? 1 : PyErr_Occurred() == NULL ? 0 : -1;
}

/* A copy of an array with another dtype. From half precision and to it integers go through single
 * precision, as in PyTorch. */
static PyObject *
convert(PyObject *object, PyObject *wanted)
{
    PyArrayObject *array = (PyArrayObject *)object, *result = NULL;
    PyArray_Descr *dtype = (PyArray_Descr *)wanted;
    if (!PyArray_CheckExact(object) || !PyArray_DescrCheck(wanted) ||
        !PyArray_ISNOTSWAPPED(array) || !says_its_order(array)) {
        return NULL;
    }
    int from = half_of(array), to = half_of_dtype(dtype), is_single = PyArray_TYPE(array) == NPY_FLOAT;
    char kind = PyArray_DESCR(array)->kind;
    if (from < 0 && to < 0) {
        int own = PyArray_TYPE(array), other = dtype->type_num;
        row_function *function = PyDataType_ISNOTSWAPPED(dtype) ? converter(own, other) : NULL;
        if (function != NULL) {
            row_call call = {function, NULL, 1, {array}, NULL, dtype, 1};
            return compute_rows(&call);
        }
        return own != other && PyDataType_ISNOTSWAPPED(dtype) && is_quiet_cast(own, other)
                   ? (PyObject *)cast_by_numpy(array, dtype)
                   : NULL;
    }
    if (from == to) {
        return NULL;
    }
    if (to >= 0 && is_single) {
        return (PyObject *)as_half(array, dtype, to);
    }
    PyArrayObject *single = NULL;
    if (from >= 0) {
        single = as_single(array);
    }
    else if (kind == 'b' || kind == 'i' || kind == 'u') {
        PyArray_Descr *float32 = PyArray_DescrFromType(NPY_FLOAT);
        single = cast_by_numpy(array, float32);
        Py_XDECREF(float32);
    }
    if (single == NULL || dtype->type_num == NPY_FLOAT) {
        return (PyObject *)single;
    }
    result = to >= 0 ? as_half(single, dtype, to) : cast_by_numpy(single, dtype);
    Py_DECREF(single);
    return (PyObject *)result;
}

/* arrays.cast(array, dtype) */
COMPUTE(cast)
{
    return arguments[1] == NULL ? NULL : convert(arguments[0], arguments[1]);
}

/* _to_copy(self, dtype, …, memory_format) */
COMPUTE(to_copy)
{
    return is_given(arguments[1]) && !is_given(arguments[6]) ? convert(arguments[0], arguments[1])
                                                             : NULL;
}

/* An element as a Python number: _local_scalar_dense(self) */
COMPUTE(local_scalar)
{
    PyArrayObject *array = plain_array(arguments[0]);
    return array != NULL && PyArray_SIZE(array) == 1
               ? PyArray_GETITEM(array, PyArray_DATA(array)) /* as ndarray.item */
               : NULL;
}

#define ROW(operator, compute, ...)                                                               \
    {operator, "table/conversions.c", __LINE__, compute, {__VA_ARGS__}, 1}
const kernel_row conversion_rows[] = {
    ROW("arrays.cast", cast, "array", "dtype"),
    ROW("_local_scalar_dense", local_scalar, "self"),
    ROW("_to_copy", to_copy, "self", "dtype", "layout", "device", "pin_memory", "non_blocking",
        "memory_format"),
    {NULL},
};

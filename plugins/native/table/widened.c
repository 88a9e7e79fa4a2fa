/* Half precision by kernels for single precision: arguments are widened, results rounded once. */
#include "layouts.h"

/* The arguments of a call, and those of the kernel: new references for what was widened. */
typedef struct {
    PyObject *const *given;
    PyObject *wide[MOST_PARAMETERS];
    PyArray_Descr *dtype, *others; /* of the first arguments, and of other real numbers */
    int half;
} widened_call;

/* Read the first arguments, and the others. Return whether their dtypes are those of one call, and a
 * dtype that is named is theirs. */
static int
read_dtypes(widened_call *call, const kernel_row *row)
{
    const char *letters = row->widened + 1;
    int leading = row->widened[0] - '0', may_be_single = letters[strspn(letters, "x")] != '\0';
    call->dtype = call->others = NULL;
    for (int i = 0; row->parameters[i] != NULL; i++) {
        PyObject *each = call->given[i];
        if (each == NULL || !PyArray_CheckExact(each)) {
            if (i < leading || (each != NULL && PyArray_DescrCheck(each) &&
                                !PyArray_EquivTypes((PyArray_Descr *)each, call->dtype))) {
                return 0;
            }
            continue;
        }
        PyArray_Descr *dtype = PyArray_DESCR((PyArrayObject *)each);
        if (i >= leading && (PyTypeNum_ISINTEGER(dtype->type_num) ||
                             PyTypeNum_ISBOOL(dtype->type_num))) { /* indices, masks: as they are */
            continue;
        }
        int half = half_of((PyArrayObject *)each);
        if (i < leading && (half < 0 || !PyArray_ISNOTSWAPPED((PyArrayObject *)each))) {
            return 0;
        }
        if (i == 0) {
            call->half = half;
            call->dtype = dtype;
        }
        else if (half >= 0 && half != call->half) {
            return 0;
        }
        else if (half < 0 && (dtype->type_num != NPY_FLOAT || !may_be_single)) {
            return 0;
        }
        if (i >= leading) {
            if (call->others != NULL && call->others->type_num != dtype->type_num) {
                return 0;
            }
            call->others = dtype;
        }
    }
    return 1;
}

/* Widen the arguments of half precision, and name single precision where that is named. Return 0,
 * or -1 with an exception. */
static int
widen_arguments(widened_call *call, const kernel_row *row)
{
    int failed = 0;
    for (int i = 0; row->parameters[i] != NULL; i++) {
        PyObject *each = call->given[i];
        call->wide[i] = NULL;
        if (each == NULL || failed) {
            continue;
        }
        if (PyArray_CheckExact(each) && half_of((PyArrayObject *)each) >= 0) {
            call->wide[i] = (PyObject *)as_single((PyArrayObject *)each);
        }
        else if (PyArray_DescrCheck(each)) {
            call->wide[i] = (PyObject *)PyArray_DescrFromType(NPY_FLOAT);
        }
        else {
            call->wide[i] = Py_NewRef(each);
        }
        failed = call->wide[i] == NULL;
    }
    return failed ? -1 : 0;
}

/* A result in the dtype that a letter names; the reference to it is taken. */
static PyObject *
narrow_result(const widened_call *call, char letter, PyObject *result)
{
    PyArray_Descr *dtype = call->dtype;
    PyObject *model = letter >= 'a' && letter < 's' ? call->given[letter - 'a'] : NULL;
    if (model != NULL && PyArray_CheckExact(model)) {
        dtype = PyArray_DESCR((PyArrayObject *)model);
    }
    else if (letter == 's' && call->others != NULL) {
        dtype = call->others;
    }
    if (result == Py_None || dtype->type_num == NPY_FLOAT || letter == '1') {
        return result;
    }
    PyObject *narrow = (PyObject *)as_half((PyArrayObject *)result, dtype, call->half);
    Py_DECREF(result);
    return narrow;
}

/* The same of each of several results. */
static PyObject *
narrow_results(const widened_call *call, const char *letters, PyObject *wide)
{
    Py_ssize_t count = PyTuple_GET_SIZE(wide);
    PyObject *results = PyTuple_New(count);
    for (Py_ssize_t i = 0; results != NULL && i < count; i++) {
        PyObject *each = narrow_result(call, letters[i], Py_NewRef(PyTuple_GET_ITEM(wide, i)));
        if (each == NULL) {
            Py_CLEAR(results);
            break;
        }
        PyTuple_SET_ITEM(results, i, each);
    }
    Py_DECREF(wide);
    return results;
}

PyObject *
compute_widened(const kernel_row *row, PyObject *const *arguments)
{
    widened_call call = {.given = arguments};
    if (!read_dtypes(&call, row)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (widen_arguments(&call, row) == 0) {
        result = row->compute(call.wide, row->variant);
    }
    for (int i = 0; row->parameters[i] != NULL; i++) {
        Py_XDECREF(call.wide[i]);
    }
    if (result == NULL) {
        return NULL;
    }
    return PyTuple_CheckExact(result) ? narrow_results(&call, row->widened + 1, result)
                                      : narrow_result(&call, row->widened[1], result);
}

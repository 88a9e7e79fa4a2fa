/* Ufuncs of NumPy on half precision, by their inner loops for single precision.
 *
 * NumPy widens every number of half precision, computes, and rounds it, one by one. Here that is
 * done a room at a time, with vector instructions: results are rounded once from what the ufunc
 * returns in single precision.
 *
 * UfuncLoop (core) computes so; one that takes singles has numbers of single precision beside arrays
 * of half precision, too, of which NumPy would make arrays of single precision.
 */
#include "layouts.h"

/* A call: which half precision, and which operands are numbers of single precision. */
typedef struct {
    const half_loop *loop;
    int half, is_single[2];
} half_call;

static void
compute_row(const void *context, char *const *data, const npy_intp *steps, npy_intp length)
{
    const half_call *call = context;
    const half_loop *loop = call->loop;
    if (loop->takes_bits) {
        loop->function((char **)data, &length, steps, NULL);
        return;
    }
    int last = loop->inputs;
    float rooms[MOST_INPUTS][ROOM] __attribute__((aligned(64)));
    int is_written = loop->answers && steps[last] == sizeof(npy_bool); /* where it is wanted */
    for (npy_intp start = 0; start < length; start += ROOM) {
        npy_intp count = length - start < ROOM ? length - start : ROOM;
        char *given[MOST_INPUTS];
        npy_intp given_steps[MOST_INPUTS];
        for (int i = 0; i < last; i++) {
            char *from = data[i] + start * steps[i];
            given[i] = call->is_single[i] ? from : (char *)rooms[i];
            given_steps[i] = call->is_single[i]
                                 ? 0
                                 : widen_elements(call->half, rooms[i], from, steps[i], count);
        }
        char *to = data[last] + start * steps[last];
        given[last] = is_written ? to : (char *)rooms[last];
        given_steps[last] = loop->answers ? sizeof(npy_bool) : sizeof(float);
        npy_intp size = count;
        loop->function(given, &size, given_steps, loop->data);
        if (!loop->answers) {
            narrow_elements(call->half, to, steps[last], rooms[last], count);
        }
        for (npy_intp i = 0; loop->answers && !is_written && i < count; i++) {
            to[i * steps[last]] = ((char *)rooms[last])[i]; /* NumPy's isnan would not, with gaps */
        }
    }
}

PyObject *
compute_halves(const half_loop *loop, PyObject *const *args, PyObject *out, int takes_singles)
{
    half_call call = {loop, -1, {0, 0}};
    row_call rows = {compute_row, &call, loop->inputs, {NULL}, NULL, NULL, 1};
    for (int i = 0; i < rows.count; i++) {
        PyArrayObject *each = rows.inputs[i] = (PyArrayObject *)args[i];
        if (!PyArray_CheckExact(args[i]) || !PyArray_ISNOTSWAPPED(each)) {
            return NULL;
        }
        if (takes_singles && PyArray_TYPE(each) == NPY_FLOAT && PyArray_NDIM(each) == 0) {
            call.is_single[i] = 1;
            continue;
        }
        int half = half_of(each);
        if (half < 0 || (call.half >= 0 && half != call.half)) {
            return NULL;
        }
        call.half = half;
        rows.dtype = PyArray_DESCR(each);
    }
    if (call.half < 0) {
        return NULL;
    }
    PyArray_Descr *bools = NULL;
    if (loop->answers) {
        rows.dtype = bools = PyArray_DescrFromType(NPY_BOOL);
    }
    PyObject *result = NULL;
    if (out == NULL || (PyArray_CheckExact(out) && PyArray_ISWRITEABLE((PyArrayObject *)out) &&
                        PyArray_EquivTypes(rows.dtype, PyArray_DESCR((PyArrayObject *)out)))) {
        rows.out = (PyArrayObject *)out;
        result = compute_rows(&rows);
    }
    Py_XDECREF(bools);
    /* A ufunc returns a scalar in the place of a new array without dimensions. */
    return result == NULL || out != NULL ? result : PyArray_Return((PyArrayObject *)result);
}

/* Loops that take the place of NumPy's, which go from number to number. */
#define LOOP(name, from, to, expression)                                                          \
    static void name(                                                                             \
        char **data, const npy_intp *dims, const npy_intp *steps, void *unused)                   \
    {                                                                                             \
        const char *source = data[0];                                                             \
        char *target = data[1];                                                                   \
        npy_intp count = dims[0], step = steps[0], to_step = steps[1];                            \
        int is_dense = step == sizeof(from) && to_step == sizeof(to);                             \
        _Pragma("GCC ivdep") for (npy_intp i = 0; is_dense && i < count; i++)                     \
        {                                                                                         \
            from x = ((const from *)source)[i];                                                   \
            ((to *)target)[i] = expression;                                                       \
        }                                                                                         \
        for (npy_intp i = 0; !is_dense && i < count; i++) {                                       \
            from x = *(const from *)(source + i * step);                                          \
            *(to *)(target + i * to_step) = expression;                                           \
        }                                                                                         \
    }
LOOP(half_size, npy_half, npy_half, x & 0x7fff)
LOOP(half_opposite, npy_half, npy_half, x ^ 0x8000)
LOOP(half_is_zero, npy_half, npy_bool, (x & 0x7fff) == 0)
LOOP(single_is_zero, npy_float, npy_bool, x == 0)
LOOP(double_is_zero, npy_double, npy_bool, x == 0)

PyUFuncGenericFunction
own_loop(const PyUFuncObject *ufunc, int type)
{
    static const struct {
        const char *name;
        int type; /* NPY_HALF for both half precisions */
        PyUFuncGenericFunction function;
    } loops[] = {
        {"absolute", NPY_HALF, half_size},         {"negative", NPY_HALF, half_opposite},
        {"logical_not", NPY_HALF, half_is_zero},   {"logical_not", NPY_FLOAT, single_is_zero},
        {"logical_not", NPY_DOUBLE, double_is_zero},
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (loops[i].type == type && strcmp(loops[i].name, ufunc->name) == 0) {
            return loops[i].function;
        }
    }
    return NULL;
}

/* Functions of how far apart numbers are, which is another distance in single precision. */
static int
is_of_distances(const PyUFuncObject *ufunc)
{
    return strcmp(ufunc->name, "nextafter") == 0 || strcmp(ufunc->name, "spacing") == 0;
}

void
find_half_loop(half_loop *loop, const PyUFuncObject *ufunc)
{
    loop->function = NULL;
    loop->inputs = ufunc->nin;
    for (int i = 0; i < ufunc->ntypes && !is_of_distances(ufunc); i++) {
        const char *types = ufunc->types + (npy_intp)i * ufunc->nargs;
        int result = types[ufunc->nin];
        if (types[0] == NPY_FLOAT && types[ufunc->nin - 1] == NPY_FLOAT &&
            (result == NPY_FLOAT || result == NPY_BOOL)) {
            loop->function = ufunc->functions[i];
            loop->data = ufunc->data == NULL ? NULL : ufunc->data[i];
            loop->answers = result == NPY_BOOL;
            PyUFuncGenericFunction own = own_loop(ufunc, NPY_HALF);
            loop->takes_bits = own != NULL;
            loop->function = own != NULL ? own : loop->function;
            return;
        }
    }
}

/* Borders around arrays that are made of their own elements. */
#include "indexed.h"

enum { MOST_BORDERS = 8, REFLECT = 0, REPLICATE, CIRCULAR };

/* An axis: its size, the elements before and after it, which are cut off where they are less than 0,
 * the first element that is kept, and how many are. */
typedef struct {
    npy_intp size, before, after, first, kept;
} bordered_axis;

typedef struct {
    bordered_axis axes[MOST_BORDERS];
    int count, mode;
    npy_intp outer, inner; /* arrays before the axes, bytes after them */
    npy_intp *sources;     /* of the last axis: how far from its first element, in bytes */
} bordered;

/* Set an axis. Return whether there are enough elements for its border, and some are left. */
static int
set_axis(bordered_axis *axis, npy_intp size, npy_intp before, npy_intp after, int mode)
{
    npy_intp kept = size + Py_MIN(before, 0) + Py_MIN(after, 0), widest = Py_MAX(before, after);
    *axis = (bordered_axis){size, before, after, Py_MAX(-before, 0), kept};
    return kept > 0 && widest <= (mode == REFLECT ? size - 1 : mode == CIRCULAR ? kept : INT32_MAX);
}

/* Which element comes to a place, counted from the first element of the axis. */
static npy_intp
source_of(const bordered_axis *axis, npy_intp place, int mode)
{
    npy_intp last = axis->size - 1;
    if (mode == REFLECT) {
        return last - Py_ABS(last - Py_ABS(place));
    }
    if (mode == REPLICATE) {
        return place < 0 ? 0 : place > last ? last : place;
    }
    npy_intp rest = (place - axis->first) % axis->kept;
    return axis->first + (rest < 0 ? rest + axis->kept : rest);
}

static void
copy_element(char *to, const char *from, npy_intp bytes)
{
    switch (bytes) {
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, (size_t)bytes);
    }
}

/* Write what lies along the axes from `at` on. */
static void
write_axis(const bordered *of, int at, char *to, const char *from)
{
    const bordered_axis *axis = of->axes + at;
    npy_intp to_step = of->inner, from_step = of->inner, low = axis->first;
    int is_last = at == of->count - 1;
    for (int i = at + 1; i < of->count; i++) {
        to_step *= of->axes[i].size + of->axes[i].before + of->axes[i].after;
        from_step *= of->axes[i].size;
    }
    if (is_last) {
        memcpy(
            to + (axis->before + low) * to_step, from + low * from_step,
            (size_t)(axis->kept * to_step));
    }
    for (npy_intp place = -axis->before; place < axis->size + axis->after; place++) {
        if (is_last && place == low) {
            place += axis->kept - 1;
            continue;
        }
        char *target = to + (axis->before + place) * to_step;
        if (is_last) {
            copy_element(target, from + of->sources[axis->before + place], to_step);
        }
        else {
            write_axis(of, at + 1, target, from + source_of(axis, place, of->mode) * from_step);
        }
    }
}

static void
write_all(const bordered *of, char *to, const char *from)
{
    npy_intp to_step = of->inner, from_step = of->inner;
    for (int i = 0; i < of->count; i++) {
        to_step *= of->axes[i].size + of->axes[i].before + of->axes[i].after;
        from_step *= of->axes[i].size;
    }
    for (npy_intp i = 0; i < of->outer; i++) {
        write_axis(of, 0, to + i * to_step, from + i * from_step);
    }
}

/* Which border a name stands for, -1 for none. */
static int
read_mode(PyObject *name)
{
    static const char *const modes[] = {"reflect", "replicate", "circular"};
    for (int i = 0; name != NULL && PyUnicode_Check(name) && i < 3; i++) {
        if (PyUnicode_CompareWithASCIIString(name, modes[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* In channels_last the axes with a border are followed by the channels. */
COMPUTE(border)
{
    PyArrayObject *x = plain_array(arguments[0]);
    npy_intp pad[NPY_MAXDIMS], shape[NPY_MAXDIMS];
    bordered of = {.mode = read_mode(arguments[2])};
    PyObject *given =
        arguments[1] != NULL && PyList_Check(arguments[1]) ? PyList_AsTuple(arguments[1])
                                                           : Py_XNewRef(arguments[1]);
    int read = given == NULL || !PyTuple_Check(given) ? -1 : read_ints(given, pad);
    Py_XDECREF(given);
    int ndim = x == NULL ? 0 : PyArray_NDIM(x);
    of.count = read / 2;
    if (x == NULL || of.mode < 0 || read < 2 || read % 2 != 0 || of.count > MOST_BORDERS ||
        of.count > ndim || size_class(x) < 0 || PyArray_SIZE(x) == 0) {
        return NULL;
    }
    int is_last = of.mode != CIRCULAR && (ndim == 4 || ndim == 5) && is_channels_last(x);
    if (is_last && of.count > ndim - 2) { /* where the channels have a border */
        return NULL;
    }
    memcpy(shape, PyArray_DIMS(x), (size_t)ndim * sizeof *shape);
    of.outer = 1;
    of.inner = PyArray_ITEMSIZE(x) * (is_last ? shape[1] : 1);
    for (int i = 0; i < ndim; i++) {
        int from_end = ndim - 1 - i, at = of.count - 1 - from_end;
        npy_intp before = at < 0 ? 0 : pad[2 * from_end], after = at < 0 ? 0 : pad[2 * from_end + 1];
        if (at < 0) {
            of.outer *= is_last && i == 1 ? 1 : shape[i];
        }
        else if (
            Py_ABS(before) > INT32_MAX || Py_ABS(after) > INT32_MAX ||
            !set_axis(of.axes + at, shape[i], before, after, of.mode)) {
            return NULL;
        }
        shape[i] += before + after;
    }
    if (!is_addressable(ndim, shape, PyArray_ITEMSIZE(x))) {
        return NULL;
    }
    PyArrayObject *from = is_last ? in_channels_last(arguments[0]) : in_c_order(arguments[0]);
    PyArrayObject *made = from == NULL ? NULL
                          : is_last    ? new_channels_last(ndim, shape, PyArray_DESCR(x))
                                       : new_of_dtype(PyArray_DESCR(x), ndim, shape);
    const bordered_axis *last = of.axes + of.count - 1;
    npy_intp places = last->before + last->size + last->after;
    of.sources = made == NULL ? NULL : PyMem_RawMalloc((size_t)places * sizeof *of.sources);
    if (made != NULL && of.sources == NULL) {
        PyErr_NoMemory();
        Py_CLEAR(made);
    }
    if (made != NULL) {
        for (npy_intp i = 0; i < places; i++) {
            of.sources[i] = source_of(last, i - last->before, of.mode) * of.inner;
        }
        RELEASED(PyArray_SIZE(made), write_all(&of, PyArray_BYTES(made), PyArray_BYTES(from)));
    }
    PyMem_RawFree(of.sources);
    Py_XDECREF(from);
    return (PyObject *)made;
}

const kernel_row border_rows[] = {
    {"_bordered", "table/borders.c", __LINE__, border, {"self", "pad", "mode"}},
    {NULL},
};

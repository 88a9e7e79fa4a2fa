/* Tuples of sizes and strides beside those of arrays, and where one is kept among recent ones. */
#ifndef DOVETAIL_SIZES_H
#define DOVETAIL_SIZES_H

#include "native.h"

/* Whether an object is a tuple of these numbers: 1, 0, or -1 with an exception. */
static inline int
is_tuple_of(PyObject *object, int count, const npy_intp *numbers)
{
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != count) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(object, i));
        if (number != numbers[i]) {
            return number == -1 && PyErr_Occurred() ? -1 : 0;
        }
    }
    return 1;
}

/* A place for a shape among `room`, the same one each time. */
static inline Py_ssize_t
place_among(size_t room, size_t seed, int ndim, const npy_intp *dims)
{
    size_t at = seed + (size_t)ndim;
    for (int i = 0; i < ndim; i++) {
        at = at * 31 + (size_t)dims[i];
    }
    return (Py_ssize_t)((at ^ at >> 6) % room);
}

#endif

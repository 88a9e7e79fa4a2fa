/* Elements as Python numbers. */
#include "table.h"

COMPUTE(local_scalar)
{
    PyArrayObject *array = plain_array(arguments[0]);
    if (array == NULL || PyArray_SIZE(array) != 1) {
        return NULL;
    }
    return PyArray_GETITEM(array, PyArray_DATA(array)); /* as ndarray.item */
}

const kernel_row scalar_rows[] = {
    {"_local_scalar_dense", "table/scalars.c", __LINE__, local_scalar, {"self"}, 1},
    {NULL},
};

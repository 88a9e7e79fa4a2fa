/* Declarations shared by all files of the core. */
#ifndef DOVETAIL_NATIVE_H
#define DOVETAIL_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_1_API_VERSION
#define NPY_TARGET_VERSION NPY_2_1_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dovetail_native_array_api
#define PY_UFUNC_UNIQUE_SYMBOL dovetail_native_ufunc_api
#ifndef DOVETAIL_IMPORTS_NUMPY /* module.c alone fills the tables of NumPy's functions */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif

#include <Python.h>
#include <structmember.h>

#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Objects of one module object. */
typedef struct {
    PyTypeObject *ufunc_loop_type;
} module_state;

extern struct PyModuleDef dovetail_core_module;

/* ufunc_loop.c: adds the type UfuncLoop to the module. Return 0, or -1 with an exception. */
int add_ufunc_loop_type(PyObject *module, module_state *state);

#endif

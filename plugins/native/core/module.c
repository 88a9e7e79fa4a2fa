/* The module dovetail_native._core: its state, and what it was built of. */
#define DOVETAIL_IMPORTS_NUMPY
#include "native.h"

#include "../table/table.h"

#if !defined(DOVETAIL_VERSION) || !defined(DOVETAIL_SOURCE_HASH)
#error "Build with hatch_build.py, which defines DOVETAIL_VERSION and DOVETAIL_SOURCE_HASH."
#endif

static int
module_exec(PyObject *module)
{
    /* Both return -1 with an ImportError if NumPy is older than the headers demand. */
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    module_state *state = PyModule_GetState(module);
    if (add_ufunc_loop_type(module, state) < 0 || choose_instruction_set(module) < 0 ||
        add_compiled_kernel_type(module) < 0) {
        return -1;
    }
    if (PyModule_AddStringConstant(module, "VERSION", DOVETAIL_VERSION) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "SOURCE_HASH", DOVETAIL_SOURCE_HASH);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    if (state != NULL) {
        Py_VISIT(state->ufunc_loop_type);
    }
    return 0;
}

static int
module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    if (state != NULL) {
        Py_CLEAR(state->ufunc_loop_type);
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

struct PyModuleDef dovetail_core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dovetail_native._core",
    .m_doc = "The compiled core of Dovetail.",
    .m_size = sizeof(module_state),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&dovetail_core_module);
}

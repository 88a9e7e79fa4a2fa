/* The module dovetail_native._core: its state, and what it was built of. */
#define DOVETAIL_IMPORTS_NUMPY
#include "native.h"
#include "exchange.h"

#include "../table/table.h"

#if !defined(DOVETAIL_VERSION) || !defined(DOVETAIL_SOURCE_HASH)
#error "Build with hatch_build.py, which defines DOVETAIL_VERSION and DOVETAIL_SOURCE_HASH."
#endif

static int
make_constants(module_state *state)
{
    state->zero = PyLong_FromLong(0);
    state->one = PyLong_FromLong(1);
    int made = state->zero && state->one;
#define INTERN(type, name) \
    made = (state->name = PyUnicode_InternFromString(&#name[strlen("str_")])) != NULL && made;
    STATE_NAMES(INTERN)
#undef INTERN
    state->bodies = PyDict_New();
    state->names_of_out = Py_BuildValue("(s)", "out");
    state->descriptions = PyList_New(DESCRIPTIONS);
    for (int i = 0; state->descriptions != NULL && i < DESCRIPTIONS; i++) {
        PyList_SET_ITEM(state->descriptions, i, Py_NewRef(Py_None));
    }
    made = made && state->bodies != NULL && state->names_of_out != NULL &&
           state->descriptions != NULL;
    return made ? 0 : -1;
}

static int
module_exec(PyObject *module)
{
    /* Both return -1 with an ImportError if NumPy is older than the headers demand. */
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    module_state *state = PyModule_GetState(module);
    if (make_constants(state) < 0 || add_ufunc_loop_type(module, state) < 0 ||
        choose_instruction_set(module) < 0 || add_compiled_kernel_type(module) < 0 ||
        add_route_type(module, state) < 0 || add_entry_type(module, state) < 0) {
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
#define VISIT(type, name) Py_VISIT(state->name);
        STATE_OBJECTS(VISIT)
#undef VISIT
    }
    return 0;
}

static int
module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    if (state != NULL) {
#define CLEAR(type, name) Py_CLEAR(state->name);
        STATE_OBJECTS(CLEAR)
#undef CLEAR
    }
    return 0;
}

static PyMethodDef module_functions[] = {
    {"set_classes", set_classes, METH_VARARGS, NULL},
    {"set_attributes", set_attributes, METH_VARARGS, NULL},
    {"set_guard", set_guard, METH_VARARGS, NULL},
    {"set_overrides", set_overrides, METH_VARARGS, NULL},
    {"set_default_device", set_default_device, METH_VARARGS, NULL},
    {"set_default_dtype", set_default_dtype, METH_O, NULL},
    {"set_filled_memory", set_filled_memory, METH_O, NULL},
    {"set_view_class", set_view_class, METH_O, NULL},
    {"slot_offset", slot_offset, METH_VARARGS, NULL},
    {"is_bare_class", is_bare_class, METH_O, NULL},
    {"set_engine", set_engine, METH_VARARGS, NULL},
    {"set_shorten_traceback", set_shorten_traceback, METH_O, NULL},
    {"exchange_api", exchange_api, METH_VARARGS, NULL},
    {"run_backward", (PyCFunction)(void (*)(void))run_backward, METH_FASTCALL, NULL},
    {NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dovetail_native._core",
    .m_doc = "The compiled core of Dovetail.",
    .m_size = sizeof(module_state),
    .m_methods = module_functions,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}

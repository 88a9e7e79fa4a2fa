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

#define RECENT_SIZES 64 /* shapes that are known without a look at Python's dict */

/* Sizes from which the interpreter's lock is released, for loops of ufuncs as in NumPy. The core of
 * `make test-threads-sanitized` releases it in every call, since samples of operators are small, and
 * waits until other threads have released it too: two calls overlap, or no race between them shows. */
#ifdef RELEASE_ALWAYS
#include <time.h>
enum { RELEASE_FROM_ELEMENTS = 1, RELEASE_LOOPS_FROM = 1, RELEASE_FROM_BYTES = 1 };
static inline PyThreadState *
release_and_wait(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    struct timespec wait = {.tv_nsec = PyThreadState_Next(first) == NULL ? 0 : 100000};
    PyThreadState *released = PyEval_SaveThread();
    if (wait.tv_nsec > 0) {
        nanosleep(&wait, NULL);
    }
    return released;
}
#define PyEval_SaveThread release_and_wait
#else
enum { RELEASE_FROM_ELEMENTS = 1 << 14, RELEASE_LOOPS_FROM = 500, RELEASE_FROM_BYTES = 1 << 16 };
#endif

/* Names that are interned: str_grad is "grad". */
#define STATE_NAMES(X) \
    X(PyObject, str___torch_function__) \
    X(PyObject, str__array) \
    X(PyObject, str__class_bits) \
    X(PyObject, str__keep_saved) \
    X(PyObject, str__plain_call) \
    X(PyObject, str__release_saved) \
    X(PyObject, str__taken_slots) \
    X(PyObject, str_accumulate_array) \
    X(PyObject, str_accumulator) \
    X(PyObject, str_acquire) \
    X(PyObject, str_apply_arrays) \
    X(PyObject, str_arrays) \
    X(PyObject, str_backend) \
    X(PyObject, str_captures) \
    X(PyObject, str_dirty_tensors) \
    X(PyObject, str_dtype) \
    X(PyObject, str_forward) \
    X(PyObject, str_func) \
    X(PyObject, str_grad) \
    X(PyObject, str_is_access) \
    X(PyObject, str_item) \
    X(PyObject, str_keep_graph) \
    X(PyObject, str_kept) \
    X(PyObject, str_ndim) \
    X(PyObject, str_non_differentiable) \
    X(PyObject, str_popitem) \
    X(PyObject, str_post_accumulate) \
    X(PyObject, str_prunes) \
    X(PyObject, str_release) \
    X(PyObject, str_requires_grad) \
    X(PyObject, str_setup_context) \
    X(PyObject, str_shape) \
    X(PyObject, str_side) \
    X(PyObject, str_value)

/* Objects of one module object, which holds references to all of them. */
#define STATE_OBJECTS(X) \
    STATE_NAMES(X) \
    X(PyTypeObject, ufunc_loop_type) \
    X(PyTypeObject, route_type) \
    X(PyTypeObject, tensor_base_type) \
    X(PyTypeObject, tensor_type) \
    X(PyTypeObject, counter_type) \
    X(PyTypeObject, node_type) \
    X(PyTypeObject, leaf_type) \
    X(PyTypeObject, guard_type) \
    X(PyTypeObject, view_type) \
    X(PyObject, state_variable) \
    X(PyObject, known_states) \
    X(PyObject, function_modes) \
    X(PyObject, modes_seen) \
    X(PyObject, modes_unseen) \
    X(PyObject, skips) \
    X(PyObject, torch_function_off) \
    X(PyObject, refuse_override) \
    X(PyObject, overridable) \
    X(PyObject, scalar_bits) \
    X(PyObject, known_sizes) \
    X(PyObject, recent_sizes) \
    X(PyObject, share_storage) \
    X(PyObject, dtypes) \
    X(PyObject, default_dtype) \
    X(PyObject, device_stack) \
    X(PyObject, cpu_device) \
    X(PyObject, zero) \
    X(PyObject, one) \
    X(PyObject, names_of_out) \
    X(PyObject, descriptions) \
    X(PyObject, add_loop) \
    X(PyObject, arrays_of_task) \
    X(PyObject, bring_to_leaf) \
    X(PyObject, call_hooks_of_leaf) \
    X(PyObject, complete_leaf) \
    X(PyObject, copy_for_leaf) \
    X(PyObject, fit_gradient) \
    X(PyObject, kernel_namespace) \
    X(PyObject, lower_body) \
    X(PyObject, bodies) \
    X(PyObject, leave_arrays) \
    X(PyObject, no_array_kernel) \
    X(PyObject, run_on_tensors) \
    X(PyObject, shorten_traceback)

enum { DESCRIPTIONS = 16 }; /* that are kept: nodes.c */

typedef struct {
#define DECLARE(type, name) type *name;
    STATE_OBJECTS(DECLARE)
#undef DECLARE
    /* Offsets of slots: set_classes. */
    Py_ssize_t tensor_array;
    Py_ssize_t tensor_signature;
    Py_ssize_t tensor_grad_fn;
    Py_ssize_t tensor_output_nr;
    Py_ssize_t tensor_storage;
    Py_ssize_t tensor_counter;
    Py_ssize_t tensor_meta;
    Py_ssize_t counter_value;
    /* The same: set_view_class. */
    Py_ssize_t view_base, view_creation, view_version;
    /* The same: set_engine. */
    Py_ssize_t node_next_edges, node_sequence_nr, node_input_metadata, node_array_backend;
    Py_ssize_t leaf_array_type, leaf_lock, leaf_meta, leaf_signature, leaf_strides;
    long runs_in_python; /* of a class of nodes, before its formula becomes a program */
    /* Bits of signatures, and the dispatch states but 0 without modes: set_attributes. */
    long long cpu_bit, dtype_mask, grad_bit, view_bit, normal_bit, inference_bit, zero_dim_bit;
    long long quiet_state, inference_state;
    /* The same, and places in the record of a dispatch state: set_overrides. */
    long long overrides_bit;
    Py_ssize_t item_of_modes, item_of_classes;
    long long bit_of_type[NPY_NTYPES_LEGACY]; /* by the number of a type of NumPy's own */
    PyObject *dtype_by_bit[64]; /* held by `dtypes` */
    /* Offsets of slots: set_guard. */
    Py_ssize_t guard_transition, guard_previous;
} module_state;

/* slots.c: functions of the module. */
PyObject *set_classes(PyObject *module, PyObject *args);
PyObject *slot_offset(PyObject *module, PyObject *args);
PyObject *is_bare_class(PyObject *module, PyObject *object);

/* nodes.c: function of the module. */
PyObject *set_view_class(PyObject *module, PyObject *type);

/* entry.c: what is called with each error that leaves an entry. */
PyObject *set_shorten_traceback(PyObject *module, PyObject *function);

/* writes.c: write one element of at most 32 bytes to all of an array without gaps, which it may be
 * of. Sizes in bytes. */
void repeat_item(char *to, const char *one, npy_intp item, npy_intp size);

/* conversions.c: write numbers into an array of another dtype, which they are broadcast to, where no
 * number is warned of. Return 1, 0 where that is left to the reference, or -1 with an exception. */
int convert_into(PyArrayObject *to, PyArrayObject *from);

/* The offset of a slot of a class. Return 0, or -1 with an exception. */
int find_offset(PyTypeObject *type, const char *name, Py_ssize_t *offset);

/* engine/backward.c: functions of the module. */
PyObject *set_engine(PyObject *module, PyObject *args);
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* guards.c: function of the module. */
PyObject *set_guard(PyObject *module, PyObject *args);

/* overrides.c: function of the module. */
PyObject *set_overrides(PyObject *module, PyObject *args);

/* accessors.c: functions of the module. */
PyObject *set_attributes(PyObject *module, PyObject *args);
PyObject *set_default_device(PyObject *module, PyObject *args);
PyObject *set_default_dtype(PyObject *module, PyObject *dtype);

/* table/creation.c: whether new memory is to be filled, which the references do. */
PyObject *set_filled_memory(PyObject *module, PyObject *is_filled);

/* Each adds types to the module. Return 0, or -1 with an exception. */
int add_ufunc_loop_type(PyObject *module, module_state *state);
int add_route_type(PyObject *module, module_state *state);
int add_entry_type(PyObject *module, module_state *state);

/* route.c: add a dict of names with their numbers to the module: Python knows the names only. */
int add_numbers(PyObject *module, const char *attribute, const char *const *names);

/* ufunc_loop.c: the result of a call of a UfuncLoop, with *is_mine = 1; NULL with *is_mine = 0 and
 * no exception for a call that is the ufunc's. */
PyObject *ufunc_loop_compute(
    PyObject *loop, PyObject *const *args, Py_ssize_t count, PyObject *names, int *is_mine);

/* table/half_loops.c: the loop of a ufunc for single precision, by which half precision is computed;
 * without a function if there is none. */
typedef struct {
    PyUFuncGenericFunction function;
    void *data;
    int inputs, answers; /* whether results are bools */
    int takes_bits;      /* whether it is a loop over halves, as they lie */
} half_loop;
void find_half_loop(half_loop *loop, const PyUFuncObject *ufunc);

/* The loop that takes the place of NumPy's for a ufunc and the type number of its input; NULL for
 * most. */
PyUFuncGenericFunction own_loop(const PyUFuncObject *ufunc, int type);

/* The result for arrays of one half precision, beside which numbers of single precision may stand
 * if `takes_singles`; NULL without an exception for others. `out` may be NULL. */
PyObject *compute_halves(
    const half_loop *loop, PyObject *const *args, PyObject *out, int takes_singles);

/* The ufunc of a UfuncLoop, a borrowed reference. */
PyObject *ufunc_of_loop(PyObject *loop);

/* table/layouts.c. The two operands of a ufunc, turned so that its result is in C order if it lies in
 * memory in the order of operands (`elementwise_layout`). `turn_operands` returns 0 where nothing is to
 * be turned, and -1 with an exception; `turn_back` takes the reference to the result, or NULL. */
typedef struct {
    PyObject *args[3]; /* after one that vectorcall may use */
    int ndim, order[NPY_MAXDIMS];
} turned_operands;
int turn_operands(turned_operands *turned, PyObject *const *args);
PyObject *turn_back(turned_operands *turned, PyObject *made);

/* Getter of the attribute lays_out: results of several arrays lie in memory in their order. */
static inline PyObject *
get_lays_out(PyObject *self, void *unused)
{
    Py_RETURN_TRUE;
}

/* The exception that is set, taken away: a new reference. Put back by set_raised. */
static inline PyObject *
take_raised(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
        Py_DECREF(traceback);
    }
    Py_XDECREF(type);
    return value;
#endif
}

static inline void
set_raised(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(
        Py_NewRef((PyObject *)Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

#endif

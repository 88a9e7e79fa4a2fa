/* Entries: the compiled way into functions and operators. */
#ifndef DOVETAIL_ENTRY_H
#define DOVETAIL_ENTRY_H

#include "native.h"

#include <float.h>

#define MAX_PARAMETERS 32

/* What a parameter takes on the fast path. */
#define PARAMETER_KINDS(X) \
    X(TENSOR) \
    X(SINGLE) /* a tensor over an array of NumPy with one element */ \
    X(PLAIN_SINGLE) /* the same, which cannot require grad */ \
    X(TENSOR_OR_NUMBER) \
    X(TENSORS) /* a list or tuple of tensors */ \
    X(OPTIONAL_TENSORS) /* the same, with None among them */ \
    X(CLASSES) /* an instance of the one or the other class */ \
    X(NUMBER) /* the same; the class counts in the key */ \
    X(OWN_DEVICE) /* nothing but the default, or the cpu where the tensors before are there */ \
    X(INTS) /* ints in a list or tuple; one int too, `repeat` times */ \
    X(SIZES) /* the same of ints that are not negative */ \
    X(DTYPE) /* an instance of the class; for None the default dtype */ \
    X(DEVICE) /* None, where no default device was chosen; the route gets the cpu */ \
    X(GRAD) /* True or False: whether the result requires grad */ \
    X(DEFAULT) /* the default itself */

typedef enum {
#define NUMBER_OF(name) PARAMETER_##name,
    PARAMETER_KINDS(NUMBER_OF)
#undef NUMBER_OF
    PARAMETER_KIND_COUNT,
} parameter_kind;

/* The objects are held by the tuple that the parameters were read from. */
typedef struct {
    parameter_kind kind;
    int is_optional;   /* takes None */
    Py_ssize_t repeat; /* INTS: 0 if an int is no list */
    PyObject *name;    /* interned, or None if it cannot be given */
    PyObject *value;   /* the default; NULL if it has to be given */
    PyObject *classes[2];
} parameter;

/* How a call of one operator is bound, keyed and run. */
typedef struct {
    PyObject *source; /* the tuple, see entry_form.c */
    PyObject *routes, *finish, *finished; /* the class of results that stay as they are, or None */
    PyObject *overridden; /* what modes and overriding arguments get as the function, or None */
    PyObject *compose; /* makes the route of a key, or None */
    PyObject *key; /* the int that was looked up last */
    long long last_key;
    int count, positional, is_variadic;
    int leading; /* parameters that cannot be given, before the first one that can */
    int passed; /* parameters that the route gets */
    parameter *parameters;
} call_form;

/* Attributes and methods of tensors, the item of a Size, functions that make tensors of data, and
 * methods of guards, by their names.
 * Those from requires_grad_ on may depend on inference mode. */
#define ACCESSORS(X) \
    X(shape) X(size) X(stride) X(dim) X(ndim) X(numel) X(dtype) X(device) X(is_cpu) X(is_cuda) \
    X(is_meta) X(is_contiguous) X(data_ptr) X(storage_offset) X(tolist) X(to) X(cpu) \
    X(requires_grad) X(requires_grad_) X(set_requires_grad) X(grad) X(data) X(__getitem__) \
    X(tensor) X(as_tensor) X(from_numpy) X(__enter__) X(__exit__)

typedef enum {
#define NUMBER_OF(name) ACCESSOR_##name,
    ACCESSORS(NUMBER_OF)
#undef NUMBER_OF
    ACCESSOR_COUNT,
} accessor;

/* accessors.c. Whether no mode, transform or trace is in force. */
typedef enum { NOT_QUIET, QUIET, QUIET_INFERENCE } quietness;
quietness is_quiet(const module_state *state);

/* A call of an entry, by its parts; NULL without an exception for what the Python function has to
 * say. */
typedef PyObject *parts_call(const module_state *state, PyObject *parts, PyObject *const *args,
                             Py_ssize_t given, PyObject *names);

/* basic_index.c. tensor[index] by the operators (select, slice, unsqueeze, alias, index), and
 * tensor[index] = value by these and (fill_.Scalar, fill_.Tensor, copy_, index_put_). */
enum { READING_OPERATORS = 5, WRITING_OPERATORS = 9 };
parts_call view_by_index, write_by_index;

/* Whether a value is of a class whose instances override nothing, and whose `==` is no operator. */
static inline int
is_plain_value(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    return value == Py_None || type == &PyLong_Type || type == &PyFloat_Type ||
           type == &PyBool_Type || type == &PyComplex_Type || type == &PyUnicode_Type;
}

/* Set a context variable. Return 0, or -1 with an exception. */
static inline int
put(PyObject *variable, PyObject *value)
{
    PyObject *token = PyContextVar_Set(variable, value);
    Py_XDECREF(token);
    return token == NULL ? -1 : 0;
}

/* The same behind a call whose exception is kept. */
static inline int
put_back(PyObject *variable, PyObject *value)
{
    PyObject *error = PyErr_Occurred() ? take_raised() : NULL;
    int failed = put(variable, value);
    if (error != NULL) {
        PyErr_Clear();
        set_raised(error);
    }
    return failed;
}

/* overrides.c. What modes and overriding arguments say to a call; NULL without an exception if there
 * are none, and for what the text has to say. */
PyObject *call_overridden(const module_state *state, const call_form *form, PyObject *const *args,
                          Py_ssize_t given, PyObject *names);

/* overrides.c. The same of a method of tensors or the access of an attribute that is no operator: an
 * entry before `function`. */
PyObject *call_overridden_method(const module_state *state, PyObject *entry, PyObject *function,
                                 PyObject *const *args, Py_ssize_t given);

/* subclasses.c. tensor.as_subclass(cls) by the operator `alias`, and _make_subclass(cls, data,
 * require_grad) by `detach`. */
enum { SUBCLASS_OPERATORS = 1 };
parts_call view_as_subclass, leaf_of_subclass;

/* subclasses.c. The `__torch_function__` of plain tensors, of the arguments (cls, func, types, args,
 * kwargs). */
enum { HANDLER_UNWRAPPED, HANDLER_CONVERT, HANDLER_ALIAS, HANDLER_FUNCTIONS, HANDLER_ARGUMENTS = 5 };
parts_call handle_as_plain;

/* autocast.c. The call of an operator on tensors that are cast first, by the parts of a kernel of
 * autocast; NULL before anything was called. */
enum {
    CAST_CONVERT,  /* called with a tensor and a dtype by name */
    CAST_NAMES,    /* that name, in a tuple */
    CAST_CALLED,   /* the operator */
    CAST_STATE,    /* the state without autocast, by the one in force */
    CAST_WANTED,   /* the dtype; None for that of the innermost autocast */
    CAST_DTYPES,   /* variable of a dict of these, by device type */
    CAST_DEVICE,   /* the device type */
    CAST_ELIGIBLE, /* bits of the dtypes that are cast */
    CAST_PARTS,
};
parts_call call_cast;

/* function.c. `Function.apply`, by its parts; NULL before anything was called. */
enum {
    APPLY_EDGE,        /* returns the edge of a tensor */
    APPLY_LEAF_EDGE,   /* returns that of a leaf */
    APPLY_WRAP,        /* called with node, output, inputs, and whether the call is recorded */
    APPLY_COUNT,       /* returns the number of a node */
    APPLY_NO_GRAD,     /* the dispatch state of `forward` */
    APPLY_WRAPPED_BIT, /* of tensors of transforms */
    APPLY_DIFFERENTIABLE, /* bits of the dtypes that gradients can have */
    /* descriptors of slots of nodes: next_edges, sequence_nr, ... */
    APPLY_EDGES, APPLY_NUMBER, APPLY_METADATA, APPLY_BACKEND, APPLY_HOOKS, APPLY_MADE, APPLY_PLACES,
    APPLY_PARTS,
};
parts_call apply_function;

/* nodes.c. (shape, dtype) of an array. */
PyObject *described_array(const module_state *state, PyArrayObject *array);

/* nodes.c. The edges of a tensor with a node, and of a leaf. */
PyObject *edge_to_node(const module_state *state, PyObject *tensor, PyObject *node);
PyObject *edge_to_leaf(const module_state *state, PyObject *tensor, PyObject *leaf_edge);

/* accessors.c. The value; NULL without an exception for what the Python function has to say. */
PyObject *read_attribute(const module_state *state, accessor which, PyObject *const *args,
                         Py_ssize_t count, PyObject *names);

/* guards.c. None; NULL without an exception for what the Python method has to say. */
PyObject *enter_guard(const module_state *state, PyObject *guard);
PyObject *leave_guard(const module_state *state, PyObject *guard);

/* data.c. A new tensor of the argument of a call; NULL as `read_attribute`. */
PyObject *tensor_of_data(const module_state *state, accessor which, PyObject *const *args,
                         Py_ssize_t count, PyObject *names);

/* data.c. A tensor on the cpu around an array, whose reference is stolen; NULL without an exception
 * for a dtype that tensors do not have. */
PyObject *tensor_around(const module_state *state, PyObject *array, quietness quiet);

/* data.c. A new tensor on the cpu of a list of Python ints; NULL without an exception for one that
 * int64 does not hold. */
PyObject *tensor_of_ints(const module_state *state, PyObject *list);

/* entry_form.c. What a route gets where nothing was chosen for DTYPE or DEVICE, a borrowed reference:
 * classes hold both for good. NULL where the Python function has to say, or with an exception. */
PyObject *default_of(const module_state *state, parameter_kind kind);

/* Whether a float holds an int, and all ints nearer to 0. */
static inline int
is_exact_as_double(long long number)
{
    return number >= -(1LL << DBL_MANT_DIG) && number <= 1LL << DBL_MANT_DIG;
}

/* Whether a value names the cpu: its device, or the text "cpu". */
static inline int
is_cpu_device(const module_state *state, PyObject *value)
{
    return value == state->cpu_device ||
           (PyUnicode_CheckExact(value) && PyUnicode_CompareWithASCIIString(value, "cpu") == 0);
}

/* entry_form.c. A new form, or NULL with an exception. */
call_form *read_form(PyObject *source);
void free_form(call_form *form);

/* entry_form.c. Put the arguments of a call where their parameters are; NULL for one that was not
 * given. Return 0 if they are not those of the form. */
int bind(const call_form *form, PyObject *const *args, Py_ssize_t given, PyObject *names,
         PyObject **values);

/* Whether a variadic form got its list item by item. */
static inline int
is_spread(const call_form *form, PyObject *const *args, Py_ssize_t given)
{
    return form->is_variadic && (given > form->positional ||
                                 (given == form->positional && PyLong_CheckExact(args[given - 1])));
}

/* The result of a call; NULL without an exception for one that leaves the fast path. */
PyObject *call_by_form(const module_state *state, call_form *form, PyObject *const *args,
                       Py_ssize_t count, PyObject *names);

#endif

/* The type CompiledKernel: the compiled kernel of an operator before its reference. */
#include "table.h"

#define FIRST_ROW(family) family##_rows,
static const kernel_row *const families[] = {ROW_FAMILIES(FIRST_ROW)};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    const kernel_row *row;
    PyObject *reference;
    PyObject *parameters; /* tuple of interned strings */
    PyObject *source;     /* see `kernel_row.draws`; else NULL */
    /* Which arguments, as bits, decide with which numbers of axes whether the channels of the
     * first results come last in memory; and whether C order goes first where an argument has both
     * (`kernel_support/result_formats.py`). */
    unsigned follows, ndims;
    int results, in_c_order;
} CompiledKernel;

static const kernel_row *
find_row(const char *operator)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (const kernel_row *row = families[i]; row->operator != NULL; row++) {
            if (strcmp(row->operator, operator) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The index of the parameter with a name; -1 if there is none. */
static Py_ssize_t
parameter_index(CompiledKernel *self, PyObject *name)
{
    Py_ssize_t count = PyTuple_GET_SIZE(self->parameters);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyTuple_GET_ITEM(self->parameters, i) == name) { /* both are interned */
            return i;
        }
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(self->parameters, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static int
is_out(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "out") == 0;
}

/* Sort the arguments of a call by parameter, which are all NULL before. Return whether they are those
 * of the operator. */
static int
sort_arguments(
    CompiledKernel *self, PyObject *const *args, Py_ssize_t given, PyObject *names,
    PyObject **sorted)
{
    Py_ssize_t count = PyTuple_GET_SIZE(self->parameters);
    if (given > count) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < given; i++) {
        sorted[i] = args[i];
    }
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        Py_ssize_t at = self->row->takes_out && is_out(name) ? OUT : parameter_index(self, name);
        if (at < given) { /* no parameter, or given by position too */
            return 0;
        }
        sorted[at] = args[given + i];
    }
    return 1;
}

/* ---- memory formats -------------------------------------------------------------------------- */

/* Whether the channels of an array, or of all arrays of a list, come last in memory. */
static int
is_last(const CompiledKernel *self, PyObject *object)
{
    if (object != NULL && PyArray_Check(object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        return (self->ndims >> PyArray_NDIM(array) & 1) &&
               (self->in_c_order ? is_channels_last_alone(array) : is_channels_last(array));
    }
    if (object == NULL || !(PyTuple_Check(object) || PyList_Check(object))) {
        return 0;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object), i = 0;
    while (i < count && is_last(self, PySequence_Fast_GET_ITEM(object, i))) {
        i++;
    }
    return count > 0 && i == count;
}

/* Return what a call returns in the memory format that its arguments decide. Takes the reference to
 * what the kernel has returned. */
static PyObject *
in_format_of(const CompiledKernel *self, PyObject *const *arguments, PyObject *returned)
{
    int is_decided = 0;
    for (int i = 0; i < MOST_PARAMETERS && !is_decided; i++) {
        is_decided = (self->follows >> i & 1) && is_last(self, arguments[i]);
    }
    if (!is_decided) {
        return returned;
    }
    if (!PyTuple_Check(returned)) {
        PyObject *laid = laid_in_channels_last(returned);
        Py_DECREF(returned);
        return laid;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(returned);
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *each = PyTuple_GET_ITEM(returned, i);
        each = i < self->results && each != Py_None ? laid_in_channels_last(each) : Py_NewRef(each);
        if (each == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyTuple_SET_ITEM(made, i, each);
    }
    Py_DECREF(returned);
    return made;
}

/* Read the format that the reference has, if it has one. Return -1 with an exception for any other
 * object of that name. */
static int
read_format(CompiledKernel *self)
{
    PyObject *given = PyObject_GetAttrString(self->reference, "result_format");
    if (given == NULL) {
        PyErr_Clear(); /* C order */
        return 0;
    }
    int status = PyArg_ParseTuple(
        given, "IIip", &self->follows, &self->ndims, &self->results, &self->in_c_order);
    Py_DECREF(given);
    return status ? 0 : -1;
}

/* ---- results that are written where they are wanted ------------------------------------------ */

/* Write a result into an array of its shape and a dtype that it can be cast to. Returns `out`. */
static PyObject *
write_out(PyObject *out, PyObject *result)
{
    PyArrayObject *to = (PyArrayObject *)out;
    PyArrayObject *from = (PyArrayObject *)PyArray_FROM_O(result);
    if (from == NULL) {
        return NULL;
    }
    int status = -1;
    if (!PyArray_SAMESHAPE(from, to)) {
        PyErr_SetString(PyExc_ValueError, "the result cannot be broadcast into the shape of out");
    }
    else if (!PyArray_CanCastArrayTo(from, PyArray_DESCR(to), NPY_SAME_KIND_CASTING)) {
        PyErr_SetString(PyExc_TypeError, "the result cannot be cast to the dtype of out");
    }
    else {
        status = PyArray_CopyInto(to, from);
    }
    Py_DECREF(from);
    return status < 0 ? NULL : Py_NewRef(out);
}

/* Call the reference, which takes no `out`, and write its result there. */
static PyObject *
call_reference_with_out(
    CompiledKernel *self, PyObject *const *args, Py_ssize_t given, PyObject *names, PyObject *out)
{
    PyObject *others[MOST_PARAMETERS], *kept = PyList_New(0), *result = NULL;
    Py_ssize_t count = given;
    memcpy(others, args, sizeof *args * (size_t)given);
    for (Py_ssize_t i = 0; kept != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (!is_out(name)) {
            others[count++] = args[given + i];
            if (PyList_Append(kept, name) < 0) {
                Py_CLEAR(kept);
            }
        }
    }
    PyObject *others_names = kept == NULL ? NULL : PyList_AsTuple(kept);
    if (others_names != NULL) {
        result = PyObject_Vectorcall(self->reference, others, (size_t)given, others_names);
    }
    Py_XDECREF(kept);
    Py_XDECREF(others_names);
    if (result != NULL) {
        Py_SETREF(result, write_out(out, result));
    }
    return result;
}

static PyObject *
compiled_kernel_vectorcall(
    PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    CompiledKernel *self = (CompiledKernel *)object;
    PyObject *sorted[ARGUMENTS] = {[SOURCE] = self->source};
    if (LIKELY(sort_arguments(self, args, PyVectorcall_NARGS(nargsf), names, sorted))) {
        PyObject *result = self->row->compute(sorted, self->row->variant);
        if (result == NULL && self->row->widened != NULL && PyErr_Occurred() == NULL) {
            result = compute_widened(self->row, sorted);
        }
        if (LIKELY(result != NULL)) {
            return self->follows == 0 || sorted[OUT] != NULL ? result
                                                             : in_format_of(self, sorted, result);
        }
        if (PyErr_Occurred() != NULL) {
            return NULL;
        }
        if (sorted[OUT] != NULL && PyArray_Check(sorted[OUT])) {
            return call_reference_with_out(
                self, args, PyVectorcall_NARGS(nargsf), names, sorted[OUT]);
        }
    }
    return PyObject_Vectorcall(self->reference, args, nargsf, names);
}

/* ---- the type -------------------------------------------------------------------------------- */

/* What a row that draws finds the default generator by, if the reference has it: it is a method of a
 * family of kernels, or a function around one. */
static PyObject *
source_of(const kernel_row *row, PyObject *reference)
{
    PyObject *source = row->draws ? Py_NewRef(reference) : NULL;
    for (int i = 0; source != NULL && i < 3; i++) {
        static const char *const names[] = {"__wrapped__", "__self__", "capabilities"};
        PyObject *found = PyObject_GetAttrString(source, names[i]);
        if (found != NULL || i > 0) {
            Py_SETREF(source, found);
        }
    }
    PyErr_Clear();
    return source;
}

static PyObject *
parameters_of(const kernel_row *row)
{
    Py_ssize_t count = 0;
    while (row->parameters[count] != NULL) {
        count++;
    }
    PyObject *names = PyTuple_New(count);
    for (Py_ssize_t i = 0; names != NULL && i < count; i++) {
        PyObject *name = PyUnicode_InternFromString(row->parameters[i]);
        if (name == NULL) {
            Py_CLEAR(names);
            break;
        }
        PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static PyObject *
compiled_kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"operator", "reference", NULL};
    const char *operator;
    PyObject *reference;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "sO:CompiledKernel", keywords, &operator, &reference)) {
        return NULL;
    }
    const kernel_row *row = find_row(operator);
    if (row == NULL) {
        return PyErr_Format(
            PyExc_LookupError,
            "The kernel table has no operator '%s'. kernel_names() lists those that it has.",
            operator);
    }
    if (!PyCallable_Check(reference)) {
        return PyErr_Format(
            PyExc_TypeError, "CompiledKernel() takes a callable as reference, not %.100s",
            Py_TYPE(reference)->tp_name);
    }
    CompiledKernel *self = (CompiledKernel *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = compiled_kernel_vectorcall;
    self->row = row;
    self->reference = Py_NewRef(reference);
    self->parameters = parameters_of(row);
    self->source = source_of(row, reference);
    if (self->parameters == NULL || read_format(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
compiled_kernel_traverse(CompiledKernel *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->reference);
    Py_VISIT(self->parameters);
    Py_VISIT(self->source);
    return 0;
}

static int
compiled_kernel_clear(CompiledKernel *self)
{
    Py_CLEAR(self->reference);
    Py_CLEAR(self->parameters);
    Py_CLEAR(self->source);
    return 0;
}

static void
compiled_kernel_dealloc(CompiledKernel *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    compiled_kernel_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
compiled_kernel_location(CompiledKernel *self, void *unused)
{
    return PyUnicode_FromFormat(
        "%s:%d, %s", self->row->file, self->row->line, kernels_in_force->name);
}

static PyObject *
compiled_kernel_never_warns(CompiledKernel *self, void *unused)
{
    Py_RETURN_TRUE;
}

static PyObject *
compiled_kernel_takes_halves(CompiledKernel *self, void *unused)
{
    return PyBool_FromLong(self->row->takes_halves || self->row->widened != NULL);
}

static PyObject *
compiled_kernel_takes_out(CompiledKernel *self, void *unused)
{
    return PyBool_FromLong(self->row->takes_out);
}

static PyObject *
compiled_kernel_name(CompiledKernel *self, void *unused)
{
    return PyUnicode_FromString(self->row->operator);
}

static PyObject *
compiled_kernel_repr(CompiledKernel *self)
{
    return PyUnicode_FromFormat(
        "<compiled kernel of %s, %s:%d, %s>", self->row->operator, self->row->file,
        self->row->line, kernels_in_force->name);
}

static PyGetSetDef compiled_kernel_getset[] = {
    {"__name__", (getter)compiled_kernel_name, NULL, "The operator.", NULL},
    {"lays_out", get_lays_out, NULL, NULL, NULL},
    {"compiled_at", (getter)compiled_kernel_location, NULL,
     "File and line of the row in the table, and the instruction set.", NULL},
    {"takes_halves", (getter)compiled_kernel_takes_halves, NULL,
     "Whether arrays of half precision are computed, and not the reference's.", NULL},
    {"takes_out", (getter)compiled_kernel_takes_out, NULL,
     "Whether the result is written into the array that is given as `out`.", NULL},
    {"never_warns", (getter)compiled_kernel_never_warns, NULL,
     "True: routes need not keep floating-point warnings from the user.", NULL},
    {NULL},
};

static PyMemberDef compiled_kernel_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(CompiledKernel, reference), READONLY,
     "The reference, which computes what the kernel does not."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledKernel, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot compiled_kernel_slots[] = {
    {Py_tp_new, compiled_kernel_new},
    {Py_tp_dealloc, compiled_kernel_dealloc},
    {Py_tp_traverse, compiled_kernel_traverse},
    {Py_tp_clear, compiled_kernel_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, compiled_kernel_repr},
    {Py_tp_getset, compiled_kernel_getset},
    {Py_tp_members, compiled_kernel_members},
    {0, NULL},
};

static PyType_Spec compiled_kernel_spec = {
    .name = "dovetail_native._core.CompiledKernel",
    .basicsize = sizeof(CompiledKernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = compiled_kernel_slots,
};

static PyObject *
kernel_names(PyObject *module, PyObject *unused)
{
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names != NULL && i < sizeof families / sizeof families[0]; i++) {
        for (const kernel_row *row = families[i]; row->operator != NULL; row++) {
            PyObject *name = PyUnicode_FromString(row->operator);
            if (name == NULL || PyList_Append(names, name) < 0) {
                Py_XDECREF(name);
                Py_DECREF(names);
                return NULL;
            }
            Py_DECREF(name);
        }
    }
    return names;
}

static PyMethodDef kernel_functions[] = {
    {"kernel_names", kernel_names, METH_NOARGS, "Return the operators in the kernel table."},
    {NULL},
};

int
add_compiled_kernel_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &compiled_kernel_spec, NULL);
    if (type == NULL) {
        return -1;
    }
    int status = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return status < 0 ? -1 : PyModule_AddFunctions(module, kernel_functions);
}

/* Entry: a function or an operator before its Python text.
 *
 * An entry stands where a Python function would, and looks like it: its attributes are the
 * function's, and so is its `__class__`, so that tools which ask for functions (inspect, doctest,
 * Sphinx, mock) find one. What it is, it learns at its first call from `describe`: a form
 * (entry_form.c), an attribute of tensors (accessors.c), indexing by views (basic_index.c), or a
 * choice among other entries by the classes of the arguments. A call that leaves the fast path is a
 * call of the function. */
#include "entry.h"
#include "slots.h"

#define MAX_CHOSEN 6 /* classes of arguments that a choice remembers */
#define CHOICES 8

/* The entry that calls with arguments of these classes go to; `items` are the classes of the first
 * item of lists and tuples, NULL for empty ones and other arguments. */
typedef struct {
    PyObject *chosen;
    PyObject *names; /* of the last arguments, or NULL */
    Py_ssize_t count;
    PyTypeObject *classes[MAX_CHOSEN], *items[MAX_CHOSEN];
} remembered;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    module_state *state; /* of the module, which the type keeps alive */
    PyObject *function, *describe, *document, *weak_references;
    call_form *form;
    accessor attribute;
    PyObject *choose; /* the function that chooses, or the parts of `by_parts` */
    parts_call *by_parts;
    remembered *choices;
    int next_choice;
} Entry;

static PyObject *
call_function(Entry *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyObject_Vectorcall(self->function, args, nargsf, names);
}

/* The same of a method of tensors, or an access, which modes and the tensor's class may override. */
static PyObject *
call_method(Entry *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (names == NULL) {
        PyObject *result = call_overridden_method(
            self->state, (PyObject *)self, self->function, args, PyVectorcall_NARGS(nargsf));
        if (result != NULL || PyErr_Occurred() != NULL) {
            return result;
        }
    }
    return call_function(self, args, nargsf, names);
}

/* The result of a call; without one the error leaves the library here, and its traceback ends at the
 * line of the program. */
static PyObject *
left(module_state *state, PyObject *result)
{
    if (LIKELY(result != NULL) || state->shorten_traceback == NULL) {
        return result;
    }
    PyObject *error = take_raised();
    PyObject *done = PyObject_CallOneArg(state->shorten_traceback, error);
    if (done == NULL) {
        PyErr_Clear(); /* the error itself says more */
    }
    Py_XDECREF(done);
    set_raised(error);
    return NULL;
}

/* set_shorten_traceback(function of an exception) */
PyObject *
set_shorten_traceback(PyObject *module, PyObject *function)
{
    module_state *state = PyModule_GetState(module);
    Py_XSETREF(state->shorten_traceback, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *
plain_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)object;
    return left(self->state, call_function(self, args, nargsf, names));
}

static PyObject *
form_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)object;
    PyObject *result =
        call_by_form(self->state, self->form, args, PyVectorcall_NARGS(nargsf), names);
    if (LIKELY(result != NULL)) {
        return result;
    }
    if (PyErr_Occurred() == NULL && self->form->overridden == Py_None) {
        return left(self->state, call_method(self, args, nargsf, names));
    }
    if (PyErr_Occurred() == NULL) {
        result = call_overridden(self->state, self->form, args, PyVectorcall_NARGS(nargsf), names);
    }
    if (result == NULL && PyErr_Occurred() == NULL) {
        result = call_function(self, args, nargsf, names);
    }
    return left(self->state, result);
}

static PyObject *
attribute_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)object;
    PyObject *value =
        read_attribute(self->state, self->attribute, args, PyVectorcall_NARGS(nargsf), names);
    if (LIKELY(value != NULL) || PyErr_Occurred() != NULL) {
        return value;
    }
    return left(self->state, call_method(self, args, nargsf, names));
}

static PyObject *
parts_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)object;
    PyObject *result =
        self->by_parts(self->state, self->choose, args, PyVectorcall_NARGS(nargsf), names);
    if (LIKELY(result != NULL) || PyErr_Occurred() != NULL) {
        return left(self->state, result);
    }
    if (self->by_parts == apply_function) { /* which modes are not asked about, but what it calls */
        return left(self->state, call_function(self, args, nargsf, names));
    }
    return left(self->state, call_method(self, args, nargsf, names));
}

/* ---- choices --------------------------------------------------------------------------------- */

/* Whether two calls give the same keywords. Each place of a program has a tuple of its own. */
static inline int
are_same_names(PyObject *names, PyObject *others)
{
    if (LIKELY(names == others)) {
        return 1;
    }
    if (names == NULL || others == NULL || PyTuple_GET_SIZE(names) != PyTuple_GET_SIZE(others)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (PyTuple_GET_ITEM(names, i) != PyTuple_GET_ITEM(others, i)) {
            return 0;
        }
    }
    return 1;
}

static inline PyTypeObject *
class_of_item(PyObject *value)
{
    return (PyTuple_CheckExact(value) || PyList_CheckExact(value)) &&
                   PySequence_Fast_GET_SIZE(value) > 0
               ? Py_TYPE(PySequence_Fast_GET_ITEM(value, 0))
               : NULL;
}

static inline int
matches(const remembered *each, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (each->chosen == NULL || each->count != count || !are_same_names(each->names, names)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (each->classes[i] != Py_TYPE(args[i]) || each->items[i] != class_of_item(args[i])) {
            return 0;
        }
    }
    return 1;
}

/* Put another in the place of what is remembered. What is freed may run code that calls the entry:
 * so it is freed last. */
static void
replace(remembered *each, remembered new)
{
    remembered old = *each;
    *each = new;
    for (Py_ssize_t i = 0; i < old.count; i++) {
        Py_DECREF(old.classes[i]);
        Py_XDECREF(old.items[i]);
    }
    Py_XDECREF(old.names);
    Py_XDECREF(old.chosen);
}

static void
remember(Entry *self, PyObject *chosen, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    remembered new = {
        .chosen = Py_NewRef(chosen), .names = Py_XNewRef(names), .count = count};
    for (Py_ssize_t i = 0; i < count; i++) {
        new.classes[i] = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(args[i]));
        new.items[i] = (PyTypeObject *)Py_XNewRef((PyObject *)class_of_item(args[i]));
    }
    int at = self->next_choice;
    self->next_choice = (at + 1) % CHOICES;
    replace(&self->choices[at], new);
}

/* What the function would call with these arguments, a new reference; None if their classes do not
 * say. */
static PyObject *
choose(Entry *self, PyObject *const *args, Py_ssize_t given, PyObject *names)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *chosen = NULL, *positional = tuple_of_items(args, given), *keywords = PyDict_New();
    if (positional == NULL || keywords == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < named; i++) {
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, i), args[given + i]) < 0) {
            goto done;
        }
    }
    chosen = PyObject_CallFunctionObjArgs(self->choose, positional, keywords, NULL);
done:
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return chosen;
}

static PyObject *
choice_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)object;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf);
    Py_ssize_t count = given + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    for (int i = 0; i < CHOICES; i++) {
        if (matches(&self->choices[i], args, count, names)) {
            PyObject *chosen = Py_NewRef(self->choices[i].chosen);
            PyObject *result = PyObject_Vectorcall(chosen, args, nargsf, names);
            Py_DECREF(chosen);
            return left(self->state, result);
        }
    }
    if (count <= MAX_CHOSEN) {
        PyObject *chosen = choose(self, args, given, names);
        if (chosen == NULL) {
            return left(self->state, NULL);
        }
        if (chosen != Py_None) {
            remember(self, chosen, args, count, names);
        }
        Py_DECREF(chosen);
    }
    return left(self->state, call_function(self, args, nargsf, names));
}

/* ---- the first call -------------------------------------------------------------------------- */

/* Become what a list says: the name of a kind of entry, and its parts. */
static int
become_by_parts(Entry *self, PyObject *description)
{
    static const struct { const char *name; Py_ssize_t count; parts_call *call; } kinds[] = {
        {"read by index", READING_OPERATORS, view_by_index},
        {"write by index", WRITING_OPERATORS, write_by_index},
        {"as subclass", SUBCLASS_OPERATORS, view_as_subclass},
        {"leaf of subclass", SUBCLASS_OPERATORS, leaf_of_subclass},
        {"plain handler", HANDLER_FUNCTIONS, handle_as_plain},
        {"cast", CAST_PARTS, call_cast},
        {"apply", APPLY_PARTS, apply_function},
    };
    PyObject *parts = PyList_GetSlice(description, 1, PyList_GET_SIZE(description));
    self->choose = parts == NULL ? NULL : PyList_AsTuple(parts);
    Py_XDECREF(parts);
    if (self->choose == NULL) {
        return -1;
    }
    PyObject *name = PyList_GET_SIZE(description) > 0 ? PyList_GET_ITEM(description, 0) : Py_None;
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, kinds[i].name) == 0 &&
            PyTuple_GET_SIZE(self->choose) == kinds[i].count) {
            self->by_parts = kinds[i].call;
            self->vectorcall = parts_vectorcall;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "the kind of an entry, or the number of its parts: %R", name);
    return -1;
}

/* Become what a description says: a tuple (form), the number of an attribute, a list (the name of a
 * kind, and parts), a function that chooses, or None. */
static int
become(Entry *self, PyObject *description)
{
    if (description == Py_None) {
        self->vectorcall = plain_vectorcall;
        return 0;
    }
    if (PyTuple_Check(description)) {
        self->form = read_form(description);
        if (self->form == NULL) {
            return -1;
        }
        self->vectorcall = form_vectorcall;
        return 0;
    }
    if (PyLong_Check(description)) {
        long number = PyLong_AsLong(description);
        if (number < 0 || number >= ACCESSOR_COUNT) {
            PyErr_SetString(PyExc_ValueError, "the number of an attribute");
            return -1;
        }
        self->attribute = (accessor)number;
        self->vectorcall = attribute_vectorcall;
        return 0;
    }
    if (PyList_Check(description)) {
        return become_by_parts(self, description);
    }
    self->choices = PyMem_Calloc(CHOICES, sizeof(remembered));
    if (self->choices == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->choose = Py_NewRef(description);
    self->vectorcall = choice_vectorcall;
    return 0;
}

/* What `describe` says; it may be the description itself, where no Python code may run. */
static PyObject *
entry_describe(Entry *self, PyObject *unused)
{
    PyObject *describe = Py_NewRef(self->describe);
    PyObject *description = PyLong_Check(describe)
                                ? Py_NewRef(describe)
                                : PyObject_CallOneArg(describe, self->function);
    Py_DECREF(describe);
    return description;
}

static PyObject *
first_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)object;
    PyObject *description = entry_describe(self, NULL);
    if (description == NULL) {
        return NULL;
    }
    /* Another thread may have been faster. */
    int failed = self->vectorcall == first_vectorcall ? become(self, description) : 0;
    Py_DECREF(description);
    return failed ? NULL : self->vectorcall(object, args, nargsf, names);
}

/* ---- the type -------------------------------------------------------------------------------- */

/* Entry(function, describe, document=None) */
static PyObject *
entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"function", "describe", "document", NULL};
    PyObject *function, *describe, *document = Py_None;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O|O:Entry", keywords, &PyFunction_Type, &function, &describe,
            &document)) {
        return NULL;
    }
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = PyType_GetModuleState(type);
    self->function = Py_NewRef(function);
    self->describe = Py_NewRef(describe);
    self->document = Py_NewRef(document);
    self->vectorcall = first_vectorcall;
    return (PyObject *)self;
}

static int
entry_traverse(Entry *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    Py_VISIT(self->describe);
    Py_VISIT(self->document);
    Py_VISIT(self->choose);
    if (self->form != NULL) {
        Py_VISIT(self->form->source);
    }
    for (int i = 0; self->choices != NULL && i < CHOICES; i++) {
        Py_VISIT(self->choices[i].chosen);
        Py_VISIT(self->choices[i].names);
        for (Py_ssize_t k = 0; k < self->choices[i].count; k++) {
            Py_VISIT(self->choices[i].classes[k]);
            Py_VISIT(self->choices[i].items[k]);
        }
    }
    return 0;
}

/* The function, the form and `describe` stay: an entry that is being called may be part of a cycle
 * that is collected. The function's own clear breaks cycles through its globals. */
static int
entry_clear(Entry *self)
{
    for (int i = 0; self->choices != NULL && i < CHOICES; i++) {
        replace(&self->choices[i], (remembered){0});
    }
    return 0;
}

static void
entry_dealloc(Entry *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    entry_clear(self);
    PyMem_Free(self->choices);
    free_form(self->form);
    Py_CLEAR(self->choose);
    Py_CLEAR(self->describe);
    Py_CLEAR(self->document);
    Py_CLEAR(self->function);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
entry_descr_get(PyObject *self, PyObject *object, PyObject *type)
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *
entry_repr(Entry *self)
{
    return PyObject_Repr(self->function);
}

static PyObject *
entry_getattro(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return value;
    }
    PyErr_Clear();
    return PyObject_GetAttr(((Entry *)object)->function, name);
}

static int
entry_setattro(PyObject *object, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Entry *)object)->function, name, value);
}

static PyObject *
entry_get_attribute(Entry *self, void *name)
{
    return PyObject_GetAttrString(self->function, name);
}

/* Docstrings are read from their file when one is asked for. */
static PyObject *
entry_get_doc(Entry *self, void *unused)
{
    PyObject *text = PyObject_GetAttrString(self->function, "__doc__");
    if (text != Py_None || self->document == Py_None) {
        return text;
    }
    Py_DECREF(text);
    return PyObject_CallOneArg(self->document, self->function);
}

static PyObject *
entry_get_class(Entry *self, void *unused)
{
    return Py_NewRef((PyObject *)&PyFunction_Type);
}

static PyObject *
entry_dir(Entry *self, PyObject *unused)
{
    return PyObject_Dir(self->function);
}

/* By name, as functions are pickled and copied. */
static PyObject *
entry_reduce(Entry *self, PyObject *protocol)
{
    return PyObject_GetAttrString(self->function, "__qualname__");
}

static PyMethodDef entry_methods[] = {
    {"__dir__", (PyCFunction)entry_dir, METH_NOARGS, NULL},
    {"__reduce_ex__", (PyCFunction)entry_reduce, METH_O, NULL},
    {"description", (PyCFunction)entry_describe, METH_NOARGS,
     "What the entry takes on its fast path: a form, a function that chooses, or None."},
    {NULL},
};

/* The type has some of these names itself; the others are those that are asked for most. */
static PyGetSetDef entry_getset[] = {
    {"__class__", (getter)entry_get_class, NULL, NULL, NULL},
    {"__code__", (getter)entry_get_attribute, NULL, NULL, "__code__"},
    {"__defaults__", (getter)entry_get_attribute, NULL, NULL, "__defaults__"},
    {"__dict__", (getter)entry_get_attribute, NULL, NULL, "__dict__"},
    {"__doc__", (getter)entry_get_doc, NULL, NULL, NULL},
    {"__globals__", (getter)entry_get_attribute, NULL, NULL, "__globals__"},
    {"__kwdefaults__", (getter)entry_get_attribute, NULL, NULL, "__kwdefaults__"},
    {"__module__", (getter)entry_get_attribute, NULL, NULL, "__module__"},
    {"__name__", (getter)entry_get_attribute, NULL, NULL, "__name__"},
    {"__qualname__", (getter)entry_get_attribute, NULL, NULL, "__qualname__"},
    {NULL},
};

static PyMemberDef entry_members[] = {
    {"text", T_OBJECT_EX, offsetof(Entry, function), READONLY, "The Python function."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Entry, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Entry, weak_references), READONLY, NULL},
    {NULL},
};

static PyType_Slot entry_slots[] = {
    {Py_tp_new, entry_new},
    {Py_tp_dealloc, entry_dealloc},
    {Py_tp_traverse, entry_traverse},
    {Py_tp_clear, entry_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, entry_descr_get},
    {Py_tp_getattro, entry_getattro},
    {Py_tp_setattro, entry_setattro},
    {Py_tp_repr, entry_repr},
    {Py_tp_methods, entry_methods},
    {Py_tp_getset, entry_getset},
    {Py_tp_members, entry_members},
    {0, NULL},
};

static PyType_Spec entry_spec = {
    .name = "dovetail_native._core.Entry",
    .basicsize = sizeof(Entry),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = entry_slots,
};

#define NAME_OF(name) #name,
static const char *const kind_names[] = {PARAMETER_KINDS(NAME_OF) NULL};
static const char *const accessor_names[] = {ACCESSORS(NAME_OF) NULL};

int
add_entry_type(PyObject *module, module_state *state)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &entry_spec, NULL);
    int failed = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    if (failed || PyModule_AddIntConstant(module, "MAX_PARAMETERS", MAX_PARAMETERS) < 0) {
        return -1;
    }
    failed = add_numbers(module, "ACCESSORS", accessor_names);
    return failed ? -1 : add_numbers(module, "PARAMETER_KINDS", kind_names);
}

/* The fast path of a call: arguments by schema, the key, and its route.
 *
 * It does what the text of entries does (dovetail_dispatcher.calls.templates.entry) for a call that
 * fits and has a route. Any other call is left to that text: so errors, overrides, promotion of
 * arguments and new routes have one place. */
#include "entry.h"
#include "route.h"
#include "slots.h"

/* ---- forms ----------------------------------------------------------------------------------- */

static int
read_parameter(PyObject *item, parameter *into)
{
    int kind;
    PyObject *classes;
    if (!PyTuple_Check(item)) {
        PyErr_Format(PyExc_TypeError, "expected a tuple of a parameter, not %R", item);
        return -1;
    }
    if (!PyArg_ParseTuple(
            item, "OiinOO!:parameter", &into->name, &kind, &into->is_optional, &into->repeat,
            &into->value, &PyTuple_Type, &classes)) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(classes);
    if (kind < 0 || kind >= PARAMETER_KIND_COUNT || count > 2) {
        PyErr_SetString(PyExc_ValueError, "kind or classes of a parameter");
        return -1;
    }
    into->kind = (parameter_kind)kind;
    for (Py_ssize_t i = 0; i < count; i++) {
        into->classes[i] = PyTuple_GET_ITEM(classes, i);
    }
    return 0;
}

/* The source: (routes, parameters, positional, is_variadic, own, leading, finish, finished,
 * overridden, compose, missing). A default that is `missing` is none. */
call_form *
read_form(PyObject *source)
{
    PyObject *routes, *parameters, *finish, *finished, *overridden, *compose, *missing;
    int positional, is_variadic, own, leading;
    if (!PyArg_ParseTuple(
            source, "O!O!ipiiOOOOO:form", &PyDict_Type, &routes, &PyTuple_Type, &parameters,
            &positional, &is_variadic, &own, &leading, &finish, &finished, &overridden,
            &compose, &missing)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(parameters);
    if (count > MAX_PARAMETERS || positional > count || positional < is_variadic ||
        own < 0 || own > count || leading < 0 || leading > positional ||
        (leading > 0 && is_variadic)) {
        PyErr_SetString(PyExc_ValueError, "number of parameters");
        return NULL;
    }
    call_form *form = PyMem_Calloc(1, sizeof(call_form));
    parameter *read = PyMem_Calloc((size_t)count + 1, sizeof(parameter));
    if (form == NULL || read == NULL) {
        PyMem_Free(form);
        PyMem_Free(read);
        PyErr_NoMemory();
        return NULL;
    }
    *form = (call_form){
        .source = Py_NewRef(source), .routes = routes, .finish = finish, .finished = finished,
        .count = (int)count, .positional = positional, .is_variadic = is_variadic,
        .leading = leading, .passed = (int)count - own, .parameters = read,
        .overridden = overridden, .compose = compose};
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_parameter(PyTuple_GET_ITEM(parameters, i), &read[i]) < 0) {
            free_form(form);
            return NULL;
        }
        if (read[i].value == missing) {
            read[i].value = NULL;
        }
    }
    return form;
}

void
free_form(call_form *form)
{
    if (form != NULL) {
        PyMem_Free(form->parameters);
        Py_XDECREF(form->key);
        Py_DECREF(form->source);
        PyMem_Free(form);
    }
}

/* ---- the key --------------------------------------------------------------------------------- */

/* Or an int into the key. Return 0 if it does not fit, and for what is no int. */
static inline int
add_bits(PyObject *number, long long *key)
{
    int overflow;
    if (UNLIKELY(number == NULL || !PyLong_CheckExact(number))) {
        return 0;
    }
    long long bits = PyLong_AsLongLongAndOverflow(number, &overflow);
    *key |= bits;
    return !overflow;
}

static inline int
add_tensor(const module_state *state, PyObject *value, long long *key)
{
    return is_tensor(state, value) && add_bits(SLOT(value, state->tensor_signature), key);
}

/* The signature of a tensor of one element, without `refused` bits. */
static int
add_single(const module_state *state, PyObject *value, long long refused, long long *key)
{
    PyObject *array = is_tensor(state, value) ? SLOT(value, state->tensor_array) : NULL;
    long long bits = 0;
    if (array == NULL || !PyArray_CheckExact(array) ||
        PyArray_SIZE((PyArrayObject *)array) != 1 || !add_tensor(state, value, &bits)) {
        return 0;
    }
    *key |= bits;
    return !(bits & refused);
}

static int
add_number(const module_state *state, PyObject *value, long long *key)
{
    /* No error can be set: classes hash. */
    PyObject *bits = PyDict_GetItemWithError(state->scalar_bits, (PyObject *)Py_TYPE(value));
    return add_bits(bits, key);
}

static int
add_tensors(const module_state *state, PyObject *value, int may_be_none, long long *key)
{
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) {
        return 0;
    }
    PyObject *const *items = PySequence_Fast_ITEMS(value);
    Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!(may_be_none && items[i] == Py_None) && !add_tensor(state, items[i], key)) {
            return 0;
        }
    }
    return 1;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int
is_negative(PyObject *number)
{
    int overflow;
    return PyLong_AsLongAndOverflow(number, &overflow) < 0; /* or beyond a long */
}

static int
are_ints(PyObject *tuple, int may_be_negative)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (!PyLong_CheckExact(item) || (!may_be_negative && is_negative(item))) {
            return 0;
        }
    }
    return 1;
}

/* The list of ints that a value stands for, a new reference; NULL if it is none. */
static PyObject *
as_ints(const parameter *each, PyObject *value)
{
    PyObject *ints;
    if (PyLong_CheckExact(value) && each->repeat > 0) {
        ints = PyTuple_New(each->repeat);
        for (Py_ssize_t i = 0; ints != NULL && i < each->repeat; i++) {
            PyTuple_SET_ITEM(ints, i, Py_NewRef(value));
        }
        return ints;
    }
    ints = PyList_CheckExact(value) ? PyList_AsTuple(value)
                                    : PyTuple_Check(value) ? Py_NewRef(value) : NULL;
    if (ints != NULL && !are_ints(ints, each->kind == PARAMETER_INTS)) {
        Py_CLEAR(ints);
    }
    return ints;
}

/* Whether `value` may be that of a parameter; what it adds goes to the key. INTS and
 * SIZES are not asked. */
static inline int
fits(const module_state *state, const parameter *each, PyObject *value, long long *key)
{
    if (value == Py_None && each->is_optional) {
        return 1;
    }
    switch (each->kind) {
    case PARAMETER_TENSOR:
        return add_tensor(state, value, key);
    case PARAMETER_SINGLE:
        return add_single(state, value, 0, key);
    case PARAMETER_PLAIN_SINGLE:
        return add_single(state, value, state->grad_bit, key);
    case PARAMETER_TENSOR_OR_NUMBER:
        return is_tensor(state, value) ? add_bits(SLOT(value, state->tensor_signature), key)
                                       : add_number(state, value, key);
    case PARAMETER_TENSORS:
        return add_tensors(state, value, 0, key);
    case PARAMETER_OPTIONAL_TENSORS:
        return add_tensors(state, value, 1, key);
    case PARAMETER_CLASSES:
        return (PyObject *)Py_TYPE(value) == each->classes[0] ||
               (PyObject *)Py_TYPE(value) == each->classes[1];
    case PARAMETER_NUMBER:
        return ((PyObject *)Py_TYPE(value) == each->classes[0] ||
                (PyObject *)Py_TYPE(value) == each->classes[1]) &&
               add_number(state, value, key);
    case PARAMETER_DEFAULT:
    case PARAMETER_OWN_DEVICE:
        return value == each->value;
    case PARAMETER_GRAD:
        return PyBool_Check(value);
    case PARAMETER_DTYPE:
        return (PyObject *)Py_TYPE(value) == each->classes[0];
    case PARAMETER_DEVICE:
    case PARAMETER_INTS:
    case PARAMETER_SIZES:
    case PARAMETER_KIND_COUNT:
        break;
    }
    return 0;
}

/* The Python number that a value stands for, a new reference: an int for a float, where this holds
 * it, and a scalar of NumPy's beside a tensor. NULL for other values, and for scalars of a subclass,
 * which may override functions. */
static PyObject *
number_of(const module_state *state, const parameter *each, PyObject *value)
{
    if (PyLong_CheckExact(value) && each->kind == PARAMETER_CLASSES &&
        each->classes[0] == (PyObject *)&PyFloat_Type) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow && is_exact_as_double(number) ? PyFloat_FromDouble((double)number) : NULL;
    }
    if (each->kind != PARAMETER_TENSOR_OR_NUMBER || !PyArray_IsScalar(value, Generic) ||
        PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE)) {
        return NULL;
    }
    return PyObject_CallMethodNoArgs(value, state->str_item);
}

PyObject *
default_of(const module_state *state, parameter_kind kind)
{
    if (kind == PARAMETER_DTYPE) {
        return state->default_dtype;
    }
    PyObject *stack;
    if (state->device_stack == NULL ||
        PyContextVar_Get(state->device_stack, NULL, &stack) < 0 || stack == NULL) {
        return NULL;
    }
    Py_ssize_t depth = PyTuple_CheckExact(stack) ? PyTuple_GET_SIZE(stack) : 0;
    int is_chosen = depth == 0 || PyTuple_GET_ITEM(stack, depth - 1) != Py_None;
    Py_DECREF(stack);
    return is_chosen ? NULL : state->cpu_device;
}

static int
parameter_index(const call_form *form, PyObject *name)
{
    for (int i = 0; i < form->count; i++) {
        if (form->parameters[i].name == name) {
            return i;
        }
    }
    for (int i = 0; i < form->count; i++) { /* a name that was made at run time */
        PyObject *own = form->parameters[i].name;
        if (own != Py_None && PyUnicode_Compare(own, name) == 0) {
            return i;
        }
    }
    return -1;
}

int
bind(const call_form *form, PyObject *const *args, Py_ssize_t given, PyObject *names,
     PyObject **values)
{
    Py_ssize_t most = form->positional - form->leading, placed = given < most ? given : most;
    if (given > most && !form->is_variadic) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < form->leading; i++) {
        values[i] = NULL;
    }
    for (Py_ssize_t i = 0; i < placed; i++) {
        values[form->leading + i] = args[i];
    }
    for (Py_ssize_t i = form->leading + placed; i < form->count; i++) {
        values[i] = NULL;
    }
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; i++) {
        int at = parameter_index(form, PyTuple_GET_ITEM(names, i));
        if (at < 0 || values[at] != NULL) {
            return 0;
        }
        values[at] = args[given + i];
    }
    return 1;
}

/* The ints that were given one by one, as a new tuple; NULL if they are not. */
static PyObject *
gathered(const call_form *form, PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t first = form->positional - 1, count = given - first;
    PyObject *ints = tuple_of_items(args + first, count);
    if (ints != NULL && !are_ints(ints, form->parameters[first].kind == PARAMETER_INTS)) {
        Py_CLEAR(ints);
    }
    return ints;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* A new route of a key; NULL for what the text has to say, also with an exception. */
static PyObject *
compose_route(const module_state *state, const call_form *form, long long key)
{
    if (form->compose == Py_None || state->overrides_bit == 0 || (key & state->overrides_bit) ||
        is_quiet(state) == NOT_QUIET) {
        return NULL;
    }
    PyObject *number = Py_NewRef(form->key); /* which a call meanwhile may replace */
    PyObject *route = PyObject_CallOneArg(form->compose, number);
    Py_DECREF(number);
    if (route == Py_None) {
        Py_CLEAR(route);
    }
    return route;
}

/* The route of a key, a new reference; NULL as `compose_route`. */
static PyObject *
find_route(const module_state *state, call_form *form, long long key)
{
    if (form->key == NULL || form->last_key != key) {
        PyObject *number = PyLong_FromLongLong(key);
        if (number == NULL) {
            return NULL;
        }
        form->last_key = key;
        Py_XSETREF(form->key, number);
    }
    PyObject *route = Py_XNewRef(PyDict_GetItemWithError(form->routes, form->key));
    return LIKELY(route != NULL) || PyErr_Occurred() ? route : compose_route(state, form, key);
}

/* Calls of operators that a thread is in. CPython 3.12 and later count frames of C apart, up to more
 * than a stack holds of ours: calls within calls are limited as frames of Python are. */
static _Thread_local int open_calls;

static PyObject *
run_route(const module_state *state, const call_form *form, PyObject *route, PyObject **values)
{
    if (UNLIKELY(open_calls >= Py_GetRecursionLimit())) {
        PyErr_SetString(
            PyExc_RecursionError, "maximum recursion depth exceeded while calling an operator");
        return NULL;
    }
    if (Py_EnterRecursiveCall(" while calling an operator")) {
        return NULL;
    }
    open_calls++;
    PyObject *result = Py_TYPE(route) == state->route_type
                           ? route_vectorcall(route, values, (size_t)form->passed, NULL)
                           : PyObject_Vectorcall(route, values, (size_t)form->passed, NULL);
    open_calls--;
    Py_LeaveRecursiveCall();
    if (result == NULL || form->finish == Py_None ||
        (PyObject *)Py_TYPE(result) == form->finished) {
        return result;
    }
    PyObject *finished = form->finish == (PyObject *)&PyTuple_Type
                             ? PySequence_Tuple(result)
                             : PyObject_CallOneArg(form->finish, result);
    Py_DECREF(result);
    return finished;
}

PyObject *
call_by_form(const module_state *state, call_form *form, PyObject *const *args, Py_ssize_t given,
             PyObject *names)
{
    PyObject *values[MAX_PARAMETERS], *made[MAX_PARAMETERS], *result = NULL, *now;
    int made_count = 0, wants_grad = 0;
    long long key = 0;
    if (!bind(form, args, given, names, values)) {
        return NULL;
    }
    for (int i = 0; i < form->count; i++) {
        const parameter *each = &form->parameters[i];
        if (values[i] == NULL && (values[i] = each->value) == NULL) {
            goto done;
        }
        if ((each->kind == PARAMETER_DEVICE ||
             (each->kind == PARAMETER_OWN_DEVICE && (key & state->cpu_bit))) &&
            is_cpu_device(state, values[i])) {
            values[i] = Py_None;
        }
        wants_grad |= each->kind == PARAMETER_GRAD && values[i] == Py_True;
        int takes_ints = each->kind == PARAMETER_INTS || each->kind == PARAMETER_SIZES;
        int has_default = each->kind == PARAMETER_DTYPE || each->kind == PARAMETER_DEVICE;
        if (takes_ints && !(each->is_optional && values[i] == Py_None)) {
            PyObject *ints = i == form->positional - 1 && is_spread(form, args, given)
                                 ? gathered(form, args, given)
                                 : as_ints(each, values[i]);
            if (ints == NULL) {
                goto done;
            }
            values[i] = made[made_count++] = ints;
        }
        else if (has_default && values[i] == Py_None) {
            values[i] = default_of(state, each->kind);
            if (values[i] == NULL) {
                goto done;
            }
        }
        else if (!fits(state, each, values[i], &key)) {
            PyObject *number = number_of(state, each, values[i]);
            if (number == NULL) {
                goto done;
            }
            values[i] = made[made_count++] = number;
            if (!fits(state, each, number, &key)) {
                goto done;
            }
        }
    }
    if (PyContextVar_Get(state->state_variable, NULL, &now) < 0) {
        goto done;
    }
    int is_known = add_bits(now, &key);
    Py_XDECREF(now);
    PyObject *route = is_known ? find_route(state, form, key) : NULL;
    if (LIKELY(route != NULL)) {
        result = run_route(state, form, route, values);
        Py_DECREF(route);
        if (wants_grad && result != NULL &&
            PyObject_SetAttr(result, state->str_requires_grad, Py_True) < 0) {
            Py_CLEAR(result);
        }
    }
done:
    while (made_count > 0) {
        Py_DECREF(made[--made_count]);
    }
    return result;
}

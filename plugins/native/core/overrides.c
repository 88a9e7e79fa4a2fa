/* Function modes and overriding tensors (`__torch_function__`): what they are asked, in compiled code.
 *
 * A call that left the fast path because a mode is in force, or a tensor's class overrides functions,
 * is handed over here with the arguments as the text of entries would hand them over
 * (dovetail_dispatcher.calls.entry_support.miss). What is neither a tensor nor of a class that
 * overrides nothing is left to that text. */
#include "entry.h"
#include "slots.h"

static inline int
are_plain_or_tensors(const module_state *state, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        if (!is_plain_value(item) && !is_tensor(state, item)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a value may be asked for overrides here: the text of the entry refuses no such value of the
 * parameter before it asks. */
static int
is_askable(const module_state *state, const parameter *each, PyObject *value)
{
    if (value == Py_None) {
        return each->is_optional;
    }
    switch (each->kind) {
    case PARAMETER_TENSOR:
        return is_tensor(state, value);
    case PARAMETER_TENSOR_OR_NUMBER:
        return is_tensor(state, value) || (is_plain_value(value) && !PyUnicode_Check(value));
    case PARAMETER_TENSORS:
    case PARAMETER_OPTIONAL_TENSORS:
    case PARAMETER_INTS:
    case PARAMETER_CLASSES:
    case PARAMETER_NUMBER:
    case PARAMETER_DEFAULT:
        break;
    default:
        return 0;
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        return are_plain_or_tensors(state, value);
    }
    return is_plain_value(value) || value == each->value ||
           (PyObject *)Py_TYPE(value) == each->classes[0] ||
           (PyObject *)Py_TYPE(value) == each->classes[1];
}

/* Whether a value that was given is the default of its parameter, which handlers do not get. Return -1
 * for one that only the text can compare. */
static int
is_default(const module_state *state, const parameter *each, PyObject *value)
{
    if (each->value == NULL || each->value == Py_None || value == each->value) {
        return value == each->value;
    }
    if (value == Py_None || is_tensor(state, value)) {
        return 0;
    }
    /* An int may stand for a list or a float, and a string for a device. */
    int is_comparable = is_plain_value(value) && Py_TYPE(value) == Py_TYPE(each->value);
    return is_comparable && each->kind != PARAMETER_INTS
               ? PyObject_RichCompareBool(value, each->value, Py_EQ)
               : -1;
}

/* ---- who is asked ---------------------------------------------------------------------------- */

/* Add an argument, if its class overrides functions and no instance of it is among those `found`: a
 * list, with instances of a subclass before those of its base. */
static int
add_overriding(const module_state *state, PyObject *value, PyObject **found)
{
    PyObject *signature = is_tensor(state, value) ? stored(value, state->tensor_signature) : NULL;
    int overrides = signature == NULL ? 0 : has_bits(signature, state->overrides_bit);
    if (overrides <= 0) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (*found == NULL && (*found = PyList_New(0)) == NULL) {
        return -1;
    }
    Py_ssize_t place = PyList_GET_SIZE(*found);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(*found); i++) {
        if (Py_TYPE(PyList_GET_ITEM(*found, i)) == Py_TYPE(value)) {
            return 0;
        }
    }
    for (Py_ssize_t i = 0; i < place; i++) {
        PyObject *other = (PyObject *)Py_TYPE(PyList_GET_ITEM(*found, i));
        int is_base = PyObject_IsSubclass((PyObject *)Py_TYPE(value), other);
        if (is_base < 0) {
            return -1;
        }
        if (is_base) {
            place = i;
        }
    }
    return PyList_Insert(*found, place, value);
}

static int
add_all_overriding(const module_state *state, PyObject *value, PyObject **found)
{
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) {
        return add_overriding(state, value, found);
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        if (add_overriding(state, PySequence_Fast_GET_ITEM(value, i), found) < 0) {
            return -1;
        }
    }
    return 0;
}

/* What a call has to know to ask: all references are new. */
typedef struct {
    PyObject *before;     /* the dispatch state */
    PyObject *modes;      /* the function modes in force, or NULL */
    PyObject *overloaded; /* the arguments that override, or NULL */
    int heeds_classes;
} question;

/* The record of the dispatch state in force, a borrowed reference, with its number as a new one; NULL
 * with or without an exception. */
static PyObject *
state_in_force(const module_state *state, PyObject **number)
{
    if (PyContextVar_Get(state->state_variable, NULL, number) < 0 || *number == NULL) {
        return NULL;
    }
    PyObject *record = PyDict_GetItemWithError(state->known_states, *number);
    if (record == NULL && !PyErr_Occurred()) { /* without the bit of grad mode */
        PyObject *bit = PyLong_FromLongLong(state->quiet_state);
        PyObject *key = bit == NULL ? NULL : PyNumber_Xor(*number, bit);
        record = key == NULL ? NULL : PyDict_GetItemWithError(state->known_states, key);
        Py_XDECREF(bit);
        Py_XDECREF(key);
    }
    return record;
}

/* ---- the call of a handler ------------------------------------------------------------------- */

/* What one handler says, which gets a tuple and a dict of its own. */
static PyObject *
ask_handler(const module_state *state, PyObject *owner, PyObject *function, PyObject *types,
            PyObject *args, PyObject *kwargs)
{
    PyObject *own = PyDict_Copy(kwargs);
    if (own == NULL) {
        return NULL;
    }
    PyObject *given[5] = {owner, function, types, args, own};
    PyObject *result = PyObject_VectorcallMethod(
        state->str___torch_function__, given, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(own);
    return result;
}

/* What the innermost mode says, which is not in force meanwhile. */
static PyObject *
ask_mode(const module_state *state, const question *asked, PyObject *function, PyObject *types,
         PyObject *args, PyObject *kwargs)
{
    Py_ssize_t outer = PyTuple_GET_SIZE(asked->modes) - 1;
    PyObject *rest = PyTuple_GetSlice(asked->modes, 0, outer), *result = NULL;
    PyObject *after =
        PyObject_GetItem(outer > 0 ? state->modes_seen : state->modes_unseen, asked->before);
    if (rest != NULL && after != NULL && put(state->function_modes, rest) == 0) {
        if (put(state->state_variable, after) == 0) {
            PyObject *mode = PyTuple_GET_ITEM(asked->modes, outer);
            result = ask_handler(state, mode, function, types, args, kwargs);
            if (put_back(state->state_variable, asked->before) < 0) {
                Py_CLEAR(result);
            }
        }
        if (put_back(state->function_modes, asked->modes) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(rest);
    Py_XDECREF(after);
    return result;
}

static PyObject *
types_of(PyObject *values)
{
    Py_ssize_t count = values == NULL ? 0 : PyList_GET_SIZE(values);
    PyObject *types = PyTuple_New(count);
    for (Py_ssize_t i = 0; types != NULL && i < count; i++) {
        PyObject *type = (PyObject *)Py_TYPE(PyList_GET_ITEM(values, i));
        PyTuple_SET_ITEM(types, i, Py_NewRef(type));
    }
    return types;
}

/* What modes and arguments say; a TypeError if all of them return NotImplemented. */
static PyObject *
ask(const module_state *state, const question *asked, PyObject *function, PyObject *args,
    PyObject *kwargs)
{
    PyObject *types = types_of(asked->overloaded), *result = NULL, *mode = Py_None;
    if (types == NULL) {
        return NULL;
    }
    if (asked->modes != NULL) {
        mode = PyTuple_GET_ITEM(asked->modes, PyTuple_GET_SIZE(asked->modes) - 1);
        result = ask_mode(state, asked, function, types, args, kwargs);
    }
    else {
        result = Py_NewRef(Py_NotImplemented);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(types);
    for (Py_ssize_t i = 0; i < count && result == Py_NotImplemented; i++) {
        Py_DECREF(result);
        result = ask_handler(
            state, PyTuple_GET_ITEM(types, i), function, types, args, kwargs);
    }
    if (result == Py_NotImplemented) {
        PyObject *values = count == 0 ? types : asked->overloaded;
        Py_SETREF(result, PyObject_CallFunctionObjArgs(
                              state->refuse_override, function, mode, values, NULL));
    }
    Py_DECREF(types);
    return result;
}

/* ---- the arguments of a handler -------------------------------------------------------------- */

/* Arguments as handlers get them: without defaults, those that may be given by position so. Return 0
 * for what the text has to say, also with an exception. */
static int
arguments_of(const module_state *state, const call_form *form, PyObject **values, PyObject **args,
             PyObject **kwargs)
{
    int count = form->positional, is_same = 1;
    while (count > 0 && is_same > 0) {
        PyObject *value = values[count - 1];
        is_same = value == NULL ? 1 : is_default(state, &form->parameters[count - 1], value);
        count -= is_same == 1;
    }
    if (is_same < 0 || (*args = PyTuple_New(count)) == NULL || (*kwargs = PyDict_New()) == NULL) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        PyObject *value = values[i] == NULL ? form->parameters[i].value : values[i];
        PyTuple_SET_ITEM(*args, i, Py_NewRef(value));
    }
    for (int i = form->positional; i < form->count; i++) {
        is_same = values[i] == NULL ? 1 : is_default(state, &form->parameters[i], values[i]);
        if (is_same < 0 ||
            (!is_same && PyDict_SetItem(*kwargs, form->parameters[i].name, values[i]) < 0)) {
            return 0;
        }
    }
    return 1;
}

/* Return 0 if the text has to say whether anyone is asked, also with an exception. */
static int
open_question(const module_state *state, question *asked)
{
    PyObject *record = state->known_states == NULL ? NULL : state_in_force(state, &asked->before);
    PyObject *skips = NULL;
    if (record == NULL || PyContextVar_Get(state->skips, NULL, &skips) < 0) {
        return 0;
    }
    Py_XDECREF(skips);
    if (skips != Py_False) {
        return 0; /* the next call is not to ask */
    }
    asked->heeds_classes = PyTuple_GET_ITEM(record, state->item_of_classes) == Py_True;
    if (PyTuple_GET_ITEM(record, state->item_of_modes) != Py_True) {
        return asked->heeds_classes;
    }
    return PyContextVar_Get(state->function_modes, NULL, &asked->modes) == 0 &&
           PyTuple_CheckExact(asked->modes) && PyTuple_GET_SIZE(asked->modes) > 0;
}

static void
close_question(question *asked)
{
    Py_XDECREF(asked->before);
    Py_XDECREF(asked->modes);
    Py_XDECREF(asked->overloaded);
}

PyObject *
call_overridden(const module_state *state, const call_form *form, PyObject *const *args,
                Py_ssize_t given, PyObject *names)
{
    PyObject *values[MAX_PARAMETERS], *spread = NULL;
    PyObject *positional = NULL, *keywords = NULL, *result = NULL;
    question asked = {0};
    if (!bind(form, args, given, names, values) || !open_question(state, &asked)) {
        goto done;
    }
    if (is_spread(form, args, given)) {
        Py_ssize_t first = form->positional - 1;
        spread = tuple_of_items(args + first, given - first);
        if (spread == NULL) {
            goto done;
        }
        values[form->positional - 1] = spread;
    }
    for (int i = 0; i < form->count; i++) {
        const parameter *each = &form->parameters[i];
        if (values[i] == NULL ? each->value == NULL : !is_askable(state, each, values[i])) {
            goto done;
        }
        if (asked.heeds_classes && values[i] != NULL &&
            add_all_overriding(state, values[i], &asked.overloaded) < 0) {
            goto done;
        }
    }
    if ((asked.modes != NULL || asked.overloaded != NULL) &&
        arguments_of(state, form, values, &positional, &keywords)) {
        result = ask(state, &asked, form->overridden, positional, keywords);
    }
    if (result != NULL && form->finish != Py_None && form->finish != (PyObject *)&PyTuple_Type) {
        Py_SETREF(result, PyObject_CallOneArg(form->finish, result));
    }
done:
    close_question(&asked);
    Py_XDECREF(spread);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

/* Whether a value overrides nothing itself and, if it is a list, only by its items. */
static int
is_harmless(const module_state *state, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyList_Type || type == &PyTuple_Type) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
            PyObject *item = PySequence_Fast_GET_ITEM(value, i);
            int is_list = PyList_CheckExact(item) || PyTuple_CheckExact(item);
            if (!is_list && !is_harmless(state, item)) {
                return 0;
            }
        }
        return 1;
    }
    return is_plain_value(value) || is_tensor(state, value) || type == &PySlice_Type ||
           type == &PyEllipsis_Type;
}

/* How many arguments are left without those at the end that are the function's defaults; -1 if there
 * are too few or too many of them. */
static Py_ssize_t
without_defaults(PyObject *function, PyObject *const *args, Py_ssize_t given)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    PyObject *defaults = PyFunction_GET_DEFAULTS(function);
    Py_ssize_t required = code->co_argcount - (defaults == NULL ? 0 : PyTuple_GET_SIZE(defaults));
    if (given < required || given > code->co_argcount) {
        return -1;
    }
    while (given > required && args[given - 1] == PyTuple_GET_ITEM(defaults, given - 1 - required)) {
        given--;
    }
    return given;
}

PyObject *
call_overridden_method(const module_state *state, PyObject *entry, PyObject *function,
                       PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t count = without_defaults(function, args, given);
    if (count <= 0 || state->overridable == NULL || !is_tensor(state, args[0])) {
        return NULL;
    }
    PyObject *known = Py_XNewRef(PyDict_GetItemWithError(state->overridable, entry));
    PyObject *func = known == NULL ? NULL : PyObject_GetAttr(known, state->str_func);
    PyObject *is_access = func == NULL ? NULL : PyObject_GetAttr(known, state->str_is_access);
    PyObject *positional = NULL, *keywords = NULL, *result = NULL;
    question asked = {0};
    if (is_access == NULL || !open_question(state, &asked)) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < (is_access == Py_True ? 1 : given); i++) {
        if (!is_harmless(state, args[i]) ||
            (asked.heeds_classes && add_all_overriding(state, args[i], &asked.overloaded) < 0)) {
            goto done;
        }
    }
    if (asked.modes != NULL || asked.overloaded != NULL) {
        positional = tuple_of_items(args, count);
        keywords = PyDict_New();
        if (positional != NULL && keywords != NULL) {
            result = ask(state, &asked, func, positional, keywords);
        }
    }
done:
    close_question(&asked);
    Py_XDECREF(known);
    Py_XDECREF(func);
    Py_XDECREF(is_access);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

/* set_overrides((variable of modes, states with and without them, variable that says that the next
 * call does not ask), (known states, where these say whether modes are in force and classes are
 * heeded, torch_function_off, OVERRIDES), what raises if all handlers refuse, functions that are
 * overridable) */
PyObject *
set_overrides(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *modes, *seen, *unseen, *skips, *known, *off, *refuse, *overridable;
    if (!PyArg_ParseTuple(
            args, "(O!OOO!)(O!nnOL)OO!:set_overrides", &PyContextVar_Type, &modes, &seen, &unseen,
            &PyContextVar_Type, &skips, &PyDict_Type, &known, &state->item_of_modes,
            &state->item_of_classes, &off, &state->overrides_bit, &refuse,
            &PyDict_Type, &overridable)) {
        return NULL;
    }
    Py_XSETREF(state->function_modes, Py_NewRef(modes));
    Py_XSETREF(state->modes_seen, Py_NewRef(seen));
    Py_XSETREF(state->modes_unseen, Py_NewRef(unseen));
    Py_XSETREF(state->skips, Py_NewRef(skips));
    Py_XSETREF(state->known_states, Py_NewRef(known));
    Py_XSETREF(state->torch_function_off, Py_NewRef(off));
    Py_XSETREF(state->refuse_override, Py_NewRef(refuse));
    Py_XSETREF(state->overridable, Py_NewRef(overridable));
    Py_RETURN_NONE;
}

/* Running the program of a route. */
#include "route.h"
#include "slots.h"

/* ---- operands -------------------------------------------------------------------------------- */

PyObject *
register_value(PyObject *const *registers, int number)
{
    PyObject *value = registers[number];
    if (UNLIKELY(value == NULL)) {
        PyErr_SetString(PyExc_UnboundLocalError, "a route reads a value that was not made");
    }
    return value;
}

static PyObject *
array_of(const module_state *state, PyObject *tensor)
{
    PyObject *array = tensor_slot(state, tensor, state->tensor_array);
    return Py_XNewRef(array);
}

static PyObject *
arrays_of(const module_state *state, PyObject *tensors, int may_be_none)
{
    PyObject *items = PySequence_Fast(tensors, "a route takes a list of tensors");
    if (items == NULL) {
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    PyObject *arrays = PyList_New(count);
    for (Py_ssize_t i = 0; arrays != NULL && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        PyObject *array =
            may_be_none && item == Py_None ? Py_NewRef(item) : array_of(state, item);
        if (array == NULL) {
            Py_CLEAR(arrays);
            break;
        }
        PyList_SET_ITEM(arrays, i, array);
    }
    Py_DECREF(items);
    return arrays;
}

PyObject *
operand_value(const module_state *state, PyObject *const *registers, const operand *each)
{
    if (each->kind == OPERAND_CONSTANT) {
        return Py_NewRef(each->object);
    }
    PyObject *value = register_value(registers, each->reg);
    if (UNLIKELY(value == NULL)) {
        return NULL;
    }
    switch ((operand_kind)each->kind) {
    case OPERAND_ARRAY:
        return array_of(state, value);
    case OPERAND_OPTIONAL_ARRAY:
        return value == Py_None ? Py_NewRef(value) : array_of(state, value);
    case OPERAND_ARRAYS:
        return arrays_of(state, value, 0);
    case OPERAND_OPTIONAL_ARRAYS:
        return arrays_of(state, value, 1);
    case OPERAND_OPTIONALLY_LOOKED_UP:
        return value == Py_None ? Py_NewRef(value) : PyObject_GetItem(each->object, value);
    case OPERAND_LOOKED_UP:
        return PyObject_GetItem(each->object, value);
    default:
        return Py_NewRef(value);
    }
}

/* ---- single instructions --------------------------------------------------------------------- */

static int
do_number(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *number = register_value(registers, in->a);
    if (number == NULL) {
        return -1;
    }
    PyObject *tensor = Py_XNewRef(PyDict_GetItemWithError(in->objects[0], number));
    if (tensor == NULL && !PyErr_Occurred()) {
        tensor = PyObject_CallOneArg(in->objects[1], number);
    }
    if (tensor == NULL) {
        return -1;
    }
    set_register(registers, in->a, tensor);
    return 0;
}

static int
do_unpack(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *given = register_value(registers, in->b);
    if (given == NULL) {
        return -1;
    }
    PyObject *items;
    if (PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) == in->flags) {
        items = Py_NewRef(given);
    }
    else {
        PyObject *several = in->objects[0] == Py_None
                                ? Py_NewRef(given)
                                : PyObject_CallOneArg(in->objects[0], given);
        items = several == NULL ? NULL : PySequence_Tuple(several);
        Py_XDECREF(several);
    }
    if (items != NULL && PyTuple_GET_SIZE(items) != in->flags) {
        PyErr_Format(PyExc_ValueError, "expected %d values, got %zd", in->flags,
                     PyTuple_GET_SIZE(items));
        Py_CLEAR(items);
    }
    if (items == NULL) {
        return -1;
    }
    for (int i = 0; i < in->flags; i++) {
        set_register(registers, in->a + i, Py_NewRef(PyTuple_GET_ITEM(items, i)));
    }
    Py_DECREF(items);
    return 0;
}

/* 1 if the value of the register is the default, else 0, or -1. */
static int
is_default(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *value = register_value(registers, in->a), *expected = in->objects[0];
    if (value == NULL) {
        return -1;
    }
    if (in->flags || (value == expected && PyLong_CheckExact(value))) {
        return value == expected;
    }
    PyObject *same = PyObject_RichCompare(value, expected, Py_EQ);
    int is_same = same == NULL ? -1 : PyObject_IsTrue(same);
    Py_XDECREF(same);
    return is_same;
}

static int
signature_has(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *tensor = register_value(registers, in->a);
    PyObject *signature =
        tensor == NULL ? NULL : tensor_slot(state, tensor, state->tensor_signature);
    return signature == NULL ? -1 : has_bits(signature, in->bits);
}

/* Whether the operands, which are tensors, have the same of some bits, by which a dict has the value
 * for register a: 1, 0 or -1. */
static int
have_one_dtype(const module_state *state, PyObject **registers, const instruction *in)
{
    long long common = 0;
    for (int i = 0; i < in->operand_count; i++) {
        PyObject *tensor = register_value(registers, in->operands[i].reg);
        PyObject *number =
            tensor == NULL ? NULL : tensor_slot(state, tensor, state->tensor_signature);
        int overflow;
        long long own = number == NULL ? -1 : PyLong_AsLongLongAndOverflow(number, &overflow);
        if (own == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (overflow || (i > 0 && common != (own & in->bits))) {
            return 0;
        }
        common = own & in->bits;
    }
    PyObject *key = PyLong_FromLongLong(common);
    PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(in->objects[0], key);
    Py_XDECREF(key);
    if (found == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    set_register(registers, in->a, Py_NewRef(found));
    return 1;
}

static int
share_storage_object(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *storages[2];
    for (int i = 0; i < 2; i++) {
        PyObject *tensor = register_value(registers, i == 0 ? in->a : in->b);
        storages[i] = tensor == NULL ? NULL : tensor_slot(state, tensor, state->tensor_storage);
        if (storages[i] == NULL) {
            return -1;
        }
    }
    return storages[0] != Py_None && storages[0] == storages[1];
}

/* Whether a result may be, or show the memory of, one of the operands: 1, 0 or -1. */
static int
may_be_shared(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *result = register_value(registers, in->a);
    if (result == NULL) {
        return -1;
    }
    PyObject *storage =
        result == Py_None ? NULL : tensor_slot(state, result, state->tensor_storage);
    if (storage != Py_None) {
        return storage == NULL && result != Py_None ? -1 : 1;
    }
    for (int i = 0; i < in->operand_count; i++) {
        if (registers[in->operands[i].reg] == result) {
            return 1;
        }
    }
    return 0;
}

static int
has_dims(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *tensor = register_value(registers, in->a);
    PyObject *array = tensor == NULL ? NULL : held_slot(state, tensor, state->tensor_array);
    if (array == NULL) {
        return -1;
    }
    Py_ssize_t ndim;
    if (LIKELY(PyArray_Check(array))) {
        ndim = PyArray_NDIM((PyArrayObject *)array);
    }
    else {
        PyObject *found = PyObject_GetAttr(array, state->str_ndim);
        ndim = found == NULL ? -1 : PyLong_AsSsize_t(found);
        Py_XDECREF(found);
    }
    Py_DECREF(array);
    return ndim == -1 && PyErr_Occurred() ? -1 : ndim == in->bits;
}

static int
is_in_c_order(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *tensor = register_value(registers, in->a);
    PyObject *array = tensor == NULL ? NULL : held_slot(state, tensor, state->tensor_array);
    if (array == NULL) {
        return -1;
    }
    int is_ordered;
    if (LIKELY(PyArray_CheckExact(array))) {
        is_ordered = PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
    }
    else {
        PyObject *answer = PyObject_CallOneArg(in->objects[0], array);
        is_ordered = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
    }
    Py_DECREF(array);
    return is_ordered;
}

static int
set_state(const module_state *state, PyObject *value)
{
    PyObject *token = PyContextVar_Set(state->state_variable, value);
    if (token == NULL) {
        return -1;
    }
    Py_DECREF(token);
    return 0;
}

/* Enter another dispatch state, and keep the one before in *before. */
static int
enter_state(const module_state *state, const instruction *in, PyObject **before)
{
    if (PyContextVar_Get(state->state_variable, NULL, before) < 0) {
        return -1;
    }
    PyObject *below = *before == NULL ? NULL : PyObject_CallOneArg(in->objects[0], *before);
    int failed = below == NULL ? -1 : set_state(state, below);
    Py_XDECREF(below);
    if (failed) {
        Py_CLEAR(*before);
    }
    return failed;
}

static PyObject *
returned(const module_state *state, PyObject *const *registers, const instruction *in)
{
    if (in->operand_count == 0) {
        Py_RETURN_NONE;
    }
    if (in->operand_count == 1 && !in->flags) {
        return operand_value(state, registers, in->operands);
    }
    PyObject *results = PyTuple_New(in->operand_count);
    for (int i = 0; results != NULL && i < in->operand_count; i++) {
        PyObject *value = operand_value(state, registers, &in->operands[i]);
        if (value == NULL) {
            Py_CLEAR(results);
            break;
        }
        PyTuple_SET_ITEM(results, i, value);
    }
    return results;
}

static int
save_value(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *node = register_value(registers, in->a);
    PyObject *value = node == NULL ? NULL : operand_value(state, registers, in->operands);
    if (value == NULL) {
        return -1;
    }
    set_slot(node, in->slot, value);
    return 0;
}

static int
note_version(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *tensor = register_value(registers, in->b);
    PyObject *version = tensor == NULL ? NULL : version_of(state, tensor);
    if (version == NULL) {
        return -1;
    }
    set_register(registers, in->a, version);
    return 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

#define CASE(name, objects, operands, kind, function) CASE_##kind(name, function)
#define CASE_OWN(name, function)
#define CASE_DO(name, function) \
    case OP_##name: \
        failed = function(state, registers, in); \
        break;
#define CASE_TEST(name, function) \
    case OP_##name: \
        condition = function(state, registers, in); \
        break;

/* Run the program over registers that hold the arguments. */
static PyObject *
run(const Route *route, PyObject **registers)
{
    const module_state *state = route->state;
    const instruction *const first = route->instructions;
    PyObject *outer[MAX_STATES], *result = NULL, *value;
    int depth = 0, failed = 0, condition;
    for (const instruction *in = first; !failed; in++) {
        condition = 1; /* of a jump: it is not taken */
        switch ((opcode)in->code) {
            INSTRUCTIONS(CASE)
        case OP_JUMP:
            condition = 0;
            break;
        case OP_UNLESS_GIVEN:
            value = register_value(registers, in->a);
            condition = value == NULL ? -1 : value != Py_None;
            break;
        case OP_UNLESS_OTHER_CLASS:
            value = register_value(registers, in->a);
            condition = value == NULL ? -1 : (PyObject *)Py_TYPE(value) != in->objects[0];
            break;
        case OP_SET:
            value = operand_value(state, registers, in->operands);
            failed = value == NULL ? -1 : (set_register(registers, in->a, value), 0);
            break;
        case OP_COUNT_WRITE:
            value = register_value(registers, in->a);
            failed = value == NULL ? -1 : count_write(state, value);
            break;
        case OP_ENTER_STATE:
            failed = enter_state(state, in, &outer[depth]);
            depth += !failed;
            break;
        case OP_LEAVE_STATE:
            depth--;
            failed = set_state(state, outer[depth]);
            Py_DECREF(outer[depth]);
            break;
        case OP_RETURN:
            result = returned(state, registers, in);
            goto done;
        case OP_COUNT:
            Py_UNREACHABLE();
        }
        if (condition <= 0) {
            failed = condition;
            in = first + in->target - 1;
        }
    }
done:
    while (UNLIKELY(depth > 0)) { /* an instruction within failed */
        PyObject *raised = take_raised();
        depth--;
        if (set_state(state, outer[depth]) < 0) {
            PyErr_WriteUnraisable((PyObject *)route);
        }
        Py_DECREF(outer[depth]);
        set_raised(raised);
    }
    return result;
}

PyObject *
route_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const Route *route = (const Route *)self;
    int given = (int)PyVectorcall_NARGS(nargsf);
    if (given != route->argument_count || (names != NULL && PyTuple_GET_SIZE(names) != 0)) {
        return PyErr_Format(PyExc_TypeError, "the route of %U takes %d positional arguments",
                            route->name, route->argument_count);
    }
    PyObject *registers[MAX_REGISTERS];
    for (int i = 0; i < given; i++) {
        registers[i] = Py_NewRef(args[i]);
    }
    for (int i = given; i < route->register_count; i++) {
        registers[i] = NULL;
    }
    PyObject *result = run(route, registers);
    for (int i = route->register_count - 1; i >= 0; i--) {
        Py_XDECREF(registers[i]);
    }
    return result;
}

/* The instruction CALL: array functions and Python functions, with error state and rewording; and
 * UNLESS_TRUE, which calls a condition. */
#include "route.h"
#include "slots.h"

static PyObject *
call_plainly(PyObject *function, PyObject **args, Py_ssize_t count, PyObject *names)
{
    return PyObject_Vectorcall(
        function, args, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

/* Call within the error state of CALL_ENTER, which is left whatever happens. */
static PyObject *
call_quietly(PyObject *const *objects, PyObject *function, PyObject **args, Py_ssize_t count,
             PyObject *names)
{
    PyObject *before = PyObject_CallOneArg(objects[CALL_ENTER], objects[CALL_QUIET]);
    if (before == NULL) {
        return NULL;
    }
    PyObject *result = call_plainly(function, args, count, names);
    PyObject *raised = result == NULL ? take_raised() : NULL;
    PyObject *left = PyObject_CallOneArg(objects[CALL_LEAVE], before);
    Py_DECREF(before);
    if (left == NULL) {
        Py_CLEAR(result);
        Py_XDECREF(raised);
        return NULL;
    }
    Py_DECREF(left);
    if (raised != NULL) {
        set_raised(raised);
    }
    return result;
}

/* Call a function; a UfuncLoop needs the error state only for what is the ufunc's. */
static PyObject *
call(const module_state *state, PyObject *const *objects, PyObject *function, PyObject **args,
     Py_ssize_t count, PyObject *names)
{
    int is_loop = Py_TYPE(function) == state->ufunc_loop_type;
    if (is_loop) {
        int is_mine;
        PyObject *result = ufunc_loop_compute(function, args, count, names, &is_mine);
        if (LIKELY(is_mine)) {
            return result;
        }
        function = ufunc_of_loop(function);
    }
    turned_operands turned;
    int is_turned = is_loop && names == NULL && count == 2 ? turn_operands(&turned, args) : 0;
    if (is_turned < 0) {
        return NULL;
    }
    args = is_turned ? turned.args + 1 : args;
    PyObject *result = objects[CALL_ENTER] == Py_None
                           ? call_plainly(function, args, count, names)
                           : call_quietly(objects, function, args, count, names);
    return is_turned ? turn_back(&turned, result) : result;
}

/* In the place of the exception that is set, a ValueError or TypeError, raise from it what the
 * function of CALL_REWORD makes of it. 1 with no exception if that is None: call again. */
static int
reword(PyObject *const *registers, PyObject *rewording)
{
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return 0;
    }
    PyObject *numbers = PyTuple_GET_ITEM(rewording, 1), *args[MAX_REGISTERS + 1];
    Py_ssize_t count = PyBytes_GET_SIZE(numbers);
    PyObject *raised = take_raised();
    args[0] = raised;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = registers[(uint8_t)PyBytes_AS_STRING(numbers)[i]];
        args[i + 1] = value == NULL ? Py_None : value;
    }
    PyObject *error =
        PyObject_Vectorcall(PyTuple_GET_ITEM(rewording, 0), args, (size_t)count + 1, NULL);
    if (error == NULL) { /* as in Python, what fails here was raised while handling the other */
        error = take_raised();
        PyException_SetContext(error, raised);
        set_raised(error);
        return 0;
    }
    if (error == Py_None) {
        Py_DECREF(error);
        Py_DECREF(raised);
        return 1;
    }
    if (error == raised) {
        Py_DECREF(error);
        set_raised(raised);
        return 0;
    }
    if (!PyExceptionInstance_Check(error)) {
        PyErr_Format(PyExc_TypeError, "exceptions must derive from BaseException, not %R", error);
        Py_DECREF(error);
        Py_DECREF(raised);
        return 0;
    }
    PyException_SetContext(error, Py_NewRef(raised));
    PyException_SetCause(error, raised);
    set_raised(error);
    return 0;
}

static int
store_results(PyObject **registers, const instruction *in, PyObject *result)
{
    if (in->flags == 0) {
        Py_DECREF(result);
        return 0;
    }
    if (in->flags == 1) {
        set_register(registers, in->a, result);
        return 0;
    }
    PyObject *items = PySequence_Tuple(result);
    Py_DECREF(result);
    if (items == NULL) {
        return -1;
    }
    if (PyTuple_GET_SIZE(items) != in->flags) {
        PyErr_Format(PyExc_ValueError, "%s values to unpack (expected %d, got %zd)",
                     PyTuple_GET_SIZE(items) < in->flags ? "not enough" : "too many", in->flags,
                     PyTuple_GET_SIZE(items));
        Py_DECREF(items);
        return -1;
    }
    for (int i = 0; i < in->flags; i++) {
        set_register(registers, in->a + i, Py_NewRef(PyTuple_GET_ITEM(items, i)));
    }
    Py_DECREF(items);
    return 0;
}

/* Put new references to the operands into args; 0, or -1 with *made of them made. */
static int
take_operands(const module_state *state, PyObject *const *registers, const instruction *in,
              PyObject **args, int *made)
{
    for (*made = 0; *made < in->operand_count; ++*made) {
        args[*made] = operand_value(state, registers, &in->operands[*made]);
        if (UNLIKELY(args[*made] == NULL)) {
            return -1;
        }
    }
    return 0;
}

int
do_call(const module_state *state, PyObject **registers, const instruction *in)
{
    PyObject *const *objects = in->objects;
    PyObject *function = objects[CALL_FUNCTION];
    PyObject *names = objects[CALL_NAMES] == Py_None ? NULL : objects[CALL_NAMES];
    Py_ssize_t count = in->operand_count - (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *room[MAX_OPERANDS + 1], **args = room + 1, *result = NULL;
    int made;
    room[0] = room[1] = NULL;
    int failed = take_operands(state, registers, in, args, &made);
    if (!failed) {
        result = call(state, objects, function, args, count, names);
        failed = result == NULL ? -1 : store_results(registers, in, result);
    }
    while (made > 0) {
        Py_DECREF(args[--made]);
    }
    if (UNLIKELY(failed) && objects[CALL_REWORD] != Py_None &&
        reword(registers, objects[CALL_REWORD])) {
        return do_call(state, registers, in);
    }
    return failed;
}

int
is_true_of(const module_state *state, PyObject *const *registers, const instruction *in)
{
    PyObject *names = in->objects[CALL_NAMES] == Py_None ? NULL : in->objects[CALL_NAMES];
    Py_ssize_t count = in->operand_count - (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *room[MAX_OPERANDS + 1], **args = room + 1, *answer = NULL;
    int made, is_true = -1;
    room[0] = room[1] = NULL;
    if (LIKELY(take_operands(state, registers, in, args, &made) == 0)) {
        answer = call_plainly(in->objects[CALL_FUNCTION], args, count, names);
    }
    while (made > 0) {
        Py_DECREF(args[--made]);
    }
    if (LIKELY(answer != NULL)) {
        is_true = answer == Py_False ? 0 : PyObject_IsTrue(answer);
        Py_DECREF(answer);
    }
    return is_true;
}

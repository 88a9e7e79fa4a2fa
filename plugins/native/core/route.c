/* Route: a plan as a program. Its type, and the check of what it is built of. */
#include "route.h"

#define OBJECTS_OF(name, objects, operands, kind, function) objects,
#define OPERANDS_OF(name, objects, operands, kind, function) operands,
static const int least_objects[OP_COUNT] = {INSTRUCTIONS(OBJECTS_OF)};
static const int least_operands[OP_COUNT] = {INSTRUCTIONS(OPERANDS_OF)};

static int
refuse(const char *what, Py_ssize_t at)
{
    PyErr_Format(PyExc_ValueError, "instruction %zd of a route: %s", at, what);
    return -1;
}

static int
read_operands(instruction *in, PyObject *given, int registers, Py_ssize_t at)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > MAX_OPERANDS || count < least_operands[in->code]) {
        return refuse("number of operands", at);
    }
    in->operand_count = (uint8_t)count;
    in->operands = PyMem_Calloc(count ? count : 1, sizeof(operand));
    if (in->operands == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int kind, reg;
        PyObject *object, *item = PyTuple_GET_ITEM(given, i);
        if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "iiO:operand", &kind, &reg, &object)) {
            return refuse("an operand", at);
        }
        if (kind < 0 || kind >= OPERAND_COUNT || reg < 0 || reg >= registers) {
            return refuse("kind or register of an operand", at);
        }
        in->operands[i] = (operand){(uint8_t)kind, (uint8_t)reg, object};
    }
    return 0;
}

static int
check_registers(PyObject *bytes, int registers)
{
    if (!PyBytes_Check(bytes)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(bytes); i++) {
        if ((uint8_t)PyBytes_AS_STRING(bytes)[i] >= registers) {
            return 0;
        }
    }
    return 1;
}

static int
is_tuple_of_ints(PyObject *object)
{
    if (!PyTuple_Check(object)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        if (!PyLong_Check(PyTuple_GET_ITEM(object, i))) {
            return 0;
        }
    }
    return 1;
}

/* What the functions of single instructions take for granted of their objects. */
static int
check_objects(const instruction *in, int registers, Py_ssize_t at)
{
    PyObject **o = in->objects;
    if ((in->code == OP_NUMBER || in->code == OP_UNLESS_ONE_DTYPE) && !PyDict_Check(o[0])) {
        return refuse("no dict", at);
    }
    if (in->code == OP_CALL || in->code == OP_UNLESS_TRUE) {
        if (o[CALL_NAMES] != Py_None && (!PyTuple_Check(o[CALL_NAMES]) ||
                                         PyTuple_GET_SIZE(o[CALL_NAMES]) > in->operand_count)) {
            return refuse("keywords", at);
        }
    }
    if (in->code == OP_CALL) {
        PyObject *reword = o[CALL_REWORD];
        if (reword != Py_None && !(PyTuple_Check(reword) && PyTuple_GET_SIZE(reword) == 2 &&
                                   check_registers(PyTuple_GET_ITEM(reword, 1), registers))) {
            return refuse("rewording", at);
        }
    }
    if (in->code == OP_WRAP && (in->flags & WRAP_IS_WRITABLE) && in->object_count <= WRAP_WRITABLE) {
        return refuse("no class of writable counters", at);
    }
    if (in->code == OP_NODE) {
        int fits = PyType_Check(o[NODE_CLASS]) && PyIter_Check(o[NODE_SEQUENCE]) &&
                   is_tuple_of_ints(o[NODE_NUMBERS]) && check_registers(o[NODE_MAKES], registers);
        if (in->object_count > NODE_UNCAST) {
            fits = fits && check_registers(o[NODE_UNCAST], registers) &&
                   PyBytes_GET_SIZE(o[NODE_UNCAST]) % 2 == 0;
        }
        return fits ? 0 : refuse("a node", at);
    }
    return 0;
}

static int
read_instruction(Route *self, Py_ssize_t at)
{
    instruction *in = &self->instructions[at];
    int code, a, b, c, flags, registers = self->register_count;
    PyObject *objects, *operands, *item = PyTuple_GET_ITEM(self->program, at);
    if (!PyTuple_Check(item) ||
        !PyArg_ParseTuple(
            item, "iiiiiinnLO!O!:instruction", &code, &a, &b, &c, &flags, &in->target, &in->slot,
            &in->slot2, &in->bits, &PyTuple_Type, &objects, &PyTuple_Type, &operands)) {
        return refuse("its fields", at);
    }
    int is_valid = code >= 0 && code < OP_COUNT && a >= 0 && a < registers && b >= 0 &&
                   b < registers && c >= 0 && c < registers && flags >= 0 && flags < 256;
    if (!is_valid) {
        return refuse("code, register or flag", at);
    }
    int jumps = code == OP_JUMP || (code >= OP_UNLESS_DEFAULT && code <= OP_UNLESS_NDIM);
    if (jumps && (in->target <= at || in->target >= self->instruction_count)) {
        return refuse("target", at);
    }
    if ((code == OP_CALL || code == OP_UNPACK) && a + flags > registers) {
        return refuse("registers of results", at);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(objects);
    if (count < least_objects[code] || count > 255) {
        return refuse("number of objects", at);
    }
    in->code = (uint8_t)code;
    in->a = (uint8_t)a;
    in->b = (uint8_t)b;
    in->c = (uint8_t)c;
    in->flags = (uint8_t)flags;
    in->objects = &PyTuple_GET_ITEM(objects, 0);
    in->object_count = (uint8_t)count;
    return read_operands(in, operands, registers, at) < 0 ? -1 : check_objects(in, registers, at);
}

/* Check that states are entered and left in turn on the straight way, and the program returns. */
static int
check_states(const Route *self)
{
    int depth = 0;
    for (int at = 0; at < self->instruction_count; at++) {
        depth += self->instructions[at].code == OP_ENTER_STATE;
        depth -= self->instructions[at].code == OP_LEAVE_STATE;
        if (depth < 0 || depth > MAX_STATES) {
            return refuse("states within each other", at);
        }
    }
    int last = self->instruction_count - 1;
    if (last < 0 || depth != 0 || self->instructions[last].code != OP_RETURN) {
        return refuse("the last one does not return", last);
    }
    return 0;
}

/* Route(name, plan, argument_count, register_count, program) */
static PyObject *
route_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {
        "name", "plan", "argument_count", "register_count", "program", NULL};
    PyObject *name, *plan, *program;
    int arguments, registers;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "UOiiO!:Route", keywords, &name, &plan, &arguments, &registers,
            &PyTuple_Type, &program)) {
        return NULL;
    }
    if (arguments < 0 || registers < arguments || registers > MAX_REGISTERS) {
        return PyErr_Format(PyExc_ValueError, "a route has at most %d registers", MAX_REGISTERS);
    }
    Route *self = (Route *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = PyType_GetModuleState(type);
    self->vectorcall = route_vectorcall;
    self->name = Py_NewRef(name);
    self->plan = Py_NewRef(plan);
    self->program = Py_NewRef(program);
    self->argument_count = arguments;
    self->register_count = registers;
    self->instruction_count = (int)PyTuple_GET_SIZE(program);
    self->instructions = PyMem_Calloc(self->instruction_count + 1, sizeof(instruction));
    if (self->instructions == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    int failed = self->state->tensor_type == NULL
                     ? (PyErr_SetString(PyExc_RuntimeError, "set_classes was not called"), -1)
                     : 0;
    for (Py_ssize_t at = 0; !failed && at < self->instruction_count; at++) {
        failed = read_instruction(self, at);
    }
    if (failed || check_states(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
route_traverse(Route *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->plan);
    Py_VISIT(self->program);
    return 0;
}

/* The program stays: a route that is being run may be part of a cycle that is collected. */
static int
route_clear(Route *self)
{
    Py_CLEAR(self->plan);
    return 0;
}

static void
route_dealloc(Route *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (int at = 0; self->instructions != NULL && at < self->instruction_count; at++) {
        PyMem_Free(self->instructions[at].operands);
    }
    PyMem_Free(self->instructions);
    Py_CLEAR(self->name);
    Py_CLEAR(self->plan);
    Py_CLEAR(self->program);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
route_repr(Route *self)
{
    return PyUnicode_FromFormat("<compiled route of %U>", self->name);
}

static PyMemberDef route_members[] = {
    {"__name__", T_OBJECT_EX, offsetof(Route, name), READONLY, "The name of the operator."},
    {"plan", T_OBJECT_EX, offsetof(Route, plan), READONLY, "What the route does."},
    {"program", T_OBJECT_EX, offsetof(Route, program), READONLY, "Its instructions."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Route, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot route_slots[] = {
    {Py_tp_new, route_new},
    {Py_tp_dealloc, route_dealloc},
    {Py_tp_traverse, route_traverse},
    {Py_tp_clear, route_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, route_repr},
    {Py_tp_members, route_members},
    {0, NULL},
};

static PyType_Spec route_spec = {
    .name = "dovetail_native._core.Route",
    .basicsize = sizeof(Route),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = route_slots,
};

#define NAME_OF(name, objects, operands, kind, function) #name,
#define KIND_OF(name) #name,
static const char *const instruction_names[] = {INSTRUCTIONS(NAME_OF) NULL};
static const char *const operand_names[] = {OPERANDS(KIND_OF) NULL};

int
add_numbers(PyObject *module, const char *attribute, const char *const *names)
{
    PyObject *numbers = PyDict_New();
    int failed = numbers == NULL ? -1 : 0;
    for (int i = 0; !failed && names[i] != NULL; i++) {
        PyObject *number = PyLong_FromLong(i);
        failed = number == NULL ? -1 : PyDict_SetItemString(numbers, names[i], number);
        Py_XDECREF(number);
    }
    failed = failed ? -1 : PyModule_AddObjectRef(module, attribute, numbers);
    Py_XDECREF(numbers);
    return failed;
}

int
add_route_type(PyObject *module, module_state *state)
{
    state->route_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &route_spec, NULL);
    if (state->route_type == NULL || PyModule_AddType(module, state->route_type) < 0 ||
        PyModule_AddIntConstant(module, "PLAN_FORMAT", PLAN_FORMAT) < 0 ||
        PyModule_AddIntConstant(module, "MAX_REGISTERS", MAX_REGISTERS) < 0 ||
        PyModule_AddIntConstant(module, "MAX_OPERANDS", MAX_OPERANDS) < 0 ||
        add_numbers(module, "INSTRUCTIONS", instruction_names) < 0) {
        return -1;
    }
    return add_numbers(module, "OPERANDS", operand_names);
}

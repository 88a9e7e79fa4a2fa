/* The instructions of a Route: what the steps of a plan are lowered to (lowering.py). */
#ifndef DOVETAIL_ROUTE_H
#define DOVETAIL_ROUTE_H

#include "native.h"

/* The format of programs; lowering.py has the same number. */
#define PLAN_FORMAT 4

#define MAX_REGISTERS 64
#define MAX_OPERANDS 24 /* of one instruction */
#define MAX_STATES 4 /* dispatch states within each other */

/* Name, number of objects, and of operands, that the instruction has at least, and what it is: DO a
 * function, TEST one to know whether to jump, or a case of its OWN in the loop.
 *
 * a, b, c are registers; `target` is a place in the program, `slot` and `slot2` are offsets of
 * slots, `bits` a mask. All jumps go forward. */
#define INSTRUCTIONS(X) \
    /* a: edge of tensor b, or those of a list; flags: EDGE_*; slot, bits: those of a signature that say that the tensor \
     * requires grad, and is a view; objects: leaf_edge, gradient_edge */ \
    X(FIND_EDGE, 2, 0, DO, do_find_edge) \
    /* a: the tensor that stands for number a; objects: dict of known numbers, remember */ \
    X(NUMBER, 2, 0, DO, do_number) \
    /* a and the following `flags` registers: results; see CALL_* below for the objects */ \
    X(CALL, 6, 0, DO, do_call) \
    /* a and the following `flags` registers: items of b, a tuple or list; else objects[0](b) */ \
    X(UNPACK, 1, 0, DO, do_unpack) \
    /* to target unless a is (flags: identical, else equal) objects[0] */ \
    X(UNLESS_DEFAULT, 1, 0, TEST, is_default) \
    X(JUMP, 0, 0, OWN, ) \
    /* to target unless objects[0], called with the operands, those named in objects[1] by keyword, \
     * returns what is true */ \
    X(UNLESS_TRUE, 2, 0, TEST, is_true_of) \
    /* to target if a is None */ \
    X(UNLESS_GIVEN, 0, 0, OWN, ) \
    /* to target unless one operand is, or has, an edge */ \
    X(UNLESS_EDGE, 0, 1, TEST, has_edge) \
    /* to target unless the signature of a has one of bits */ \
    X(UNLESS_BITS, 0, 0, TEST, signature_has) \
    /* to target if the class of a is objects[0] */ \
    X(UNLESS_OTHER_CLASS, 1, 0, OWN, ) \
    /* to target unless the storage of a is there and is that of b */ \
    X(UNLESS_SAME_STORAGE, 0, 0, TEST, share_storage_object) \
    /* to target if a is a new tensor: it has no storage object, and is none of the operands */ \
    X(UNLESS_SHARED, 0, 0, TEST, may_be_shared) \
    /* to target if the version of counter a is b */ \
    X(UNLESS_WRITTEN, 0, 0, TEST, is_written) \
    /* write array b into the memory of tensor a, and go to target if that was done; flags: a is \
     * given as `out=`, beside the operands */ \
    X(UNLESS_STORED, 0, 0, TEST, is_left_to_store) \
    /* a: the item of dict objects[0] by those of bits that the signatures of all operands have; to \
     * target if these differ, or there is none */ \
    X(UNLESS_ONE_DTYPE, 1, 1, TEST, have_one_dtype) \
    /* to target unless the array of tensor a, by objects[0] if it is not NumPy's, is in C order */ \
    X(UNLESS_CONTIGUOUS, 1, 0, TEST, is_in_c_order) \
    /* to target unless the array of tensor a has `bits` dimensions */ \
    X(UNLESS_NDIM, 0, 0, TEST, has_dims) \
    /* a: tensor around array b, or a list of tensors around those of list b, which share the memory \
     * of c; see WRAP_* */ \
    X(WRAP, 11, 0, DO, do_wrap) \
    /* new tensor a, or each of list a, is a view of b; see VIEW_*; objects: creation_meta or None for \
     * that of b, creation_meta by default */ \
    X(MARK_VIEW, 2, 0, DO, do_mark_view) \
    /* a: node with the edges in operands; see NODE_* */ \
    X(NODE, 5, 0, DO, do_node) \
    /* slot of a: (shape, dtype) of the operand, or a list of these: of operands, or of a list */ \
    X(DESCRIBE, 0, 1, DO, do_describe) \
    /* slot and slot2 of a: tensor b and its version, which c holds if flags */ \
    X(SAVE_TENSOR, 0, 0, DO, do_save_tensor) \
    /* slot of a: the operand */ \
    X(SAVE_VALUE, 0, 1, DO, save_value) \
    /* slot of a: (array c, new version counter of tensor b, 0) */ \
    X(SAVE_RESULT, 0, 0, DO, do_save_result) \
    /* a is the maker of b, or (flags) of each of list b, if its signature has one of bits: objects: \
     * output number or None, GRAD */ \
    X(ATTACH, 2, 0, DO, do_attach) \
    /* a: what slot of b holds, a node of class objects[0] */ \
    X(LOAD, 1, 0, DO, do_load) \
    /* a: the array of the tensor in slot of node b, if it has the version in slot2; else \
     * objects[1](b) */ \
    X(LOAD_SAVED, 2, 0, DO, do_load_saved) \
    /* a: the operand */ \
    X(SET, 0, 1, OWN, ) \
    /* a: version of b */ \
    X(NOTE_VERSION, 0, 0, DO, note_version) \
    X(COUNT_WRITE, 0, 0, OWN, ) \
    /* what follows runs in the dispatch state objects[0](the present one), until LEAVE_STATE */ \
    X(ENTER_STATE, 1, 0, OWN, ) \
    X(LEAVE_STATE, 0, 0, OWN, ) \
    /* the operand, or a tuple of several; of one too if flags */ \
    X(RETURN, 0, 0, OWN, )

typedef enum {
#define NUMBER_OF(name, objects, operands, kind, function) OP_##name,
    INSTRUCTIONS(NUMBER_OF)
#undef NUMBER_OF
    OP_COUNT,
} opcode;

#define OPERANDS(X) \
    X(VALUE) /* the value of a register */ \
    X(ARRAY) /* the array of the tensor in a register */ \
    X(OPTIONAL_ARRAY) /* the same, None for None */ \
    X(ARRAYS) /* a list of the arrays of a sequence of tensors */ \
    X(OPTIONAL_ARRAYS) /* the same, None for None within */ \
    X(CONSTANT) /* an object */ \
    X(LOOKED_UP) /* item of an object, by the value of a register */ \
    X(OPTIONALLY_LOOKED_UP) /* the same, None for None */ \
    X(SPREAD) /* the items of the tuple in a register, where several are taken */

typedef enum {
#define NUMBER_OF(name) OPERAND_##name,
    OPERANDS(NUMBER_OF)
#undef NUMBER_OF
    OPERAND_COUNT,
} operand_kind;

enum { EDGE_OF_TENSOR, EDGE_RECORDED, EDGE_OF_VIEW, EDGE_ASKED, EDGE_OF_LIST };

/* Objects of CALL. Operands are the arguments, those by keyword last. */
enum {
    CALL_FUNCTION,
    CALL_NAMES, /* tuple of keywords, or None */
    CALL_ENTER, /* sets an error state and returns what CALL_LEAVE takes; or None */
    CALL_LEAVE,
    CALL_QUIET, /* the error state */
    CALL_REWORD, /* (function, registers) that make the error to raise of one; or None */
};

/* Objects and flags of WRAP. */
enum {
    WRAP_SIGNATURE,
    WRAP_SIGNATURE_0D, /* of an array without dimensions */
    WRAP_DTYPE,        /* that the two are for, or None */
    WRAP_BASE,         /* signature without the bits of the dtype */
    WRAP_DTYPE_BITS,
    WRAP_ZERO_DIM,
    WRAP_OUTPUT_NR,
    WRAP_ARRAY_TYPE, /* what is of another class is lifted */
    WRAP_LIFT,       /* or None */
    WRAP_SHARE,      /* share_storage */
    WRAP_UNKNOWN,    /* makes the error of a dtype without bits, or None */
    WRAP_WRITABLE,   /* class of the counter of a view that may be written (WRAP_IS_WRITABLE) */
};
enum { WRAP_IS_KNOWN = 1, WRAP_IS_SHARED = 2, WRAP_IS_WRITABLE = 4, WRAP_IS_LIST = 8 };

/* Flags of MARK_VIEW. */
enum { VIEW_OF_VIEW = 1, VIEW_IS_LIST = 2 };

/* Objects of NODE, in whose `slot`, `slot2`, `target` are the edges, the backend and the hooks. */
enum {
    NODE_CLASS,
    NODE_BACKEND,
    NODE_SEQUENCE, /* iterator of sequence numbers */
    NODE_NUMBERS,  /* tuple of offsets of the slots that are given one */
    NODE_MAKES,    /* bytes: registers of the results that it makes */
    NODE_UNCAST,   /* bytes: pairs of registers, arrays that must be those of tensors (optional) */
};

typedef struct {
    uint8_t kind, reg;
    PyObject *object; /* borrowed from the program */
} operand;

typedef struct {
    uint8_t code, a, b, c, flags, object_count, operand_count;
    int target;
    Py_ssize_t slot, slot2;
    long long bits;
    PyObject **objects; /* items of a tuple of the program */
    operand *operands;
} instruction;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    module_state *state; /* of the module, which the type keeps alive */
    PyObject *name, *plan, *program;
    int argument_count, register_count, instruction_count;
    instruction *instructions;
} Route;

/* execute.c */
PyObject *route_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

/* operands.c: new references; NULL with an exception. */
PyObject *register_value(PyObject *const *registers, int number); /* borrowed */
PyObject *operand_value(const module_state *state, PyObject *const *registers, const operand *each);

/* calls.c, nodes.c, wrapping.c: one instruction each. Return 0, or -1 with an exception. */
int do_call(const module_state *state, PyObject **registers, const instruction *in);
int is_true_of(const module_state *state, PyObject *const *registers, const instruction *in);
int is_left_to_store(const module_state *state, PyObject *const *registers, const instruction *in);
int do_wrap(const module_state *state, PyObject **registers, const instruction *in);
int do_find_edge(const module_state *state, PyObject **registers, const instruction *in);
int do_mark_view(const module_state *state, PyObject **registers, const instruction *in);
int do_node(const module_state *state, PyObject **registers, const instruction *in);
int do_describe(const module_state *state, PyObject **registers, const instruction *in);
int do_save_tensor(const module_state *state, PyObject **registers, const instruction *in);
int do_save_result(const module_state *state, PyObject **registers, const instruction *in);
int do_attach(const module_state *state, PyObject **registers, const instruction *in);
int do_load(const module_state *state, PyObject **registers, const instruction *in);
int do_load_saved(const module_state *state, PyObject **registers, const instruction *in);
int is_written(const module_state *state, PyObject *const *registers, const instruction *in);
int has_edge(const module_state *state, PyObject *const *registers, const instruction *in); /* 1, 0 or -1 */

/* Store a value, whose reference is stolen, in a register. */
static inline void
set_register(PyObject **registers, int number, PyObject *value)
{
    Py_XSETREF(registers[number], value);
}

#endif

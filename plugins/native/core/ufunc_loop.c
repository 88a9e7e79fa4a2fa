/* UfuncLoop: a ufunc of NumPy whose inner loop is called without NumPy's iterator.
 *
 * For arrays of 8 x 8 elements numpy.add takes some 230 ns, of which its loop takes 8. A UfuncLoop
 * computes calls whose operands have one dtype that the ufunc has a loop for: the same loop runs
 * over the same elements, so the bits are the same. Every other call goes to the ufunc.
 *
 * Floating-point flags are not looked at: no call warns.
 */
#include "ufunc_rows.h"

/* Below this length of other rows, and above this number of them, NumPy's iterator is faster: it
 * gathers short rows in a buffer, while here each costs a call of the loop. */
#define SHORT_ROW 16
#define MANY_ROWS 64

#define TYPE_COUNT (NPY_CLONGDOUBLE + 1)

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyUFuncObject *ufunc;
    typed_loop loops[TYPE_COUNT]; /* by the type number of all inputs */
    half_loop halves;             /* of float16 and bfloat16, which are rounded once */
    int takes_singles;            /* whether numbers of single precision may stand beside these */
} UfuncLoop;

/* ---- geometry -------------------------------------------------------------------------------- */

/* Set the broadcast shape of `arrays`. Return 0 if they do not broadcast, or have many dimensions. */
static int
broadcast(geometry *g, PyArrayObject *const *arrays, int count)
{
    g->ndim = 0;
    for (int i = 0; i < count; i++) {
        int ndim = PyArray_NDIM(arrays[i]);
        g->ndim = ndim > g->ndim ? ndim : g->ndim;
    }
    if (g->ndim > MAX_DIMS) {
        return 0;
    }
    for (int axis = 0; axis < g->ndim; axis++) {
        g->dims[axis] = 1;
    }
    for (int i = 0; i < count; i++) {
        int missing = g->ndim - PyArray_NDIM(arrays[i]);
        for (int axis = missing; axis < g->ndim; axis++) {
            npy_intp size = PyArray_DIM(arrays[i], axis - missing);
            if (size != g->dims[axis]) {
                if (g->dims[axis] == 1) {
                    g->dims[axis] = size;
                }
                else if (size != 1) {
                    return 0;
                }
            }
        }
    }
    return 1;
}

/* Add an array as an operand; what is expanded has stride 0. */
static void
add_operand(geometry *g, PyArrayObject *array)
{
    int missing = g->ndim - PyArray_NDIM(array);
    npy_intp *strides = g->strides[g->count];
    for (int axis = 0; axis < g->ndim; axis++) {
        int is_expanded = axis < missing || PyArray_DIM(array, axis - missing) != g->dims[axis];
        strides[axis] = is_expanded ? 0 : PyArray_STRIDE(array, axis - missing);
    }
    g->data[g->count++] = PyArray_BYTES(array);
}

static int
is_same_shape(const geometry *g, PyArrayObject *array)
{
    if (PyArray_NDIM(array) != g->ndim) {
        return 0;
    }
    for (int axis = 0; axis < g->ndim; axis++) {
        if (PyArray_DIM(array, axis) != g->dims[axis]) {
            return 0;
        }
    }
    return 1;
}

enum { NO_ORDER, C_ORDER, FORTRAN_ORDER };

/* The order of memory of the result, where that is simple: C order if no operand has an axis with a
 * smaller stride before one with a larger stride, Fortran's if all operands have them all that way
 * round; of two equal strides, that of the longer axis is the larger one. NO_ORDER: NumPy computes, since in rows of other lengths its loops round some functions
 * otherwise, of operands that are turned (`turn_operands`). */
static int
result_order(const geometry *g)
{
    int is_c = 1, is_fortran = g->ndim > 1;
    for (int i = 0; i < g->count; i++) {
        const npy_intp *strides = g->strides[i];
        for (int axis = 0; axis < g->ndim; axis++) {
            if (strides[axis] < 0) {
                return NO_ORDER;
            }
            is_fortran &= strides[axis] > 0;
            for (int later = axis + 1; later < g->ndim; later++) {
                if (strides[axis] && strides[later]) {
                    int is_longer = g->dims[later] > g->dims[axis];
                    int is_inner = strides[axis] < strides[later] ||
                                   (strides[axis] == strides[later] && is_longer);
                    is_c &= !is_inner;
                    is_fortran &= is_inner;
                }
            }
        }
    }
    return is_c ? C_ORDER : is_fortran ? FORTRAN_ORDER : NO_ORDER;
}

static void
reverse_axes(geometry *g)
{
    for (int low = 0, high = g->ndim - 1; low < high; low++, high--) {
        npy_intp size = g->dims[low];
        g->dims[low] = g->dims[high];
        g->dims[high] = size;
        for (int i = 0; i < g->count; i++) {
            npy_intp stride = g->strides[i][low];
            g->strides[i][low] = g->strides[i][high];
            g->strides[i][high] = stride;
        }
    }
}

/* Drop axes of one element, and join axes that are one run of memory in all operands. At least one
 * axis is left. */
static void
coalesce(geometry *g)
{
    int last = -1;
    for (int axis = 0; axis < g->ndim; axis++) {
        if (g->dims[axis] == 1) {
            continue;
        }
        int joins = last >= 0;
        for (int i = 0; joins && i < g->count; i++) {
            joins = g->strides[i][last] == g->strides[i][axis] * g->dims[axis];
        }
        if (joins) {
            g->dims[last] *= g->dims[axis];
        }
        else {
            g->dims[++last] = g->dims[axis];
        }
        for (int i = 0; i < g->count; i++) {
            g->strides[i][last] = g->strides[i][axis];
        }
    }
    if (last < 0) {
        last = 0;
        g->dims[0] = 1;
        for (int i = 0; i < g->count; i++) {
            g->strides[i][0] = 0;
        }
    }
    g->ndim = last + 1;
}

static npy_intp
element_count(const geometry *g)
{
    npy_intp count = 1;
    for (int axis = 0; axis < g->ndim; axis++) {
        count *= g->dims[axis];
    }
    return count;
}

/* Whether the operand `which` may be read while the output is written: it is the output, element
 * by element, or lies elsewhere. */
static int
is_apart(const geometry *g, int which, npy_intp item_size, npy_intp out_size)
{
    int out = g->count - 1;
    npy_intp first[2] = {0, 0}, last[2] = {item_size, out_size};
    int is_same = g->data[which] == g->data[out] && item_size == out_size;
    for (int axis = 0; axis < g->ndim; axis++) {
        npy_intp strides[2] = {g->strides[which][axis], g->strides[out][axis]};
        is_same &= strides[0] == strides[1];
        for (int k = 0; k < 2; k++) {
            npy_intp reach = strides[k] * (g->dims[axis] - 1);
            *(reach < 0 ? &first[k] : &last[k]) += reach;
        }
    }
    return is_same || g->data[which] + last[0] <= g->data[out] + first[1] ||
           g->data[out] + last[1] <= g->data[which] + first[0];
}

/* ---- running a loop -------------------------------------------------------------------------- */

/* Run the loop over all elements. Return -1 if it raised. */
static int
run(const typed_loop *loop, geometry *g, joined_rows *rows)
{
    npy_intp count = element_count(g);
    if (count == 0) {
        return 0;
    }
    if (count < RELEASE_LOOPS_FROM) {
        run_rows(loop, g, rows);
    }
    else {
        Py_BEGIN_ALLOW_THREADS
        run_rows(loop, g, rows);
        Py_END_ALLOW_THREADS
    }
    return PyErr_Occurred() == NULL ? 0 : -1;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Whether an array is of NumPy's own class, aligned and in the machine's byte order. */
static inline int
is_plain(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_ISBEHAVED_RO((PyArrayObject *)object);
}

/* Set the geometry of one row, if the operands are dense and have the shape of the first, or are
 * single elements. Return whether they are. */
static int
is_one_row(geometry *g, PyArrayObject *const *inputs, int nin)
{
    PyArrayObject *first = inputs[0];
    g->ndim = 1;
    g->dims[0] = PyArray_SIZE(first);
    for (int i = 0; i < nin; i++) {
        PyArrayObject *each = inputs[i];
        if (i > 0 && PyArray_NDIM(each) == 0) {
            g->strides[i][0] = 0;
        }
        else if (PyArray_IS_C_CONTIGUOUS(each) && (i == 0 || PyArray_SAMESHAPE(first, each))) {
            g->strides[i][0] = PyArray_ITEMSIZE(each);
        }
        else {
            return 0;
        }
        g->data[i] = PyArray_BYTES(each);
    }
    g->count = nin;
    return 1;
}

/* Compute a new array of the shape of `like` from the row that `g` describes. */
static PyObject *
compute_row(const typed_loop *loop, geometry *g, PyArrayObject *like)
{
    joined_rows rows;
    rows.count = 1;
    PyArrayObject *result = (PyArrayObject *)PyArray_EMPTY(
        PyArray_NDIM(like), PyArray_DIMS(like), loop->result_type, 0);
    if (result == NULL) {
        return NULL;
    }
    g->data[g->count] = PyArray_BYTES(result);
    g->strides[g->count++][0] = PyArray_ITEMSIZE(result);
    if (run(loop, g, &rows) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    return PyArray_Return(result);
}

/* Return the result of a call, with *is_mine = 1; or NULL with *is_mine = 0 for a call that is the
 * ufunc's. `out` may be NULL. */
static PyObject *
compute(UfuncLoop *self, PyArrayObject *const *inputs, PyArrayObject *out, int *is_mine)
{
    int nin = self->ufunc->nin;
    int type = PyArray_TYPE(inputs[0]);
    *is_mine = 0;
    if (type >= TYPE_COUNT || (nin == 2 && PyArray_TYPE(inputs[1]) != type)) {
        return NULL;
    }
    const typed_loop *loop = &self->loops[type];
    if (loop->function == NULL) {
        return NULL;
    }
    geometry g; /* only what is used is set: zeroing all of it takes longer than the loop */
    if (out == NULL && is_one_row(&g, inputs, nin)) {
        *is_mine = 1;
        return compute_row(loop, &g, inputs[0]);
    }
    g.count = 0;
    if (!broadcast(&g, inputs, nin)) {
        return NULL;
    }
    for (int i = 0; i < nin; i++) {
        add_operand(&g, inputs[i]);
    }
    if (out != NULL) {
        if (!is_same_shape(&g, out) || PyArray_TYPE(out) != loop->result_type ||
            !PyArray_ISWRITEABLE(out)) {
            return NULL;
        }
        add_operand(&g, out);
        for (int axis = 0; axis < g.ndim; axis++) {
            if (g.strides[nin][axis] == 0 && g.dims[axis] > 1) {
                return NULL;
            }
        }
        for (int i = 0; i < nin; i++) {
            if (!is_apart(&g, i, PyArray_ITEMSIZE(inputs[i]), PyArray_ITEMSIZE(out))) {
                return NULL;
            }
        }
    }
    int order = result_order(&g);
    if (order == NO_ORDER) {
        return NULL;
    }
    PyArrayObject *result = out;
    if (result == NULL) {
        result = (PyArrayObject *)PyArray_EMPTY(
            g.ndim, g.dims, loop->result_type, order == FORTRAN_ORDER);
        if (result == NULL) {
            *is_mine = 1;
            return NULL;
        }
        add_operand(&g, result);
    }
    else {
        Py_INCREF(result);
    }
    int ndim = g.ndim;
    if (order == FORTRAN_ORDER) {
        reverse_axes(&g);
    }
    coalesce(&g);
    joined_rows rows;
    join_rows(&rows, &g, (PyArrayObject *[]){inputs[0], nin == 2 ? inputs[1] : result, result});
    npy_intp row = g.dims[g.ndim - 1];
    if (rows.count == 1 && row > 0 && row < SHORT_ROW && element_count(&g) > MANY_ROWS * row) {
        Py_DECREF(result);
        return NULL;
    }
    *is_mine = 1;
    if (run(loop, &g, &rows) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    /* A ufunc returns a scalar in the place of a new array without dimensions. */
    return ndim == 0 && out == NULL ? PyArray_Return(result) : (PyObject *)result;
}

PyObject *
ufunc_loop_compute(
    PyObject *loop, PyObject *const *args, Py_ssize_t count, PyObject *names, int *is_mine)
{
    UfuncLoop *self = (UfuncLoop *)loop;
    PyObject *out = NULL;
    *is_mine = 0;
    if (self->takes_singles && count == self->ufunc->nin && names == NULL) {
        PyObject *result = compute_halves(&self->halves, args, NULL, 1);
        *is_mine = result != NULL || PyErr_Occurred() != NULL;
        if (*is_mine) {
            return result;
        }
    }
    if (count != self->ufunc->nin || !is_plain(args[0]) || (count == 2 && !is_plain(args[1]))) {
        return NULL;
    }
    if (names != NULL && PyTuple_GET_SIZE(names) != 0) {
        out = args[count];
        if (PyTuple_GET_SIZE(names) != 1 || !is_plain(out) ||
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") != 0) {
            return NULL;
        }
    }
    PyArrayObject *inputs[2] = {(PyArrayObject *)args[0], NULL};
    if (count == 2) {
        inputs[1] = (PyArrayObject *)args[1];
    }
    if (PyArray_TYPE(inputs[0]) >= TYPE_COUNT && self->halves.function != NULL) {
        PyObject *result = compute_halves(&self->halves, args, out, 0);
        *is_mine = result != NULL || PyErr_Occurred() != NULL;
        return result;
    }
    return compute(self, inputs, (PyArrayObject *)out, is_mine);
}

PyObject *
ufunc_of_loop(PyObject *loop)
{
    return (PyObject *)((UfuncLoop *)loop)->ufunc;
}

static PyObject *
ufunc_loop_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int is_mine;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *result = ufunc_loop_compute(self, args, count, names, &is_mine);
    if (is_mine) {
        return result;
    }
    turned_operands turned;
    int is_pair = names == NULL && count == 2 && ((UfuncLoop *)self)->ufunc->nin == 2;
    int is_turned = is_pair ? turn_operands(&turned, args) : 0;
    if (is_turned != 0) {
        return is_turned < 0 ? NULL
                             : turn_back(
                                   &turned, PyObject_Vectorcall(
                                                ufunc_of_loop(self), turned.args + 1,
                                                2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL));
    }
    return PyObject_Vectorcall(ufunc_of_loop(self), args, nargsf, names);
}

/* ---- the type -------------------------------------------------------------------------------- */

static int
is_number_type(int type)
{
    return type >= NPY_BOOL && type <= NPY_CLONGDOUBLE;
}

/* Loops without vectors for one element beside many. */
static int
is_slow_beside_one(const PyUFuncObject *ufunc, int type)
{
    static const char *const names[] = {"maximum", "minimum", "fmax", "fmin"};
    int is_slow = type == NPY_BOOL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        is_slow |= strcmp(ufunc->name, names[i]) == 0;
    }
    return is_slow && !PyTypeNum_ISCOMPLEX(type);
}

static void
collect_loops(UfuncLoop *self)
{
    PyUFuncObject *ufunc = self->ufunc;
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + (npy_intp)i * ufunc->nargs;
        int input = types[0], result = types[ufunc->nin];
        if (!is_number_type(input) || !is_number_type(result) || types[ufunc->nin - 1] != input) {
            continue;
        }
        typed_loop *loop = &self->loops[input];
        if (loop->function == NULL) { /* the first loop that fits is the one that NumPy takes */
            PyUFuncGenericFunction own = own_loop(ufunc, input);
            loop->function = own != NULL ? own : ufunc->functions[i];
            loop->data = ufunc->data == NULL ? NULL : ufunc->data[i];
            loop->result_type = result;
            loop->spreads = is_slow_beside_one(ufunc, input);
            PyArray_Descr *dtype = PyArray_DescrFromType(input);
            loop->item = (int)PyDataType_ELSIZE(dtype);
            Py_DECREF(dtype);
        }
    }
}

static PyObject *
ufunc_loop_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"ufunc", "takes_singles", NULL};
    PyObject *ufunc;
    int takes_singles = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O|p:UfuncLoop", keywords, &ufunc, &takes_singles)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        return PyErr_Format(
            PyExc_TypeError, "UfuncLoop() takes a ufunc, not %.100s", Py_TYPE(ufunc)->tp_name);
    }
    PyUFuncObject *found = (PyUFuncObject *)ufunc;
    if (found->core_enabled || found->nout != 1 || found->nin < 1 || found->nin > 2) {
        return PyErr_Format(
            PyExc_ValueError,
            "UfuncLoop() takes an elementwise ufunc of one or two operands and one result, not %R",
            ufunc);
    }
    UfuncLoop *self = (UfuncLoop *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = ufunc_loop_vectorcall;
    self->ufunc = (PyUFuncObject *)Py_NewRef(ufunc);
    collect_loops(self);
    find_half_loop(&self->halves, found);
    self->takes_singles = takes_singles;
    if (takes_singles && self->halves.function == NULL) {
        PyErr_Format(PyExc_ValueError, "%R has no loop for single precision", ufunc);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int
ufunc_loop_traverse(UfuncLoop *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->ufunc);
    return 0;
}

static int
ufunc_loop_clear(UfuncLoop *self)
{
    Py_CLEAR(self->ufunc);
    return 0;
}

static void
ufunc_loop_dealloc(UfuncLoop *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    ufunc_loop_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
ufunc_loop_repr(UfuncLoop *self)
{
    return PyUnicode_FromFormat("<loop of %R>", self->ufunc);
}

static PyObject *
ufunc_loop_get_attribute(UfuncLoop *self, void *name)
{
    return PyObject_GetAttrString((PyObject *)self->ufunc, name);
}

static PyGetSetDef ufunc_loop_getset[] = {
    {"__name__", (getter)ufunc_loop_get_attribute, NULL, "The name of the ufunc.", "__name__"},
    {"lays_out", get_lays_out, NULL, NULL, NULL},
    {"__doc__", (getter)ufunc_loop_get_attribute, NULL, NULL, "__doc__"},
    {NULL},
};

static PyMemberDef ufunc_loop_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(UfuncLoop, ufunc), READONLY, "The ufunc."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(UfuncLoop, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot ufunc_loop_slots[] = {
    {Py_tp_new, ufunc_loop_new},
    {Py_tp_dealloc, ufunc_loop_dealloc},
    {Py_tp_traverse, ufunc_loop_traverse},
    {Py_tp_clear, ufunc_loop_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, ufunc_loop_repr},
    {Py_tp_getset, ufunc_loop_getset},
    {Py_tp_members, ufunc_loop_members},
    {0, NULL},
};

static PyType_Spec ufunc_loop_spec = {
    .name = "dovetail_native._core.UfuncLoop",
    .basicsize = sizeof(UfuncLoop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = ufunc_loop_slots,
};

int
add_ufunc_loop_type(PyObject *module, module_state *state)
{
    state->ufunc_loop_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &ufunc_loop_spec, NULL);
    if (state->ufunc_loop_type == NULL) {
        return -1;
    }
    return PyModule_AddType(module, state->ufunc_loop_type);
}

/* What a plain tensor over an array of NumPy says of itself, read without its Python functions; its
 * data, and whether it requires grad, which is also set here.
 *
 * A mode may be asked for every attribute, so the dispatch state is read first: in a state that is
 * not quiet the Python function runs, as it does for subclasses and other arrays. */
#include "entry.h"
#include "sizes.h"
#include "slots.h"

quietness
is_quiet(const module_state *state)
{
    PyObject *now;
    if (PyContextVar_Get(state->state_variable, NULL, &now) < 0) {
        return NOT_QUIET;
    }
    int overflow;
    long long value = now == NULL ? -1 : PyLong_AsLongLongAndOverflow(now, &overflow);
    Py_XDECREF(now);
    if (value == state->inference_state) {
        return QUIET_INFERENCE;
    }
    return value == 0 || value == state->quiet_state ? QUIET : NOT_QUIET;
}

/* The Size, from those that were read last if it is among them: a list of RECENT_SIZES. */
static PyObject *
shape_of(const module_state *state, PyArrayObject *array)
{
    const int ndim = PyArray_NDIM(array);
    const npy_intp *dims = PyArray_DIMS(array);
    Py_ssize_t at = place_among(RECENT_SIZES, 0, ndim, dims);
    PyObject *recent = PyList_GET_ITEM(state->recent_sizes, at);
    if (is_tuple_of(recent, ndim, dims) == 1) {
        return Py_NewRef(recent);
    }
    PyObject *sizes = PyArray_IntTupleFromIntp(ndim, dims);
    PyObject *known = sizes == NULL ? NULL : PyObject_GetItem(state->known_sizes, sizes);
    Py_XDECREF(sizes);
    if (known != NULL) {
        PyList_SetItem(state->recent_sizes, at, Py_NewRef(known));
    }
    return known;
}

/* The item of a Size. */
static PyObject *
item_of_size(PyObject *const *args, Py_ssize_t count)
{
    int overflow;
    if (count != 2 || !PyTuple_Check(args[0]) || !PyLong_CheckExact(args[1])) {
        return NULL;
    }
    Py_ssize_t length = PyTuple_GET_SIZE(args[0]);
    long at = PyLong_AsLongAndOverflow(args[1], &overflow);
    if (overflow || at < -length || at >= length) {
        return NULL;
    }
    return Py_NewRef(PyTuple_GET_ITEM(args[0], at < 0 ? at + length : at));
}

static PyObject *
size_along(PyArrayObject *array, PyObject *dim)
{
    int overflow, ndim = PyArray_NDIM(array);
    long axis = PyLong_CheckExact(dim) ? PyLong_AsLongAndOverflow(dim, &overflow) : ndim;
    if (axis < -ndim || axis >= ndim) {
        return NULL;
    }
    return PyLong_FromSsize_t(PyArray_DIM(array, axis < 0 ? axis + ndim : axis));
}

/* The strides in elements; those of an array without elements that are 0 are the Python
 * function's. */
static PyObject *
strides_of(PyArrayObject *array)
{
    npy_intp strides[NPY_MAXDIMS], itemsize = PyArray_ITEMSIZE(array);
    if (itemsize == 0) {
        return NULL;
    }
    int is_known = PyArray_SIZE(array) != 0;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (PyArray_STRIDE(array, i) % itemsize != 0) {
            return NULL;
        }
        strides[i] = PyArray_STRIDE(array, i) / itemsize;
        is_known |= strides[i] != 0;
    }
    return !is_known ? NULL : PyArray_IntTupleFromIntp(PyArray_NDIM(array), strides);
}

/* The dtype, a borrowed reference; NULL where there is none. */
static PyObject *
dtype_of_signature(const module_state *state, long long signature)
{
    unsigned long long bits = (unsigned long long)(signature & state->dtype_mask);
    return bits == 0 ? NULL : state->dtype_by_bit[__builtin_ctzll(bits)];
}

/* What the cpu backend says of an array of its own; NULL for what its Python methods say. */
static PyObject *
of_cpu(accessor which, PyArrayObject *array)
{
    switch (which) {
    case ACCESSOR_is_contiguous:
        return PyBool_FromLong(PyArray_IS_C_CONTIGUOUS(array));
    case ACCESSOR_data_ptr:
        return PyArray_SIZE(array) == 0 ? PyLong_FromLong(0)
                                        : PyLong_FromVoidPtr(PyArray_DATA(array));
    case ACCESSOR_tolist: /* bfloat16 is no type of NumPy */
        return PyTypeNum_ISNUMBER(PyArray_TYPE(array)) || PyArray_ISBOOL(array)
                   ? PyArray_ToList(array)
                   : NULL;
    default:
        return NULL;
    }
}

/* The first element's distance from the start of the memory, in elements; NULL for memory that is no
 * array in C order, or for a tensor that does not know it yet. */
static PyObject *
storage_offset_of(const module_state *state, PyObject *tensor, PyArrayObject *array)
{
    PyObject *storage = SLOT(tensor, state->tensor_storage);
    if (storage == NULL || storage == Py_None) {
        return storage != NULL && PyArray_BASE(array) == NULL ? PyLong_FromLong(0) : NULL;
    }
    PyObject *memory = PyObject_GetAttr(storage, state->str__array), *offset = NULL;
    if (memory != NULL && PyArray_CheckExact(memory) &&
        PyArray_IS_C_CONTIGUOUS((PyArrayObject *)memory)) {
        ptrdiff_t bytes = PyArray_BYTES(array) - PyArray_BYTES((PyArrayObject *)memory);
        offset = PyLong_FromSsize_t(bytes / PyArray_ITEMSIZE(array));
    }
    Py_XDECREF(memory);
    return offset;
}

/* Whether a dtype, a device or a tensor is what a tensor on the cpu has, or is on, already. */
static int
is_own(const module_state *state, PyObject *wanted, long long signature)
{
    if (Py_TYPE(wanted) == state->tensor_type) {
        int overflow;
        PyObject *number = SLOT(wanted, state->tensor_signature);
        long long other =
            number == NULL ? 0 : PyLong_AsLongLongAndOverflow(number, &overflow);
        long long bits = state->cpu_bit | state->dtype_mask;
        return (other & bits) == (signature & bits);
    }
    return wanted == dtype_of_signature(state, signature) || is_cpu_device(state, wanted);
}

/* The tensor itself, which is on the cpu, where `to` changes nothing. */
static PyObject *
unchanged(const module_state *state, long long signature, PyObject *const *args, Py_ssize_t count,
          PyObject *names)
{
    if ((count >= 2 && !is_own(state, args[1], signature)) ||
        (count == 3 && (args[2] != dtype_of_signature(state, signature) ||
                        !is_cpu_device(state, args[1])))) {
        return NULL;
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[count + i];
        int is_right =
            PyUnicode_CompareWithASCIIString(name, "non_blocking") == 0 ? PyBool_Check(value)
            : PyUnicode_CompareWithASCIIString(name, "copy") == 0       ? value == Py_False
            : PyUnicode_CompareWithASCIIString(name, "dtype") == 0
                ? count == 1 && value == dtype_of_signature(state, signature)
            : PyUnicode_CompareWithASCIIString(name, "device") == 0
                ? count == 1 && is_cpu_device(state, value)
                : 0;
        if (!is_right) {
            return NULL;
        }
    }
    return Py_NewRef(args[0]);
}

static inline int
is_leaf(const module_state *state, PyObject *tensor, long long signature)
{
    return SLOT(tensor, state->tensor_grad_fn) == Py_None && !(signature & state->view_bit);
}

static PyObject *
grad_of(const module_state *state, PyObject *tensor, long long signature)
{
    PyObject *meta = SLOT(tensor, state->tensor_meta);
    if (!is_leaf(state, tensor, signature) || meta == NULL) {
        return NULL;
    }
    return meta == Py_None ? Py_NewRef(meta) : PyObject_GetAttr(meta, state->str_grad);
}

/* A leaf that shares the memory, with a version of its own. */
static PyObject *
data_of(const module_state *state, PyObject *tensor, PyObject *array, long long signature)
{
    PyObject *storage = SLOT(tensor, state->tensor_storage);
    if (!(signature & state->normal_bit) || storage == NULL) {
        return NULL;
    }
    Py_INCREF(array);
    PyObject *own = PyLong_FromLongLong(signature & ~(state->grad_bit | state->view_bit));
    storage = storage == Py_None ? PyObject_CallOneArg(state->share_storage, tensor)
                                 : Py_NewRef(storage);
    if (own == NULL || storage == NULL) {
        Py_DECREF(array);
        Py_XDECREF(own);
        Py_XDECREF(storage);
        return NULL;
    }
    PyObject *made = new_tensor(state, array, own, state->zero);
    if (made != NULL) {
        set_slot(made, state->tensor_storage, storage);
    }
    else {
        Py_DECREF(storage);
    }
    return made;
}

/* `result`, after the tensor was told whether it requires grad; NULL without an exception for one
 * that is refused, and for one that a graph may know. */
static PyObject *
require_grad(const module_state *state, PyObject *tensor, long long signature, PyObject *wanted,
             PyObject *result)
{
    int type = PyArray_TYPE((PyArrayObject *)SLOT(tensor, state->tensor_array));
    if ((wanted != Py_True && wanted != Py_False) || !(signature & state->normal_bit) ||
        !is_leaf(state, tensor, signature) || SLOT(tensor, state->tensor_meta) != Py_None ||
        !(PyTypeNum_ISFLOAT(type) || PyTypeNum_ISCOMPLEX(type))) {
        return NULL;
    }
    long long changed =
        wanted == Py_True ? signature | state->grad_bit : signature & ~state->grad_bit;
    if (changed != signature) {
        PyObject *number = PyLong_FromLongLong(changed);
        if (number == NULL) {
            return NULL;
        }
        set_slot(tensor, state->tensor_signature, number);
    }
    return Py_NewRef(result);
}

PyObject *
read_attribute(const module_state *state, accessor which, PyObject *const *args, Py_ssize_t count,
               PyObject *names)
{
    PyObject *tensor = count == 0 ? NULL : args[0];
    if (which >= ACCESSOR_tensor && which <= ACCESSOR_from_numpy) {
        return tensor_of_data(state, which, args, count, names);
    }
    if (names != NULL && which != ACCESSOR_to) {
        return NULL;
    }
    if (tensor != NULL && (which == ACCESSOR___enter__ || which == ACCESSOR___exit__)) {
        return which == ACCESSOR___enter__ ? enter_guard(state, tensor) : leave_guard(state, tensor);
    }
    if (which == ACCESSOR___getitem__) {
        return item_of_size(args, count);
    }
    int is_setter = which == ACCESSOR_set_requires_grad;
    int most = which == ACCESSOR_to ? 3
                                    : 1 + (which == ACCESSOR_size || is_setter ||
                                           which == ACCESSOR_requires_grad_);
    if (tensor == NULL || count > most || count < 1 + is_setter) {
        return NULL;
    }
    int is_plain = Py_TYPE(tensor) == state->tensor_type;
    if (!is_plain && (which == ACCESSOR_data || state->overrides_bit == 0 ||
                      !PyObject_TypeCheck(tensor, state->tensor_type))) {
        return NULL;
    }
    PyObject *slot = SLOT(tensor, state->tensor_array);
    PyObject *number = SLOT(tensor, state->tensor_signature);
    quietness quiet = is_quiet(state);
    int is_of_graph = which >= ACCESSOR_requires_grad_;
    if (slot == NULL || !PyArray_CheckExact(slot) || number == NULL || quiet == NOT_QUIET ||
        (quiet == QUIET_INFERENCE && is_of_graph)) {
        return NULL;
    }
    int overflow;
    long long signature = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || (signature == -1 && PyErr_Occurred()) ||
        (!is_plain && (signature & state->overrides_bit))) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)slot;
    switch (which) {
    case ACCESSOR_shape:
        return shape_of(state, array);
    case ACCESSOR_size:
        return count == 1 ? shape_of(state, array) : size_along(array, args[1]);
    case ACCESSOR_stride:
        return strides_of(array);
    case ACCESSOR_dim:
    case ACCESSOR_ndim:
        return PyLong_FromLong(PyArray_NDIM(array));
    case ACCESSOR_numel:
        return PyLong_FromSsize_t(PyArray_SIZE(array));
    case ACCESSOR_dtype:
        return Py_XNewRef(dtype_of_signature(state, signature));
    case ACCESSOR_device:
        return signature & state->cpu_bit ? Py_NewRef(state->cpu_device) : NULL;
    case ACCESSOR_is_cpu:
    case ACCESSOR_is_cuda:
    case ACCESSOR_is_meta:
        return signature & state->cpu_bit ? PyBool_FromLong(which == ACCESSOR_is_cpu) : NULL;
    case ACCESSOR_storage_offset:
        return signature & state->cpu_bit ? storage_offset_of(state, tensor, array) : NULL;
    case ACCESSOR_to:
    case ACCESSOR_cpu:
        return signature & state->cpu_bit ? unchanged(state, signature, args, count, names) : NULL;
    case ACCESSOR_is_contiguous:
    case ACCESSOR_data_ptr:
    case ACCESSOR_tolist:
        return signature & state->cpu_bit ? of_cpu(which, array) : NULL;
    case ACCESSOR_requires_grad:
        if (!(signature & state->grad_bit)) {
            return Py_NewRef(Py_False);
        }
        return signature & state->view_bit ? NULL : Py_NewRef(Py_True);
    case ACCESSOR_requires_grad_:
        return require_grad(state, tensor, signature, count == 1 ? Py_True : args[1], tensor);
    case ACCESSOR_set_requires_grad:
        return require_grad(state, tensor, signature, args[1], Py_None);
    case ACCESSOR_grad:
        return grad_of(state, tensor, signature);
    case ACCESSOR_data:
        return data_of(state, tensor, slot, signature);
    case ACCESSOR___getitem__:
    case ACCESSOR_tensor:
    case ACCESSOR_as_tensor:
    case ACCESSOR_from_numpy:
    case ACCESSOR___enter__:
    case ACCESSOR___exit__:
    case ACCESSOR_COUNT:
        break;
    }
    return NULL;
}

/* set_attributes(KNOWN_SIZES, BY_BIT as a dict, bits by the numbers of NumPy's types, share_storage,
 * (CPU_BIT, DTYPE_MASK, GRAD, VIEW, NORMAL, INFERENCE, ZERO_DIM, NO_GRAD, the state of inference
 * mode)) */
PyObject *
set_attributes(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *sizes, *dtypes, *types, *share, *bit, *dtype, *type;
    if (!PyArg_ParseTuple(
            args, "O!O!O!O(LLLLLLLLL):set_attributes", &PyDict_Type, &sizes, &PyDict_Type, &dtypes,
            &PyDict_Type, &types, &share, &state->cpu_bit, &state->dtype_mask, &state->grad_bit,
            &state->view_bit, &state->normal_bit, &state->inference_bit, &state->zero_dim_bit,
            &state->quiet_state, &state->inference_state)) {
        return NULL;
    }
    for (Py_ssize_t at = 0; PyDict_Next(types, &at, &type, &bit);) {
        long number = PyLong_AsLong(type);
        long long value = PyLong_AsLongLong(bit);
        if (number < 0 || number >= NPY_NTYPES_LEGACY || value <= 0) {
            return PyErr_Format(PyExc_ValueError, "a type of NumPy: %R, %R", type, bit);
        }
        state->bit_of_type[number] = value;
    }
    for (Py_ssize_t at = 0; PyDict_Next(dtypes, &at, &bit, &dtype);) {
        long long value = PyLong_AsLongLong(bit);
        if (value <= 0) {
            return PyErr_Format(PyExc_ValueError, "the bit of %R", dtype);
        }
        state->dtype_by_bit[__builtin_ctzll(value)] = dtype;
    }
    if (state->recent_sizes == NULL) {
        state->recent_sizes = PyList_New(RECENT_SIZES);
        for (int i = 0; state->recent_sizes != NULL && i < RECENT_SIZES; i++) {
            PyList_SET_ITEM(state->recent_sizes, i, Py_NewRef(Py_None));
        }
        if (state->recent_sizes == NULL) {
            return NULL;
        }
    }
    Py_XSETREF(state->known_sizes, Py_NewRef(sizes));
    Py_XSETREF(state->dtypes, Py_NewRef(dtypes));
    Py_XSETREF(state->share_storage, Py_NewRef(share));
    Py_RETURN_NONE;
}

/* set_default_device(context variable of a tuple whose last item is None or the device, cpu) */
PyObject *
set_default_device(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *stack, *cpu;
    if (!PyArg_ParseTuple(
            args, "O!O:set_default_device", &PyContextVar_Type, &stack, &cpu)) {
        return NULL;
    }
    Py_XSETREF(state->device_stack, Py_NewRef(stack));
    Py_XSETREF(state->cpu_device, Py_NewRef(cpu));
    Py_RETURN_NONE;
}

/* Called again whenever the default changes. */
PyObject *
set_default_dtype(PyObject *module, PyObject *dtype)
{
    module_state *state = PyModule_GetState(module);
    Py_XSETREF(state->default_dtype, Py_NewRef(dtype));
    Py_RETURN_NONE;
}

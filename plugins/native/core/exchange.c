/* DLPack's exchange of tensors between libraries through C functions, which a capsule at the class
 * of tensors names: __dlpack_c_exchange_api__. Layouts are those of DLPack 1.3. */
#include "exchange.h"
#include "slots.h"

typedef struct {
    uint32_t major, minor;
} dl_version;

typedef struct {
    int32_t kind, index;
} dl_device;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} dl_dtype;

typedef struct {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_version version;
    void *owner;
    void (*deleter)(struct dl_managed *);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed;

typedef struct {
    dl_version version;
    void *previous;
    int (*allocate)(
        dl_tensor *prototype, dl_managed **out, void *context,
        void (*set_error)(void *context, const char *kind, const char *message));
    int (*from_object)(void *object, dl_managed **out);
    int (*to_object)(dl_managed *managed, void **out);
    int (*borrow_from_object)(void *object, dl_tensor *out);
    int (*current_stream)(int32_t kind, int32_t index, void **out);
} dl_exchange;

enum {
    MAJOR = 1,
    MINOR = 3,
    CPU = 1,
    CUDA_HOST = 3,
    READ_ONLY = 1,
    CODE_INT = 0,
    CODE_UINT = 1,
    CODE_FLOAT = 2,
    CODE_COMPLEX = 5,
    CODE_BOOL = 6,
};

#define VERSIONED "dltensor_versioned"
#define USED "used_dltensor_versioned"
#define OWNER "dovetail_dlpack_owner"

/* The functions have no argument for a module: what they call is of the process. */
static struct {
    const module_state *state;
    /* Of signatures: arrays of NumPy; what only Python decides; tensors that may require grad. */
    long long plain_bits, slow_bits, grad_bit;
    PyObject *from_array, *from_capsule, *to_capsule, *stream_of;
} hooks;

/* -- dtypes -------------------------------------------------------------------------------------- */

static int
code_of_kind(char kind)
{
    switch (kind) {
    case 'b':
        return CODE_BOOL;
    case 'i':
        return CODE_INT;
    case 'u':
        return CODE_UINT;
    case 'f':
        return CODE_FLOAT;
    case 'c':
        return CODE_COMPLEX;
    default:
        return -1;
    }
}

/* The type of NumPy for a dtype, or -1 for one that NumPy has not. */
static int
type_of_dtype(dl_dtype dtype)
{
    static const struct {
        dl_dtype dtype;
        int type;
    } known[] = {
        {{CODE_BOOL, 8, 1}, NPY_BOOL},       {{CODE_INT, 8, 1}, NPY_INT8},
        {{CODE_INT, 16, 1}, NPY_INT16},      {{CODE_INT, 32, 1}, NPY_INT32},
        {{CODE_INT, 64, 1}, NPY_INT64},      {{CODE_UINT, 8, 1}, NPY_UINT8},
        {{CODE_UINT, 16, 1}, NPY_UINT16},    {{CODE_UINT, 32, 1}, NPY_UINT32},
        {{CODE_UINT, 64, 1}, NPY_UINT64},    {{CODE_FLOAT, 16, 1}, NPY_HALF},
        {{CODE_FLOAT, 32, 1}, NPY_FLOAT32},  {{CODE_FLOAT, 64, 1}, NPY_FLOAT64},
        {{CODE_COMPLEX, 64, 1}, NPY_CFLOAT}, {{CODE_COMPLEX, 128, 1}, NPY_CDOUBLE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (memcmp(&known[i].dtype, &dtype, sizeof dtype) == 0) {
            return known[i].type;
        }
    }
    return -1;
}

/* -- to other libraries -------------------------------------------------------------------------- */

static void
delete_exported(dl_managed *managed)
{
    if (Py_IsInitialized()) { /* else the interpreter has ended, and with it the array */
        PyGILState_STATE held = PyGILState_Ensure();
        Py_DECREF((PyObject *)managed->owner);
        PyGILState_Release(held);
    }
    free(managed);
}

/* Describe an array of NumPy that DLPack can describe. Return NULL without an exception for another
 * one, with an exception if memory ends. */
static dl_managed *
export_array(PyArrayObject *array)
{
    PyArray_Descr *descr = PyArray_DESCR(array);
    int code = code_of_kind(descr->kind);
    npy_intp size = PyArray_ITEMSIZE(array);
    if (code < 0 || size > (code == CODE_COMPLEX ? 16 : 8) || !PyArray_ISNBO(descr->byteorder)) {
        return NULL;
    }
    int ndim = PyArray_NDIM(array);
    for (int i = 0; i < ndim; i++) {
        if (PyArray_STRIDE(array, i) % size != 0) {
            return NULL;
        }
    }
    dl_managed *managed = malloc(sizeof *managed + 2 * (size_t)ndim * sizeof(int64_t));
    if (managed == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    int64_t *shape = (int64_t *)(managed + 1);
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(array, i);
        shape[ndim + i] = PyArray_STRIDE(array, i) / size;
    }
    *managed = (dl_managed){
        .version = {MAJOR, MINOR},
        .owner = Py_NewRef((PyObject *)array),
        .deleter = delete_exported,
        .flags = PyArray_ISWRITEABLE(array) ? 0 : READ_ONLY,
        .tensor = {
            .data = PyArray_DATA(array),
            .device = {CPU, 0},
            .ndim = ndim,
            .dtype = {(uint8_t)code, (uint8_t)(8 * size), 1},
            .shape = shape,
            .strides = shape + ndim,
        },
    };
    return managed;
}

/* Take the tensor out of the capsule that Tensor.__dlpack__ returns. */
static dl_managed *
export_by_python(PyObject *object)
{
    PyObject *capsule = PyObject_CallOneArg(hooks.to_capsule, object);
    if (capsule == NULL) {
        return NULL;
    }
    dl_managed *managed = PyCapsule_GetPointer(capsule, VERSIONED);
    if (managed != NULL && PyCapsule_SetName(capsule, USED) < 0) {
        managed = NULL;
    }
    Py_DECREF(capsule);
    return managed;
}

/* Whether a tensor is an array of NumPy that needs no check by Python. Return -1 with an
 * exception. */
static int
is_plain(const module_state *state, PyObject *tensor)
{
    PyObject *signature = SLOT(tensor, state->tensor_signature);
    PyObject *array = SLOT(tensor, state->tensor_array);
    if (signature == NULL || array == NULL || !PyArray_CheckExact(array)) {
        return 0;
    }
    int plain = has_bits(signature, hooks.plain_bits);
    int slow = plain > 0 ? has_bits(signature, hooks.slow_bits) : 0;
    int grad = plain > 0 && slow == 0 ? has_bits(signature, hooks.grad_bit) : 0;
    if (grad > 0) { /* also the bit of views whose base may come to require grad */
        PyObject *requires_grad = PyObject_GetAttr(tensor, state->str_requires_grad);
        grad = requires_grad == NULL ? -1 : PyObject_IsTrue(requires_grad);
        Py_XDECREF(requires_grad);
    }
    return plain < 0 || slow < 0 || grad < 0 ? -1 : plain && !slow && !grad;
}

static int
from_object(void *object, dl_managed **out)
{
    const module_state *state = hooks.state;
    PyObject *tensor = object;
    *out = NULL;
    int plain = is_tensor(state, tensor) ? is_plain(state, tensor) : 0;
    if (plain > 0) {
        *out = export_array((PyArrayObject *)SLOT(tensor, state->tensor_array));
    }
    if (*out == NULL && !PyErr_Occurred()) {
        *out = export_by_python(tensor);
    }
    return *out == NULL ? -1 : 0;
}

/* -- from other libraries ------------------------------------------------------------------------ */

static void
delete_managed(dl_managed *managed)
{
    if (managed->deleter != NULL) {
        managed->deleter(managed);
    }
}

static void
delete_owner(PyObject *capsule)
{
    delete_managed(PyCapsule_GetPointer(capsule, OWNER));
}

static void
delete_unused(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, VERSIONED)) {
        delete_managed(PyCapsule_GetPointer(capsule, VERSIONED));
    }
}

/* An array of NumPy over the memory of a tensor, which it owns. Return NULL without an exception,
 * and leave the tensor alone, if NumPy has no such arrays or Dovetail refuses them. */
static PyObject *
import_array(dl_managed *managed)
{
    const dl_tensor *tensor = &managed->tensor;
    int type = type_of_dtype(tensor->dtype);
    int ndim = tensor->ndim;
    if (type < 0 || (tensor->device.kind != CPU && tensor->device.kind != CUDA_HOST) ||
        ndim > NPY_MAXDIMS || managed->version.major != MAJOR) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], dense = tensor->dtype.bits / 8;
    for (int i = ndim - 1; i >= 0; i--) {
        shape[i] = (npy_intp)tensor->shape[i];
        strides[i] = tensor->strides == NULL
            ? dense : (npy_intp)tensor->strides[i] * (tensor->dtype.bits / 8);
        dense *= shape[i];
        if (strides[i] < 0) {
            return NULL;
        }
    }
    PyObject *owner = PyCapsule_New(managed, OWNER, NULL);
    if (owner == NULL) {
        return NULL;
    }
    int flags = managed->flags & READ_ONLY ? 0 : NPY_ARRAY_WRITEABLE;
    char *data = (char *)tensor->data + tensor->byte_offset;
    PyObject *array = PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(type), ndim, shape, strides, data, flags, NULL);
    if (array == NULL) {
        Py_DECREF(owner);
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)array, NPY_ARRAY_UPDATE_ALL);
    if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) { /* steals the owner */
        Py_DECREF(array);
        return NULL;
    }
    PyCapsule_SetDestructor(owner, delete_owner); /* from here on the array owns the tensor */
    return array;
}

static int
to_object(dl_managed *managed, void **out)
{
    PyObject *array = import_array(managed);
    if (array != NULL) {
        *out = PyObject_CallOneArg(hooks.from_array, array);
        Py_DECREF(array);
        return *out == NULL ? -1 : 0;
    }
    if (PyErr_Occurred()) {
        delete_managed(managed);
        return -1;
    }
    PyObject *capsule = PyCapsule_New(managed, VERSIONED, delete_unused);
    if (capsule == NULL) {
        delete_managed(managed);
        return -1;
    }
    *out = PyObject_CallOneArg(hooks.from_capsule, capsule);
    Py_DECREF(capsule);
    return *out == NULL ? -1 : 0;
}

/* Memory of Dovetail for another library that returns a new tensor. */
static int
allocate(
    dl_tensor *prototype, dl_managed **out, void *context,
    void (*set_error)(void *context, const char *kind, const char *message))
{
    PyGILState_STATE held = PyGILState_Ensure();
    int type = type_of_dtype(prototype->dtype);
    npy_intp shape[NPY_MAXDIMS];
    *out = NULL;
    if (type >= 0 && prototype->device.kind == CPU && prototype->ndim <= NPY_MAXDIMS) {
        for (int i = 0; i < prototype->ndim; i++) {
            shape[i] = (npy_intp)prototype->shape[i];
        }
        PyObject *array = PyArray_SimpleNew(prototype->ndim, shape, type);
        if (array != NULL) {
            *out = export_array((PyArrayObject *)array);
            Py_DECREF(array);
        }
        if (*out == NULL) {
            PyErr_Clear();
            set_error(context, "MemoryError", "no memory for a tensor of this shape");
        }
    }
    else {
        set_error(
            context, "BufferError", "Dovetail allocates tensors of NumPy's dtypes on the CPU. "
            "Allocate the tensor, and pass it as an argument to write to.");
    }
    PyGILState_Release(held);
    return *out == NULL ? -1 : 0;
}

static int
current_stream(int32_t kind, int32_t index, void **out)
{
    *out = NULL;
    if (kind == CPU) {
        return 0;
    }
    PyObject *found = PyObject_CallFunction(hooks.stream_of, "ii", (int)kind, (int)index);
    if (found == NULL) {
        return -1;
    }
    *out = PyLong_AsVoidPtr(found);
    Py_DECREF(found);
    return *out == NULL && PyErr_Occurred() ? -1 : 0;
}

/* exchange_api(from_array, from_capsule, to_capsule, stream_of, plain_bits, slow_bits,
 * grad_bit) */
PyObject *
exchange_api(PyObject *module, PyObject *args)
{
    /* Strides have no memory that lives as long as a tensor, so nothing is borrowed. */
    static dl_exchange api = {
        {MAJOR, MINOR}, NULL, allocate, from_object, to_object, NULL, current_stream};
    PyObject *made[4];
    long long plain_bits, slow_bits, grad_bit;
    if (!PyArg_ParseTuple(
            args, "OOOOLLL:exchange_api", &made[0], &made[1], &made[2], &made[3], &plain_bits,
            &slow_bits, &grad_bit)) {
        return NULL;
    }
    PyObject **kept[] = {
        &hooks.from_array, &hooks.from_capsule, &hooks.to_capsule, &hooks.stream_of};
    for (int i = 0; i < 4; i++) {
        Py_XSETREF(*kept[i], Py_NewRef(made[i]));
    }
    hooks.state = PyModule_GetState(module);
    hooks.plain_bits = plain_bits;
    hooks.slow_bits = slow_bits;
    hooks.grad_bit = grad_bit;
    return PyCapsule_New(&api, "dlpack_exchange_api", NULL);
}

/* The state of a Mersenne Twister of NumPy, and loops of NumPy's functions. */
#include "twister.h"

#include <numpy/random/bitgen.h>

/* Of the process, as NumPy is: a second interpreter is refused. */
static ufunc_loop loops[FUNCTION_COUNT][2];
static PyUFuncObject *ufuncs[FUNCTION_COUNT];
static PyTypeObject *twister_type;
static PyObject *capsule_name;
static enum { UNKNOWN, KNOWN, FOREIGN } layout;

/* ---- loops ----------------------------------------------------------------------------------- */

void
apply(numpy_function function, int precision, void *result, void *numbers, npy_intp count)
{
    ufunc_loop loop = loops[function][precision];
    npy_intp step = precision ? sizeof(double) : sizeof(float), steps[2] = {step, step};
    char *data[2] = {numbers, result};
    loop.function(data, &count, steps, loop.data);
}

/* ---- the state ------------------------------------------------------------------------------- */

static twister *
state_of(PyObject *bits)
{
    PyObject *capsule = PyObject_GetAttr(bits, capsule_name);
    if (capsule == NULL) {
        return NULL;
    }
    bitgen_t *found = PyCapsule_GetPointer(capsule, "BitGenerator");
    Py_DECREF(capsule); /* the generator holds it */
    return found == NULL ? NULL : found->state;
}

/* Whether the words of a new generator lie in memory as NumPy's functions say, before and after
 * they are renewed. 1, 0, or -1 with an exception. */
static int
has_known_layout(PyObject *bits)
{
    twister *state = state_of(bits), expected;
    PyObject *words = NULL;
    int same = state == NULL ? -1 : 1;
    for (int trial = 0; same == 1 && trial < 3; trial++) {
        Py_XSETREF(words, PyObject_CallMethod(bits, "random_raw", "i", TWISTER_WORDS / 2));
        if (words == NULL) {
            same = -1;
            break;
        }
        PyArrayObject *array = (PyArrayObject *)words;
        if (trial > 0) {
            uint32_t made[TWISTER_WORDS / 2];
            draw_words(&expected, made, TWISTER_WORDS / 2);
            for (int i = 0; i < TWISTER_WORDS / 2; i++) {
                same = same && ((uint64_t *)PyArray_DATA(array))[i] == made[i];
            }
            same = same && memcmp(&expected, state, sizeof expected) == 0;
        }
        expected = *state;
        same = same && expected.at >= 0 && expected.at <= TWISTER_WORDS;
    }
    Py_XDECREF(words);
    return same;
}

/* Fill what the process needs, once. Return 0, or -1 with an exception. */
static int
prepare(void)
{
    static const char *const names[] = {"log", "log1p", "cos", "sin"};
    if (capsule_name == NULL) {
        capsule_name = PyUnicode_InternFromString("capsule");
    }
    PyObject *random = capsule_name == NULL ? NULL : PyImport_ImportModule("numpy.random");
    PyObject *type = random == NULL ? NULL : PyObject_GetAttrString(random, "MT19937");
    PyObject *bits = type == NULL ? NULL : PyObject_CallFunction(type, "i", 0);
    int known = bits == NULL ? -1 : has_known_layout(bits);
    for (int i = 0; known == 1 && i < 2 * FUNCTION_COUNT; i++) {
        known = find_ufunc_loop(
            names[i / 2], &ufuncs[i / 2], i % 2 ? NPY_DOUBLE : NPY_FLOAT, &loops[i / 2][i % 2]);
        known = known == 0 && PyErr_Occurred() != NULL ? -1 : known;
    }
    if (known == 1) {
        twister_type = (PyTypeObject *)Py_NewRef(type);
    }
    layout = known == 1 ? KNOWN : known == 0 ? FOREIGN : UNKNOWN;
    Py_XDECREF(bits);
    Py_XDECREF(type);
    Py_XDECREF(random);
    return known < 0 ? -1 : 0;
}

twister *
twister_of(PyObject *bits)
{
    if (UNLIKELY(layout == UNKNOWN) && prepare() < 0) {
        return NULL;
    }
    return layout == KNOWN && bits != NULL && Py_IS_TYPE(bits, twister_type) ? state_of(bits) : NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

static npy_intp
words_left(twister *source)
{
    if (source->at == TWISTER_WORDS) {
        kernels_in_force->random->renew(source->words);
        source->at = 0;
    }
    return TWISTER_WORDS - source->at;
}

void
draw_words(twister *source, uint32_t *words, npy_intp count)
{
    while (count > 0) {
        npy_intp left = words_left(source), taken = left < count ? left : count;
        kernels_in_force->random->temper(words, source->words + source->at, taken);
        source->at += (int)taken;
        words += taken;
        count -= taken;
    }
}

void
skip_words(twister *source, npy_intp count)
{
    while (count > 0) {
        npy_intp left = words_left(source), taken = left < count ? left : count;
        source->at += (int)taken;
        count -= taken;
    }
}

/* Chooses the instruction set that kernels run with. */
#include "table.h"

#include <stdlib.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#define LABEL "x86-64-"
#else
#define LABEL ""
#endif

#define VARIABLE "DOVETAIL_NATIVE_ISA"

static const instruction_set sets[] = {
#define ADDRESS(type, name, set) &JOIN(name, set),
#define SET(name) {LABEL #name, KERNEL_TABLES(ADDRESS, name)},
    FOR_INSTRUCTION_SETS(SET)
};
enum { SET_COUNT = sizeof sets / sizeof sets[0] };

const instruction_set *kernels_in_force;

#if defined(__x86_64__) || defined(_M_X64)

enum { /* bits of the registers that CPUID fills */
    LEAF1_ECX = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23, /* to SSE4.2, POPCNT */
    LEAF1_ECX_V3 = 1 << 12 | 1 << 22 | 1 << 26 | 1 << 27 | 1 << 28 | 1 << 29, /* FMA, AVX, F16C */
    LEAF7_EBX_V3 = 1 << 3 | 1 << 5 | 1 << 8,                                  /* BMI, AVX2, BMI2 */
    LEAF8_ECX_V3 = 1 << 5,                                                    /* LZCNT */
    YMM_STATE = 0x6,
    ZMM_STATE = 0xe6,
};
/* AVX512: F, DQ, CD, BW, VL */
#define LEAF7_EBX_V4 (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)

static int
has_all(unsigned found, unsigned wanted)
{
    return (found & wanted) == wanted;
}

/* How many of the sets, from the first on, the processor and the system have. */
static int
count_supported(void)
{
    unsigned eax, ebx, ecx, edx, leaf7_ebx, leaf8_ecx, state;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has_all(ecx, LEAF1_ECX)) {
        return 0;
    }
    unsigned leaf1_ecx = ecx;
    if (!has_all(leaf1_ecx, LEAF1_ECX_V3) ||
        !__get_cpuid_count(7, 0, &eax, &leaf7_ebx, &ecx, &edx) ||
        !__get_cpuid(0x80000001, &eax, &ebx, &leaf8_ecx, &edx) ||
        !has_all(leaf7_ebx, LEAF7_EBX_V3) || !has_all(leaf8_ecx, LEAF8_ECX_V3)) {
        return 1;
    }
    /* Which registers the system saves when it switches threads. */
    __asm__("xgetbv" : "=a"(state), "=d"(edx) : "c"(0));
    if (!has_all(state, YMM_STATE)) {
        return 1;
    }
    return has_all(leaf7_ebx, LEAF7_EBX_V4) && has_all(state, ZMM_STATE) ? 3 : 2;
}

#else

static int
count_supported(void)
{
    return SET_COUNT;
}

#endif

/* The names of the first `count` sets, in a list. */
static PyObject *
names_of_sets(int count)
{
    PyObject *names = PyList_New(count);
    for (int i = 0; names != NULL && i < count; i++) {
        PyObject *name = PyUnicode_FromString(sets[i].name);
        if (name == NULL) {
            Py_CLEAR(names);
            break;
        }
        PyList_SET_ITEM(names, i, name);
    }
    return names;
}

int
choose_instruction_set(PyObject *module)
{
    int count = count_supported();
    PyObject *names = names_of_sets(count);
    if (names == NULL) {
        return -1;
    }
    const char *wanted = getenv(VARIABLE);
    int chosen = count - 1;
    if (wanted != NULL && wanted[0] != '\0') {
        for (chosen = count - 1; chosen >= 0 && strcmp(sets[chosen].name, wanted); chosen--) {
        }
        if (chosen < 0) {
            PyObject *name = PyUnicode_DecodeFSDefault(wanted);
            if (name != NULL) {
                PyErr_Format(
                    PyExc_ImportError,
                    VARIABLE "=%.100R names no instruction set that this processor runs. It runs "
                    "%R; unset the variable to take the last of them.", name, names);
                Py_DECREF(name);
            }
        }
    }
    else if (count == 0) {
        PyErr_SetString(
            PyExc_ImportError, "this processor runs none of the instruction sets that the kernels "
            "are compiled for, the lowest of which is x86-64-v2");
    }
    if (chosen < 0) {
        Py_DECREF(names);
        return -1;
    }
    kernels_in_force = &sets[chosen];
    int status = PyModule_AddObjectRef(module, "INSTRUCTION_SETS", names);
    Py_DECREF(names);
    if (status < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "INSTRUCTION_SET", kernels_in_force->name);
}

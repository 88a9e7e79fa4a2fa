/* For every kernel file: it is compiled once for each instruction set, with -DISA=v2, v3, …, and
 * the name of what it exports ends in that. Nothing here knows Python. */
#ifndef DOVETAIL_INSTRUCTION_SET_H
#define DOVETAIL_INSTRUCTION_SET_H

#include <stddef.h>
#include <stdint.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* The sets that kernels are compiled for, lowest first. */
#if defined(__x86_64__) || defined(_M_X64)
#define FOR_INSTRUCTION_SETS(do) do(v2) do(v3) do(v4)
#elif defined(__aarch64__) || defined(_M_ARM64)
#define FOR_INSTRUCTION_SETS(do) do(neon)
#else
#define FOR_INSTRUCTION_SETS(do) do(baseline)
#endif

#define INLINE static inline __attribute__((always_inline))

/* The size of a register. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* a * b + c: rounded once where the instruction set can, else twice. The compiler contracts
 * nothing by itself (-ffp-contract=off), so that the last elements of a row, which no vector takes,
 * have the bits that they would have in a vector. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define HAS_FMA 1
#define FMA_f32(a, b, c) __builtin_fmaf(a, b, c)
#define FMA_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define HAS_FMA 0
#define FMA_f32(a, b, c) ((a) * (b) + (c))
#define FMA_f64(a, b, c) ((a) * (b) + (c))
#endif

#endif

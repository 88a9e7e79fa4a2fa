/* The macros of the header of that name that the headers of the CUDA runtime use, for a host compiler. */
#pragma once
#define __no_return__ __attribute__((noreturn))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __maxnreg__(a)
#define __thread__ __thread
#define __import__
#define __export__
#define __cdecl
#define __builtin_align__(n) __align__(n)
#define __annotate__(a) __attribute__((a))
#define __location__(a)
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __specialization_static static
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__

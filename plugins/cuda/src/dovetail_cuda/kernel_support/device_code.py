"""What the fused kernels share: the dtype to compute in, and sums over the threads of a block."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import cupy
import numpy as np

from ..namespace.kernel_namespace import like_operands

WIDE: Final = """
template <class T> struct wide_of { typedef T type; };
template <> struct wide_of<float16> { typedef float type; };
template <> struct wide_of<bfloat16> { typedef float type; };
#define WIDE(x) ((typename wide_of<T>::type)(x))
"""
"""``wide W = WIDE(x)``: half precision is computed in float."""

_BLOCKS: Final = """
#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/float16.cuh>
#include <cupy/bfloat16.cuh>
typedef DTYPE T;
typedef WIDE_DTYPE W;
#define THREADS 128

struct add_of { static __device__ W start() { return 0; }
  static __device__ W of(W a, W b) { return a + b; } };
struct greatest_of { static __device__ W start() { return (W)__int_as_float(0xff800000); }
  static __device__ W of(W a, W b) { return a > b || a != a ? a : b; } };

// Combines what the threads of a block have, for all of them; NaN is the greatest.
template <class Combine> __device__ W across_block(W value) {
  __shared__ W parts[THREADS];
  __syncthreads();
  parts[threadIdx.x] = value;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      parts[threadIdx.x] = Combine::of(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  __syncthreads();
  return parts[0];
}
"""
THREADS: Final = 128
_NAMES: Final = {"float16": "float16", "bfloat16": "bfloat16", "float32": "float"}


@cache
def pointwise(name: str, parameters: str, results: str, code: str, before: str = "") -> Any:
    """Return an elementwise kernel, in whose code ``WIDE(x)`` is `x` in the dtype to compute in,
    `W`.
    """
    body = f"typedef typename wide_of<T>::type W;\n{code}"
    kernel = cupy.ElementwiseKernel(
        parameters, results, body, f"dovetail_{name}", preamble=WIDE + before
    )
    return kernel if "raw" in parameters + results else like_operands(kernel)


@cache
def by_rows(name: str, native_dtype: Any, code: str) -> Any:
    """Return a kernel for blocks of `THREADS` threads, one for each row; in its code `T` is the
    dtype of the arrays and `W` the one to compute in.
    """
    own = _NAMES.get(native_dtype.name, "double")
    wide = "double" if own == "double" else "float"
    source = _BLOCKS.replace("WIDE_DTYPE", wide).replace("DTYPE", own) + code
    return cupy.RawKernel(source, f"dovetail_{name}", ("-std=c++17",))


def launch(kernel: Any, rows: int, *arguments: Any) -> None:
    """Run a kernel of `by_rows` for so many rows."""
    if rows:
        kernel((rows,), (THREADS,), arguments)


def number(value: float) -> Any:
    """Return a number as an argument of a kernel of `by_rows`."""
    return np.float64(value)

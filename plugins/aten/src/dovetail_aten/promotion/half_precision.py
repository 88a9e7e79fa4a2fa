"""Half precision beside numbers: as PyTorch, some operators compute in single precision, with the
number as it is, and round once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_dispatcher import Kernel, Operator
from dovetail_kernel import Backend, bfloat16, dtype, float16, float32, int64
from dovetail_kernel.signature import DTYPE_MASK, PYTHON_SCALAR

from ..typing import Array

HALVES: Final = (float16, bfloat16)
"""Floating-point dtypes of two bytes."""

HALF_BITS: Final = float16.bit | bfloat16.bit


def computes_in_single(op: Operator, kernel: Kernel, key: int) -> bool:
    """Return whether a route for arguments of half precision computes in single precision.

    The product of two tensors of one dtype need not: the kernel rounds it once anyway. Neither
    need a kernel that says of itself that it ``rounds_once``.
    """
    if not op.half or not key & HALF_BITS or not kernel.returns_by_schema:
        return False
    if getattr(kernel.fn, "rounds_once", False):
        return False
    others = key & DTYPE_MASK & ~HALF_BITS
    return op.half == "single" or bool(key & PYTHON_SCALAR or others)


def in_single(backend: Backend, function: Callable[..., object]) -> Callable[..., Any]:
    """Return an array kernel that computes half precision in single precision, and rounds its
    result.

    Arrays of several dtypes, of which more than one has dimensions, are left to `function`.
    """
    compiled = backend.arrays.rounded_once(function)
    if compiled is not None:
        return compiled
    cast, native = backend.arrays.cast, backend.arrays.native_dtypes
    single, halves = native[float32], [native[each] for each in HALVES if each in native]

    def compute(x: Array, *args: Any, **kwargs: Any) -> Any:
        own = x.dtype
        others = [each for each in args if hasattr(each, "dtype")]
        if own not in halves or any([each.dtype != own and each.ndim for each in others]):
            return function(x, *args, **kwargs)
        wide = [cast(each, single) if hasattr(each, "dtype") else each for each in args]
        return cast(function(cast(x, single), *wide, **kwargs), own)

    if getattr(function, "takes_halves", False):  # a compiled kernel, for arrays of one dtype
        return backend.arrays.compiled(function.__name__, compute)
    return compute


def dtype_of_number(wanted: dtype, rule: str, in_single: bool) -> dtype:
    """Return the dtype of a number beside operands of dtype `wanted` under promotion rule `rule`.

    In routes that are `in_single`, it has single precision beside half precision. Under the rule
    ``operands`` an integer stays what it is, since the kernel may divide truly: 300 is no uint8.
    """
    if rule == "operands" and wanted.category == 1:
        return int64
    return float32 if in_single and wanted in HALVES else wanted

"""The bits of numbers, and other single instructions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_LLVM = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
    types.int64: ir.IntType(64),
}
_SAME_SIZE = {
    types.float32: types.int32,
    types.float64: types.int64,
    types.int32: types.float32,
    types.int64: types.float64,
}


@intrinsic
def bits(_context: Any, x: Any) -> Any:
    """Return the bits of a float as an integer, those of an integer as a float."""
    result = _SAME_SIZE[x]

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _LLVM[result])

    return result(x), generate


__all__ = ["bits"]

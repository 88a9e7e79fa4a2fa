"""The names that the array kernels use of an array namespace: what a namespace needs to run them
all.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

__all__ = ["NAMES", "with_names"]

_TEXT = """
    absolute add all amax amin any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    argmax argmin argsort array asarray bincount bitwise_and bitwise_or bitwise_xor bool_
    broadcast_arrays ceil complex128 concatenate conjugate cos cosh cumprod cumsum dtype
    empty_like equal exp exp2 expand_dims expm1 eye flip float64 floor floor_divide fmod full
    greater greater_equal hypot int64 invert isfinite isinf isnan less less_equal log log10
    log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul maximum minimum
    multiply negative nonzero not_equal ones ones_like power prod reciprocal remainder rint sign
    sin sinh sqrt stack subtract sum take take_along_axis tan tanh true_divide trunc uint64
    uint8 where zeros zeros_like
"""
NAMES: Final = tuple(_TEXT.split())


def with_names(xp: Any) -> ModuleType:
    """Return a module with those of the names that a namespace has.

    CPython remembers where the attributes of a module lie, unless the module has a ``__getattr__``,
    as most array namespaces do: then reading one takes five times as long.
    """
    made = ModuleType(f"{getattr(xp, '__name__', 'namespace')} for array kernels")
    for name in NAMES:
        if hasattr(xp, name):
            setattr(made, name, getattr(xp, name))
    return made

"""The names that the families of array kernels use of an array namespace. Elementwise operators
besides use the function of their own name: see `namespace_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import ModuleType
from typing import Any, Final

from ..typing import Array

_TEXT = """
    absolute add all amax amin any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    argmax argmin argsort array asarray bincount bitwise_and bitwise_or bitwise_xor bool_
    broadcast_arrays complex128 concatenate conjugate copysign cos cumprod cumsum equal exp
    expand_dims expm1 eye flip float64 floor floor_divide fmod frexp full full_like greater
    greater_equal hypot int64 invert isfinite isin isinf isnan left_shift less less_equal lexsort
    linalg log log1p logaddexp logaddexp2 logical_and logical_not logical_or matmul maximum minimum
    multiply negative nextafter nonzero not_equal ones ones_like power prod reciprocal remainder
    repeat reshape right_shift rint searchsorted sign signbit sin sqrt stack subtract sum take
    take_along_axis tan tanh true_divide trunc uint8 where zeros zeros_like
"""
NAMES: Final = tuple(_TEXT.split())


class _Named(ModuleType):
    """A module with those of the names that a namespace has."""


def with_names(
    xp: Any, *, undispatched: bool = False, quick: Mapping[str, Callable[..., object]] | None = None
) -> ModuleType:
    """Return a module with those of the names that a namespace has.

    Parameters
    ----------
    xp
        The namespace.
    undispatched
        Take what stands behind functions that ask their arguments for ``__array_function__``
        first, as NumPy's do: no array of the backend has one of its own.
    quick
        Functions by the names in whose place they are taken.

    Notes
    -----
    CPython remembers where the attributes of a module lie, unless the module has a ``__getattr__``,
    as most array namespaces do: then reading one takes five times as long. A module that was made
    here is returned as it is: families share one.
    """
    if isinstance(xp, _Named):
        return xp
    made = _Named(f"{getattr(xp, '__name__', 'namespace')} for array kernels")
    for name in NAMES:
        if hasattr(xp, name):
            function = getattr(xp, name)
            if undispatched:
                function = getattr(function, "_implementation", function)
            setattr(made, name, _as_in_standard(function) if name == "argsort" else function)
    for name, function in (quick or {}).items():
        setattr(made, name, function)
    return made


def _as_in_standard(argsort: Callable[..., object]) -> Callable[..., Any]:
    """Return `argsort` with the argument ``stable`` of the array API standard, which NumPy and JAX
    know; CuPy has ``kind`` alone.
    """
    known = signature(argsort).parameters
    if "stable" in known or "kind" not in known:
        return argsort

    def stably(array: Array, axis: int = -1, stable: bool = True) -> Any:
        return argsort(array, axis=axis, kind="stable" if stable else None)

    return stably

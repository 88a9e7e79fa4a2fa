"""Tells which subclasses of Tensor override functions or operators: those with a
`__torch_function__` or `__torch_dispatch__`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..signature import OVERRIDES
from ..types.bits import allocate_bit
from .dispatch_key import DispatchKey
from .dispatch_keyset import DispatchKeySet
from .state import Transition, set_state, state, torch_function_off

PYTHON_DISPATCH: Final = allocate_bit()
"""Signature bit of a tensor whose class has `__torch_dispatch__`: it carries the key Python, and
may have no data.
"""

PYTHON_KEYS: Final = DispatchKeySet.of(DispatchKey.Python, DispatchKey.PythonTLSSnapshot)

without_python: Final = Transition(
    lambda s: s._replace(included=s.included - PYTHON_KEYS, excluded=s.excluded | PYTHON_KEYS)
)
"""Go by the key Python, whether there are modes or arguments with `__torch_dispatch__`."""

NOT_PLAIN: Final = OVERRIDES | PYTHON_DISPATCH
"""Bits that a tensor has only if operating on its array is not all there is to an operator on it.
"""


def disabled_torch_function_impl(
    func: Callable[..., object],
    types: Sequence[type],
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
) -> Any:
    """Call `func` as if no argument overrode it. As the ``__torch_function__`` of a class it says
    that the class has none.

    Results are plain tensors then, as they are for `Parameter`.
    """
    before = state()
    try:
        set_state(torch_function_off(before))
        return func(*args, **(kwargs or {}))
    finally:
        set_state(before)


def disabled_torch_dispatch_impl(
    func: Callable[..., object],
    types: Sequence[type],
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
) -> Any:
    """Call `func` as if neither modes nor arguments had a ``__torch_dispatch__``. As that of a
    class it says that the class has none; a subclass reaches it by ``super()``.
    """
    before = state()
    try:
        set_state(without_python(before))
        return func(*args, **(kwargs or {}))
    finally:
        set_state(before)


def class_bits(cls: Any) -> int:
    """Return the signature bits that every instance of the Tensor subclass `cls` has.

    A class that brings a ``__torch_dispatch__`` and has the ``__torch_function__`` of plain tensors
    has none from here on: it decides itself of which class results are.
    """
    global _used
    own = cls.__dict__.get("__torch_dispatch__", disabled_torch_dispatch_impl)
    if own is not disabled_torch_dispatch_impl:
        defining = next(
            iter([base for base in cls.__mro__ if "__torch_function__" in base.__dict__])
        )
        if defining.__dict__.get("_is_plain", False):
            cls.__torch_function__ = disabled_torch_function_impl
    bits = 0
    if (
        getattr(cls, "__torch_function__", disabled_torch_function_impl)
        is not disabled_torch_function_impl
    ):
        bits |= OVERRIDES
    if (
        getattr(cls, "__torch_dispatch__", disabled_torch_dispatch_impl)
        is not disabled_torch_dispatch_impl
    ):
        bits |= PYTHON_DISPATCH
    _used = _used or bool(bits & OVERRIDES)
    return bits


_used = False


def is_used() -> bool:
    """Return whether the process has any class that overrides functions."""
    return _used

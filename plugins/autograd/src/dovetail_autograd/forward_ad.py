"""Forward-mode differentiation with dual numbers: ``autograd.forward_ad``.

A dual tensor carries a tangent along with its value (the primal), and every operator that it goes
through computes the tangent of its result beside the result: one pass gives the product of the
Jacobian with the tangent.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from dovetail_kernel import Guard, TensorBase

from .engine.active_levels import LEVELS
from .transforms.forward_mode.dual_interpreter import JvpLevel, attached_dual
from .transforms.forward_mode.duals import DualArray, with_primal
from .transforms.wrapped.arrays import is_wrapped

_current: ContextVar[DualLevel | None] = ContextVar("dovetail_dual_level", default=None)
_ONLY_LEVEL: Final = 0


class DualLevel(JvpLevel):
    """The level of `enter_dual_level`, inside of which the ordinary graph may be used as
    anywhere.
    """

    variables = (LEVELS, _current)
    transforms_function = False

    def change(self) -> int:
        """Become the innermost level, and the one that dual tensors are made at."""
        super().change()
        _current.set(self)
        return _ONLY_LEVEL


class UnpackedDualTensor(NamedTuple):
    """Holds the parts of a dual tensor, as `unpack_dual` returns them.

    Attributes
    ----------
    primal
        The value.
    tangent
        The tangent, or None.
    """

    primal: TensorBase
    tangent: TensorBase | None


def current_dual_level() -> int:
    """Return the number of the level that dual tensors are made at; -1 outside of any."""
    return -1 if _current.get() is None else _ONLY_LEVEL


def enter_dual_level() -> int:
    """Enter a forward level, in which dual tensors can be created, and return its number.

    Raises
    ------
    RuntimeError
        Inside another level.
    """
    if _current.get() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment. Leave the dual level first, "
            "or use "
            "dovetail.func.jvp, which nests."
        )
    DualLevel().__enter__()
    return _ONLY_LEVEL


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the forward level, and drop the tangents of all its dual tensors.

    Parameters
    ----------
    level
        The number that `enter_dual_level` returned. Default: the last one entered.

    Raises
    ------
    RuntimeError
        If no level was entered, or `level` is not the last one.
    """
    current = _current.get()
    if current is None:
        raise RuntimeError(
            "Dual level must be a positive number: no level was entered. Call enter_dual_level() "
            "first."
        )
    if level is not None and level != _ONLY_LEVEL:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported: give "
            f"{_ONLY_LEVEL}, which enter_dual_level() returned, or nothing."
        )
    current.__exit__(None, None, None)


class dual_level(Guard):
    """Context manager that enters a forward level."""

    variables = DualLevel.variables

    def change(self) -> int:
        """Enter a level."""
        return enter_dual_level()

    def restore(self, saved: object) -> None:
        """Leave it."""
        current = _current.get()
        if current is not None:
            current.is_alive = False
        super().restore(saved)


def make_dual(tensor: TensorBase, tangent: TensorBase, *, level: int | None = None) -> Any:
    """Return a view of `tensor` that carries `tangent`.

    Parameters
    ----------
    tensor
        A tensor of floating-point or complex dtype.
    tangent
        Its tangent, of the same shape and device; cast if its dtype differs. `unpack_dual` returns
        this tensor.
    level
        The number that `enter_dual_level` returned. Default: the current level.

    Raises
    ------
    RuntimeError
        Outside a level, for a tangent of another shape or device, or if either is already dual.
    ValueError
        For a tensor or tangent whose dtype has no derivatives.
    TypeError
        For anything but tensors.
    """
    current = _current.get()
    if current is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"make_dual(): argument '{name}' must be Tensor, not {type(value).__name__}"
            )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.dtype.is_floating_point or value.dtype.is_complex):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}. "
                "Convert it first."
            )
    if current.tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not "
            "supported. Take unpack_dual(tensor).primal."
        )
    if current.tangent(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported. Nest "
            "dovetail.func.jvp for higher derivatives."
        )
    return attached_dual(current, tensor, tangent)


def unpack_dual(tensor: TensorBase, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal and the tangent of `tensor`; the tangent is None if `tensor` is not dual,
    or if its level was left.

    Raises
    ------
    TypeError
        For anything but a tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(
            f"_unpack_dual(): argument 'dual' must be Tensor, not {type(tensor).__name__}"
        )
    current = _current.get()
    while (
        is_wrapped(tensor)
        and isinstance(tensor.array, DualArray)
        and not tensor.array.level.is_alive
    ):
        tensor = tensor.array.physical
    if current is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(current.primal(tensor), current.tangent(tensor))


__all__ = [
    "UnpackedDualTensor",
    "current_dual_level",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
    "with_primal",
]

"""``dovetail._check`` and related functions: errors for violated conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import bool as bool_
from dovetail_kernel import warn_user

Message = Callable[[], Any] | None

_NO_MESSAGE = "Expected cond to be True, but got False. Give a message: a function of no arguments."


def _check_with(error_type: type[Exception], cond: object, message: Message = None) -> None:
    """Raise an error of a type if a condition does not hold.

    Parameters
    ----------
    error_type : type
        Type of the error.
    cond : bool
    message : callable, optional
        Function that returns the message; called only on an error.

    Raises
    ------
    TypeError
        If `cond` is not a bool, or `message` can't be called.
    """
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use "
                "dovetail._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_NO_MESSAGE)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: object, message: Message = None) -> None:
    """Raise RuntimeError if a condition does not hold; see `_check_with`."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: object, message: Message = None) -> None:
    """Raise IndexError if a condition does not hold; see `_check_with`."""
    _check_with(IndexError, cond, message)


def _check_value(cond: object, message: Message = None) -> None:
    """Raise ValueError if a condition does not hold; see `_check_with`."""
    _check_with(ValueError, cond, message)


def _check_type(cond: object, message: Message = None) -> None:
    """Raise TypeError if a condition does not hold; see `_check_with`."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: object, message: Message = None) -> None:
    """Raise NotImplementedError if a condition does not hold; see `_check_with`."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:
    """Raise RuntimeError if `i` is negative, or above `max`. Deprecated: use `_check`."""
    warn_user(
        "_check_is_size will be removed in a future PyTorch release along with "
        "guard_size_oblivious.     Use _check(i >= 0) instead.",
        FutureWarning,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: object, message: Message = None
) -> None:
    """Raise an error of a type if an element of a tensor of bools is False; see `_check_with`."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype dovetail.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: object, message: Message = None) -> None:
    """Raise RuntimeError if an element of a tensor of bools is False; see `_check_with`."""
    _check_tensor_all_with(RuntimeError, cond, message)


@overridable
def _assert(condition: object, message: str) -> None:
    """Raise AssertionError if a condition, a bool or a tensor of one element, does not hold."""
    if not condition:
        raise AssertionError(message)


def _assert_async(
    input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """Raise RuntimeError if the one element of a tensor is zero. Waits for the value."""
    if not input:
        raise RuntimeError(assert_msg)

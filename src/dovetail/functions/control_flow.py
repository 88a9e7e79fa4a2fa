"""Branches and loops as functions, as in ``torch.cond``: they run eagerly, and autograd records
their inner calls.
"""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor


def cond(
    pred: bool | float | Tensor,
    true_fn: Any,
    false_fn: Any,
    operands: tuple[object, ...] | list[object] = (),
) -> Any:
    """Return ``true_fn(*operands)`` if `pred` holds, else ``false_fn(*operands)``.

    Parameters
    ----------
    pred
        A number, or a tensor of one element.
    true_fn, false_fn
        Functions, one of which is called.
    operands
        A tuple or list of the arguments.

    Raises
    ------
    RuntimeError
        If an argument is of another kind.
    """
    for function in (true_fn, false_fn):
        if not callable(function):
            raise RuntimeError(f"Expect both branches to be callable, but got {function!r:.60}.")
    if not isinstance(operands, tuple | list):
        raise RuntimeError(
            "Expect operands to be a tuple of tensors, but got "
            f"{type(operands).__name__}. Put a comma behind a single one: (x,)."
        )
    return (true_fn if _holds(pred, "pred") else false_fn)(*operands)


def while_loop(cond_fn: object, body_fn: object, carried_inputs: object) -> tuple[Any, ...]:
    """Call ``body_fn`` with what it returned before, as long as ``cond_fn`` of that holds.

    Parameters
    ----------
    cond_fn
        Takes the values and returns a bool, or a tensor of one element.
    body_fn
        Takes the values and returns a tuple of as many.
    carried_inputs
        A tuple or list of the first values.

    Returns
    -------
    tuple
        The values for which ``cond_fn`` did not hold.

    Raises
    ------
    RuntimeError
        If an argument is of another kind, and if ``body_fn`` returns something else than a tuple
        or list of as many values.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of tensors, but got "
            f"{type(carried_inputs).__name__}. Put a comma behind a single one: (x,)."
        )
    values: tuple[Any, ...] = tuple(carried_inputs)
    while _holds(cond_fn(*values), "what cond_fn returns"):
        following = body_fn(*values)
        if not isinstance(following, tuple | list) or len(following) != len(values):
            raise RuntimeError(
                f"body_fn should return a tuple of {len(values)} values, as it takes, but got "
                f"{following!r:.100}."
            )
        values = tuple(following)
    return values


def _holds(value: object, name: str) -> bool:
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise RuntimeError(
                f"Expected {name} to be bool or single-element tensor, but got {value!r:.100}."
            )
        return bool(value.item())
    if not isinstance(value, bool | int | float):
        raise RuntimeError(
            f"Expected {name} to be bool or single-element tensor, but got {value!r:.100}."
        )
    return bool(value)

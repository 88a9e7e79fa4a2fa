"""Checks of the options that optimizers share."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor


def check_non_negative(**options: Any) -> None:
    """Raise ValueError for the first option below zero; underscores in its name stand for
    spaces.
    """
    for name, value in options.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError(
                f"Tensor {name.replace('learning_rate', 'lr')} must be 1-element. Pass a float."
            )
        if not value >= 0.0:
            text = name.replace("_", " ")
            raise ValueError(f"Invalid {text}: {value}. It must not be negative.")


def check_flags(
    *,
    differentiable: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
) -> None:
    """Accept PyTorch's implementation flags, which cannot change the result, and refuse those that
    contradict each other.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`. Leave `fused` out.")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together. Leave both out.")


def number(value: Any) -> float:
    """Return an option that may be a number or a one-element tensor as a number."""
    result: float = value.item() if isinstance(value, Tensor) else value
    return result


def learning_rate(group: dict[str, Any]) -> float | Tensor:
    """Return the learning rate of a group as a number; as it is where steps are recorded."""
    value: float | Tensor = group["lr"]
    return value if group["differentiable"] else number(value)


def add_scaled(parameter: Tensor, update: Tensor, factor: float | Tensor) -> None:
    """Add `update` times a number, or a one-element tensor, to `parameter` in place."""
    if isinstance(factor, Tensor):
        parameter.addcmul_(update, factor)
    else:
        parameter.add_(update, alpha=factor)


def add_quotient(
    parameter: Tensor, numerator: Tensor, denominator: Tensor, factor: float | Tensor
) -> None:
    """Add a quotient times a number, or a one-element tensor, to `parameter` in place."""
    if isinstance(factor, Tensor):
        parameter.addcdiv_(numerator * factor, denominator)
    else:
        parameter.addcdiv_(numerator, denominator, value=factor)


def add_number(tensor: Tensor, value: float, recorded: bool) -> Tensor:
    """Return `tensor` plus a number: `tensor` itself, unless its present value is recorded."""
    return tensor.add(value) if recorded else tensor.add_(value)

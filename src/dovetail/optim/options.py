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
            text = name if name.endswith("_decay") else name.replace("_", " ")
            raise ValueError(f"Invalid {text}: {value}. It must not be negative.")


def check_flags(
    name: str,
    *,
    differentiable: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
) -> None:
    """Accept PyTorch's implementation flags where they cannot change the result, and refuse the
    others.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`. Leave `fused` out.")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together. Leave both out.")
    if differentiable:
        raise NotImplementedError(
            f"{name}(differentiable=True) is not supported: step() updates in place without "
            "recording. "
            "Write the update with operators and differentiate it by dovetail.autograd.grad."
        )


def number(value: Any) -> float:
    """Return an option that may be a number or a one-element tensor as a number."""
    result: float = value.item() if isinstance(value, Tensor) else value
    return result

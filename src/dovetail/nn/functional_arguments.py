"""Deprecated arguments of the functions in `nn.functional`, and codes of operator arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from dovetail_aten import Tensor
from dovetail_kernel import warn_user

T = TypeVar("T", int, float)

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
"""The operators' codes for reductions."""


def reduction_code(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> int:
    """Return the operators' code of a reduction, or of the deprecated pair of flags."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{reduction} is not a valid value for reduction. Use 'mean', 'sum' or 'none'."
        )
    return REDUCTIONS[reduction]


def reduced(loss: Tensor, code: int) -> Tensor:
    """Reduce the losses of all elements by the reduction with this `code`."""
    if code == REDUCTIONS["none"]:
        return loss
    return loss.mean() if code == REDUCTIONS["mean"] else loss.sum()


def reduction_of_flags(size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction for the flags ``size_average`` and ``reduce``."""
    over_elements = "sum" if size_average is False else "mean"
    return "none" if reduce is False else over_elements


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Translate the deprecated flags ``size_average`` and ``reduce``, with a warning."""
    reduction = reduction_of_flags(size_average, reduce)
    warn_user(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' "
        "instead."
    )
    return reduction


def softmax_dim(name: str, input: Tensor, dim: int | None) -> int:
    """Return `dim`, or the deprecated default with a warning."""
    return _get_softmax_dim(name, input.dim(), 3) if dim is None else dim


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """Return the deprecated default of a dimension, with a warning."""
    warn_user(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


def warn_if_broadcast(input: Tensor, target: Tensor) -> None:
    """Warn if the shapes of a loss's arguments differ."""
    if target.shape != input.shape:
        warn_user(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size."
        )


def repeated(value: T | Sequence[T], count: int) -> tuple[T, ...]:
    """Return a number for each of `count` dimensions; a sequence is returned unchanged."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * count

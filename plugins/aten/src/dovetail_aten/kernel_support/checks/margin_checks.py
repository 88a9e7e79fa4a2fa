"""What losses with margins, and distances between rows, refuse, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import dtype, int64
from dovetail_kernel.types import FLOAT

from ...typing import Array, TensorLike


def _check_scores(name: str, x: TensorLike, own: dtype) -> None:
    """Raise an error for arguments other than scores of classes or a batch of them."""
    if x.ndim > 2 or 0 in x.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(x.shape)}. Give one row of scores for each sample."
        )
    if not own.is_floating_point or own.itemsize < 4:
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{own.scalar_name}'. Convert to float32 first."
        )


def _check_places(places: dtype) -> None:
    if places is not int64:
        raise RuntimeError(
            f"expected scalar type Long but found {places.scalar_name}. Convert the target."
        )


def check_classes(
    x: Array, target: Any, weight: Any, p: Any, own: dtype, places: dtype, of_weight: dtype | None
) -> tuple[int, int]:
    """Raise an error for arguments that multi_margin_loss does not support; return the numbers of
    samples and of classes.

    Raises
    ------
    RuntimeError, NotImplementedError
        With PyTorch's message.
    """
    if p not in (1, 2):
        raise RuntimeError(f"only p == 1 and p == 2 supported, got {p}. Give one of them.")
    _check_scores("multi_margin_loss_cpu_kernel", x, own)
    shape = tuple(x.shape)
    samples, count = shape if x.ndim == 2 else (1, *(shape or (1,)))
    sizes = tuple(target.shape)
    if len(sizes) > 1 or (sizes or (1,)) != (samples,):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{samples}], but got "
            f"{list(sizes)}. Input has shape {list(shape)}."
        )
    _check_places(places)
    if weight is not None and tuple(weight.shape) != (count,):
        raise RuntimeError(
            f"inconsistent weight size, expected {count} but got {list(weight.shape)}. Give one "
            "weight for every class."
        )
    if of_weight is not None and of_weight is not own:
        raise RuntimeError(
            f"expected scalar type {own.scalar_name} but found {of_weight.scalar_name}. "
            "Convert the weight."
        )
    return samples, count


def check_labels(x: Any, target: TensorLike, own: dtype, places: dtype) -> tuple[int, int]:
    """Raise an error for arguments that multilabel_margin_loss does not support; return the numbers
    of samples and of classes.

    Raises
    ------
    RuntimeError, NotImplementedError
        With PyTorch's message.
    """
    _check_scores("multilabel_margin_loss_forward_out_frame", x, own)
    shape = tuple(x.shape)
    if tuple(target.shape) != shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(shape)}. Fill the labels of every sample up with -1."
        )
    _check_places(places)
    return (shape[0], shape[1]) if x.ndim == 2 else (1, *(shape or (1,)))


def out_of_range(count: int) -> RuntimeError:
    """Return the error for a class that there is not."""
    return RuntimeError(f"target out of range. There are {count} classes, counted from 0.")


def check_pdist(x: Array, p: float, own: dtype) -> None:
    """Raise an error for arguments that pdist does not support.

    Raises
    ------
    RuntimeError, NotImplementedError
        With PyTorch's message.
    """
    if x.ndim != 2:
        raise RuntimeError(
            f"pdist only supports 2D tensors, got: {x.ndim}D. Give one vector in each row."
        )
    if own.category != FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes. Convert the tensor.")
    if own.itemsize < 4:
        raise NotImplementedError(
            f"\"pdist\" not implemented for '{own.scalar_name}'. Convert to float32 first."
        )
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values. Give 0 or more.")

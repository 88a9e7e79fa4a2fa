"""Masks, and replacements for masked elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import finfo, get_default_dtype, iinfo, int64, strided

from ..sparse.coordinate_tensor import handles

Dims = int | Sequence[int] | None


_ELEMENTWISE: Final = ("cumsum", "cumprod", "softmax", "log_softmax", "softmin", "normalize")
_REDUCTIONS: Final = (
    *("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std"),
    "logsumexp",
)


def filled(x: Tensor, mask: Tensor | None, nothing: float) -> Tensor:
    """Return `x` with a neutral number in place of what is masked."""
    return x if mask is None else aten.where(_input_mask(x, mask=mask), x, x.new_full((), nothing))


def _input_mask(input: Tensor, *args: object, mask: Tensor | None, **named: object) -> Tensor:
    """Return the mask of a call of a masked function in the shape of its input."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask. Give mask=.")
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input). Reshape it."
        )
    whole: Tensor = mask.to(bool_).expand(input.shape)
    return whole


def _output_mask(op: Callable[..., Tensor], input: Tensor, *args: Any, **named: Any) -> Tensor:
    """Return which elements of the result of a masked function depend on unmasked elements."""
    whole, name = _input_mask(input, **named), op.__name__
    if name in _ELEMENTWISE:
        return whole
    if name not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got {name}). Pass another one.")
    given = args[1:] if name == "norm" else args  # behind the order
    dims = _canonical_dim(given[0] if given else named.get("dim"), input.ndim)
    for dim in reversed(dims if input.ndim else ()):
        whole = aten.any(whole, dim, bool(named.get("keepdim")))
    return whole


def count(x: Tensor, mask: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return how many elements are not masked."""
    return aten.sum(_input_mask(x, mask=mask), dims, keepdim, dtype=int64)


def _canonical_dim(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the dimensions of a reduction in ascending order; none named means all.

    Raises
    ------
    IndexError
        If there is no such dimension.
    RuntimeError
        If one occurs twice.
    """
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    known = range(max(ndim, 1))
    if not dims:
        return tuple(known)
    for dim in dims:
        if not -len(known) <= dim < len(known):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-len(known)}, {known[-1]}],"
                f" but got {dim})"
            )
    places = [known[each] for each in dims]
    for place in places:
        if places.count(place) > 1:
            raise RuntimeError(
                f"dim={place} appears multiple times in the list of dims. Name it once."
            )
    return tuple(sorted(places))


Masked = TypeVar("Masked", bound=Callable[..., Tensor])


def of_any_layout(function: Masked) -> Masked:
    """Let a masked function take sparse masks, and sparse tensors with a mask: the result is
    sparse, with the elements that depend on unmasked ones. Without a mask, only sums are defined.
    """

    def of_sparse(input: Tensor, *args: Any, mask: Tensor | None = None, **named: Any) -> Tensor:
        whole = None if mask is None else mask.to_dense()
        if input.layout is strided:
            return function(input, *args, mask=whole, **named)
        if whole is None and function.__name__ != "sum":
            raise ValueError(
                f"masked {function.__name__} expects explicit mask for {input.layout} tensor "
                "input. Give mask=, or pass input.to_dense()."
            )
        dense = input.to_dense()
        whole = dense != 0 if whole is None else whole
        result: Any = function(dense, *args, mask=whole, **named)
        kept: Any = _output_mask(function, dense, *args, mask=whole, **named)
        found: Tensor = result.sparse_mask(kept.to_sparse(layout=input.layout))
        return found

    handles(function, compressed=True)(of_sparse)
    return function


def converted(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.to(dtype)


def floating(x: Tensor) -> Tensor:
    inexact = x.dtype.is_floating_point or x.dtype.is_complex
    return x if inexact else x.to(get_default_dtype())


def least(x: Tensor) -> float:
    return -math.inf if x.dtype.is_floating_point else _limits(x).min


def greatest(x: Tensor) -> float:
    return math.inf if x.dtype.is_floating_point else _limits(x).max


def _limits(x: Tensor) -> Any:
    return finfo(x.dtype) if x.dtype.is_complex else iinfo(x.dtype)

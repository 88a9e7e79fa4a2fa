"""Helpers of distributions: broadcasting of parameters, conversion of probabilities and logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Number
from operator import attrgetter
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import enable_grad
from dovetail_dispatcher import ops
from dovetail_kernel import bool as bool_
from dovetail_kernel import finfo, get_default_dtype, restoring, without_wrappers

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "holds_everywhere",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return tensors broadcast to one shape; numbers get the dtype and device of the first tensor,
    or the default dtype.

    Raises
    ------
    ValueError
        For a value that is neither a tensor nor a number.
    """
    if not all([isinstance(value, Tensor | Number) for value in values]):
        raise ValueError(
            "Input arguments must all be instances of Number, dovetail.Tensor or objects "
            "implementing __torch_function__."
        )
    tensors = [value for value in values if isinstance(value, Tensor)]
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    if tensors:
        options = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    made = [
        value if isinstance(value, Tensor) else aten.tensor(value, **options) for value in values
    ]
    return tuple(aten.broadcast_tensors(made))


def holds_everywhere(mask: Tensor) -> bool:
    """Return whether all elements are True; inside a `vmap`, of all samples."""
    return bool(without_wrappers(mask).all())


def standard_gamma(concentration: Tensor) -> Tensor:
    """Return numbers of gamma distributions of rate 1, with gradients."""
    return ops.aten._standard_gamma(concentration)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return aten.normal(
        aten.zeros(shape, dtype=dtype, device=device), aten.ones(shape, dtype=dtype, device=device)
    )


def _sum_rightmost(value: object, dim: int) -> Any:
    """Return the sum over the last `dim` dimensions."""
    if not dim or not isinstance(value, Tensor):
        return value
    return value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities clamped to at least an epsilon from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Convert log-odds, or unnormalized log-probabilities, to probabilities."""
    if is_binary:
        return aten.sigmoid(logits)
    return aten.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Convert probabilities to log-odds or log-probabilities."""
    clamped = clamp_probs(probs)
    if is_binary:
        return aten.log(clamped) - aten.log1p(-clamped)
    return aten.log(clamped)


class lazy_property:
    """A property that is computed on first access, with gradients enabled."""

    def __init__(self, wrapped: Callable[..., object]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    @restoring()
    def __get__(self, instance: object, owner: object = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


def attribute(name: str, doc: str = "") -> Any:
    """Return a property that is another attribute, or with dots one of another attribute, with the
    docstring `doc`.
    """
    return property(attrgetter(name), doc=doc or f"`{name}`.")


def validated(method: Callable[..., object]) -> Callable[..., Any]:
    """Check the value that a method of a distribution is given, if arguments are checked."""

    @wraps(method)
    def check_first(self: Any, value: object) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return check_first


def exclusive(**given: Any) -> None:
    """Raise an error if several alternative arguments are passed, or none.

    Raises
    ------
    ValueError
        Unless exactly one is not None.
    """
    if sum(value is not None for value in given.values()) != 1:
        names = list(given)
        one_of = ", ".join(f"`{name}`" for name in names[:-1]) + f" or `{names[-1]}`"
        either = "Either " if len(names) == 2 else "Exactly one of "
        verb = " must be specified, but not both." if len(names) == 2 else " may be specified."
        raise ValueError(f"{either}{one_of}{verb}")


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of lower triangles up to a diagonal, row by row.

    Raises
    ------
    ValueError
        If the matrices have no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., aten.ones(n, n, dtype=bool_, device=mat.device).tril(diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return matrices whose lower triangles are `vec`, row by row, and 0 above.

    Raises
    ------
    ValueError
        If the number of elements does not form a triangle.
    """
    count = vec.shape[-1]
    # count = n (n + 1) / 2 + n diag - diag (diag + 1) / 2 for diag <= 0, solved for n
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    if abs(n - round(n)) > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    size = round(n)
    made = vec.new_zeros((*vec.shape[:-1], size, size))
    places = aten.ones(size, size, dtype=bool_, device=vec.device).tril(diag)
    return made.masked_scatter(places, vec)

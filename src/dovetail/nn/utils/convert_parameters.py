"""All parameters as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable

import dovetail_aten as aten
from dovetail_aten import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all ``parameters``, in order, as a 1-dimensional tensor with a
    gradient.
    """
    return aten.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the data of ``parameters`` to consecutive slices of ``vec``.

    Raises
    ------
    TypeError
        If ``vec`` is not a tensor.
    RuntimeError
        If ``vec`` has too few elements; no parameter is changed.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(
            f"expected dovetail.Tensor, but got: {type(vec).__name__}. Pass a 1-dimensional tensor."
        )
    targets = list(parameters)
    needed = sum(math.prod(parameter.shape) for parameter in targets)
    if vec.numel() < needed:
        raise RuntimeError(
            f"the vector has {vec.numel()} elements, but the parameters need {needed}. Pass all "
            "of them."
        )
    start = 0
    for parameter in targets:
        count = math.prod(parameter.shape)
        parameter.data = vec[start : start + count].view(parameter.shape).data
        start += count

"""Buckets: gradients that travel together, in the order in which a backward makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import dovetail
from dovetail.nn import Parameter

__all__ = ["Bucket", "GradBucket", "make_buckets"]

MEBIBYTE: Final = 2**20
_FIRST: Final = 1.0
"""Mebibytes of the first bucket, where nothing else is said: communication begins early."""


class Bucket:
    """Some parameters, and one flat tensor for their gradients.

    Parameters
    ----------
    indices : list of int
        Which parameters, in the order of the bucket.
    parameters : list of Parameter

    Attributes
    ----------
    flat : Tensor
        The gradients, one after another.
    views : list of Tensor
        The same memory, in the shapes of the parameters.
    missing : int
        How many gradients are not there yet.
    work
        What was begun with `flat`: has ``wait()``.
    """

    def __init__(self, indices: list[int], parameters: list[Parameter]) -> None:
        self.indices = indices
        self.parameters = parameters
        first = parameters[0]
        sizes = [each.numel() for each in parameters]
        self.flat = dovetail.zeros(sum(sizes), dtype=first.dtype, device=first.device)
        self.views = [
            part.view(each.shape)
            for part, each in zip(self.flat.split(sizes), parameters, strict=True)
        ]
        self.missing = len(indices)
        self.work: Any = None

    def reset(self) -> None:
        """Wait for all gradients again."""
        self.missing, self.work = len(self.indices), None


def make_buckets(parameters: Sequence[Parameter], cap_mb: float | None) -> list[Bucket]:
    """Share parameters out into buckets, the last parameter first.

    Parameters
    ----------
    parameters : sequence of Parameter
        In the order of the module.
    cap_mb : float, optional
        How many mebibytes a bucket has at most, if it has several gradients. Default: 25, and 1 in
        the first.
    """
    limits = [_FIRST, 25.0] if cap_mb is None else [float(cap_mb)]
    buckets: list[Bucket] = []
    chosen: list[int] = []
    size = 0

    def close() -> None:
        buckets.append(Bucket(list(chosen), [parameters[index] for index in chosen]))
        chosen.clear()

    for index in reversed(range(len(parameters))):
        each = parameters[index]
        bytes_of_it = each.numel() * each.element_size()
        limit = limits[min(len(buckets), len(limits) - 1)] * MEBIBYTE
        if chosen and (size + bytes_of_it > limit or not _alike(each, parameters[chosen[0]])):
            close()
            size = 0
        chosen.append(index)
        size += bytes_of_it
    if chosen:
        close()
    return buckets


def _alike(one: Parameter, other: Parameter) -> bool:
    return one.dtype is other.dtype and one.device == other.device


class GradBucket:
    """What a communication hook is given: the gradients of a bucket, not divided yet.

    Made by `DistributedDataParallel`.
    """

    def __init__(self, index: int, bucket: Bucket, is_last: bool) -> None:
        self._index = index
        self._bucket = bucket
        self._is_last = is_last

    def index(self) -> int:
        """Return which bucket it is, in the order in which they travel."""
        return self._index

    def buffer(self) -> Any:
        """Return the flat tensor of all its gradients."""
        return self._bucket.flat

    @dovetail.no_grad()
    def set_buffer(self, tensor: dovetail.Tensor) -> None:
        """Replace the values of the flat tensor."""
        self._bucket.flat.copy_(tensor)

    def gradients(self) -> list[Any]:
        """Return the gradients in the shapes of the parameters, as views of `buffer`."""
        return list(self._bucket.views)

    def parameters(self) -> list[Parameter]:
        """Return the parameters."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Return whether no other bucket comes after it."""
        return self._is_last

"""Buckets: gradients that are averaged together, in the order of the backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Final

import dovetail
from dovetail.nn import Parameter

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
        How many mebibytes close a bucket. Default: 25, and 1 for the first.
    """
    caps = [_FIRST, 25.0] if cap_mb is None else [float(cap_mb)]
    backwards = [(each, each.numel() * each.element_size()) for each in reversed(parameters)]
    limits = [int(each * MEBIBYTE) for each in caps]
    last = len(parameters) - 1
    return [
        Bucket([last - place for place in places], [backwards[place][0] for place in places])
        for places in assigned([(size, (p.dtype, p.device)) for p, size in backwards], limits)
    ]


def assigned(sizes: Sequence[tuple[int, Hashable]], limits: Sequence[int]) -> list[list[int]]:
    """Return which of some gradients, in the order in which they come, travel together.

    A gradient that reaches the limit of a bucket still travels in it: a bucket is never closed
    because of what comes next, so that there are as few as can be.

    Parameters
    ----------
    sizes
        Of each gradient its bytes, and a key: what is alike in it may share memory.
    limits
        How many bytes close the first bucket of a key, the second, and so on; the last limit is
        that of all others.
    """
    closed: list[list[int]] = []
    open_: dict[Hashable, list[int]] = {}
    filled: Counter[Hashable] = Counter()
    counts: Counter[Hashable] = Counter()
    for place, (size, key) in enumerate(sizes):
        open_.setdefault(key, []).append(place)
        filled[key] += size
        if filled[key] >= limits[min(counts[key], len(limits) - 1)]:
            closed.append(open_.pop(key))
            counts[key] += 1
            del filled[key]
    return sorted([*closed, *open_.values()])


class GradBucket:
    """The argument of a communication hook: the gradients of a bucket, before the division by the
    number of ranks.

    `DistributedDataParallel` creates it.
    """

    def __init__(self, index: int, bucket: Bucket, is_last: bool) -> None:
        self._index = index
        self._bucket = bucket
        self._is_last = is_last

    def index(self) -> int:
        """Return the number of the bucket, in the order of communication."""
        return self._index

    def buffer(self) -> Any:
        """Return a flat tensor of all gradients of the bucket."""
        return self._bucket.flat

    @dovetail.no_grad()
    def set_buffer(self, tensor: dovetail.Tensor) -> None:
        """Replace the values of the flat tensor."""
        self._bucket.flat.copy_(tensor)

    def gradients(self) -> list[Any]:
        """Return the gradients in the shapes of the parameters, as views of `buffer`."""
        return list(self._bucket.views)

    def parameters(self) -> list[Parameter]:
        """Return the parameters of the bucket."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Return whether this is the last bucket."""
        return self._is_last

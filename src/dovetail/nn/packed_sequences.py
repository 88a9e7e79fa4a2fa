"""`PackedSequence`: sequences of different lengths without padding, for recurrent networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import (
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    publish_name,
    uint8,
)

T = TypeVar("T")
R = TypeVar("R")


class PackedSequence_(NamedTuple):
    """The fields of a `PackedSequence`."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def bind(optional: T | None, fn: Callable[[T], R]) -> R | None:
    """Return ``fn(optional)``, or None for None."""
    return None if optional is None else fn(optional)


class PackedSequence(PackedSequence_):
    """The elements of several sequences, ordered by time step and without padding.

    `pack_padded_sequence` and `pack_sequence` create it, and recurrent modules accept it.

    Parameters
    ----------
    data : Tensor
        Shape ``(sum of lengths, *)``: first step 0 of every sequence, the longest first, then step
        1 …
    batch_sizes : Tensor
        Shape ``(longest length,)``, int64, on the CPU: the number of sequences that have each step.
    sorted_indices : Tensor, optional
        The permutation that sorted the sequences by length.
    unsorted_indices : Tensor, optional
        The inverse permutation; default: computed from ``sorted_indices``.

    Raises
    ------
    ValueError
        If ``batch_sizes`` is not on the CPU.
    AssertionError
        If ``batch_sizes`` is missing and ``data`` is not a pair of both.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        return super().__new__(
            cls, *_packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices)
        )

    def _with(self, data: Tensor, follow: Callable[..., Tensor]) -> Self:
        permutations = bind(self.sorted_indices, follow), bind(self.unsorted_indices, follow)
        return type(self)(data, self.batch_sizes, *permutations)

    def pin_memory(self) -> Self:
        """Return a copy in page-locked memory, as by `Tensor.pin_memory`."""
        data: Any = self.data
        return self._with(data.pin_memory(), lambda permutation: permutation.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast the data as `Tensor.to` does, and move the permutations along; returns self
        if nothing changes.
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        non_blocking = kwargs.get("non_blocking", False)
        return self._with(
            data, lambda permutation: permutation.to(data.device, non_blocking=non_blocking)
        )

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a CUDA device (default: the current one)."""
        return self._to_type("cuda", *args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Move to the CPU."""
        return self._to_type("cpu", *args, **kwargs)

    def _to_type(self, kind: str, *args: Any, **kwargs: Any) -> Self:
        # A device among the arguments counts, unless it is of another type.
        example = aten.tensor((), dtype=self.data.dtype).to(*args, **kwargs)
        if example.device.type == kind:
            return self.to(*args, **kwargs)
        kwargs["device"] = kind
        return self.to(*args, **kwargs)

    def double(self) -> Self:
        """Cast the data to float64."""
        return self.to(float64)

    def float(self) -> Self:
        """Cast the data to float32."""
        return self.to(float32)

    def half(self) -> Self:
        """Cast the data to float16."""
        return self.to(float16)

    def long(self) -> Self:
        """Cast the data to int64."""
        return self.to(int64)

    def int(self) -> Self:
        """Cast the data to int32."""
        return self.to(int32)

    def short(self) -> Self:
        """Cast the data to int16."""
        return self.to(int16)

    def char(self) -> Self:
        """Cast the data to int8."""
        return self.to(int8)

    def byte(self) -> Self:
        """Cast the data to uint8."""
        return self.to(uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a CUDA device."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Return whether the data are in page-locked memory."""
        data: Any = self.data
        return bool(data.is_pinned())


def _packed_sequence_init_args(
    data: Any,
    batch_sizes: Tensor | None = None,
    sorted_indices: Tensor | None = None,
    unsorted_indices: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Return the four fields of a `PackedSequence`."""
    if batch_sizes is None:
        if not isinstance(data, (list, tuple)) or len(data) != 2:
            raise AssertionError(
                "Expected data to be a list or tuple of length 2, but got "
                f"{type(data).__name__}. Pass data and batch_sizes, or use pack_sequence."
            )
        data, batch_sizes = data
    elif batch_sizes.device.type != "cpu":
        raise ValueError(
            "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
            "created manually. They should be instantiated by functions like pack_sequence and "
            "pack_padded_sequences in nn.utils.rnn."
        )
    if unsorted_indices is None:
        unsorted_indices = invert_permutation(sorted_indices)
    return data, batch_sizes, sorted_indices, unsorted_indices


def _packed_sequence_init(
    data: Tensor,
    batch_sizes: Tensor | None = None,
    sorted_indices: Tensor | None = None,
    unsorted_indices: Tensor | None = None,
) -> PackedSequence:
    return PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation of ``0 … n-1``, shape ``(n,)``; None for None."""
    if permutation is None:
        return None
    places = aten.arange(permutation.numel(), device=permutation.device)
    return aten.empty_like(permutation).scatter_(0, permutation, places)


# Users know them by this place, whether its module has been imported or not.
for _each in (PackedSequence, PackedSequence_, bind, invert_permutation):
    publish_name("dovetail.nn.utils.rnn", _each.__name__, _each)

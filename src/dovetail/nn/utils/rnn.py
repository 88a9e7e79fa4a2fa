"""Sequences of several lengths: padded to one tensor, or packed without padding for recurrent
networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import ops
from dovetail_kernel import float16, float32, float64, int8, int16, int32, int64, uint8

from ... import _nn

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

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
    """The elements of several sequences, step by step and without padding.

    Made by `pack_padded_sequence` and `pack_sequence`, taken by recurrent modules.

    Parameters
    ----------
    data : Tensor
        Shape ``(sum of lengths, *)``: first those of step 0 of every sequence, the longest first,
        then those of step 1 …
    batch_sizes : Tensor
        Shape ``(longest length,)``, int64, on the CPU: how many sequences have each step.
    sorted_indices : Tensor, optional
        The permutation that sorted the sequences by length.
    unsorted_indices : Tensor, optional
        Its inverse; default: it is computed.

    Raises
    ------
    ValueError
        If ``batch_sizes`` is not on the CPU.
    AssertionError
        If ``batch_sizes`` is missing and ``data`` is no pair of both.
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

    def _with(self, data: Tensor, follow: Callable[[Any], Tensor]) -> Self:
        permutations = bind(self.sorted_indices, follow), bind(self.unsorted_indices, follow)
        return type(self)(data, self.batch_sizes, *permutations)

    def pin_memory(self) -> Self:
        """Return it in page-locked memory, as `Tensor.pin_memory`."""
        data: Any = self.data
        return self._with(data.pin_memory(), lambda permutation: permutation.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast the data as `Tensor.to` does, and move the permutations along; returns self
        if the data are there already.
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


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack sequences that were padded to one length.

    Parameters
    ----------
    input : Tensor
        Shape ``(length, batch, *)``, or ``(batch, length, *)`` if ``batch_first``.
    lengths : Tensor or list of int
        The length of every sequence, each at least 1; a tensor is on the CPU.
    batch_first : bool, default False
        Whether the batch is the first dimension of ``input``.
    enforce_sorted : bool, default True
        Require the longest sequence first; otherwise they are sorted here, and the permutation is
        noted in the result.

    Returns
    -------
    PackedSequence
        Gradients flow back to ``input``.

    Raises
    ------
    RuntimeError
        If ``lengths`` are not one for each sequence, not positive, or (with ``enforce_sorted``) not
        sorted.
    """
    if not isinstance(lengths, Tensor):
        lengths = aten.as_tensor(lengths, dtype=int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = aten.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = ops.aten._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences to one length; undoes `pack_padded_sequence`.

    Parameters
    ----------
    sequence : PackedSequence
        What to pad.
    batch_first : bool, default False
        Return shape ``(batch, length, *)`` instead of ``(length, batch, *)``.
    padding_value : float, default 0.0
        What to put behind the end of a sequence.
    total_length : int, optional
        The length to pad to; default: that of the longest.

    Returns
    -------
    tuple of Tensor
        The padded sequences in the order in which they were packed, and their lengths, int64 of
        shape ``(batch,)``, on the CPU.

    Raises
    ------
    ValueError
        If ``total_length`` is less than the length of the longest sequence.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is None:
        total_length = -1
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}. "
            "Pass a larger one."
        )
    padded, lengths = ops.aten._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length
    )
    order = sequence.unsorted_indices
    if order is not None:
        padded = padded.index_select(0 if batch_first else 1, order)
        lengths = lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of several lengths, each padded to that of the longest.

    Parameters
    ----------
    sequences : iterable of Tensor
        Shapes ``(length, *)`` that differ in the length only; also one tensor of them.
    batch_first : bool, default False
        Return shape ``(batch, length, *)`` instead of ``(length, batch, *)``.
    padding_value : float, default 0.0
        What to fill with.
    padding_side : {'right', 'left'}
        Whether to put it behind the end of a sequence, or before its beginning.

    Raises
    ------
    RuntimeError
        If ``sequences`` is not iterable or empty, the shapes do not fit, or ``padding_side`` is
        unknown.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}. Pass a list of tensors."
        )
    each = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    return _nn.pad_sequence(each, batch_first, padding_value, padding_side)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Cut padded sequences back to their lengths; undoes `pad_sequence`.

    Parameters
    ----------
    padded_sequences : Tensor
        Shape ``(length, batch, *)``, or ``(batch, length, *)`` if ``batch_first``.
    lengths : Tensor
        The length of every sequence, shape ``(batch,)``.
    batch_first : bool, default False
        Whether the batch is the first dimension.

    Returns
    -------
    list of Tensor
        Copies, one for each sequence.
    """
    each = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [
        sequence[:length].clone() for sequence, length in zip(each, lengths.tolist(), strict=False)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of several lengths.

    Parameters
    ----------
    sequences : list of Tensor
        Shapes ``(length, *)`` that differ in the length only.
    enforce_sorted : bool, default True
        Require the longest first.

    Raises
    ------
    RuntimeError
        As `pad_sequence` and `pack_padded_sequence`.
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences that were packed, in the same order; undoes `pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

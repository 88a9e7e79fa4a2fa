"""Sequences of different lengths: padded to one tensor, or packed without padding for recurrent
networks.
"""

from __future__ import annotations

from collections.abc import Iterable

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import ops
from dovetail_kernel import int64

from ... import _nn
from ..packed_sequences import (  # noqa: F401 - some by their paths in PyTorch
    PackedSequence,
    PackedSequence_,
    _packed_sequence_init,
    _packed_sequence_init_args,
    bind,
    invert_permutation,
)

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
        Require the longest sequence first; otherwise the sequences are sorted, and the permutation
        is stored in the result.

    Returns
    -------
    PackedSequence
        Gradients flow back to ``input``.

    Raises
    ------
    RuntimeError
        If the number of ``lengths`` is wrong, or if they are not positive or (with
        ``enforce_sorted``) not sorted.
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
        Sequence to pad.
    batch_first : bool, default False
        Return shape ``(batch, length, *)`` instead of ``(length, batch, *)``.
    padding_value : float, default 0.0
        Value after the end of a sequence.
    total_length : int, optional
        The length to pad to; default: the length of the longest sequence.

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
    """Stack sequences of different lengths, padded to the longest one.

    Parameters
    ----------
    sequences : iterable of Tensor
        Shapes ``(length, *)`` that differ in the length only; or a single tensor of them.
    batch_first : bool, default False
        Return shape ``(batch, length, *)`` instead of ``(length, batch, *)``.
    padding_value : float, default 0.0
        Value to fill with.
    padding_side : {'right', 'left'}
        Whether to pad after the end of a sequence, or before its beginning.

    Raises
    ------
    RuntimeError
        If ``sequences`` is not iterable or is empty, if the shapes are incompatible, or if
        ``padding_side`` is unknown.
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
    """Pack sequences of different lengths.

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

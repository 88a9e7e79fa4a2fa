"""Sequences of different lengths: padded, or packed, so that steps that none has take no place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.typing import Scalar, Tensor
from dovetail_kernel import int64


def pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Any, Any]:
    """Return the elements of padded sequences step by step, and how many sequences have a step."""
    if batch_first:
        input = F.transpose(input, 0, 1)
    sizes = _lengths(input, lengths)
    is_inside = F.lt(_places(input.shape[0], lengths, 1), F.unsqueeze(lengths, 0))
    counts = F.narrow(F.sum(is_inside, 1), 0, 0, sizes[0])
    return F.index(input, [is_inside.to(input.device)]), counts


def _lengths(input: Tensor, lengths: Tensor) -> list[int]:
    """Return lengths as numbers, if they are those of sequences, the longest first. Raises
    RuntimeError with PyTorch's message.
    """
    _check_counts(lengths)
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range: packing needs 2 dimensions, steps and sequences, but got "
            f"{input.ndim}. Add one with unsqueeze."
        )
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors. Leave them out.")
    if lengths.shape[0] != input.shape[1]:
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{lengths.shape[0]} (batch_size={input.shape[1]}). Pass one for each sequence."
        )
    sizes: list[int] = lengths.tolist()
    if sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement."
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0. Leave empty sequences out."
        )
    if sizes[0] > input.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {input.shape[0]}, the steps of the input, but got "
            f"{sizes[0]}. Pass the lengths before padding."
        )
    return sizes


def _check_counts(counts: Tensor) -> None:
    """Raise an error for an invalid vector of lengths, or of sequences per step, with PyTorch's
    message.
    """
    if counts.ndim != 1 or counts.dtype is not int64 or counts.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{counts.ndim}D {counts.device.type} {counts.dtype.scalar_name} tensor. Convert it."
        )


def _places(length: int, like: Tensor, dim: int) -> Any:
    """Return the numbers from 0 along the dimension that is not `dim`."""
    return F.unsqueeze(F.arange(length, device=like.device), dim)


def pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Scalar, total_length: int
) -> tuple[Any, Any]:
    """Return the padded sequences of which the data were packed, and their lengths."""
    _check_counts(batch_sizes)
    if not data.ndim:
        raise RuntimeError("Expected data of at least 1 dimension, but got 0. Add one.")
    sizes: list[int] = batch_sizes.tolist()
    if not sizes:
        raise RuntimeError("batch_sizes can not be empty. Pass what packing returned.")
    if sum(sizes) != data.shape[0] or sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            f"Expected batch_sizes that do not grow and sum to {data.shape[0]}, the elements of "
            f"the data, but got {sizes}. Pass what packing returned."
        )
    length = len(sizes)
    if total_length >= 0:
        if total_length < length:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{length}. Pass a larger one."
            )
        length = total_length
    is_inside = F.lt(_places(sizes[0], batch_sizes, 0), F.unsqueeze(batch_sizes, 1))
    lengths = F.sum(is_inside, 0)
    if length > len(sizes):
        is_inside = F.constant_pad_nd(is_inside, [0, 0, 0, length - len(sizes)])
    blank = F.new_full(data, (length, sizes[0], *data.shape[1:]), padding_value)
    padded = F.index_put(blank, [is_inside.to(data.device)], data)
    return (F.transpose(padded, 0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Sequence[Any],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Return sequences in one tensor, filled up to the length of the longest."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences. Pass at least one.")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    first = sequences[0]
    for each in sequences:
        if not _can_be_expanded(each, first):
            raise RuntimeError(
                "The size of each tensor must match that of the first except in dimension 0, but "
                f"got {list(first.shape)} and {list(each.shape)}. Pass sequences of like elements."
            )
    length = max(each.shape[0] for each in sequences)
    filled = []
    for each in sequences:
        missing = length - each.shape[0]
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        room = [0] * (2 * (first.ndim - 1))
        like = F.expand(F.to(each, first.dtype), (each.shape[0], *first.shape[1:]))
        filled.append(F.constant_pad_nd(like, [*room, *ends], padding_value))
    return F.stack(filled, 0 if batch_first else 1)


def _can_be_expanded(sequence: Tensor, first: Tensor) -> bool:
    """Return whether elements have the shape of those of the first sequence, or broadcast to it."""
    return bool(
        sequence.ndim
        and sequence.ndim == first.ndim
        and all(
            [
                size in (1, wanted)
                for size, wanted in zip(sequence.shape[1:], first.shape[1:], strict=True)
            ]
        )
    )

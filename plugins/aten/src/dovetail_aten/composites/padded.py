"""Padding of every mode, of operators for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.geometry.border_geometry import BORDERS
from dovetail_kernel import contiguous_format


def pad(self: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Return `self` with `pad` elements before and after, for dimensions from the last.

    Parameters
    ----------
    mode
        ``constant``, ``reflect``, ``replicate`` or ``circular``.
    value
        What constant padding is made of; default 0.
    """
    if len(pad) % 2:
        raise RuntimeError(
            "Padding length must be divisible by 2. Give a (before, after) pair per dimension."
        )
    if len(pad) > 2 * self.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but "
            "got padding length "
            f"{len(pad)} and input of dimension {self.ndim}. Leave some out."
        )
    if mode == "constant":
        return F.constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument. Leave it out.')
    if mode not in BORDERS:
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}. It is one of: constant, {', '.join(BORDERS)}."
        )
    if self.ndim - len(pad) // 2 not in (1, 2) or len(pad) not in (2, 4, 6):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.ndim}D input tensor. The last 1, "
            "2 or 3 dimensions are padded, and 1 or 2 come before them: use unsqueeze first."
        )
    if mode != "circular":
        check_mirrored(self.shape, len(pad) // 2)
    if not any(pad):
        return F.clone(self, memory_format=contiguous_format)
    return F._bordered(self, pad, mode)


def check_mirrored(shape: Sequence[int], dims: int) -> None:
    """Raise an error unless a border around `dims` dimensions can consist of elements at the edge:
    only the batch may be empty.
    """
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[len(shape) - dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(shape)}. Reshape it."
        )

"""Dimension order: which dimension of a tensor steps farthest in memory, and which the least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import MemoryFormat


def dim_order(
    self: Any, *, ambiguity_check: bool | Sequence[MemoryFormat] = False
) -> tuple[int, ...]:
    """Return the dimensions from the outermost to the innermost in memory: ``(0, 2, 3, 1)`` for
    channels last. If several orders are equivalent, one of them is returned.

    Parameters
    ----------
    ambiguity_check
        True raises an error if there is more than one order; a list of memory formats raises unless
        the tensor has exactly one of them. Default: no check.

    Raises
    ------
    RuntimeError
        If the order is ambiguous and the check is requested.
    TypeError
        For any other `ambiguity_check`.
    """
    is_list = isinstance(ambiguity_check, list | tuple)
    formats = list(ambiguity_check) if isinstance(ambiguity_check, list | tuple) else []
    if not isinstance(ambiguity_check, bool) and (
        not is_list or not all([isinstance(each, MemoryFormat) for each in formats])
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    sizes, strides = list(self.shape), list(self.stride())
    if (formats or ambiguity_check is True) and _is_ambiguous(sizes, strides):
        found = [each for each in formats if self.is_contiguous(memory_format=each)]
        if len(found) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
    return tuple(sorted(range(len(sizes)), key=lambda dim: -strides[dim]))


def _is_ambiguous(sizes: list[int], strides: list[int]) -> bool:
    """Return whether the memory is the same in another order: some dimension steps nowhere, or two
    alike.
    """
    return 1 in sizes or 0 in strides or len(set(strides)) < len(strides)

"""Places in sorted sequences, membership, and places repeated."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import int32, int64, promote_types, warn_user_once

from ....kernel_support.argsort import Sorted
from ....kernel_support.dims import check_size
from ....kernel_support.family import operator
from ....typing import Array, Scalar

_FEW_PAIRS = 1 << 10
"""Comparisons up to which `isin` makes all of them: NumPy's takes 20 µs to choose an algorithm."""


def is_right(right: bool, side: str | None) -> bool:
    """Return whether a place behind equal elements is asked for."""
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    return side == "right"


def check_values(sequence: Any, values: Any) -> None:
    """Raise an error for values that do not belong to the rows of a sequence."""
    if not sequence.ndim or (not values.ndim and sequence.ndim != 1):
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({sequence.ndim}) and input value's "
            f"dim({values.ndim}) numel({values.size})"
        )
    if sequence.ndim > 1 and tuple(sequence.shape[:-1]) != tuple(values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(sequence.shape)} and input value tensor "
            f"{list(values.shape)}"
        )


class Searching(Sorted):
    """Places of elements in others."""

    def _check_sorter(self, sequence: Any, sorter: Any) -> None:
        """Raise an error for an invalid order of a sequence."""
        if tuple(sorter.shape) != tuple(sequence.shape):
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got "
                f"boundary tensor {list(sequence.shape)} and got sorter tensor "
                f"{list(sorter.shape)}"
            )
        if self.dtypes[sorter.dtype] is not int64:
            raise RuntimeError(
                "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
                f"{self.dtypes[sorter.dtype].scalar_name}"
            )
        if self.lazy or not sorter.size:
            return
        if not self.capabilities.are_below(sorter, sorter.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")

    def _warn_of_copy(self, name: str, array: Any) -> None:
        """Warn of an array that is copied to be searched, once per process and `name`."""
        if not self.capabilities.is_contiguous(array):
            warn_user_once(
                f"dovetail.searchsorted(): {name} tensor is non-contiguous, which costs a copy. "
                "Call contiguous() once, where it is made."
            )

    @operator("searchsorted.Tensor")
    def searchsorted(
        self,
        sorted_sequence: Array,
        values: Array,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: object = None,
    ) -> Any:
        """Return at which place of a sorted sequence each value may be inserted, before equal
        elements, or behind them. A sequence with several dimensions is searched row by row.
        """
        xp = self.xp
        behind = is_right(right, side)
        check_values(sorted_sequence, values)
        self._warn_of_copy("input value", values)
        self._warn_of_copy("boundary", sorted_sequence)
        if sorter is not None:
            self._check_sorter(sorted_sequence, sorter)
            self._warn_of_copy("sorter", sorter)
            sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, axis=-1)
        common = promote_types(self.dtypes[sorted_sequence.dtype], self.dtypes[values.dtype])
        if common.is_complex:
            raise NotImplementedError(
                f"\"searchsorted_out_cpu\" not implemented for '{common.scalar_name}': complex "
                "numbers have no order."
            )
        native = self.native_dtypes[common]
        sequence = self._sortable(sorted_sequence.astype(native, copy=False))
        values = self._sortable(values.astype(native, copy=False))
        if sequence.ndim == 1:
            side = "right" if behind else "left"
            found = xp.reshape(
                xp.searchsorted(sequence, xp.reshape(values, (-1,)), side=side), values.shape
            )
        else:
            found = self._placed(sequence, values, behind)
        return found.astype(self.native_dtypes[int32 if out_int32 else int64], copy=False)

    def _placed(self, sequence: Array, values: Array, behind: bool) -> Any:
        """Return how many elements of each row come before each value: in a stable order of both,
        beginning with those that come first among equals.
        """
        xp, size = self.xp, values.shape[-1]
        parts = [sequence, values] if behind else [values, sequence]
        order = xp.argsort(xp.concatenate(parts, axis=-1), axis=-1, stable=True)
        length = sequence.shape[-1]
        is_element = order < length if behind else order >= size
        before = xp.cumsum(is_element, axis=-1, dtype=xp.int64)
        places = xp.argsort(order, axis=-1, stable=True)
        places = places[..., length:] if behind else places[..., :size]
        return xp.take_along_axis(before, places, axis=-1)

    @operator("searchsorted.Scalar")
    def searchsorted_number(
        self,
        sorted_sequence: object,
        value: object,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: object = None,
    ) -> Any:
        """Return at which place of a sorted sequence a number may be inserted."""
        sequence, number = self.numbers.pair(sorted_sequence, value)
        return self.searchsorted(
            sequence,
            self.xp.full((), number, dtype=sequence.dtype),
            out_int32=out_int32,
            right=right,
            side=side,
            sorter=sorter,
        )

    @operator("isin.Tensor_Tensor")
    def isin(
        self, elements: Array, tests: Array, *, assume_unique: bool = False, invert: bool = False
    ) -> Any:
        """Return whether each element is among others, or, with `invert`, whether it is not."""
        common = promote_types(self.dtypes[elements.dtype], self.dtypes[tests.dtype])
        native = self.native_dtypes[common]
        elements, tests = [
            self._sortable(each.astype(native, copy=False)) for each in (elements, tests)
        ]
        xp, tests = self.xp, self.xp.reshape(tests, (-1,))
        if elements.size * tests.size <= _FEW_PAIRS:
            found = xp.any(elements[..., None] == tests, axis=-1)
            return xp.logical_not(found) if invert else found
        return xp.reshape(xp.isin(elements, tests, invert=invert), elements.shape)

    @operator("isin.Tensor_Scalar")
    def isin_number(
        self, elements: Array, test: Scalar, *, assume_unique: bool = False, invert: bool = False
    ) -> Any:
        """Return whether each element is a number."""
        elements, number = self.numbers.pair(elements, test)
        return elements != number if invert else elements == number

    @operator("isin.Scalar_Tensor")
    def number_isin(
        self, element: Scalar, tests: Array, *, assume_unique: bool = False, invert: bool = False
    ) -> Any:
        """Return whether a number is among elements."""
        xp = self.xp
        tests, number = self.numbers.pair(tests, element)
        found = xp.any(tests == number, axis=None)
        return xp.logical_not(found) if invert else found

    @operator("repeat_interleave.Tensor")
    def repeat_interleave(self, repeats: Array, *, output_size: int | None = None) -> Any:
        """Return the place of each number, as often as it says."""
        xp, kind = self.xp, self.dtypes[repeats.dtype]
        if repeats.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat. Flatten it.")
        if kind not in (int32, int64):
            raise NotImplementedError(
                f"\"repeat_interleave_cpu\" not implemented for '{kind.scalar_name}'. Convert to "
                "int64."
            )
        if not self.lazy and repeats.size:
            if bool(xp.amin(repeats) < 0):
                raise RuntimeError("repeats can not be negative. Give 0 or more.")
            # A sum of floating-point numbers does not wrap around.
            check_size((int(xp.sum(repeats, axis=None, dtype=xp.float64)),), repeats.dtype.itemsize)
        places = xp.repeat(xp.arange(repeats.shape[0], dtype=repeats.dtype), repeats)
        if output_size is not None and places.shape[0] != output_size:
            raise RuntimeError(
                f"allocated size does not match required size: output_size is {output_size}, and "
                f"there are {places.shape[0]}."
            )
        return places

"""Recorded values of tensors: exact in memory, as a fingerprint in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import zip_longest
from math import prod, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovetail_kernel import TensorBase

SKETCHES: Final = 8
"""How many sums a fingerprint has."""

_SIGNS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
_RTOL: Final = {"float16": 1e-3, "bfloat16": 1.6e-2, "float32": 1.3e-6, "complex64": 1.3e-6}
_RTOL_OF_DOUBLE: Final = 1e-11


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """A summary of a tensor in a few numbers, from which the norm of a difference can be estimated.

    Attributes
    ----------
    shape, dtype
        Shape and dtype name of the tensor.
    digest
        Hash of the elements in C order, and of shape and dtype.
    greatest
        Greatest absolute value of the finite elements.
    odd
        Hash of the positions of infinities and NaN; empty if there are none.
    sketch
        Sums of the elements with eight fixed sign patterns. The mean square of the difference
        between two sketches estimates the squared norm of the difference of the tensors.
    is_written
        Whether it is of an argument that the call writes to.
    """

    shape: tuple[int, ...]
    dtype: str
    digest: str
    greatest: float
    odd: str
    sketch: tuple[float, ...]
    is_written: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fingerprint as plain tuples, strings and numbers."""
        return asdict(self)

    @classmethod
    def of_array(cls, array: NDArray[Any], dtype: str) -> Fingerprint:
        """Return the fingerprint of an array whose Dovetail dtype is `dtype`."""
        head = f"{dtype}{list(array.shape)}".encode()
        digest = blake2b(head + np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()
        flat = _wide(array).reshape(-1)
        finite = np.isfinite(flat)
        odd = ""
        if not finite.all():
            kinds = np.where(np.isnan(flat), 3, np.where(finite, 0, np.where(flat.real > 0, 1, 2)))
            odd = blake2b(kinds.astype(np.uint8).tobytes(), digest_size=16).hexdigest()
            flat = np.where(finite, flat, 0)
        parts = flat.view(np.float64) if flat.dtype.kind == "c" else flat
        return cls(tuple(array.shape), dtype, digest, _greatest(flat), odd, _sketch(parts))


@dataclass(frozen=True, eq=False)
class Value:
    """Snapshot of a tensor during a run.

    Attributes
    ----------
    shape, dtype
        Shape and dtype name of the tensor.
    array
        A copy of the elements with the strides of the tensor; None for a tensor without accessible
        elements: a meta tensor, or one inside a function transform.
    device
        The device of the tensor.
    requires_grad
        Whether the tensor required grad.
    is_written
        Whether it is an argument that the call writes to.
    """

    shape: tuple[int, ...]
    dtype: str
    array: NDArray[Any] | None
    device: str
    requires_grad: bool
    is_written: bool = False

    def with_elements(self, other: Value) -> Value:
        """Return this value, with its dtype and strides, and the elements of another one."""
        if self.array is None or other.array is None or self.shape != other.shape:
            return self
        array = copied_array(self.array)
        with np.errstate(all="ignore"):
            array[...] = other.array
        return replace(self, array=array)

    @cached_property
    def fingerprint(self) -> Fingerprint | None:
        """The value in a few numbers; None without elements."""
        if self.array is None:
            return None
        made = Fingerprint.of_array(self.array, self.dtype)
        return replace(made, is_written=True) if self.is_written else made


OUT_OF_REACH: Final = Value((), "", None, "", requires_grad=False)
"""Stands in a saved trace for a tensor without known elements."""


def recorded_value(tensor: TensorBase) -> Value:
    """Return the value of a tensor, copied to the host without a call of an operator."""
    shape, name = tuple(int(size) for size in tensor.shape), tensor.dtype.name
    array = None
    if tensor._backend.is_device and not tensor.is_meta:
        try:
            array = copied_array(tensor._backend.arrays.to_host(tensor.array))
        except (NotImplementedError, RuntimeError, TypeError, AttributeError):
            array = None
    return Value(shape, name, array, str(tensor.device), tensor.requires_grad)


def copied_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy with the strides of `array`, even if elements overlap or have gaps."""
    if array.flags.forc or array.size == 0:
        return array.copy(order="A")
    if any([step < 0 for step in array.strides]):
        return array.copy()
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    copy: NDArray[Any] = np.ndarray(array.shape, array.dtype, memory, 0, array.strides)
    copy[...] = array
    return copy


# -- differences -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tolerance:
    """How far apart two results may be.

    Attributes
    ----------
    rtol
        Relative to the element and to the greatest element of the result. None: by the dtype of
        lower precision.
    atol
        Absolute. None: one unit in the last place of the greatest argument.
    """

    rtol: float | None = None
    atol: float | None = None

    def parts(self, dtypes: tuple[str, str], scale: float) -> tuple[float, float]:
        """Return the relative and absolute part for two results.

        Parameters
        ----------
        dtypes
            Names of their dtypes.
        scale
            Greatest absolute value of the arguments of the call.
        """
        rtol, atol = self.rtol, self.atol
        if rtol is None:
            rtol = max(_RTOL.get(name, _RTOL_OF_DOUBLE) for name in dtypes)
        if atol is None:
            atol = max(_epsilon(name) for name in dtypes) * scale
        return rtol, atol


@dataclass(frozen=True)
class Difference:
    """How two recorded values differ.

    Attributes
    ----------
    text
        The difference, for people.
    error
        Greatest absolute difference; estimated from fingerprints; infinite if the values cannot be
        subtracted.
    """

    text: str
    error: float


def difference(
    first: Value | Fingerprint,
    second: Value | Fingerprint,
    tolerance: Tolerance,
    scale: float = 0.0,
) -> Difference | None:
    """Return how two values differ, or None if they agree.

    Parameters
    ----------
    scale
        Greatest absolute value of the arguments that they were computed from.
    """
    if OUT_OF_REACH in (first, second):
        return None
    if first.shape != second.shape:
        return Difference(f"shapes {list(first.shape)} and {list(second.shape)}", float("inf"))
    kinds = _kind(first.dtype), _kind(second.dtype)
    if kinds[0] != kinds[1]:
        return Difference(f"dtypes {first.dtype} and {second.dtype}", float("inf"))
    rtol, atol = (
        (0.0, 0.0) if kinds[0] == "exact" else tolerance.parts((first.dtype, second.dtype), scale)
    )
    if isinstance(first, Value) and isinstance(second, Value):
        if first.array is None or second.array is None:
            return None
        return _exact_difference(_wide(first.array), _wide(second.array), rtol, atol)
    marks = [each.fingerprint if isinstance(each, Value) else each for each in (first, second)]
    if marks[0] is None or marks[1] is None:
        return None
    return _estimated_difference(marks[0], marks[1], rtol, atol)


def first_difference(
    first: Sequence[Value | Fingerprint],
    second: Sequence[Value | Fingerprint],
    tolerance: Tolerance,
    scale: float = 0.0,
) -> Difference | None:
    """Return the first difference between the values of two lists; None if they agree.

    Parameters
    ----------
    scale
        As for `difference`.
    """
    for a, b in zip_longest(first, second):
        if a is None or b is None:
            return Difference(f"{len(first)} and {len(second)} tensors", float("inf"))
        found = difference(a, b, tolerance, scale)
        if found is not None:
            return found
    return None


def difference_of_errors(first: str | None, second: str | None) -> Difference:
    """Return the difference between two calls or runs of which at least one raised.

    Parameters
    ----------
    first, second
        Type and text of the exception; None if there was none.
    """
    return Difference(f"{first or 'no error'}; {second or 'no error'}", float("inf"))


def _exact_difference(
    first: NDArray[Any], second: NDArray[Any], rtol: float, atol: float
) -> Difference | None:
    if first.size == 0:
        return None
    with np.errstate(all="ignore"):
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        error = np.where(same, 0.0, np.abs(first - second))
        greatest = max(_greatest(first[np.isfinite(first)]), _greatest(second[np.isfinite(second)]))
        allowed = atol + rtol * (np.abs(np.where(np.isfinite(second), second, 0)) + greatest)
        wrong = ~(error <= allowed)
    if not wrong.any():
        return None
    ranked = np.where(wrong, np.where(np.isnan(error), np.inf, error), -1.0)
    index = np.unravel_index(int(ranked.argmax()), error.shape)
    where = f" at {[int(i) for i in index]}" if error.ndim else ""
    a, b = first[index], second[index]
    return Difference(
        f"{_number(a)} and {_number(b)}{where}; {int(wrong.sum())} of {wrong.size} elements "
        f"differ by more than {_shown(float(np.max(allowed)))}",
        float(error[index]),
    )


def _estimated_difference(
    first: Fingerprint, second: Fingerprint, rtol: float, atol: float
) -> Difference | None:
    if first.digest == second.digest:
        return None
    if first.odd != second.odd:
        return Difference("infinities or NaN in different elements", float("inf"))
    count = max(1, prod(first.shape))
    gaps = [a - b for a, b in zip(first.sketch, second.sketch, strict=True)]
    norm = sqrt(sum(gap * gap for gap in gaps) / len(gaps))
    greatest = max(first.greatest, second.greatest)
    # Rounding errors have random signs: their norm grows with the root of their number.
    allowed = sqrt(count) * (atol + 2 * rtol * greatest)
    apart = abs(first.greatest - second.greatest)
    if norm <= allowed and apart <= atol + 2 * rtol * greatest:
        return None
    error = max(norm / sqrt(count), apart)
    return Difference(
        f"norm of the difference about {_shown(norm)}; greatest elements "
        f"{_shown(first.greatest)} and {_shown(second.greatest)}",
        error,
    )


def scale_of(values: Iterable[Value | Fingerprint]) -> float:
    """Return the greatest absolute value among floating-point arguments; 0 if unknown.

    Arguments that the call writes to are left out: their memory may never have been written to.
    """
    found = [0.0]
    for each in [each for each in values if not each.is_written]:
        if isinstance(each, Fingerprint):
            found.append(each.greatest)
        elif each.array is not None and each.array.size:
            wide = _wide(each.array)
            found.append(_greatest(wide[np.isfinite(wide)]))
    return max(found)


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    """Return the elements in a dtype that holds all that results are compared in."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    if array.dtype.kind in "biu" and array.dtype.itemsize >= 8:
        return array  # float64 would round them
    with np.errstate(invalid="ignore"):  # memory never written to may hold signaling NaN
        return array.astype(np.float64)


def _greatest(array: NDArray[Any]) -> float:
    return float(np.abs(array).max()) if array.size else 0.0


def _kind(dtype: str) -> str:
    if dtype.startswith("complex"):
        return "complex"
    return "floating" if "float" in dtype else "exact"


def _epsilon(dtype: str) -> float:
    known = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "complex64": 2**-23}
    return known.get(dtype, 2.0**-52)


def _sketch(flat: NDArray[Any]) -> tuple[float, ...]:
    index = np.arange(flat.size, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (index + np.uint64(1)) * _SIGNS[0]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _SIGNS[1]
        mixed ^= mixed >> np.uint64(27)
    wide = flat.astype(np.float64)
    bits = [(mixed >> np.uint64(40 + k)) & np.uint64(1) for k in range(SKETCHES)]
    return tuple(float(np.where(each == 1, wide, -wide).sum()) for each in bits)


def _number(value: Any) -> str:
    return str(complex(value)) if np.iscomplexobj(value) else _shown(float(value))


def _shown(value: float) -> str:
    return f"{value:.6g}"

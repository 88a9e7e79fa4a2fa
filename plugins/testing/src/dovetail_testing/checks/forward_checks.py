"""Checks of what an operator computes, for which dtypes, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.testing.comparison import Tolerance, as_array, difference_of_arrays, tolerance_of
from dovetail_aten import Tensor
from dovetail_dispatcher.testing import (
    OpInfo,
    SampleInput,
    all_types_and_complex_and,
    samples_in_part,
)
from dovetail_kernel import Device, bfloat16, float16, int64
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType

from .samples import copied, dtypes_of, known_on, quiet, results_of, samples_of

__all__ = ["check_dtypes", "check_errors", "check_reference", "check_samples"]

EVERY_DTYPE = all_types_and_complex_and(bool_, float16, bfloat16)
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError)
"""What PyTorch raises for arguments that do not fit; NotImplementedError is a RuntimeError."""

SLACK = 3.0
"""References compute in double precision from rounded arguments, and round once."""


def check_reference(info: OpInfo, device: Device) -> None:
    """Compare values with the reference, for every dtype and sample."""
    for dtype in dtypes_of(info, "reference", device):
        for sample in samples_of(info, "reference", device, dtype):
            with quiet():
                given = copied(sample)
                found = results_of(info.op(*given.arguments, **given.kwargs))
                expected = _reference(info, sample, dtype, found)
            assert len(found) == len(expected), f"{len(found)} results instead of {len(expected)}"
            for mine, other in zip(found, expected, strict=True):
                _compare(mine, other, dtype, info)


def _reference(
    info: OpInfo, sample: SampleInput, dtype: DType, found: Sequence[object]
) -> list[Any]:
    """Return what the reference gives, in double precision if results are inexact."""
    first = found[0] if found else None
    inexact = isinstance(first, Tensor) and not _is_exact(first.dtype)

    def array(tensor: Tensor) -> Any:
        values = as_array(tensor)
        is_operand = tensor.dtype is dtype and _is_exact(dtype)  # and no index or mask beside it
        return values.astype(np.float64) if inexact and is_operand else values

    made = sample.transform(array)
    assert info.ref is not None
    expected = info.ref(*made.arguments, **made.kwargs)
    return list(expected) if isinstance(expected, list | tuple) else [expected]


def _compare(found: Any, expected: np.ndarray, dtype: DType, info: OpInfo) -> None:
    actual = as_array(found) if isinstance(found, Tensor) else np.asarray(found)
    expected = np.asarray(expected)
    exact = isinstance(found, Tensor) and _is_exact(found.dtype)
    if exact:
        with quiet():
            expected = expected.astype(actual.dtype)
    of = found.dtype if isinstance(found, Tensor) else dtype
    rtol, atol = (0.0, 0.0) if exact else info.tolerances.get(dtype, tolerance_of(dtype, of))
    atol = max(atol, rtol)  # numbers that cancel
    assert actual.shape == expected.shape, (
        f"for {dtype} the shape is {actual.shape} instead of {expected.shape}"
    )
    if np.iscomplexobj(actual):  # parts of a complex infinity are not told apart
        alike = ~np.isfinite(actual) & ~np.isfinite(expected)
        actual, expected = np.where(alike, 0, actual), np.where(alike, 0, expected)
    tolerance = Tolerance(rtol * SLACK, atol * SLACK, equal_nan=True)
    reason = difference_of_arrays(_signed(actual), _signed(expected), tolerance)
    assert reason is None, f"for {dtype}: {reason}"


def _signed(array: np.ndarray) -> Any:
    """Return booleans and integers as numbers whose differences may be negative."""
    return array.astype(np.int64) if array.dtype.kind in "bu" else array


def _is_exact(dtype: DType) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)


def check_dtypes(info: OpInfo, device: Device) -> None:
    """Check that samples of the dtypes of the `OpInfo` are taken, and of all others refused."""
    taken = []
    for dtype in sorted(known_on(device, EVERY_DTYPE | info.dtypes), key=str):
        if info.skip_of("dtypes", device, dtype):
            continue
        refusal = _refusal(info, device, dtype)
        if dtype in info.dtypes:
            assert refusal is None, f"{dtype} is among its dtypes, but refused: {refusal!r}"
        elif refusal is None:
            taken.append(str(dtype))
        else:
            assert str(refusal), f"{dtype} is refused without a word"
    assert not taken, (
        f"not among its dtypes, but taken: {', '.join(taken)}. Add them to dtypes= of the OpInfo, "
        "or have the kernel refuse them with a TypeError."
    )


def _refusal(info: OpInfo, device: Device, dtype: DType) -> Exception | None:
    """Return the error of the first sample that is refused: where the device computes later, also
    when the values are asked for.
    """
    samples = info.sample_inputs(device, dtype)
    # Of a dtype that the operator takes none is refused, of another one at least one.
    is_taken = dtype in info.dtypes
    for sample in samples_in_part(samples, f"dtypes {info.name} {dtype}") if is_taken else samples:
        given = copied(sample)
        with quiet():
            try:
                _compute(info.op(*given.arguments, **given.kwargs))
            except REFUSALS as refusal:
                return refusal
    return None


def _compute(result: Tensor) -> None:
    """Ask for the values of all tensors among the results."""
    for value in results_of(result):
        if isinstance(value, Tensor):
            as_array(value)


def check_errors(info: OpInfo, device: Device) -> None:
    """Check that error inputs raise the exception and the text that they say: where the device
    computes later, when the values are asked for.
    """
    for error in info.error_inputs(device):
        sample = error.sample_input
        try:
            _compute(info.op(*sample.arguments, **sample.kwargs))
        except Exception as raised:
            assert isinstance(raised, error.error_type), (
                f"{type(raised).__name__}: {raised} instead of {error.error_type.__name__} for "
                f"{sample!r}"
            )
            assert re.search(error.error_regex, str(raised)), (
                f"{str(raised)!r} does not match {error.error_regex!r} for {sample!r}"
            )
        else:
            raise AssertionError(f"{sample!r} is taken, but should be refused")


def check_samples(info: OpInfo, device: Device) -> None:
    """Check that samples are the same at every call, on the device, and without shared memory."""
    for dtype in dtypes_of(info, "samples", device):
        first, second = info.sample_inputs(device, dtype), info.sample_inputs(device, dtype)
        assert first, f"it has no samples of {dtype}"
        assert [repr(sample) for sample in first] == [repr(sample) for sample in second]
        for one, other in zip(first, second, strict=True):
            for left, right in zip(one.tensors(), other.tensors(), strict=True):
                # Lengths and places that an operator reads are on the cpu, wherever the others are.
                is_read = left.device.type == "cpu" and left.dtype is int64
                assert is_read or left.device.type == device.type, (
                    f"a tensor of {one!r} is on {left.device}"
                )
                assert np.array_equal(
                    as_array(left), as_array(right), equal_nan=not _is_exact(left.dtype)
                )

"""`assert_close`: values that agree up to rounding, with shapes and dtypes that agree exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovetail_aten import Tensor
from dovetail_kernel import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
)

__all__ = ["TOLERANCES", "as_array", "assert_close", "tolerance_of"]

TOLERANCES: Final[dict[dtype, tuple[float, float]]] = {
    bfloat16: (1.6e-2, 1e-5),
    float16: (1e-3, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
"""``(rtol, atol)`` by dtype, PyTorch's; dtypes that are not here have to agree exactly."""


def tolerance_of(*dtypes: dtype) -> tuple[float, float]:
    """Return the widest ``(rtol, atol)`` of some dtypes."""
    found = [TOLERANCES.get(each, (0.0, 0.0)) for each in dtypes]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def as_array(tensor: Tensor) -> NDArray[Any]:
    """Return the values of a tensor of any device, inexact ones in double precision."""
    tensor = tensor.detach()
    if tensor.dtype.is_floating_point:
        tensor = tensor.cpu().to(float64)
    elif tensor.dtype.is_complex:
        tensor = tensor.cpu().to(complex128)
    return np.array(tensor.cpu().numpy())


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Check that two tensors, numbers, or sequences or mappings of them, are close.

    ``|actual - expected| <= atol + rtol * |expected|`` for every element; infinities agree.

    Parameters
    ----------
    actual, expected
        What is compared.
    rtol, atol
        Both or neither. Default: by dtype, see `TOLERANCES`; of two dtypes the wider.
    equal_nan
        Whether NaN agrees with NaN. Default: False.
    check_device, check_dtype
        Whether these have to agree. Default: True.
    msg
        The text of the error. Default: what differs, and where most.

    Raises
    ------
    AssertionError
        If they are not close.
    ValueError
        If only one of `rtol` and `atol` is given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol go together. Give both or neither.")
    reason = _difference(actual, expected, "", rtol, atol, equal_nan, check_device, check_dtype)
    if reason is not None:
        raise AssertionError(msg if msg is not None else reason)


def _difference(
    actual: Any,
    expected: Any,
    where: str,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_device: bool,
    check_dtype: bool,
) -> str | None:
    """Return how two values differ, or None."""
    options = (rtol, atol, equal_nan, check_device, check_dtype)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"the keys of the mappings{where} differ: {set(actual) ^ set(expected)}"
        parts = [(actual[key], expected[key], f"{where}[{key!r}]") for key in actual]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"the lengths of the sequences{where} differ: {len(actual)} and {len(expected)}"
        numbered = enumerate(zip(actual, expected, strict=True))
        parts = [(left, right, f"{where}[{place}]") for place, (left, right) in numbered]
    else:
        return _difference_of_leaves(actual, expected, where, *options)
    found = [_difference(left, right, place, *options) for left, right, place in parts]
    return next((reason for reason in found if reason is not None), None)


def _difference_of_leaves(
    actual: Any,
    expected: Any,
    where: str,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_device: bool,
    check_dtype: bool,
) -> str | None:
    if (actual is None) != (expected is None):
        return f"the values{where} differ: {actual!r} and {expected!r}"
    if actual is None:
        return None
    dtypes = [each.dtype for each in (actual, expected) if isinstance(each, Tensor)]
    if len(dtypes) == 2:
        if check_device and actual.device != expected.device:
            return f"the devices{where} differ: {actual.device} and {expected.device}"
        if check_dtype and dtypes[0] is not dtypes[1]:
            return f"the dtypes{where} differ: {dtypes[0]} and {dtypes[1]}"
    if rtol is None or atol is None:
        rtol, atol = tolerance_of(*(dtypes or [float64]))
    left, right = [
        as_array(each) if isinstance(each, Tensor) else np.asarray(each)
        for each in (actual, expected)
    ]
    return difference_of_arrays(left, right, rtol, atol, equal_nan=equal_nan, where=where)


def difference_of_arrays(
    actual: NDArray[Any],
    expected: NDArray[Any],
    rtol: float,
    atol: float,
    *,
    equal_nan: bool,
    where: str = "",
) -> str | None:
    """Return how the shapes or values of two arrays differ, or None."""
    if actual.shape != expected.shape:
        return f"the shapes{where} differ: {actual.shape} and {expected.shape}"
    with np.errstate(all="ignore"):
        agree = np.isclose(actual, expected, rtol, atol, equal_nan)
        if agree.all():
            return None
        # Parts of a complex infinity are not told apart.
        if np.iscomplexobj(actual) and equal_nan:
            agree |= ~np.isfinite(actual) & ~np.isfinite(expected)
            if agree.all():
                return None
    place = tuple(int(index) for index in np.argwhere(~np.atleast_1d(agree))[0][: actual.ndim])
    return (
        f"the values{where} are not close: {int((~agree).sum())} of {agree.size} differ, the first "
        f"at {place}: {actual[place]} and {expected[place]} (rtol {rtol}, atol {atol})"
    )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)

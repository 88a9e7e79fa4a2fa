"""`assert_close`: comparison of values up to rounding, and of shapes, dtypes and devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dovetail_aten import Tensor, as_tensor, tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import (
    complex128,
    float16,
    float32,
    float64,
    int64,
    promote_types,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    warn_user,
)

from .comparison import (
    TOLERANCES,
    Tolerance,
    difference_of_arrays,
    difference_of_numbers,
    tolerance_of,
)

_STORED = {
    sparse_coo: "_indices _values",
    sparse_csr: "crow_indices col_indices values",
    sparse_csc: "ccol_indices row_indices values",
}
"""The methods that return what a sparse tensor stores, by layout."""

_WIDE_TOLERANCES = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}

_DTYPES = {int: int64, float: float64, complex: complex128}


def _number(tolerance: Any) -> float | None:
    """Return a tolerance, which may be a tensor of one element, as a float."""
    return float(tolerance) if isinstance(tolerance, Tensor) else tolerance


def assert_close(
    actual: object,
    expected: object,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Check that two tensors, numbers, or sequences or mappings of them, are close.

    ``|actual - expected| <= atol + rtol * |expected|`` for every element; infinities agree. Tensors
    on the meta device have no values; only their other properties are compared.

    Parameters
    ----------
    actual, expected
        Tensors, or objects of the same type that `dovetail.as_tensor` accepts (NumPy arrays);
        numbers; None; sequences and mappings of these. A number never equals a tensor.
    allow_subclasses
        Whether tensors of different subclasses may be equal. Default: True.
    rtol, atol
        Both or neither. Default: by dtype, float16 (1e-3, 1e-5), bfloat16 (1.6e-2, 1e-5), float32
        and complex64 (1.3e-6, 1e-5), float64 and complex128 (1e-7, 1e-7), others (0, 0); for
        different dtypes, the larger tolerance.
    equal_nan
        Whether NaN equals NaN. Default: False.
    check_device, check_dtype, check_layout
        Whether these must be equal. If not, tensors are compared on the cpu, in the promoted dtype.
        Default: True.
    check_stride
        Whether strides must be equal. Default: False.
    msg
        The error message, or a function of the default message. Default: a description of the
        differences, with the greatest one.

    Raises
    ------
    AssertionError
        If they are not close, or if containers have different lengths or keys.
    TypeError
        If they cannot be compared with each other.
    ValueError
        If only one of `rtol` and `atol` is passed.

    Examples
    --------
    >>> assert_close(dovetail.tensor([1.0, 2.0]), dovetail.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    comparison = _Comparison(
        allow_subclasses, _number(rtol), _number(atol), equal_nan, check_device, check_dtype,
        check_layout, check_stride,
    )  # fmt: skip
    pairs = list(comparison.pairs(actual, expected, ()))
    for left, right, place in pairs:
        reason = comparison.difference(left, right)
        if reason is not None:
            text = reason + _at(place)
            raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def assert_allclose(
    actual: object,
    expected: object,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Check that two tensors, or what `dovetail.tensor` makes tensors of, are close: with wider
    tolerances than `assert_close`, which replaces it, and whatever their dtypes.

    Parameters
    ----------
    actual, expected
        Tensors, or objects that `dovetail.tensor` accepts.
    rtol, atol
        As in `assert_close`. Default: float16 (1e-3, 1e-3), float32 (1e-4, 1e-5), float64
        (1e-5, 1e-8), others (0, 0); for different dtypes, the larger tolerance.
    equal_nan
        Whether NaN equals NaN. Default: True.
    msg
        The error message. Default: a description of the differences.

    Raises
    ------
    AssertionError
        If they are not close.
    """
    warn_user(
        "`dovetail.testing.assert_allclose()` is deprecated. Use assert_close().", FutureWarning
    )
    left = actual if isinstance(actual, Tensor) else tensor(actual)
    right = expected if isinstance(expected, Tensor) else tensor(expected, dtype=left.dtype)
    if rtol is None and atol is None:
        both = [_WIDE_TOLERANCES.get(each.dtype, (0.0, 0.0)) for each in (left, right)]
        rtol, atol = map(max, zip(*both, strict=True))
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    assert_close(left, right, check_dtype=False, msg=msg or None, **options)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The options of a comparison."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def pairs(
        self, actual: Any, expected: Any, place: tuple[Any, ...]
    ) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
        """Yield the values in two containers that belong together, and where they are."""
        if _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                _refuse(
                    f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place
                )
            for position, (left, right) in enumerate(zip(actual, expected, strict=True)):
                yield from self.pairs(left, right, (*place, position))
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            if actual.keys() != expected.keys():
                missing = _sorted(expected.keys() - actual.keys())
                additional = _sorted(actual.keys() - expected.keys())
                _refuse(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {missing}\n"
                    f"Additional keys in the actual mapping: {additional}",
                    place,
                )
            for key in _sorted(set(actual.keys())):  # what is iterated over may be rows
                yield from self.pairs(actual[key], expected[key], (*place, key))
        else:
            yield (*self._comparable(actual, expected, place), place)

    def _comparable(
        self, actual: object, expected: object, place: tuple[object, ...]
    ) -> tuple[Any, Any]:
        """Return two values as numbers or tensors."""
        if actual is None or expected is None or _are_numbers(actual, expected):
            return actual, expected
        left, right = type(actual), type(expected)
        related = issubclass(left, right) or issubclass(right, left)
        if left is right or (related and self.allow_subclasses):
            try:
                tensors = as_tensor(actual), as_tensor(expected)
            except (TypeError, ValueError, RuntimeError):
                pass
            else:
                if not isinstance(actual, str):
                    return tensors
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {left} and {right}.{_at(place)}"
        )

    def difference(self, actual: Any, expected: Any) -> str | None:
        """Return how two values differ, or None."""
        if actual is None or expected is None:
            same = actual is expected
            return None if same else f"None mismatch: {actual} is not {expected}"
        if isinstance(actual, Tensor):
            return self._difference_of_attributes(actual, expected) or self._difference_of_values(
                actual.detach(), expected.detach()
            )
        if all(isinstance(each, bool | np.bool_) for each in (actual, expected)):
            return None if actual == expected else f"Booleans mismatch: {actual} is not {expected}"
        left, right = [each.item() if isinstance(each, np.generic) else each
                       for each in (actual, expected)]  # fmt: skip
        if self.check_dtype and type(left) is not type(right):
            return f"The (d)types do not match: {type(left)} != {type(right)}."
        dtypes = [_DTYPES.get(type(each), bool_) for each in (left, right)]
        return difference_of_numbers(left, right, self._tolerance(*dtypes))

    def _difference_of_attributes(self, actual: Tensor, expected: Tensor) -> str | None:
        checked = [
            ("shape", True, actual.shape, expected.shape),
            ("layout", self.check_layout, actual.layout, expected.layout),
            ("device", self.check_device, actual.device, expected.device),
            ("stride()", self.check_stride, actual.stride(), expected.stride()),
            ("dtype", self.check_dtype, actual.dtype, expected.dtype),
        ]
        for name, wanted, left, right in checked:
            if wanted and left != right:
                return f"The values for attribute '{name}' do not match: {left} != {right}."
        return None

    def _difference_of_values(self, actual: Tensor, expected: Tensor) -> str | None:
        if actual.is_meta or expected.is_meta:
            return None
        if (form := actual.layout) is not strided or expected.layout is not strided:
            if form is not expected.layout:
                return self._difference_of_values(actual.to_dense(), expected.to_dense())
            return self._difference_of_stored(actual, expected, _STORED[form])
        dtype = promote_types(actual.dtype, expected.dtype)
        if dtype not in TOLERANCES:  # booleans and integers: differences may be negative
            dtype = int64
        tolerance = self._tolerance(actual.dtype, expected.dtype)
        return difference_of_arrays(_array(actual, dtype), _array(expected, dtype), tolerance)

    def _difference_of_stored(self, actual: Any, expected: Any, names: str) -> str | None:
        counts = actual._nnz(), expected._nnz()
        if counts[0] != counts[1]:
            return (
                f"The number of specified values in sparse tensors does not match: {counts[0]} != "
                f"{counts[1]}"
            )
        for name in names.split():
            left, right = getattr(actual, name)(), getattr(expected, name)()
            if found := self._difference_of_values(left, right):
                return f"Sparse {name.strip('_')}: {found}"
        return None

    def _tolerance(self, *dtypes: Any) -> Tolerance:
        if self.rtol is None or self.atol is None:
            return Tolerance(*tolerance_of(*dtypes), self.equal_nan)
        return Tolerance(self.rtol, self.atol, self.equal_nan)


def _array(tensor: Tensor, dtype: object) -> NDArray[Any]:
    return np.asarray(tensor.cpu().to(dtype).array)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(each, int | float | complex | np.number | np.bool_) for each in values)


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _sorted(keys: set[object]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # keys of several types
        return sorted(keys, key=repr)


def _refuse(text: str, place: tuple[object, ...]) -> NoReturn:
    raise AssertionError(text + _at(place))


def _at(place: tuple[object, ...]) -> str:
    if not place:
        return ""
    return f"\n\nThe failure occurred for item {''.join(f'[{each!r}]' for each in place)}"

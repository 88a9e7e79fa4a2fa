"""Uniform, normal and integer numbers of every dtype, which all random kernels are made of."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType
from dovetail_kernel import finfo, float32, float64, iinfo, warn_user
from dovetail_kernel.types import COMPLEX, FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.dims import check_size
from ....kernel_support.family import Family
from ....typing import Array

_BEYOND = 1 << 63
"""The smallest positive integer that is not an int64."""


class Drawing(Family):
    """Numbers drawn from a generator; None means the default generator of the backend.

    `like` is the array that the numbers are for, or a shape. A backend whose numbers depend on the
    strides of the array overrides these methods.
    """

    def _check(self, name: str, dtype: NativeDtype) -> None:
        """Raise an error for a dtype that the numbers are not drawn in."""
        if self.dtypes[dtype].category < FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{self.dtypes[dtype].scalar_name}'. Ask for a "
                "floating-point dtype."
            )

    def _uniform(
        self, like: Any, dtype: NativeDtype, generator: object, low: float = 0.0, high: float = 1.0
    ) -> Any:
        """Return uniform numbers of [low, high), of complex dtype in both parts."""
        self._check("check_uniform_bounds", dtype)
        if self.dtypes[dtype].category == COMPLEX:
            part = self.native_dtypes[self.dtypes[dtype].to_real()]
            real = self._uniform(like, part, generator, low, high)
            imaginary = self._uniform(like, part, generator, low, high)
            return real + self.numbers.of_dtype(1j, dtype) * imaginary
        drawn = self.capabilities.uniform(shape_of(like), dtype, generator)
        drawn = drawn.astype(dtype, copy=False)
        return drawn if low == 0 and high == 1 else self._moved(drawn, low, high - low)

    def _normal(
        self, like: Any, dtype: NativeDtype, generator: object, mean: float = 0.0, std: float = 1.0
    ) -> Any:
        """Return normal numbers, of complex dtype with both parts of half the variance."""
        self._check("normal_kernel", dtype)
        if self.dtypes[dtype].category == COMPLEX:
            part = self.native_dtypes[self.dtypes[dtype].to_real()]
            std /= math.sqrt(2)
            real = self._normal(like, part, generator, mean, std)
            imaginary = self._normal(like, part, generator, 0.0, std)
            return real + self.numbers.of_dtype(1j, dtype) * imaginary
        drawn = self.capabilities.normal(shape_of(like), dtype, generator)
        drawn = drawn.astype(dtype, copy=False)
        return drawn if mean == 0 and std == 1 else self._moved(drawn, mean, std)

    def _moved(self, drawn: Array, start: float, scale: float) -> Any:
        return drawn * self.numbers.like(drawn, scale) + self.numbers.like(drawn, start)

    def _chosen(self, like: Any, p: Any, generator: object) -> Any:
        """Return True with probability `p`, a number or an array that broadcasts, else False."""
        drawn = self.capabilities.uniform(shape_of(like), self.native_dtypes[float32], generator)
        return drawn < p

    def _wide_uniform(self, x: Any, generator: object) -> Any:
        """Return uniform numbers of [0, 1) like `x`, as precise as the backend has them: in
        float64 where `x` is of integers, and at least in float32.
        """
        dtype = x.dtype
        if self.dtypes[dtype].category < FLOAT:
            dtype = self.native_dtypes[float64]
        elif dtype in self.precision.halves:
            dtype = self.precision.single
        return self.capabilities.uniform(shape_of(x), dtype, generator).astype(dtype, copy=False)

    def _wide_normal(self, x: Any, mean: float, std: float, generator: object) -> Any:
        """Return normal numbers like `x`, at least in float32."""
        return self.precision.wide(self._normal(x, x.dtype, generator, mean, std))

    def _check_bounds(self, low: int, high: int, wanted: DType) -> None:
        """Raise an error for a dtype that does not hold the drawn numbers."""
        if wanted.category == COMPLEX:
            raise RuntimeError(
                "check_random_bounds handles only integral, floating-point and boolean types. Ask "
                "for a real dtype."
            )
        limits = _limits(wanted)
        for name, number in (("from", low), ("to - 1", high - 1)):
            if not limits[0] <= number <= limits[1]:
                raise RuntimeError(
                    f"{name} is out of bounds for {wanted.scalar_name}: {number} is none of "
                    f"[{limits[0]}, {limits[1]}]. Ask for another dtype."
                )
        if wanted.category >= FLOAT:
            exact = round(2 / finfo(wanted).eps)
            for name, number in (("from", low), ("to - 1", high - 1)):
                if not -exact <= number <= exact:
                    warn_user(
                        f"{name} is out of bounds [-{exact}, {exact}]: beyond them "
                        f"{wanted.name} cannot represent every integer, so not all are drawn. "
                        "Draw in another dtype."
                    )

    def _integers(
        self, low: int, high: int, like: Any, dtype: NativeDtype | None, generator: object
    ) -> Any:
        """Return integers of ``[low, high)``, all equally likely."""
        for bound in (low, high - 1):
            if not -_BEYOND <= bound < _BEYOND:
                raise ValueError(
                    f"Overflow when unpacking long long: random integers of [{low}, {high}) need "
                    "more than 64 bits. Give bounds within int64."
                )
        _check_order(low, high)
        if dtype is not None:
            self._check_bounds(low, high, self.dtypes[dtype])
            low, high = _kept_within(low, high, self.dtypes[dtype])
            _check_order(low, high)
        sample = self._drawn_integers(low, high, like, generator)
        return sample if dtype is None else sample.astype(dtype, copy=False)

    def _drawn_integers(self, low: int, high: int, like: Any, generator: object) -> Any:
        """Return int64 numbers of ``[low, high)``."""
        return self.capabilities.integers(low, high, shape_of(like), generator)

    def _numbers_up_to(self, greatest: int, x: Any, generator: object) -> Any:
        """Return the integers from 0 to `greatest`, the last of the dtype of `x`, like `x`."""
        return self._drawn_integers(0, greatest + 1, x, generator)


@lru_cache(maxsize=32)
def _check_order(low: int, high: int) -> None:
    """Raise an error for bounds between which there is no integer."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}. The "
            "upper end is exclusive."
        )


def _kept_within(low: int, high: int, kind: DType) -> tuple[int, int]:
    """Return bounds of integers: of a floating dtype those of PyTorch, one step further in where
    the first or last number would be rounded out of ``[low, high)``.
    """
    if kind.category < FLOAT:
        return low, high
    digits = round(math.log2(2 / finfo(kind).eps))
    first, last = _rounded(low + 1, digits), _rounded(high - 1, digits)
    if first < low:
        low = first + (1 << (abs(low + 1).bit_length() - digits))
    if last >= high:
        high = last - (1 << (abs(high - 1).bit_length() - digits))
    return low, high


def _rounded(number: int, digits: int) -> int:
    """Return the nearest integer of at most so many binary digits, the even one of two."""
    step = 1 << max(abs(number).bit_length() - digits, 0)
    whole, rest = divmod(number, step)
    return (whole + (2 * rest > step or (2 * rest == step and whole % 2 == 1))) * step


def _limits(wanted: DType) -> tuple[int, int]:
    """Return the least and the greatest integer that a dtype holds, or rounds."""
    if wanted.category >= FLOAT:
        return -int(finfo(wanted).max), int(finfo(wanted).max)
    return (0, 1) if wanted is bool_ else (iinfo(wanted).min, iinfo(wanted).max)


def shape_of(like: Any) -> tuple[int, ...]:
    """Return the shape of an array, or the shape that was given for one. Raises RuntimeError for a
    negative size.
    """
    return tuple(like.shape) if hasattr(like, "dtype") else check_size(like)

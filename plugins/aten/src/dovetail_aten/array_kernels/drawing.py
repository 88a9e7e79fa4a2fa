"""Uniform, normal and integer numbers of every dtype, which all random kernels are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType
from dovetail_kernel import float32, iinfo
from dovetail_kernel.types.dtype import COMPLEX, FLOAT

from .creation import check_size
from .family import Family


class Drawing(Family):
    """Numbers drawn from a generator; None means the default generator of the backend."""

    def _check(self, name: str, dtype: Any) -> None:
        """Refuse a dtype that the numbers are not drawn in."""
        if self.dtypes[dtype].category < FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{self.dtypes[dtype].scalar_name}'. Ask for a "
                "floating-point dtype."
            )

    def _uniform(self, shape: Sequence[int], dtype: Any, generator: Any) -> Any:
        """Return uniform numbers of [0, 1), of complex dtype in both parts."""
        self._check("check_uniform_bounds", dtype)
        if self.dtypes[dtype].category == COMPLEX:
            part = self.native_dtypes[self.dtypes[dtype].to_real()]
            real = self._uniform(shape, part, generator)
            imaginary = self._uniform(shape, part, generator)
            return real + self.numbers.of_dtype(1j, dtype) * imaginary
        return self.capabilities.uniform(tuple(shape), dtype, generator).astype(dtype, copy=False)

    def _normal(self, shape: Sequence[int], dtype: Any, generator: Any) -> Any:
        """Return standard normal numbers, of complex dtype with both parts of half the variance."""
        self._check("normal_kernel", dtype)
        if self.dtypes[dtype].category == COMPLEX:
            part = self.native_dtypes[self.dtypes[dtype].to_real()]
            real = self._normal(shape, part, generator)
            imaginary = self._normal(shape, part, generator)
            both = real + self.numbers.of_dtype(1j, dtype) * imaginary
            return both * self.numbers.of_dtype(math.sqrt(0.5), dtype)
        return self.capabilities.normal(tuple(shape), dtype, generator).astype(dtype, copy=False)

    def _draw(self, shape: Sequence[int], generator: Any) -> Any:
        """Return uniform float32 numbers of [0, 1) to compare probabilities with."""
        return self.capabilities.uniform(tuple(shape), self.native_dtypes[float32], generator)

    def _check_bounds(self, low: int, high: int, wanted: DType) -> None:
        """Refuse a dtype that does not hold what is drawn."""
        if wanted.category == COMPLEX:
            raise RuntimeError(
                "check_random_bounds handles only integral, floating-point and boolean types. Ask "
                "for a real dtype."
            )
        if wanted.category >= FLOAT:
            return
        limits = (0, 1) if wanted is bool_ else (iinfo(wanted).min, iinfo(wanted).max)
        for name, number in (("from", low), ("to - 1", high - 1)):
            if not limits[0] <= number <= limits[1]:
                raise RuntimeError(
                    f"{name} is out of bounds for {wanted.scalar_name}: {number} is none of "
                    f"[{limits[0]}, {limits[1]}]. Ask for another dtype."
                )

    def _integers(
        self, low: int, high: int, size: Sequence[int], dtype: Any, generator: Any
    ) -> Any:
        """Return integers of ``[low, high)``, all equally likely."""
        if low >= high:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}. "
                "The "
                "upper end is exclusive."
            )
        if dtype is not None:
            self._check_bounds(low, high, self.dtypes[dtype])
        sample = self.capabilities.integers(low, high, check_size(size), generator)
        return sample if dtype is None else sample.astype(dtype, copy=False)

"""Random numbers. A generator of None means the default generator of the backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import float32
from dovetail_kernel.types.dtype import COMPLEX, FLOAT

from .capabilities import Capabilities
from .creation import check_size, default_float
from .dtype_errors import float_only
from .operands import Numbers
from .table import KernelTable


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_numbers(xp, kernel, capabilities)
    _define_choices(xp, kernel, capabilities)


def _define_numbers(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    check_float, numbers, dtypes = (
        float_only(capabilities),
        Numbers(capabilities),
        capabilities.dtypes,
    )

    def check(name: str, dtype: Any) -> None:
        if dtypes[dtype].category < FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{dtypes[dtype].scalar_name}'. Ask for a "
                "floating-point dtype."
            )

    def uniform(shape: Sequence[int], dtype: Any, generator: Any) -> Any:
        check("check_uniform_bounds", dtype)
        if dtypes[dtype].category == COMPLEX:
            part = capabilities.native_dtypes[dtypes[dtype].to_real()]
            return uniform(shape, part, generator) + numbers.of_dtype(1j, dtype) * uniform(
                shape, part, generator
            )
        return capabilities.uniform(tuple(shape), dtype, generator).astype(dtype, copy=False)

    def normal(shape: Sequence[int], dtype: Any, generator: Any) -> Any:
        check("normal_kernel", dtype)
        if dtypes[dtype].category == COMPLEX:
            part = capabilities.native_dtypes[dtypes[dtype].to_real()]
            both = normal(shape, part, generator) + numbers.of_dtype(1j, dtype) * normal(
                shape, part, generator
            )
            return both * numbers.of_dtype(math.sqrt(0.5), dtype)
        return capabilities.normal(tuple(shape), dtype, generator).astype(dtype, copy=False)

    @kernel.named("rand")
    def rand(
        size: Sequence[int], *, dtype: Any = None, generator: Any = None, **options: Any
    ) -> Any:
        return uniform(check_size(size), dtype or default_float(capabilities), generator)

    @kernel.named("randn")
    def randn(
        size: Sequence[int], *, dtype: Any = None, generator: Any = None, **options: Any
    ) -> Any:
        return normal(check_size(size), dtype or default_float(capabilities), generator)

    @kernel.named("rand_like")
    def rand_like(self: Any, *, dtype: Any = None, **options: Any) -> Any:
        return uniform(self.shape, dtype or self.dtype, None)

    @kernel.named("randn_like")
    def randn_like(self: Any, *, dtype: Any = None, **options: Any) -> Any:
        return normal(self.shape, dtype or self.dtype, None)

    @kernel.named("uniform_")
    def uniform_(self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Any:
        check_float("check_uniform_bounds", self)
        if from_ > to:
            raise RuntimeError(
                f"uniform_ expects to return a [from, to) range, but found from={from_} > "
                f"to={to}. Swap them."
            )
        sample = uniform(self.shape, self.dtype, generator)
        if from_ == 0 and to == 1:
            return sample
        return sample * numbers.like(sample, to - from_) + numbers.like(sample, from_)

    @kernel.named("normal_")
    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        check_float("normal_kernel", self)
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        sample = normal(self.shape, self.dtype, generator)
        if mean == 0 and std == 1:
            return sample
        return sample * numbers.like(sample, std) + numbers.like(sample, mean)

    def integers(low: int, high: int, size: Sequence[int], dtype: Any, generator: Any) -> Any:
        if low >= high:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}. "
                "The "
                "upper end is exclusive."
            )
        sample = capabilities.integers(low, high, check_size(size), generator)
        return sample if dtype is None else sample.astype(dtype, copy=False)

    @kernel.named("randint")
    def randint(
        high: int, size: Sequence[int], *, dtype: Any = None, generator: Any = None, **options: Any
    ) -> Any:
        return integers(0, high, size, dtype, generator)

    @kernel.named("randint.low")
    def randint_low(
        low: int,
        high: int,
        size: Sequence[int],
        *,
        dtype: Any = None,
        generator: Any = None,
        **options: Any,
    ) -> Any:
        return integers(low, high, size, dtype, generator)

    @kernel.named("randperm")
    def randperm(n: int, *, dtype: Any = None, generator: Any = None, **options: Any) -> Any:
        check_size((n,))
        order = capabilities.permutation(n, generator)
        return order if dtype is None else order.astype(dtype, copy=False)


def _define_choices(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    check_float, numbers, dtypes = (
        float_only(capabilities),
        Numbers(capabilities),
        capabilities.dtypes,
    )
    single = capabilities.native_dtypes[float32]

    def draw(shape: Sequence[int], generator: Any) -> Any:
        return capabilities.uniform(tuple(shape), single, generator)

    @kernel.named("bernoulli")
    def bernoulli(self: Any, *, generator: Any = None) -> Any:
        check_float("bernoulli_tensor_p_", self)
        if not bool(xp.all(xp.logical_and(self >= 0, self <= 1))):
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false: probabilities lie in "
                "[0, 1]"
            )
        return (draw(self.shape, generator) < self).astype(self.dtype)

    @kernel.named("bernoulli_.float")
    def bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        return (draw(self.shape, generator) < p).astype(self.dtype)

    @kernel.named("native_dropout")
    def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
        if train is False or p == 0:
            return capabilities.clone(input), xp.ones(input.shape, xp.bool_)
        if p == 1:
            return xp.zeros(input.shape, input.dtype), xp.zeros(input.shape, xp.bool_)
        mask = draw(input.shape, None) >= p
        return xp.multiply(input, mask) * numbers.like(input, 1 / (1 - p)), mask

    @kernel.named("native_dropout_backward")
    def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
        return xp.multiply(grad_output, mask) * numbers.like(grad_output, scale)

    def check_distribution(self: Any, num_samples: int, replacement: bool) -> None:
        if dtypes[self.dtype].category != FLOAT:
            raise RuntimeError(
                "multinomial only supports floating-point dtypes for input, got: "
                f"{dtypes[self.dtype].scalar_name}"
            )
        if self.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > self.shape[-1]:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement. Give "
                "replacement=True."
            )
        if not bool(xp.all(xp.logical_and(xp.isfinite(self), self >= 0))):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if bool(xp.any(xp.sum(self, -1) <= 0)):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")

    @kernel.named("multinomial")
    def multinomial(
        self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None
    ) -> Any:
        check_distribution(self, num_samples, replacement)
        weights = self.astype(xp.float64)
        if not replacement:
            # The order of exponential arrival times is that of draws without replacement.
            times = -xp.log1p(-capabilities.uniform(weights.shape, xp.dtype(xp.float64), generator))
            never = weights == 0
            times = xp.where(never, math.inf, times / xp.where(never, 1.0, weights))
            return xp.array(xp.argsort(times, -1)[..., :num_samples], order="C", copy=True)
        edges = xp.cumsum(weights, -1)
        edges = edges / edges[..., -1:]
        draws = capabilities.uniform(
            (*weights.shape[:-1], num_samples), xp.dtype(xp.float64), generator
        )
        return xp.sum(draws[..., :, None] >= edges[..., None, :-1], -1, xp.int64)

"""Numbers drawn from distributions, made of uniform and normal ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import float32, float64, iinfo
from dovetail_kernel.types import COMPLEX, FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import operator
from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array
from .drawing import Drawing
from .random import no_chance


class Distributions(Drawing):
    """Normal numbers with given means and deviations, and other distributions."""

    # -- normal ------------------------------------------------------------------------------------

    def _check_deviation(self, std: float) -> Any:
        """Return `std`, after checking that it is a standard deviation."""
        if not hasattr(std, "dtype"):
            if not std >= 0:
                raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
            return std
        if self.dtypes[std.dtype].category == COMPLEX:
            raise RuntimeError(
                "normal expects standard deviation to be non-complex. Give its absolute value."
            )
        return self.checked(std, std >= 0, _no_deviation)

    @operator("normal.Tensor_float")
    def normal_around(self, mean: Array, std: float = 1.0, *, generator: object = None) -> Any:
        """Return a normal number around every element of `mean`."""
        std = self._check_deviation(std)
        return self._normal(mean, mean.dtype, generator, 0.0, std) + mean

    @operator("normal.float_Tensor")
    def normal_as_wide(self, mean: float, std: Any, *, generator: object = None) -> Any:
        """Return a normal number for every standard deviation."""
        std = self._check_deviation(std)
        sample = self._normal(std, std.dtype, generator)
        return sample * std + self.numbers.like(sample, mean)

    @operator("normal.Tensor_Tensor")
    def normal_of_both(self, mean: Array, std: Any, *, generator: object = None) -> Any:
        """Return a normal number for every mean and standard deviation, which broadcast."""
        std = self._check_deviation(std)
        shape = broadcast_shapes([tuple(mean.shape), tuple(std.shape)])
        sample = self._normal(shape, mean.dtype, generator)
        return (sample * std + mean).astype(mean.dtype, copy=False)

    @operator("normal.float_float")
    def normal_of_size(
        self,
        mean: float,
        std: float,
        size: Sequence[int],
        *,
        generator: object = None,
        dtype: NativeDtype | None = None,
        **options: Any,
    ) -> Any:
        """Return a new array of normal numbers."""
        std = self._check_deviation(std)
        return self._normal(size, dtype or self.default_float(), generator, mean, std)

    # -- written into an array ---------------------------------------------------------------------

    def _check_continuous(self, name: str, x: Array) -> None:
        """Raise an error for integers and complex numbers."""
        kind = self.dtypes[x.dtype]
        if kind.category != FLOAT:
            raise RuntimeError(
                f"{name} distribution is a continuous probability distribution. dtype must be a "
                f"floating point but you specified {kind.scalar_name}. Convert the tensor."
            )

    @operator("cauchy_")
    def cauchy_(
        self, x: Array, median: float = 0.0, sigma: float = 1.0, *, generator: object = None
    ) -> Any:
        """Return numbers of the Cauchy distribution, like `x`: the values of cauchy_."""
        self._check_continuous("Cauchy", x)
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        xp, sample = self.xp, self._wide_uniform(x, generator)
        like = self.numbers.like
        tangent = xp.tan((sample - like(sample, 0.5)) * like(sample, math.pi))
        return self._narrow(tangent * like(sample, sigma) + like(sample, median), x)

    @operator("exponential_")
    def exponential_(self, x: Array, lambd: float = 1.0, *, generator: object = None) -> Any:
        """Return numbers of the exponential distribution, like `x`: the values of exponential_."""
        self._check_continuous("Exponential", x)
        if not lambd > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        return self._waiting_times(x, lambd, generator)

    def _waiting_times(self, x: Any, rate: float, generator: object) -> Any:
        """Return numbers of the exponential distribution like `x`."""
        sample = self._wide_uniform(x, generator)
        times = self.xp.log1p(-sample) * self.numbers.like(sample, -1 / rate)
        return self._narrow(times, x)

    @operator("geometric_")
    def geometric_(self, x: Array, p: float, *, generator: object = None) -> Any:
        """Return numbers of trials up to the first success, each of probability `p`, like `x`: the
        values of geometric_.
        """
        xp, kind = self.xp, self.dtypes[x.dtype]
        if kind.category == COMPLEX or kind is bool_:
            raise NotImplementedError(
                f"\"geometric_cpu\" not implemented for '{kind.scalar_name}'. Convert the tensor."
            )
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        sample = self._wide_uniform(x, generator)
        sample = xp.where(sample == 0, self.numbers.like(sample, 2.0**-54), sample)
        trials = xp.log(sample) / self.numbers.like(sample, math.log(1 - p))
        return self._narrow(xp.maximum(self._upwards(trials), self.numbers.like(sample, 1)), x)

    @operator("log_normal_")
    def log_normal_(
        self, x: Array, mean: float = 1.0, std: float = 2.0, *, generator: object = None
    ) -> Any:
        """Return numbers whose logarithms are normal, like `x`: the values of log_normal_."""
        kind = self.dtypes[x.dtype]
        if kind.category != FLOAT:
            raise NotImplementedError(
                f"\"log_normal_cpu\" not implemented for '{kind.scalar_name}'. Convert the tensor."
            )
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        return self._narrow(self.xp.exp(self._wide_normal(x, mean, std, generator)), x)

    def _narrow(self, numbers: Array, x: Array) -> Any:
        """Return floating-point numbers in the dtype of `x`; in half precision by way of float32,
        as PyTorch rounds.
        """
        if x.dtype in self.precision.halves:
            numbers = self.precision.wide(numbers).astype(self.precision.single, copy=False)
        return numbers.astype(x.dtype, copy=False)

    # -- integers ----------------------------------------------------------------------------------

    def _greatest(self, x: Array) -> int:
        """Return the integer up to which every one is a number of the dtype of `x`."""
        kind = self.dtypes[x.dtype]
        if kind.category == COMPLEX:
            raise NotImplementedError(
                f"\"random_kernel_cpu\" not implemented for '{kind.scalar_name}'. Convert the "
                "tensor."
            )
        if kind is bool_:
            return 1
        if kind.category < FLOAT:
            return min(iinfo(kind).max, (1 << 63) - 1)
        return {"float64": 1 << 53, "float32": 1 << 24, "float16": 1 << 11}.get(kind.name, 1 << 8)

    @operator("random_")
    def random_(self, x: Array, *, generator: object = None) -> Any:
        """Return integers from 0 to the maximum of the dtype, like `x`: the values of random_."""
        return self._numbers_up_to(self._greatest(x), x, generator).astype(x.dtype)

    @operator("random_.to")
    def random_to(self, x: Array, to: int, *, generator: object = None) -> Any:
        """Return integers of ``[0, to)``, like `x`: the values of random_."""
        return self._integers(0, to, x, x.dtype, generator)

    @operator("random_.from")
    def random_from(self, x: Array, from_: int, to: int | None, *, generator: object = None) -> Any:
        """Return integers of ``[from_, to)``, or without `to` up to the maximum of the dtype, like
        `x`: the values of random_.
        """
        end = self._greatest(x) + 1 if to is None else to
        return self._integers(from_, end, x, x.dtype, generator)

    # -- by probabilities --------------------------------------------------------------------------

    @operator("bernoulli.p")
    def bernoulli_of(self, x: Array, p: float, *, generator: object = None) -> Any:
        """Return 1 with probability `p`, else 0, like `x`."""
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        return self._chosen(x.shape, p, generator).astype(x.dtype)

    @operator("bernoulli_.Tensor")
    def bernoulli_by(self, x: Array, p: Array, *, generator: object = None) -> Any:
        """Return 1 with the probabilities `p`, which broadcast, else 0, like `x`: the values of
        bernoulli_.
        """
        if self.dtypes[x.dtype].category == COMPLEX:
            raise NotImplementedError(
                '"bernoulli_tensor_cpu_self_" not implemented for '
                f"'{self.dtypes[x.dtype].scalar_name}'. Give a real tensor."
            )
        if self.dtypes[p.dtype].category != FLOAT:
            raise NotImplementedError(
                '"bernoulli_tensor_cpu_p_" not implemented for '
                f"'{self.dtypes[p.dtype].scalar_name}'. Give real ones of a floating point dtype."
            )
        if broadcast_shapes([tuple(x.shape), tuple(p.shape)]) != tuple(x.shape):
            raise RuntimeError(
                f"The expanded size of the tensor {list(x.shape)} must match the existing size "
                f"{list(p.shape)} of the probabilities. Give one for each element."
            )
        p = self.checked(p, self.xp.logical_and(p >= 0, p <= 1), no_chance)
        return self._chosen(x, p, generator).astype(x.dtype)

    @operator("poisson")
    def poisson(self, x: Any, generator: object = None) -> Any:
        """Return numbers of the Poisson distribution with the rates `x`: the least for which the
        cumulative probability exceeds a uniform number.
        """
        xp = self.xp
        x = self._check_rates(x)
        draws = self.capabilities.uniform(tuple(x.shape), self.native_dtypes[float64], generator)
        found = self.scipy("special.pdtrik", "poisson")(draws, x.astype(xp.float64))
        return self._upwards(found).astype(x.dtype)

    def _check_rates(self, x: Array) -> Any:
        """Return `x`, after checking that its elements are rates."""
        kind = self.dtypes[x.dtype]
        if kind.category != FLOAT:
            raise NotImplementedError(
                f"\"poisson_cpu\" not implemented for '{kind.scalar_name}'. Convert the tensor."
            )
        return self.checked(x, x >= 0, _no_rate)

    @operator("binomial")
    def binomial(self, count: Any, prob: Any, generator: object = None) -> Any:
        """Return the numbers of successes in `count` trials with probability `prob`: the least
        number for which the cumulative probability exceeds a uniform one.
        """
        xp = self.xp
        own = count.dtype
        self._check_trials(count, prob)
        shape = broadcast_shapes([tuple(count.shape), tuple(prob.shape)])
        trials = xp.floor_divide(count.astype(xp.float64), 1)
        chance = xp.minimum(xp.maximum(prob.astype(xp.float64), 0.0), 1.0)
        certain = xp.logical_or(chance == 0, chance == 1)
        certain = xp.logical_or(certain, trials <= 0)
        draws = self.capabilities.uniform(shape, self.native_dtypes[float64], generator)
        open_chance = xp.where(certain, 0.5, chance)
        open_trials = xp.where(certain, 1.0, trials)
        found = self.scipy("special.bdtrik", "binomial")(draws, open_trials, open_chance)
        found = xp.minimum(self._upwards(found), open_trials)
        sure = xp.where(trials > 0, trials * chance, 0.0)
        return xp.where(certain, sure, found).astype(own)

    def _check_trials(self, count: Any, prob: Any) -> None:
        """Raise an error for dtypes without a kernel that draws them."""
        for name, array in (("count", count), ("prob", prob)):
            kind = self.dtypes[array.dtype]
            if kind.category != FLOAT:
                raise ValueError(
                    f"binomial only supports floating-point dtypes for {name}, got: "
                    f"{kind.scalar_name}"
                )
        kind = self.dtypes[count.dtype]
        if count.dtype != prob.dtype:
            raise RuntimeError(
                f"Found dtype {self.dtypes[prob.dtype].scalar_name} but expected "
                f"{kind.scalar_name}. Convert one of them."
            )
        if kind not in (float32, float64):
            raise NotImplementedError(
                f"\"binomial_cpu\" not implemented for '{kind.scalar_name}'. Convert to float32."
            )

    def _upwards(self, x: Array) -> Any:
        """Return the integers that numbers from 0 are rounded up to."""
        return -self.xp.floor_divide(-x, 1)


def _no_rate(_value: object) -> Exception:
    return RuntimeError("invalid Poisson rate, expected rate to be non-negative")


def _no_deviation(_value: object) -> Exception:
    return RuntimeError("normal expects all elements of std >= 0.0. Give absolute values.")

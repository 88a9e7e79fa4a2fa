"""Random numbers. A generator of None means the default generator of the backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from dovetail_dispatcher.calls import check_writable_as
from dovetail_kernel import MemoryFormat, finfo, float32, float64, iinfo, preserve_format
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType
from dovetail_kernel.types import COMPLEX, FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.dims import check_size
from ....kernel_support.family import never_warns, operator
from ....kernel_support.geometry.broadcasting import elementwise_order
from ....kernel_support.geometry.memory_layout import inverse, required_order
from ....typing import Array
from .drawing import Drawing

_MOST_CATEGORIES = 1 << 24


class Random(Drawing):
    """Random numbers and random choices."""

    @operator("rand")
    @never_warns
    def rand(
        self,
        size: Sequence[int],
        *,
        dtype: NativeDtype | None = None,
        generator: object = None,
        **options: Any,
    ) -> Any:
        """Return a new array of uniform numbers of [0, 1)."""
        return self._uniform(size, dtype or self.default_float(), generator)

    @operator("randn")
    @never_warns
    def randn(
        self,
        size: Sequence[int],
        *,
        dtype: NativeDtype | None = None,
        generator: object = None,
        **options: Any,
    ) -> Any:
        """Return a new array of standard normal numbers."""
        return self._normal(size, dtype or self.default_float(), generator)

    @operator("rand_like")
    @never_warns
    def rand_like(
        self, x: Any, *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        """Return an array like `x` of uniform numbers of [0, 1)."""
        return self._uniform(self._model(x, memory_format), dtype or x.dtype, None)

    @operator("randn_like")
    @never_warns
    def randn_like(
        self, x: Any, *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        """Return an array like `x` of standard normal numbers."""
        return self._normal(self._model(x, memory_format), dtype or x.dtype, None)

    def _model(self, x: Array, form: MemoryFormat | None) -> Any:
        """Return an array that lies in memory as one like `x` does: numbers are drawn in its
        order.
        """
        if form is None or form is preserve_format:
            if self.capabilities.is_contiguous(x):
                return x
            order = elementwise_order([(x.shape, self.capabilities.strides(x))])[1]
        else:
            order = required_order(form, x.ndim)
        model = self.capabilities.empty([x.shape[dim] for dim in order], x.dtype)
        return model.transpose(inverse(order))

    @operator("uniform_")
    def uniform_(
        self, x: Array, from_: float = 0.0, to: float = 1.0, *, generator: object = None
    ) -> Any:
        """Return uniform numbers of ``[from_, to)``, like `x`: the values of uniform_."""
        self.check_float("check_uniform_bounds", x)
        limit = _greatest_number(self.dtypes[x.dtype])
        for name, bound in (("from", from_), ("to", to)):
            if not -limit <= bound <= limit:
                raise RuntimeError(
                    f"{name} is out of bounds for {self.dtypes[x.dtype].scalar_name}: it is "
                    f"{bound}. Give a finite number."
                )
        if from_ > to:
            raise RuntimeError(
                f"uniform_ expects to return a [from, to) range, but found from={from_} > "
                f"to={to}. Swap them."
            )
        if to - from_ > limit:
            raise RuntimeError(
                "uniform_ expects to-from <= std::numeric_limits<"
                f"{self.dtypes[x.dtype].scalar_name}>::max(), but found to={to} and from={from_} "
                "which result in to-from to exceed the limit"
            )
        return self._uniform(x, x.dtype, generator, from_, to)

    @operator("normal_")
    def normal_(
        self, x: Array, mean: float = 0.0, std: float = 1.0, *, generator: object = None
    ) -> Any:
        """Return normal numbers, like `x`: the values of normal_."""
        self.check_float("normal_kernel", x)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        return self._normal(x, x.dtype, generator, mean, std)

    @operator("randint")
    def randint(
        self,
        high: int,
        size: Sequence[int],
        *,
        dtype: NativeDtype | None = None,
        generator: object = None,
        **options: Any,
    ) -> Any:
        """Return a new array of integers of ``[0, high)``."""
        return self._integers(0, high, size, dtype, generator)

    @operator("randint.low")
    def randint_low(
        self,
        low: int,
        high: int,
        size: Sequence[int],
        *,
        dtype: NativeDtype | None = None,
        generator: object = None,
        **options: Any,
    ) -> Any:
        """Return a new array of integers of ``[low, high)``."""
        return self._integers(low, high, size, dtype, generator)

    @operator("randperm", "randperm.generator")
    def randperm(
        self, n: int, *, dtype: NativeDtype | None = None, generator: object = None, **options: Any
    ) -> Any:
        """Return the integers below `n` in random order."""
        check_size((n,), 8)
        kind = None if dtype is None else self.dtypes[dtype]
        if kind is not None and (kind.category == COMPLEX or kind is bool_):
            raise NotImplementedError(
                f"\"randperm\" not implemented for '{kind.scalar_name}'. Ask for a real number "
                "dtype."
            )
        if kind is not None and n > 1:
            self._check_order(n, kind)
        order = self.capabilities.permutation(n, generator)
        return order if dtype is None else order.astype(dtype, copy=False)

    def _check_order(self, n: int, kind: DType) -> None:
        """Raise an error for a dtype in which some of the integers below `n` are the same."""
        is_float = kind.category == FLOAT
        greatest = round(2 / finfo(kind).eps) if is_float else iinfo(kind).max
        if n - 1 > greatest:
            raise RuntimeError(
                f"randperm: n cannot be greater than {greatest + 1} for {kind.scalar_name} type, "
                f"but is {n}: numbers would repeat. Ask for int64."
            )

    @operator("bernoulli")
    def bernoulli(self, x: Array, *, generator: object = None) -> Any:
        """Return 1 with the probabilities `x`, else 0."""
        self.check_float("bernoulli_tensor_p_", x)
        x = self.checked(x, self.xp.logical_and(x >= 0, x <= 1), no_chance)
        return self.precision.converted(self._chosen(x.shape, x, generator), x.dtype)

    @operator("bernoulli_.float")
    def bernoulli_(self, x: Array, p: float = 0.5, *, generator: object = None) -> Any:
        """Return 1 with probability `p`, else 0, like `x`: the values of bernoulli_."""
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        return self.precision.converted(self._chosen(x, p, generator), x.dtype)

    @operator("native_dropout")
    def native_dropout(self, input: Array, p: float, train: bool | None) -> tuple[Any, Any]:
        """Return `input` with elements dropped with probability `p` and the others scaled by ``1 /
        (1 - p)``, and the mask of the kept elements.
        """
        xp = self.xp
        if train is not False:
            check_writable_as(float32, self.dtypes[input.dtype])
        if train is False or p == 0:
            return self.capabilities.clone(input), xp.ones(input.shape, dtype=xp.bool_)
        if not 0 <= p <= 1:
            raise RuntimeError(
                f"bernoulli_ expects p to be in [0, 1], but got p={1 - p:g}, the chance to be kept "
                f"beside a chance of {p:g} to be dropped. Give a chance between 0 and 1."
            )
        if p == 1:
            return xp.zeros(input.shape, dtype=input.dtype), xp.zeros(input.shape, dtype=xp.bool_)
        mask = self._chosen(input, 1 - p, None)
        return xp.multiply(input, mask) * self.numbers.like(input, 1 / (1 - p)), mask

    @operator("_slopes_of_rrelu")
    def slopes_of_rrelu(self, x: Any, lower: float, upper: float, generator: object = None) -> Any:
        """Return a slope between `lower` and `upper` for elements that are not positive, and 1 for
        others.
        """
        slopes = self._uniform(x, x.dtype, generator, lower, upper)
        return self.xp.where(x <= 0, slopes, self.numbers.like(slopes, 1))

    @operator("native_dropout_backward")
    def native_dropout_backward(self, grad_output: Array, mask: Array, scale: float) -> Any:
        """Return the gradient of dropout: the scaled gradient of the kept elements."""
        return self.xp.multiply(grad_output, mask) * self.numbers.like(grad_output, scale)

    def _check_distribution(self, x: Array, num_samples: int, replacement: bool) -> Any:
        """Return `x`, after refusing what are not weights of a distribution."""
        if self.dtypes[x.dtype].category != FLOAT:
            raise RuntimeError(
                "multinomial only supports floating-point dtypes for input, got: "
                f"{self.dtypes[x.dtype].scalar_name}"
            )
        if x.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if x.shape[-1] > _MOST_CATEGORIES:
            raise RuntimeError(
                f"number of categories cannot exceed 2^24, but there are {x.shape[-1]}. Draw "
                "groups of them first."
            )
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > x.shape[-1]:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement. Give "
                "replacement=True."
            )
        return self._checked_weights(x)

    def _checked_weights(self, x: Any) -> Any:
        """Return `x`, after refusing negative and infinite weights, and rows of zeros."""
        xp = self.xp
        x = self.checked(x, xp.logical_and(xp.isfinite(x), x >= 0), _no_weight)
        return self.checked(x, xp.sum(x, axis=-1, keepdims=True) > 0, _no_distribution)

    @operator("multinomial")
    def multinomial(
        self, x: Any, num_samples: int, replacement: bool = False, *, generator: object = None
    ) -> Any:
        """Return indices drawn with the weights of every row: with replacement from the cumulative
        sums, without it by the order of exponential arrival times (Efraimidis and Spirakis 2006,
        doi:10.1016/j.ipl.2005.11.003).
        """
        xp = self.xp
        x = self._check_distribution(x, num_samples, replacement)
        weights = x.astype(xp.float64)
        if not replacement:
            # The order of exponential arrival times is that of draws without replacement.
            times = -xp.log1p(
                -self.capabilities.uniform(weights.shape, self.native_dtypes[float64], generator)
            )
            never = weights == 0
            times = xp.where(never, math.inf, times / xp.where(never, 1.0, weights))
            return xp.array(xp.argsort(times, axis=-1)[..., :num_samples], order="C", copy=True)
        edges = xp.cumsum(weights, axis=-1)
        edges = edges / edges[..., -1:]
        draws = self.capabilities.uniform(
            (*weights.shape[:-1], num_samples), self.native_dtypes[float64], generator
        )
        return xp.sum(draws[..., :, None] >= edges[..., None, :-1], axis=-1, dtype=xp.int64)


@cache
def _greatest_number(kind: DType) -> float:
    return float(finfo(kind).max)


def no_chance(_value: object) -> Exception:
    """Return the error for an invalid probability."""
    return RuntimeError(
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false: probabilities lie in [0, 1]"
    )


def _no_weight(_value: object) -> Exception:
    return RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")


def _no_distribution(_value: object) -> Exception:
    return RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")

"""Elements combined with others at indices along a dimension: scatter_reduce, index_reduce, and
scatter with a reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import iinfo, warn_user_once
from dovetail_kernel.types import FLOAT

from ....kernel_support.checks.index_checks import PlacesAlong
from ....kernel_support.family import operator
from ....typing import Array

_ALL = slice(None)

SCATTER_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
INDEX_REDUCTIONS = ("prod", "mean", "amax", "amin")
_AS_REDUCTIONS = {"add": "sum", "multiply": "prod"}
"""What `scatter` calls the reductions that it has."""
_FUNCTIONS = {"prod": "multiply", "amax": "maximum", "amin": "minimum"}


def check_reduction(name: str, reduce: str) -> None:
    """Raise an error for a reduction that an operator does not have. Raises RuntimeError with
    PyTorch's message.
    """
    if name == "scatter" and reduce not in _AS_REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either add or multiply, got {reduce}. scatter_reduce has "
            "others."
        )
    if name == "scatter_reduce" and reduce not in SCATTER_REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}. Name one "
            "of these."
        )
    if name == "index_reduce" and reduce not in INDEX_REDUCTIONS:
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}. Name one of these, or use index_add."
        )


class ScatterReductions(PlacesAlong):
    """Reductions of the elements with the same index."""

    @operator("scatter.reduce", "scatter.value_reduce")
    def scatter_with(self, x: Array, dim: int, index: Array, src: Array, *, reduce: str) -> Any:
        """Return a copy with the elements of `src`, or a number, added to or multiplied with those
        at `index` along `dim`.
        """
        check_reduction("scatter", reduce)
        if hasattr(src, "dtype"):
            warn_user_once(
                "The reduce argument of dovetail.scatter with Tensor src is deprecated. Use "
                "dovetail.scatter_reduce, which has more reductions."
            )
        return self._reduced_at("scatter", x, dim, index, src, _AS_REDUCTIONS[reduce], True)

    @operator("scatter_reduce.two")
    def scatter_reduce(
        self, x: Array, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
    ) -> Any:
        """Return a copy with the reductions of the elements of `src` with the same `index` along
        `dim`, including the original element if `include_self`.
        """
        check_reduction("scatter_reduce", reduce)
        return self._reduced_at("scatter", x, dim, index, src, reduce, include_self)

    def _reduced_at(
        self,
        name: str,
        x: Array,
        dim: int,
        index: Array,
        src: Array,
        reduce: str,
        include_self: bool,
    ) -> Any:
        self._check_kind("scatter_gather_tensor_cpu", x, reduce)
        shape = x.shape
        x, axis, index, src = self._lined_up(name, x, dim, index, src)
        if not index.size:
            return self.capabilities.clone(x)
        scatter = self.capabilities.scatter

        def put(array: Array, values: Array, accumulate: bool) -> Any:
            return scatter(array, axis, index, values, accumulate)

        def key() -> tuple[Any, ...]:
            return self._key_along(index, axis)

        return self.xp.reshape(self._combined(x, key, put, src, reduce, include_self), shape)

    @operator("index_reduce")
    def index_reduce(
        self,
        x: Array,
        dim: int,
        index: Array,
        source: Array,
        reduce: str,
        *,
        include_self: bool = True,
    ) -> Any:
        """Return a copy with the reductions of the slices of `source` with the same index along
        `dim`, including the original slice if `include_self`.
        """
        check_reduction("index_reduce", reduce)
        warn_user_once("index_reduce() is in beta and the API may change at any time.")
        axis, index = self._check_slices("index_reduce", x, dim, index, source)
        self._check_kind("index_reduce_func", x, reduce)
        x = self.capabilities.contiguous(x)
        if not index.size:
            return self.capabilities.clone(x)
        shape = x.shape
        if not x.ndim:
            x, source = self.xp.reshape(x, (1,)), self.xp.reshape(source, (1,))
        key = (_ALL,) * axis + (index,)
        index_put = self.capabilities.index_put

        def put(array: Array, values: Array, accumulate: bool) -> Any:
            return index_put(array, key, values, accumulate)

        made = self._combined(x, lambda: key, put, source, reduce, include_self)
        return self.xp.reshape(made, shape)

    def _check_kind(self, name: str, x: Array, reduce: str) -> None:
        """Raise an error for the order of complex numbers, and the mean of bools."""
        dtype = self.dtypes[x.dtype]
        compares = reduce in ("amax", "amin")
        if (compares and dtype.is_complex) or (reduce == "mean" and dtype.category < 1):
            raise NotImplementedError(
                f"\"{name}_reduce_{reduce}\" not implemented for '{dtype.scalar_name}'. Convert it."
            )

    def _key_along(self, index: Array, axis: int) -> tuple[Any, ...]:
        """Return the key of the elements at `index` along a dimension."""
        xp = self.xp
        key: list[Any] = []
        for dim, length in enumerate(index.shape):
            shape = [1] * index.ndim
            shape[dim] = length
            key.append(index if dim == axis else xp.reshape(xp.arange(length), tuple(shape)))
        return tuple(key)

    def _combined(
        self,
        x: Array,
        key: Callable[[], tuple[Any, ...]],
        put: Callable[[Any, Any, bool], Any],
        values: Array,
        reduce: str,
        include_self: bool,
    ) -> Any:
        """Return a copy with the values that come to each index of ``key()`` reduced, where
        ``put(array, values, accumulate)`` writes or adds them.
        """
        xp = self.xp
        if not include_self:
            x = put(x, self._neutral(x, reduce), False)
        if reduce in _FUNCTIONS:
            return self.capabilities.index_combine(x, key(), values, _FUNCTIONS[reduce])
        total = put(x, values, True)
        if reduce == "sum":
            return total
        kept = xp.ones_like(x) if include_self else xp.zeros_like(x)
        count = put(kept, self.numbers.like(x, 1), True)
        count = xp.where(count == 0, self.numbers.like(x, 1), count)
        divide = xp.true_divide if self.dtypes[x.dtype].category >= FLOAT else xp.floor_divide
        return divide(total, count)

    def _neutral(self, x: Array, reduce: str) -> Any:
        """Return the number that a reduction begins with."""
        if reduce in ("sum", "mean"):
            return self.numbers.like(x, 0)
        if reduce == "prod":
            return self.numbers.like(x, 1)
        dtype = self.dtypes[x.dtype]
        if dtype.category >= FLOAT:
            return self.numbers.like(x, float("-inf") if reduce == "amax" else float("inf"))
        if dtype.category < 1:
            return self.numbers.like(x, reduce == "amin")
        limits = iinfo(dtype)
        return self.numbers.like(x, limits.min if reduce == "amax" else limits.max)

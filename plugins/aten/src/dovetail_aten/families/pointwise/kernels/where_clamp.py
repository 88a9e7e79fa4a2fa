"""Choice between operands: bounds, where, masked fill."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import result_dtype, uint8, warn_user_once
from dovetail_kernel.types import COMPLEX

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.family import Family, lays_out, never_warns, operator
from ....kernel_support.table import KernelTable
from ....typing import Array, Namespace, Scalar


class Choices(Family):
    """Kernels that choose, element by element, between operands."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self._boolean = self.native_dtypes[bool_]

    def _promoted(self, *operands: Any) -> list[Any]:
        """Return an array and its bounds with the array, and bounds that are arrays, in their
        common dtype.
        """
        arrays = [each for each in operands if hasattr(each, "dtype")]
        if len({each.dtype for each in arrays}) > 1:
            operands = self._in_common_dtype(arrays, operands)
        x, *bounds = operands
        kind = self.dtypes[x.dtype]
        if kind.category == COMPLEX:
            raise NotImplementedError(
                f"\"clamp\" not implemented for '{kind.scalar_name}': complex numbers have no "
                "order. Clamp real parts."
            )
        for bound in bounds:
            if bound is not None:
                x = self.numbers.pair(x, bound)[0]
        return [x, *bounds]

    def _in_common_dtype(self, arrays: list[Any], operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the operands with those that are arrays in the common dtype of `arrays`."""
        common = result_dtype(
            [self.dtypes[each.dtype] for each in arrays if each.ndim],
            [self.dtypes[each.dtype] for each in arrays if not each.ndim],
        )
        native = self.native_dtypes[common]
        return tuple([each.astype(native) if hasattr(each, "dtype") else each for each in operands])

    def _bound_and(self, x: Array, bound: Any) -> tuple[Any, Any]:
        """Return a bound and an array in one dtype: of equal ones, 0 and -0, namespaces return the
        second. Raises RuntimeError if the dtype cannot hold the bound.
        """
        x, limit = self.numbers.pair(x, bound)
        return (limit if limit is bound else self.numbers.fitting(x, bound)), x

    @operator("clamp", "clamp.Tensor")
    def clamp(self, x: Array, min: Scalar | None = None, max: Scalar | None = None) -> Any:
        """Return `x` limited to ``[min, max]``; a bound that is None is none."""
        xp = self.xp
        if min is None and max is None:
            raise RuntimeError(
                "torch.clamp: At least one of 'min' or 'max' must not be None. Give a bound."
            )
        x, min, max = self._promoted(x, min, max)
        if min is not None:
            x = xp.maximum(*self._bound_and(x, min))
        return x if max is None else xp.minimum(*self._bound_and(x, max))

    @operator("clamp_min", "clamp_min.Tensor")
    def clamp_min(self, x: Array, min: Scalar) -> Any:
        """Return the greater of `x` and `min`."""
        return self.xp.maximum(*self._bound_and(x, min))

    @operator("clamp_max", "clamp_max.Tensor")
    def clamp_max(self, x: Array, max: object) -> Any:
        """Return the lesser of `x` and `max`."""
        return self.xp.minimum(*self._bound_and(x, max))

    @operator("where.self")
    @never_warns
    def where(self, condition: Any, x: Array | Scalar, other: Array | Scalar) -> Any:
        """Return `x` where `condition` is true, else `other`."""
        kind = self.dtypes[condition.dtype]
        if kind is uint8:
            warn_user_once(
                "where received a uint8 condition tensor. This behavior is deprecated. Use a "
                "boolean condition: condition != 0."
            )
            condition = condition != 0
        elif kind is not bool_:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{kind.scalar_name}. "
                "Convert it: condition != 0."
            )
        return self.xp.where(condition, x, other)

    def _filled(self, x: Array, mask: Array, value: Array) -> Any:
        """Return `x` with `value` where `mask` is true, in C order, as PyTorch fills a contiguous
        copy.
        """
        if mask.dtype != self._boolean:
            name = self.dtypes[mask.dtype].scalar_name
            raise RuntimeError(
                f"masked_fill only supports boolean masks, but got mask with dtype {name}. "
                "Convert it: mask != 0."
            )
        result = self.xp.where(mask, value, x)
        return self.capabilities.contiguous(result) if result.ndim > 1 else result

    @operator("masked_fill.Scalar")
    @lays_out
    @never_warns
    def masked_fill(self, x: Array, mask: Array, value: Scalar) -> Any:
        """Return `x` with the number `value` where `mask` is true."""
        return self._filled(x, mask, self.numbers.fitting(x, value))

    @operator("masked_fill.Tensor")
    @lays_out
    def masked_fill_array(self, x: Array, mask: Array, value: Array) -> Any:
        """Return `x` with the 0-d array `value` where `mask` is true."""
        if value.ndim:
            raise RuntimeError(
                "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s). Use where(mask, value, self)."
            )
        own, given = self.dtypes[x.dtype], self.dtypes[value.dtype]
        if given.is_complex and not own.is_complex:
            if not self.lazy and bool(value.imag != 0):
                raise RuntimeError(
                    f"value cannot be converted to type {own.name} without overflow: it has an "
                    "imaginary part. Take the real part, or convert the tensor first."
                )
            value = value.real
        return self._filled(x, mask, self.precision.converted(value, x.dtype))

"""Pointwise operators in terms of others, and comparisons with a tolerance."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail_aten._generated import functions as F
from dovetail_kernel import complex64, complex128, float64, int64, result_dtype, scalar_category
from dovetail_kernel import dtype as DType

from ....typing import Scalar, Tensor

_COMPLEX: Final = complex64.bit | complex128.bit
"""The bits of a signature that say that the numbers are complex."""


def square(self: Tensor) -> Any:
    """Return ``self ** 2``."""
    return F.pow(self, 2)


def square_(self: Any) -> Any:
    """Square `self` in place."""
    return F.pow_(self, 2)


def isfinite(self: Tensor) -> Any:
    """Return where `self` is neither infinite nor NaN."""
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        return F.ones_like(self, dtype=_bool())
    return F.lt(F.abs(self), math.inf)


def _bool() -> Any:
    import dovetail_kernel

    return dovetail_kernel.bool


def conj(self: Any) -> Any:
    """Return the complex conjugate; a real tensor itself."""
    return F._conj_physical(self) if self._signature & _COMPLEX else self


def resolve_conj(self: Any) -> Any:
    """Return `self`: no tensor is lazily conjugated."""
    return self


def real(self: Any) -> Any:
    """Return the real parts, as a view; a real tensor itself."""
    return F.select(F.view_as_real(self), -1, 0) if self.dtype.is_complex else self


def imag(self: Any) -> Any:
    """Return the imaginary parts, as a view; of a real tensor, zeros."""
    if not self.dtype.is_complex:
        return F.expand(F.new_zeros(self, []), self.shape)
    return F.select(F.view_as_real(self), -1, 1)


def conj_physical(self: Tensor) -> Any:
    """Return the complex conjugate; a real tensor itself."""
    return F._conj_physical(self) if self.dtype.is_complex else self


def conj_physical_(self: Any) -> Any:
    """Conjugate `self` in place."""
    return F.copy_(self, F._conj_physical(self))


def resolve_neg(self: Tensor) -> Any:
    """Return `self`: no tensor is lazily negated."""
    return self


def is_conj(self: Tensor) -> bool:
    """Return False: no tensor is lazily conjugated."""
    return False


def is_neg(self: Tensor) -> bool:
    """Return False: no tensor is lazily negated."""
    return False


def isreal(self: Tensor) -> Any:
    """Return where the imaginary part is zero."""
    if self.dtype.is_complex:
        return F.eq(F.imag(self), 0)
    return F.ones_like(self, dtype=_bool())


def is_complex(self: Tensor) -> bool:
    """Return whether the dtype is complex."""
    return bool(self.dtype.is_complex)


def is_floating_point(self: Tensor) -> bool:
    """Return whether the dtype is real and floating point."""
    return bool(self.dtype.is_floating_point)


def where_scalar(condition: Tensor, self: Any, other: Any) -> Any:
    """Return `self` where `condition`, else `other`, one of which is a number."""
    if isinstance(self, (bool, int, float, complex)):
        return F.where_self(condition, _number(self, other), other)
    return F.where_self(condition, self, _number(other, self))


def where_scalar_scalar(condition: Tensor, self: Scalar, other: Scalar) -> Any:
    """Return the number `self` where `condition`, else the number `other`."""
    dtype = result_dtype([], [], [scalar_category(self), scalar_category(other)])
    device = condition.device
    return F.where_self(
        condition,
        F.scalar_tensor(self, dtype=dtype, device=device),
        F.scalar_tensor(other, dtype=dtype, device=device),
    )


def where_condition(condition: Tensor) -> Any:
    """Return the indices of the true elements, one tensor per dimension."""
    return F.unbind(F.nonzero(condition if condition.ndim else F.unsqueeze(condition, 0)), 1)


def _number(value: Any, tensor: Any) -> Any:
    """Return a 0-d tensor of the dtype that the number `value` has beside a tensor."""
    dtype, category = tensor.dtype, scalar_category(value)
    if category > dtype.category or not tensor.ndim:
        sized = [dtype] if tensor.ndim else []
        dtype = result_dtype(sized, [] if sized else [dtype], [category])
    return F.scalar_tensor(value, dtype=dtype, device=tensor.device)


def isclose(
    self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Return where ``|self - other| <= atol + rtol * |other|``, or both are equal."""
    if self.dtype is not other.dtype:
        names = [each.dtype.scalar_name for each in (self, other)]
        raise RuntimeError(f"{names[0]} did not match {names[1]}: convert one of them.")
    _check_tolerances(rtol, atol)
    close = F.eq(self, other)
    is_float = self.dtype.is_floating_point or self.dtype.is_complex
    if equal_nan and is_float:
        close = F.logical_or(close, F.logical_and(F.ne(self, self), F.ne(other, other)))
    if rtol == 0 and atol == 0:
        return close
    error = F.abs(F.sub(self, other)) if is_float else _distance(self, other)
    other = other if is_float else F.to(other, dtype=float64)
    allowed = F.add(F.abs(F.mul(other, rtol)), atol)
    within = F.logical_and(F.lt(error, math.inf), F.le(error, allowed))
    return F.logical_or(close, within)


def _check_tolerances(rtol: float, atol: float) -> None:
    """Raise an error for negative tolerances, and NaN. Raises RuntimeError with PyTorch's
    message.
    """
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {value}. Give a positive "
                "one."
            )


def _distance(self: Any, other: Tensor) -> Any:
    """Return ``|self - other|`` of integers, which no integer dtype may hold, in float64."""
    self, other = F.to(self, dtype=int64), F.to(other, dtype=int64)
    found = F.sub(F.maximum(self, other), F.minimum(self, other))
    # Beyond int64 it has wrapped around once.
    distance = F.to(found, dtype=float64)
    return F.where(F.lt(found, 0), F.add(distance, 2.0**64), distance)


def allclose(
    self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Return whether all elements are close."""
    return bool(F.item(F.all(isclose(self, other, rtol, atol, equal_nan))))


def item(self: Tensor) -> Any:
    """Return the only element as a Python number."""
    if self.numel() != 1:
        raise RuntimeError(
            f"a Tensor with {self.numel()} elements cannot be converted to Scalar. Index one "
            "element, or use .tolist()."
        )
    return F._local_scalar_dense(self)


def is_nonzero(self: Tensor) -> bool:
    """Return whether the only element is not zero."""
    count = self.numel()
    if count == 0:
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous. Test x.numel() instead."
        )
    if count > 1:
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous. Use x.any() or x.all()."
        )
    return bool(self)


def float_power(self: Any, exponent: object) -> Any:
    """Return ``self ** exponent``, computed in float64 or complex128; one of them may be a
    number.
    """
    wide = _wide(self, exponent)
    return F.pow(_as_wide(self, wide), _as_wide(exponent, wide))


def float_power_(self: Any, exponent: object) -> Any:
    """Raise `self`, of float64 or complex128, to a power in place."""
    wide = _wide(self, exponent)
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the "
            f"operation's result requires dtype {wide.scalar_name}. Use float_power instead."
        )
    return F.pow_(self, _as_wide(exponent, wide))


def _wide(*operands: Any) -> Any:
    """Return the dtype that `float_power` computes in."""
    is_complex = [
        isinstance(each, complex) or (hasattr(each, "dtype") and each.dtype.is_complex)
        for each in operands
    ]
    return complex128 if any(is_complex) else float64


def _as_wide(operand: Any, dtype: DType) -> Any:
    if hasattr(operand, "dtype"):
        return F.to(operand, dtype=dtype)
    return complex(operand) if dtype is complex128 else float(operand)

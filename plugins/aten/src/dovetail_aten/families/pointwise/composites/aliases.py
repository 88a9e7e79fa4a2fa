"""Operators that are other operators under another name."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F

from ....typing import Scalar


def subtract(self: Any, other: Scalar, alpha: Scalar = 1) -> Any:
    """Return ``self - alpha * other``; of two tensors and of a tensor and a number, whose `alpha`
    is positional.
    """
    return F.sub(self, other, alpha=alpha)


def subtract_(self: Any, other: Any, alpha: Any = 1) -> Any:
    """Subtract ``alpha * other`` from `self` in place."""
    return F.sub_(self, other, alpha=alpha)


multiply = F.mul
multiply_ = F.mul_
divide = F.div
divide_ = F.div_
true_divide = F.div
true_divide_ = F.div_
__lshift__ = F.bitwise_left_shift
__rshift__ = F.bitwise_right_shift
negative = F.neg
negative_ = F.neg_
absolute = F.abs
absolute_ = F.abs_
fix = F.trunc
fix_ = F.trunc_
arcsin = F.asin
arcsin_ = F.asin_
arccos = F.acos
arccos_ = F.acos_
arctan = F.atan
arctan_ = F.atan_
arctan2 = F.atan2
arctan2_ = F.atan2_
arcsinh = F.asinh
arcsinh_ = F.asinh_
arccosh = F.acosh
arccosh_ = F.acosh_
arctanh = F.atanh
arctanh_ = F.atanh_
clip = F.clamp
clip_ = F.clamp_
greater = F.gt
greater_ = F.gt_
greater_equal = F.ge
greater_equal_ = F.ge_
less = F.lt
less_ = F.lt_
less_equal = F.le
less_equal_ = F.le_
not_equal = F.ne
not_equal_ = F.ne_
__and__ = F.bitwise_and_Tensor  # which serves numbers too
__or__ = F.bitwise_or_Tensor
__xor__ = F.bitwise_xor_Tensor
max_other = F.maximum
min_other = F.minimum
concat = F.cat
concatenate = F.cat

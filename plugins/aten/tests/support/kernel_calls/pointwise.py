"""Calls of the pointwise kernels on signs, exponents, decimals and bits."""

from __future__ import annotations

from .operands import COUNTS, INTEGERS, X, Y, same

CALLS = {
    **same("copysign.Tensor heaviside ldexp.Tensor", X, Y),
    **same("copysign.Scalar xlogy.Scalar_Other", X, 2.0),
    **same("signbit isposinf isneginf frexp.Tensor deg2rad rad2deg", X),
    **same("round.decimals", X),
    **same("xlogy.Scalar_Self", 2.0, X),
    **same("bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar", INTEGERS, 2),
    **same("bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor", 2, COUNTS),
}
KEYWORDS = {"round.decimals": {"decimals": 1}}

"""Python's operators, and the functions that they run."""

from __future__ import annotations

from typing import Final

BINARY: Final = {
    "__add__": "add", "__iadd__": "add_",
    "__sub__": "sub", "__rsub__": "rsub", "__isub__": "sub_",
    "__mul__": "mul", "__imul__": "mul_",
    "__truediv__": "div", "__itruediv__": "div_",
    "__floordiv__": "floor_divide", "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder", "__imod__": "remainder_",
    "__pow__": "pow", "__ipow__": "pow_",
    "__matmul__": "matmul",
    "__and__": "bitwise_and", "__iand__": "bitwise_and_",
    "__or__": "bitwise_or", "__ior__": "bitwise_or_",
    "__xor__": "bitwise_xor", "__ixor__": "bitwise_xor_",
    "__lshift__": "bitwise_left_shift", "__ilshift__": "bitwise_left_shift_",
    "__rshift__": "bitwise_right_shift", "__irshift__": "bitwise_right_shift_",
    "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__eq__": "eq", "__ne__": "ne",
}  # fmt: skip
"""Operators on two operands. Each is a function of its own beside the one that it runs, since it
returns NotImplemented for other objects, so that Python tries the other operand.
"""

SYMMETRIC: Final = {
    "__radd__": "__add__", "__rmul__": "__mul__",
    "__rand__": "__and__", "__ror__": "__or__", "__rxor__": "__xor__",
}  # fmt: skip
"""Operators that are the same either way round."""

UNARY: Final = {
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__invert__": "bitwise_not",
}

REFLECTED: Final = {
    "__rtruediv__": "divide_by(functions.reciprocal, other, self)",
    "__rfloordiv__": "reflect(functions.floor_divide, other, self)",
    "__rmod__": "reflect(functions.remainder_Tensor, other, self)",
    "__rpow__": "reflect(functions.pow, other, self)",
    "__rlshift__": "reflect(functions.bitwise_left_shift, other, self)",
    "__rrshift__": "reflect(functions.bitwise_right_shift, other, self)",
    "__rmatmul__": "reflect(functions.matmul, other, self)",
}
"""Operators whose left operand is not a tensor and that no function takes the other way round."""

OLD_NAMES: Final = {
    "__div__": "__truediv__", "__rdiv__": "__rtruediv__", "__idiv__": "__itruediv__",
}  # fmt: skip
"""Names of operators that Python had once, and PyTorch has still."""


def operator_functions(function: str) -> list[str]:
    """Return the names of the functions that are binary operators and run `function`."""
    return [operator_function(dunder) for dunder, runs in BINARY.items() if runs == function]


def operator_function(dunder: str) -> str:
    """Return the name of the function that is a binary operator, ``iadd_operator``."""
    return f"{dunder.strip('_')}_operator"

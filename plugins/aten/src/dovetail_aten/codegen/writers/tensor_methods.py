"""Writes ``tensor_methods.py``: the methods of tensors, which are the functions themselves, and the
operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..native_functions import NativeFunction
from ..overload_sets import overload_sets
from .text import HEADER, INDENT, Lines

OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_",
    "__sub__": "sub", "__rsub__": "rsub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_",
    "__truediv__": "div", "__itruediv__": "div_",
    "__floordiv__": "floor_divide", "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder", "__imod__": "remainder_",
    "__pow__": "pow", "__ipow__": "pow_",
    "__matmul__": "matmul",
    "__and__": "bitwise_and", "__rand__": "bitwise_and", "__iand__": "bitwise_and_",
    "__or__": "bitwise_or", "__ror__": "bitwise_or", "__ior__": "bitwise_or_",
    "__xor__": "bitwise_xor", "__rxor__": "bitwise_xor", "__ixor__": "bitwise_xor_",
    "__neg__": "neg", "__pos__": "positive", "__abs__": "abs", "__invert__": "bitwise_not",
    "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__eq__": "eq_operator", "__ne__": "ne_operator",
}  # fmt: skip
"""Python's operators and the functions they are."""

REFLECTED = {
    "__rtruediv__": "functions.mul(functions.reciprocal(self), other)",
    "__rfloordiv__": "functions.floor_divide(other, self)",
    "__rmod__": "functions.remainder_Tensor(other, self)",
    "__rpow__": "functions.pow(other, self)",
    "__rmatmul__": "functions.matmul(other, self)",
}
"""Operators whose left operand is not a tensor and that no function takes the other way round."""

PROPERTIES = {
    "T": "numpy_T", "H": "matrix_H", "mT": "mT", "mH": "mH", "real": "real", "imag": "imag",
}  # fmt: skip
"""Attributes that are views, and the functions that make them."""


def write_tensor_methods(functions: Sequence[NativeFunction], *, functions_module: str) -> str:
    """Return the text of the class of tensor methods."""
    sets = overload_sets(functions)
    names = {overloads.name for overloads in sets}
    package, _, module = functions_module.rpartition(".")
    lines = Lines()
    lines.add(
        HEADER, "# mypy: ignore-errors", '"""The methods of tensors that run operators."""', ""
    )
    lines.add(
        "from __future__ import annotations", "", "from dovetail_kernel import TensorBase", ""
    )
    lines.add(f"from {package} import {module} as functions", "", "")
    lines.add(
        "class TensorMethods(TensorBase):",
        f'{INDENT}"""Methods made from ``variants: method`` and Python\'s operators."""',
        "",
    )
    lines.add(f"{INDENT}__slots__ = ()", f"{INDENT}_is_plain = True", "")
    for overloads in sets:
        if (
            overloads.is_method
            and overloads.name not in PROPERTIES
            and overloads.name not in OPERATORS
        ):
            lines.add(f"{INDENT}{overloads.name} = functions.{overloads.name}")
    lines.add("")
    for dunder, name in OPERATORS.items():
        if name.removesuffix("_operator") in names:
            lines.add(f"{INDENT}{dunder} = functions.{name}")
    lines.add(f"{INDENT}__hash__ = TensorBase.__hash__")
    for dunder, expression in REFLECTED.items():
        lines.add("", f"{INDENT}def {dunder}(self, other):", f"{INDENT * 2}return {expression}")
    lines.add("")
    for name, function in PROPERTIES.items():
        if function in names:
            lines.add(f"{INDENT}{name} = property(functions.{function})")
    return lines.text()

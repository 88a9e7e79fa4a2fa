"""Which operators of the base library take Python numbers for tensors."""

from __future__ import annotations

from typing import Final

ARITHMETIC: Final = frozenset(
    (
        "add",
        "sub",
        "mul",
        "div",
        "floor_divide",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "copy",
        "to",
    )
)
"""Base names of operators that take a number for every Tensor."""

SERVING_NUMBERS: Final = frozenset(("remainder", "xlogy"))
"""Base names of operators whose overload for tensors serves PyTorch's for numbers too."""

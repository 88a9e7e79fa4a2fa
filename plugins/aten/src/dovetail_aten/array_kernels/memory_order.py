"""Results in C order whatever the order of the operand, as PyTorch has it for what reduces, scans
or normalizes.

An array namespace lays results out like operands, and then `view` would not be possible where it is
in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .capabilities import Capabilities


def in_c_order(capabilities: Capabilities) -> Callable[[Any], Any]:
    """Return the function that returns its argument, the result of a kernel, if it lies in C order,
    else a copy.
    """
    contiguous = capabilities.contiguous

    def ordered(result: Any) -> Any:
        return contiguous(result) if result.ndim > 1 else result

    return ordered

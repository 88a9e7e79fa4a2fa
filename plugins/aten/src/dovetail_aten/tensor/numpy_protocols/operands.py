"""Arguments of NumPy's functions as tensors, in the dtypes that NumPy computes in."""

from __future__ import annotations

import sys
from typing import Any, Final

from dovetail_kernel import TensorBase, wrap

from ...backend.devices import ready_backend
from ...calling.operands import promoted

np: Final[Any] = sys.modules["numpy"]
"""The base library does not import NumPy, whose function has been called."""


def array_like(value: Any) -> Any:
    """Return a tensor, or a tensor of the array that NumPy makes of numbers and lists."""
    if isinstance(value, TensorBase):
        return value
    return wrap(np.asarray(value), ready_backend("cpu"))


def common(*values: Any) -> Any:
    """Return arrays as tensors of the dtype that NumPy promotes them to."""
    return promoted(*[array_like(each) for each in values])


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a number or a sequence of several as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)

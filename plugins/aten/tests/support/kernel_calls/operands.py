"""Arrays that kernels are called with."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(*values: Any, dtype: str = "float32") -> np.ndarray:
    """Return an array that cannot be written."""
    made = np.array(values, dtype)
    made.flags.writeable = False
    return made


def same(names: str, *args: Any) -> dict[str, tuple[Any, ...]]:
    """Return the same arguments for several operators."""
    return dict.fromkeys(names.split(), args)


X, Y = array([1, 2, 3], [4, 5, 6]), array([2, 2, 2], [3, 3, 3])
ONE, TARGET = array(1)[0:1].reshape(()), array(0, 2, dtype="int64")
INTEGERS, COUNTS = array([1, -2, 3], dtype="int64"), array([2, 2, 1], dtype="int64")
COMPLEX = array([1 + 2j, -np.inf, np.inf], dtype="complex64")

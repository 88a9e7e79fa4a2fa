"""NumPy's functions of arrays without their search for arrays of other kinds, which takes longer
than small arrays do: by the methods and ufuncs that they come down to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np


def _stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    at = axis if axis >= 0 else axis + arrays[0].ndim + 1
    place = (*(slice(None),) * at, None)
    return np.concatenate([each[place] for each in arrays], at)


DIRECT: Final[Mapping[str, Callable[..., Any]]] = {
    # An axis is named, as kernels do.
    "all": partial(np.logical_and.reduce, axis=None, dtype=bool),
    "amax": partial(np.maximum.reduce, axis=None),
    "amin": partial(np.minimum.reduce, axis=None),
    "any": partial(np.logical_or.reduce, axis=None, dtype=bool),
    "nonzero": lambda array: array.nonzero(),
    "reshape": lambda array, shape: array.reshape(shape),
    "stack": _stack,
    "sum": partial(np.add.reduce, axis=None),
    "take": lambda array, indices, axis=None: array.take(indices, axis),
}
"""By the names of NumPy's functions."""

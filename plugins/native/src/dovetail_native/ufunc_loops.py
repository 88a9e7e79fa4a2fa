"""The ufuncs of NumPy that routes call by their loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ._core import UfuncLoop

_known: Final[dict[np.ufunc, UfuncLoop | np.ufunc]] = {}


def compiled_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loop of a ufunc of NumPy's own, and any other function as it is."""
    if not isinstance(function, np.ufunc):
        return function
    found = _known.get(function)
    if found is None:
        is_elementwise = function.signature is None and function.nout == 1 and function.nin <= 2
        is_numpys = getattr(np, function.__name__, None) is function
        made = UfuncLoop(function) if is_elementwise and is_numpys else function
        found = _known.setdefault(function, made)
    return found

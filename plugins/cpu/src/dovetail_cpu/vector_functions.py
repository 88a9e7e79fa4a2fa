"""Which of NumPy's functions have vector instructions on this processor: the others call the
mathematics library for every element, ten times as slow.
"""

from __future__ import annotations

from typing import Final

from numpy.lib.introspect import opt_func_info

__all__ = ["FAST"]

_NEEDED: Final = ("exp2", "expm1", "log1p")


def _has_vectors(name: str) -> bool:
    """Return whether the function of that name runs in float32 on more than the least processor
    that NumPy was built for.
    """
    for signatures in opt_func_info(func_name=f"^{name}$", signature="float32").values():
        for found in signatures.values():
            return "baseline" not in found["current"]
    return False


FAST: Final = frozenset(filter(_has_vectors, _NEEDED))
"""Names of the functions that have vector instructions in float32."""

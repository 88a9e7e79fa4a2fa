"""Sums of what a function makes of the elements of two arrays: in their own precision over blocks,
in double precision over these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from .arithmetic import arithmetic
from .collection import Collection

_BLOCK = 1024


def add_reductions(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real = m.real
    zero = real(0)

    def summing(name: str, f: Callable[..., Any]) -> None:
        inner = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)(f)

        def total_of(a, b, p, q):
            total = 0.0
            for start in range(0, a.size, _BLOCK):
                # Counted from 0: an index that may be negative costs the vector instructions.
                some, others = a[start : start + _BLOCK], b[start : start + _BLOCK]
                part = zero
                for i in range(some.size):
                    part += inner(some[i], others[i], p, q)
                total += part
            return total

        total_of.__name__ = name
        loop("f1 f1 f f", relaxed=True)(total_of)

    def square(a, b, p, q):
        return (a - b) * (a - b)

    huber, _, _ = arithmetic(m)["huber"]
    summing("sum_of_squares", square)
    summing("sum_of_huber", huber)


__all__ = ["add_reductions"]

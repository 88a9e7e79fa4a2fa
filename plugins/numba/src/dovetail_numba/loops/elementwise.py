"""Loops that apply a function to every element of one, two or three arrays, and to up to three
numbers.

The functions are compiled into their loops. An array that is written may be one that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba import njit

from ..machine.compiled import EXACT, Compiled

Function = Callable[..., Any]


def _one(f: Function) -> Function:
    def loop(out: Any, a: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i])

    return loop


def _one_with_number(f: Function) -> Function:
    def loop(out: Any, a: Any, p: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], p)

    return loop


def _one_with_numbers(f: Function) -> Function:
    def loop(out: Any, a: Any, p: Any, q: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], p, q)

    return loop


def _one_with_three_numbers(f: Function) -> Function:
    def loop(out: Any, a: Any, p: Any, q: Any, r: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], p, q, r)

    return loop


def _two_with_three_numbers(f: Function) -> Function:
    def loop(out: Any, a: Any, b: Any, p: Any, q: Any, r: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], b[i], p, q, r)

    return loop


def _two(f: Function) -> Function:
    def loop(out: Any, a: Any, b: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], b[i])

    return loop


def _two_with_number(f: Function) -> Function:
    def loop(out: Any, a: Any, b: Any, p: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], b[i], p)

    return loop


def _two_with_numbers(f: Function) -> Function:
    def loop(out: Any, a: Any, b: Any, p: Any, q: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], b[i], p, q)

    return loop


def _into_first(f: Function) -> Function:
    def loop(a: Any) -> None:
        for i in range(a.size):
            a[i] = f(a[i])

    return loop


def _into_first_with_numbers(f: Function) -> Function:
    def loop(a: Any, p: Any, q: Any) -> None:
        for i in range(a.size):
            a[i] = f(a[i], p, q)

    return loop


def _two_into_first_with_number(f: Function) -> Function:
    def loop(a: Any, b: Any, p: Any) -> None:
        for i in range(a.size):
            a[i] = f(a[i], b[i], p)

    return loop


def _three_into_first_with_number(f: Function) -> Function:
    def loop(a: Any, b: Any, c: Any, p: Any) -> None:
        for i in range(a.size):
            a[i] = f(a[i], b[i], c[i], p)

    return loop


def _three(f: Function) -> Function:
    def loop(out: Any, a: Any, b: Any, c: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], b[i], c[i])

    return loop


def _three_with_number(f: Function) -> Function:
    def loop(out: Any, a: Any, b: Any, c: Any, p: Any) -> None:
        for i in range(out.size):
            out[i] = f(a[i], b[i], c[i], p)

    return loop


_LOOPS = {
    (1, 0): _one,
    (1, 1): _one_with_number,
    (1, 2): _one_with_numbers,
    (1, 3): _one_with_three_numbers,
    (2, 3): _two_with_three_numbers,
    (2, 0): _two,
    (2, 1): _two_with_number,
    (2, 2): _two_with_numbers,
    (3, 0): _three,
    (3, 1): _three_with_number,
}


_INTO_FIRST = {
    (1, 0): _into_first,
    (1, 2): _into_first_with_numbers,
    (2, 1): _two_into_first_with_number,
    (3, 1): _three_into_first_with_number,
}
"""Loops that write over their first array: were it given twice, as read and as written, elements
would be computed one by one.
"""


def loops_of(functions: Mapping[str, tuple[Function, int, int]], real: Any) -> dict[str, Compiled]:
    """Return the loops of functions, by name; with ``_into_first`` behind it, those that write over
    their first array.

    Parameters
    ----------
    functions
        By name: what is computed of the elements; how many arrays it takes, and how many numbers.
    real
        The dtype of all of them.
    """
    made = {}
    for name, (function, arrays, numbers) in functions.items():
        inner: Any = function
        if not hasattr(function, "py_func"):  # the functions of numbers are compiled already
            inner = njit(fastmath=set(EXACT), error_model="numpy", forceinline=True)(function)
        signature = " ".join([">f1", *["f1"] * arrays, *["f"] * numbers])
        made[name] = Compiled(_LOOPS[arrays, numbers](inner), name, signature, real)
        if (arrays, numbers) in _INTO_FIRST:
            loop, into = _INTO_FIRST[arrays, numbers](inner), f"{name}_into_first"
            made[into] = Compiled(
                loop, into, signature.partition(" ")[2].replace("f1", ">f1", 1), real
            )
    return made


__all__ = ["loops_of"]

"""Functions that Numba compiles when they are first called, or loads from where they are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock
from typing import Any, Final

import numba

from dovetail_kernel.fork_locks import held_over_fork

from .kept_code import KeptCode, progress

EXACT: Final = frozenset({"contract"})
"""Products and sums may be rounded once; infinities, NaN and zeros are as they are."""
SUMS: Final = frozenset({"contract", "reassoc"})
"""Sums may be taken in any order as well, so that several elements are added at once."""

_lock: Final = held_over_fork(RLock())
"""Held while something is compiled: a fork waits for that, or the child could never compile."""

_KINDS: Final = {
    "f": lambda real: real,
    "d": lambda real: numba.float64,
    "i": lambda real: numba.int64,
    "b": lambda real: numba.boolean,
}


class Compiled:
    """A compiled function. It lets other threads run.

    Parameters
    ----------
    function
        What is compiled; it returns nothing or a number.
    name
        Unlike that of any other.
    signature
        Its parameters, a word for each: the dtype (``f`` the one of the numbers, ``d`` float64,
        ``i`` int64, ``b`` bool), and the number of dimensions for a C-contiguous array. Behind
        ``>`` stand arrays that are written.
    real
        The NumPy type that ``f`` stands for.
    relaxed
        Whether sums may be taken in any order.
    """

    __slots__ = ("_function", "_name", "_real", "_relaxed", "_signature", "run")

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        signature: str,
        real: Any,
        *,
        relaxed: bool = False,
    ) -> None:
        self._function = function
        self._name = name
        self._signature = signature
        self._real = real
        self._relaxed = relaxed
        self.run: Callable[..., Any] = self._compile_and_run

    def _compile_and_run(self, *args: Any) -> Any:
        return self.ready()(*args)

    def ready(self) -> Callable[..., Any]:
        """Return the compiled function."""
        if self.run.__class__ is _METHOD:
            with _lock:
                if self.run.__class__ is _METHOD:  # or another thread has just done it
                    self.run = self._compiled()
        return self.run

    def _compiled(self) -> Any:
        dispatcher = numba.njit(
            nogil=True,
            error_model="numpy",
            fastmath=set(SUMS if self._relaxed else EXACT),
            boundscheck=False,
        )(self._function)
        dispatcher._cache = KeptCode(f"{self._name}-{self._real.__name__}")
        types = tuple([self._type_of(word) for word in self._signature.split()])
        start = time.perf_counter()
        dispatcher.compile(types)
        dispatcher.disable_compile()
        if not dispatcher.stats.cache_hits:
            progress.end(time.perf_counter() - start)
        return dispatcher

    def _type_of(self, word: str) -> Any:
        written, kind = word.startswith(">"), word.lstrip(">")
        real = numba.from_dtype(numba.np.numpy_support.np.dtype(self._real))
        element = _KINDS[kind[0]](real)
        if len(kind) == 1:
            return element
        return numba.types.Array(element, int(kind[1]), "C", readonly=not written)


_METHOD: Final = type(Compiled._compile_and_run.__get__(object()))


__all__ = ["Compiled"]

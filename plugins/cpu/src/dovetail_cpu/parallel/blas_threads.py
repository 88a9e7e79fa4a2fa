"""Small products of matrices in the calling thread, by NumPy's BLAS and by that of SciPy.

Threads of OpenBLAS spin while they wait for each other. Where one of them has no processor, because
another program has it or the threads of the other BLAS (the wheels of SciPy bring their own), a
product of some microseconds takes some milliseconds: until the scheduler looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from importlib import import_module
from threading import RLock
from typing import Any, Final

from dovetail_kernel.fork_locks import outside_forks, renewed_after_fork

from .threads import get_num_threads

_LARGE: Final = 1 << 20
"""Elements of a matrix that is worth threads of SciPy's."""
_LONG: Final = 1 << 21
"""Products of elements in a product of matrices that is worth threads of NumPy's: some 40 µs."""
_TINY: Final = 64
"""Elements of a matrix from which OpenBLAS asks its threads: both sides have eight by then."""
_AS_IT_IS: Final = nullcontext()
_lock: Final = renewed_after_fork(RLock())


class OneThread:
    """Lets a BLAS compute in the calling thread while it is entered.

    Other threads that call it meanwhile have one thread too; the last to leave gives back what the
    first had found. Setting a number costs more than a small product: one is not set once more.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._set = outside_forks(library.set_num_threads)  # ends threads, or starts them
        self._before: list[int] = []

    def __enter__(self) -> None:
        library, before = self._library, self._before
        with _lock:
            number = before[0] if before else library.get_num_threads()
            if not before and number != 1:
                self._set(1)
            before.append(number)

    def __exit__(self, *_: object) -> None:
        with _lock:
            number = self._before.pop()
            if not self._before and number != 1:
                self._set(number)

    @property
    def is_entered(self) -> bool:
        """Whether it lets the BLAS compute in one thread now."""
        return bool(self._before)


@cache
def _limit(package: str) -> OneThread | None:
    """Return what limits the BLAS that came with a package; None if it shares another's."""
    import_module(f"{package}.linalg")
    found = import_module("threadpoolctl").ThreadpoolController().lib_controllers
    blas = [each for each in found if each.user_api == "blas"]
    own = [each for each in blas if package in each.filepath.replace("\\", "/").split("/")[-2]]
    return OneThread(own[0]) if own else None


def numpy_in_calling_thread(count: int) -> AbstractContextManager[None]:
    """Return a context manager within which NumPy computes products in the calling thread, for
    those of `count` products of elements each, if these are few.
    """
    if count >= _LONG or get_num_threads() == 1:
        return nullcontext()
    return _limit("numpy") or nullcontext()


def in_calling_thread(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function of SciPy's BLAS or LAPACK that computes small matrices in one thread."""

    function = outside_forks(function)

    @wraps(function)
    def compute(*args: Any, **kwargs: Any) -> Any:
        limit = _limit("scipy")
        if limit is None or limit.is_entered or _are_large(args):
            return function(*args, **kwargs)
        with limit:
            return function(*args, **kwargs)

    return compute


def scipy_in_calling_thread(*matrices: Any) -> AbstractContextManager[None]:
    """Return a context manager within which SciPy computes in the calling thread, for many calls
    one after the other, if matrices are small.
    """
    most = max([each.size for each in matrices])
    if most < _TINY or most >= _LARGE:
        return _AS_IT_IS
    return _limit("scipy") or _AS_IT_IS


def _are_large(matrices: Sequence[object]) -> bool:
    return any([getattr(each, "size", 0) >= _LARGE for each in matrices])

"""SciPy's BLAS and LAPACK, which compute small matrices in the calling thread.

The wheels of SciPy have an OpenBLAS of their own beside NumPy's. Threads of each wait for the next
product by spinning, so that those of one take the processors from those of the other: for a
hundred microseconds of work some milliseconds pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import RLock
from typing import Any, Final

from dovetail_kernel.forks import renewed_after_fork

__all__ = ["in_calling_thread"]

_LARGE: Final = 1 << 20
"""Elements of a matrix that is worth the threads."""
_lock: Final = renewed_after_fork(RLock())
_before: list[int] = []
"""How many threads SciPy's library had, once for each call that is running."""


@cache
def _library() -> Any | None:
    """Return what sets the threads of SciPy's own library; None if it shares that of NumPy."""
    import_module("scipy.linalg")
    found = import_module("threadpoolctl").ThreadpoolController().lib_controllers
    blas = [each for each in found if each.user_api == "blas"]
    own = [each for each in blas if "scipy" in each.filepath.replace("\\", "/").split("/")[-2]]
    return own[0] if own and len(blas) > 1 else None


def in_calling_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of SciPy's BLAS or LAPACK that computes small matrices in one thread.

    Other threads that call SciPy meanwhile have one thread too.
    """

    def compute(*args: Any, **kwargs: Any) -> Any:
        library = _library()
        if library is None or any([getattr(each, "size", 0) >= _LARGE for each in args]):
            return function(*args, **kwargs)
        with _lock:
            _before.append(library.get_num_threads() if not _before else _before[0])
            library.set_num_threads(1)
        try:
            return function(*args, **kwargs)
        finally:
            with _lock:
                number = _before.pop()
                if not _before:
                    library.set_num_threads(number)

    return compute

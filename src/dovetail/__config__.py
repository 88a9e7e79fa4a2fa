"""What computes, as ``torch.__config__`` tells it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

__all__ = ["parallel_info", "show"]

_LIBRARIES: Final = ("numpy", "scipy", "ml_dtypes", "cupy-cuda12x", "cupy-cuda13x")


def show() -> str:
    """Return the versions of Dovetail and of the libraries that compute for it, a line each."""
    lines = ["Dovetail computes with:", f"  - dovetail {version('dovetail')}"]
    for library in _LIBRARIES:
        try:
            lines.append(f"  - {library} {version(library)}")
        except PackageNotFoundError:
            continue
    return "\n".join([*lines, ""])


def parallel_info() -> str:
    """Return how many threads kernels run in, a line each."""
    from .functions.global_settings import get_num_interop_threads, get_num_threads

    return (
        f"dovetail.get_num_threads() : {get_num_threads()}\n"
        f"dovetail.get_num_interop_threads() : {get_num_interop_threads()}\n"
    )

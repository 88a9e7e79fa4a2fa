"""CUDA graphs, which are refused with the reason."""

from __future__ import annotations

from typing import Any, NoReturn

from .plugin import is_available, of_plugin

__all__ = [
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]


class CUDAGraph:
    """A recording of launches that can be repeated: there is none on CuPy's memory.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        _refuse("CUDAGraph")


class graph:
    """A context that would record launches into a `CUDAGraph`.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: object = None,
        stream: object = None,
        capture_error_mode: str = "global",
    ) -> None:
        _refuse("graph")


def make_graphed_callables(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to record modules or functions into CUDA graphs.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """
    _refuse("make_graphed_callables")


def graph_pool_handle() -> NoReturn:
    """Refuse to name a pool for the memory of CUDA graphs.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """
    _refuse("graph_pool_handle")


def is_current_stream_capturing() -> bool:
    """Return whether the current stream records launches, as CuPy's graphs let it; False where
    there is no CUDA.
    """
    return is_available() and bool(of_plugin("streams").is_capturing())


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"dovetail.cuda.{name}: CUDA graphs are not offered. A graph repeats launches at the "
        "addresses that they had, and CuPy's memory pool gives memory that was freed while the "
        "graph was recorded to other arrays, so that a repetition would write over them. Call the "
        "function itself; optimizers with fused=True save launches."
    )

"""CUDA graphs, which are not supported; errors have the reason."""

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
    """PyTorch's class for CUDA graphs, which are not supported with CuPy's memory pool.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        _refuse("CUDAGraph")


class graph:
    """PyTorch's context manager for recording a `CUDAGraph`; not supported.

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
    """Raise RuntimeError: CUDA graphs are not supported.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """
    _refuse("make_graphed_callables")


def graph_pool_handle() -> NoReturn:
    """Raise RuntimeError: CUDA graphs are not supported.

    Raises
    ------
    RuntimeError
        Always, with the reason.
    """
    _refuse("graph_pool_handle")


def is_current_stream_capturing() -> bool:
    """Return whether the current stream is capturing a CuPy graph; False without CUDA."""
    return is_available() and bool(of_plugin("streams").is_capturing())


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"dovetail.cuda.{name}: CUDA graphs are not offered. A graph repeats launches at the "
        "addresses that they had, and CuPy's memory pool gives memory that was freed while the "
        "graph was recorded to other arrays, so that a repetition would write over them. Call the "
        "function itself; optimizers with fused=True save launches."
    )

"""The decorator for ONNX symbolic functions, which are never called: export is not supported."""

from collections.abc import Callable
from typing import Any

from ..names.missing import serve_names as _serve_names

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """Return a decorator that returns its function."""
    return _same


def _same(function: Callable[..., object]) -> Any:
    return function


_serve_names(__name__)

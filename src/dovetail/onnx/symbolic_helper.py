"""The decorator for ONNX symbolic functions, which are never called: export is not supported."""

import typing as _typing
from collections.abc import Callable
from typing import Any

from ..names.missing import names_of as _names_of

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """Return a decorator that returns its function."""
    return _same


def _same(function: Callable[..., object]) -> Any:
    return function


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)

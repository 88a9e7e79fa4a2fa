"""What programs ask of PyTorch's compiler; nothing is compiled."""

import typing as _typing
from collections.abc import Iterator
from contextlib import contextmanager

from ..names.missing import names_of as _names_of

__all__ = ["disable_cache_limit", "is_compile_supported"]


@contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Change nothing in a with block: nothing is compiled."""
    yield


def is_compile_supported(device_type: str) -> bool:
    """Return False: nothing is compiled for any device."""
    return False


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, remedy="Nothing is compiled.")

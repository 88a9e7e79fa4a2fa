"""What programs ask of PyTorch's compiler; nothing is compiled."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..names.missing import serve_names as _serve_names

__all__ = ["disable_cache_limit", "is_compile_supported"]


@contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Change nothing in a with block: nothing is compiled."""
    yield


def is_compile_supported(device_type: str) -> bool:
    """Return False: nothing is compiled for any device."""
    return False


_serve_names(__name__, remedy="Nothing is compiled.")

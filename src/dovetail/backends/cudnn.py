"""Settings of ``torch.backends.cudnn``, stored and ignored: CuPy works without cuDNN."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..names.missing import serve_names as _serve_names

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]

enabled: bool | None = True
benchmark: bool | None = False
benchmark_limit: int | None = 10
deterministic: bool | None = False
allow_tf32: bool | None = True

_SWITCHES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def is_available() -> bool:
    """Return False: cuDNN is not used."""
    return False


def version() -> int | None:
    """Return None: cuDNN is not used."""
    return None


def is_acceptable(tensor: object) -> bool:
    """Return False: cuDNN is not used."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[bool | int | None, ...]:
    """Change settings, and return all previous values."""
    before = tuple(globals()[switch] for switch in _SWITCHES)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    for switch, value in zip(_SWITCHES, given, strict=True):
        if value is not None:
            globals()[switch] = value
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the settings inside a block."""
    before = set_flags()
    try:
        set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
        yield
    finally:
        globals().update(zip(_SWITCHES, before, strict=True))


_serve_names(__name__)

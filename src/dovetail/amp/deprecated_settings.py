"""Deprecated per-device settings of autocast; they warn."""

from __future__ import annotations

from dovetail_aten.autocast import (
    get_autocast_dtype,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from dovetail_kernel import dtype as Dtype
from dovetail_kernel import warn_user

_nesting = 0
_is_cache_enabled = True


def _deprecated(name: str, following: str) -> None:
    warn_user(
        f"torch.{name} is deprecated. Please use torch.{following} instead.", DeprecationWarning
    )


def get_autocast_cpu_dtype() -> Dtype:
    """Return ``get_autocast_dtype("cpu")``. Deprecated."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Dtype:
    """Return ``get_autocast_dtype("cuda")``. Deprecated."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: Dtype) -> None:
    """Call ``set_autocast_dtype("cpu", dtype)``. Deprecated."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Dtype) -> None:
    """Call ``set_autocast_dtype("cuda", dtype)``. Deprecated."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def is_autocast_cpu_enabled() -> bool:
    """Return ``is_autocast_enabled("cpu")``. Deprecated."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Call ``set_autocast_enabled("cpu", enabled)``. Deprecated."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def is_autocast_cache_enabled() -> bool:
    """Return the value set by `set_autocast_cache_enabled`; True by default. Casts are not cached
    here.
    """
    return _is_cache_enabled


def set_autocast_cache_enabled(enabled: object) -> None:
    """Store the setting and ignore it: casts are not cached.

    Raises
    ------
    TypeError
        If `enabled` is not a bool.
    """
    global _is_cache_enabled
    if enabled.__class__ is not bool:
        raise TypeError(
            f"enabled must be a bool (got {type(enabled).__name__}). Give True or False."
        )
    _is_cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Do nothing: casts are not cached."""


def autocast_increment_nesting() -> int:
    """Increment and return the nesting depth of autocast blocks."""
    global _nesting
    _nesting += 1
    return _nesting


def autocast_decrement_nesting() -> int:
    """Decrement and return the nesting depth of autocast blocks."""
    global _nesting
    _nesting -= 1
    return _nesting

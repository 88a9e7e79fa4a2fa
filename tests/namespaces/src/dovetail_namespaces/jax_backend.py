"""The backend ``jax``, whose library is imported when the device is first used."""

from __future__ import annotations

from importlib.util import find_spec

from dovetail.backends import BackendSpec, hookimpl


def _load() -> None:
    from . import jax_arrays

    jax_arrays.register()


def _unavailable_because() -> str | None:
    if find_spec("jax") is None:
        return "jax is not installed. Install it: pip install jax"
    return None


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the backend."""
    return BackendSpec("jax", _load, is_available=_unavailable_because)

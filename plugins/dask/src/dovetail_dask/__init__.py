"""The Dask backend of Dovetail: tensors on device ``dask`` are lazily computed, chunked arrays.
Dask is imported when the device is first used.
"""

from __future__ import annotations

from importlib.util import find_spec

from dovetail_kernel import BackendSpec, hookimpl

__all__ = ["dovetail_backend"]


def _load() -> None:
    from . import backend

    backend.register()


def _unavailable_because() -> str | None:
    if find_spec("dask") is None:
        return "Dask is not installed. Install it: pip install 'dask[array]'"
    return None


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the dask backend."""
    return BackendSpec("dask", _load, is_available=_unavailable_because)

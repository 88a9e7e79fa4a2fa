"""The backend ``strict``, whose library is imported when the device is first used."""

from __future__ import annotations

from importlib.util import find_spec

from dovetail.backends import BackendSpec, hookimpl


def _load() -> None:
    from . import strict_arrays

    strict_arrays.register()


def _unavailable_because() -> str | None:
    if find_spec("array_api_strict") is None:
        return "array_api_strict is not installed. Install it: pip install array-api-strict"
    return None


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the backend."""
    return BackendSpec("strict", _load, is_available=_unavailable_because)

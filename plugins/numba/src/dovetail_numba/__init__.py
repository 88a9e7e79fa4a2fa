"""Compiled kernels over those of Dovetail's CPU backend, for large arrays: an overlay.

``dovetail.use_overlay("numba")`` or ``DOVETAIL_OVERLAYS=numba`` puts them in force.
"""

from __future__ import annotations

from importlib.util import find_spec

from dovetail_kernel import hookimpl

__all__ = ["dovetail_load"]


@hookimpl
def dovetail_load() -> None:
    """Put the kernels over those of the cpu.

    Raises
    ------
    ImportError
        If Numba is not installed. It is imported when the first large array comes.
    """
    if find_spec("numba") is None:
        raise ImportError("the overlay needs Numba: pip install numba")
    from .registration import register

    register()

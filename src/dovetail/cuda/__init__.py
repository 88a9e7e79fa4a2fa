"""CUDA devices, as in ``torch.cuda``; queries are cheap if the plugin is not installed."""

from __future__ import annotations

from typing import Any

from ..names.stubs import attach_stub as _attach_stub
from .absent import REMEDIES as _REMEDIES

has_half = True
"""Float16 is computed on every device."""
has_magma = False
"""MAGMA is not used: LAPACK's functions are cuSOLVER's."""

_of_stub = _attach_stub(__name__, remedies=_REMEDIES)


def __getattr__(name: str) -> Any:
    """Return what is imported or made when it is asked for: CuPy's error of memory that is not
    there, or the error of host memory where there is no CUDA; the generators of the devices.
    """
    if name == "default_generators":
        from .devices import device_count
        from .random import generator_of

        return tuple([generator_of(index) for index in range(device_count())])
    if name != "OutOfMemoryError":
        return _of_stub(name)
    from dovetail_kernel import OutOfMemoryError

    from .plugin import is_available, of_plugin

    if not is_available():
        return OutOfMemoryError
    return of_plugin("memory").OutOfMemoryError

"""Which frames of the stack are Dovetail's own."""

from __future__ import annotations

from types import FrameType
from typing import Final

_PACKAGES: Final = frozenset(
    [
        "dovetail",
        "dovetail_aten",
        "dovetail_autograd",
        "dovetail_cpu",
        "dovetail_cuda",
        "dovetail_dask",
        "dovetail_dispatcher",
        "dovetail_kernel",
        "dovetail_mpi",
        "dovetail_native",
        "dovetail_testing",
    ]
)
"""By name: another author's library may be called `dovetail_*` too."""


def is_ours(frame: FrameType) -> bool:
    """Return whether `frame` runs a function of Dovetail, or one that it generated."""
    return package(frame) in _PACKAGES or frame.f_code.co_filename.startswith("<dovetail ")


def package(frame: FrameType) -> str:
    """Return the name of the outermost package of the module that `frame` runs, also where it took
    its name off, so that nothing warns in it.
    """
    names = frame.f_globals
    return (names.get("__name__") or names.get("__package__") or "").partition(".")[0]

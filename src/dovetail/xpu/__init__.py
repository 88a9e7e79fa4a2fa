"""Intel GPUs, as ``torch.xpu``: there is no backend for it, so it is reported as unavailable."""

import typing as _typing

from ..names.missing import names_of as _names_of

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Return False: there is no backend for Intel GPUs."""
    return False


def device_count() -> int:
    """Return 0: there is no backend for Intel GPUs."""
    return 0


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)

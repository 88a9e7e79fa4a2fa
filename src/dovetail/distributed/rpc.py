"""``torch.distributed.rpc`` of a build without it: processes do not call each other's functions."""

import typing as _typing

from ..names.missing import names_of as _names_of

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: use the collectives of ``dovetail.distributed``."""
    return False


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)

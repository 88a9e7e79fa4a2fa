"""``torch.distributed.rpc`` of a build without it: processes do not call each other's functions."""

from ..names.missing import serve_names as _serve_names

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: use the collectives of ``dovetail.distributed``."""
    return False


_serve_names(__name__)

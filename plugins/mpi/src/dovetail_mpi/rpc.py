"""``torch.distributed.rpc`` of a build without it: processes do not call each other's functions."""

from dovetail.names.absent_names import names_of as _names_of

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: use the collectives of ``dovetail.distributed``."""
    return False


__getattr__ = _names_of("dovetail.distributed.rpc", namespace=globals())

"""Apple's Metal, as ``torch.mps``: there is no backend for it; programs that ask do without."""

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Return False: there is no backend for Apple's Metal."""
    return False


def device_count() -> int:
    """Return 0: there is no backend for Apple's Metal."""
    return 0

"""Availability of Apple's Metal, as in ``torch.backends.mps``."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False: computations use NumPy and SciPy, with their own libraries."""
    return False


def is_built() -> bool:
    """Return False: there is no backend for Metal."""
    return False

"""Availability of NNPACK, as in ``torch.backends.nnpack``."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: computations use NumPy and SciPy."""
    return False

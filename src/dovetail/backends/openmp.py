"""Availability of OpenMP, as in ``torch.backends.openmp``."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: computations use NumPy and SciPy, with their own libraries."""
    return False

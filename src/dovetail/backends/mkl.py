"""Availability of Intel's MKL, as in ``torch.backends.mkl``."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: computations use NumPy and SciPy, with their own libraries."""
    return False

"""Whether OpenMP computes, as ``torch.backends.openmp`` says."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: NumPy and SciPy compute, with the libraries they were built with."""
    return False

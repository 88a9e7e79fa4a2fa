"""Whether Apple's Metal computes, as ``torch.backends.mps`` says."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False: NumPy and SciPy compute, with the libraries they were built with."""
    return False


def is_built() -> bool:
    """Return False: there is no backend for Metal."""
    return False

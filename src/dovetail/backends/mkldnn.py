"""Availability of oneDNN, as in ``torch.backends.mkldnn``."""

enabled = False


def is_available() -> bool:
    """Return False: computations use NumPy and SciPy, with their own libraries."""
    return False

"""Whether oneDNN computes, as ``torch.backends.mkldnn`` says."""

enabled = False


def is_available() -> bool:
    """Return False: NumPy and SciPy compute, with the libraries they were built with."""
    return False

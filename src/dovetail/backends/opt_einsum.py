"""Settings of opt_einsum, as in ``torch.backends.opt_einsum``; it is not used."""

from typing import Final

enabled: Final = False
"""Whether a library chooses the order of products; programs may set it, and nothing follows."""

strategy: Final = None
"""The strategy of that library."""


def is_available() -> bool:
    """Return False: operands are multiplied from left to right, as in PyTorch without it."""
    return False


def get_opt_einsum() -> None:
    """Return None: the library is not used."""

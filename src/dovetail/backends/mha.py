"""The inference kernels of attention modules, as ``torch.backends.mha``: attention is computed in
one way, whatever is set here.
"""

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Return what was set; True at first."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Accept whether modules may use kernels for inference; results are the same."""
    global _enabled
    _enabled = value

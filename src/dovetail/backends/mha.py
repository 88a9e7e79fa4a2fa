"""The setting for inference kernels of attention modules, as in ``torch.backends.mha``; it is
stored and ignored.
"""

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Return the stored setting; initially True."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Store the setting and ignore it; results are the same."""
    global _enabled
    _enabled = value

"""Intel GPUs, as ``torch.xpu``: there is no backend for it, so it is reported as unavailable."""

from ..names.missing import serve_names as _serve_names

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Return False: there is no backend for Intel GPUs."""
    return False


def device_count() -> int:
    """Return 0: there is no backend for Intel GPUs."""
    return 0


_serve_names(__name__)

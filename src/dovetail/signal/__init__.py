"""Signals, as ``torch.signal``."""

from ..names.missing import serve_names as _serve_names
from . import windows

__all__ = ["windows"]


_serve_names(__name__)

"""The path of the modules in it, passes over graphs."""

from ...names.missing import serve_names as _serve_names

__all__ = ["shape_prop"]

_serve_names(__name__, __all__)

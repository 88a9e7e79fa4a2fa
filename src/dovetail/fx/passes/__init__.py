"""The path of the modules in it, passes over graphs."""

from ...names.missing import names_of as _names_of

__all__ = ["shape_prop"]

__getattr__ = _names_of(__name__, __all__)

"""The code generator: operator declarations in YAML become plain, readable Python. Any operator
library may use it.
"""

from .derivative_records import Derivative, SavedValue
from .derivatives import read_derivatives
from .errors import DeclarationError, DerivativeError, Location
from .generate import Library, generate, operators_listed, stale_files, write_files
from .native_functions import NativeFunction, read_native_functions

__all__ = [
    "DeclarationError",
    "Derivative",
    "DerivativeError",
    "Library",
    "Location",
    "NativeFunction",
    "SavedValue",
    "generate",
    "operators_listed",
    "read_derivatives",
    "read_native_functions",
    "stale_files",
    "write_files",
]

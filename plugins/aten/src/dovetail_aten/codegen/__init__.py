"""The code generator: it generates readable Python from operator declarations in YAML. Any operator
library may use it.
"""

from .errors import DeclarationError, DerivativeError, Location
from .explanation import dragged_in, explanation, summary
from .generate import Build, generate, read_build, stale_files, write_files
from .library import Library
from .readers.derivative_records import Derivative, SavedValue
from .readers.derivatives import read_derivatives
from .readers.native_functions import NativeFunction, read_native_functions
from .selection import Selection, read_selection

__all__ = [
    "Build",
    "DeclarationError",
    "Derivative",
    "DerivativeError",
    "Library",
    "Location",
    "NativeFunction",
    "SavedValue",
    "Selection",
    "dragged_in",
    "explanation",
    "generate",
    "read_build",
    "read_derivatives",
    "read_native_functions",
    "read_selection",
    "stale_files",
    "summary",
    "write_files",
]

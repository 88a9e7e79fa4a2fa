"""Names for the front end, which has no such names for its users."""

from ._generated import functions
from .backend import matmul_precision
from .backend.generator import default_generator
from .calling import return_types
from .calling.signatures import shown_plainly
from .tensor.copying import storable
from .tensor.functions.writes import check_write

__all__ = [
    "check_write",
    "default_generator",
    "functions",
    "matmul_precision",
    "return_types",
    "shown_plainly",
    "storable",
]

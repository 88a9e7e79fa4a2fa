from . import return_types as return_types
from .signatures import shown_plainly as shown_plainly

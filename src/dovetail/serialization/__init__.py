"""`save` and `load`, as in ``torch.serialization``: tensors and containers in one safetensors
file, or in one of ``torch.save``; `save_file` and `load_file`, as in the safetensors library.

May import `nn`, for parameters, and the packages below.
"""

import typing as _typing

from ..absent_names import names_of as _names_of
from .files import load, save
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .tensor_dicts import load_file, save_file

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "load_file",
    "safe_globals",
    "save",
    "save_file",
]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)

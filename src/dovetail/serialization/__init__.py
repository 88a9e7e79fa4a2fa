"""`save` and `load`, as in ``torch.serialization``: tensors and containers in one safetensors
file, or in one of ``torch.save``; `save_file` and `load_file`, as in the safetensors library.

May import `nn`, for parameters, and the packages below.
"""

import typing as _typing

from ..names.missing import names_of as _names_of
from .files import load, save
from .placement import MapLocation
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .settings import (
    LoadEndianness,
    SourceChangeWarning,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    get_default_save_format,
    location_tag,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    set_default_save_format,
)
from .tensor_dicts import load_file, save_file

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_default_save_format",
    "get_safe_globals",
    "load",
    "load_file",
    "location_tag",
    "safe_globals",
    "save",
    "save_file",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "set_default_save_format",
]

DEFAULT_PROTOCOL: _typing.Final = 2
"""The protocol of pickle in files of ``torch.save``."""

MAP_LOCATION: _typing.TypeAlias = MapLocation
"""What `load` takes as its `map_location`."""

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)

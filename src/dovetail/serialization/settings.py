"""Defaults of `load`, as in ``torch.serialization``, and types for annotations."""

from __future__ import annotations

import sys
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import Any, Final, NamedTuple

from dovetail_aten import TypedStorage

DEFAULT_PROTOCOL: Final = 2
"""The protocol of pickle in files of ``torch.save``."""


class SourceChangeWarning(Warning):
    """Never issued, because the source of classes is not compared; programs may refer to it in
    warning filters.
    """


class LoadEndianness(Enum):
    """The byte order of files that do not declare it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class Settings(NamedTuple):
    """What holds where a caller does not say otherwise."""

    mmap: bool = False
    endianness: LoadEndianness | None = None
    crc32: bool = True
    save_format: str = "safetensors"


_settings = Settings()


def settings() -> Settings:
    """Return the current settings."""
    return _settings


def change_settings(**changes: Any) -> None:
    """Change settings of the process."""
    global _settings
    _settings = _settings._replace(**changes)


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order of files that do not declare it; None means the native order."""
    return settings().endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of files that do not declare it (files of old releases).

    Raises
    ------
    TypeError
        For anything but a `LoadEndianness` or None.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "Invalid argument type in function set_default_load_endianness: "
            f"{type(endianness).__name__}. Give one of LoadEndianness, or None."
        )
    change_settings(endianness=endianness)


def get_default_save_format() -> str:
    """Return the default format of `save`."""
    return settings().save_format


def set_default_save_format(format: str) -> None:
    """Set the default format of `save`.

    Parameters
    ----------
    format : str
        "safetensors", or "torch": files that ``torch.load`` reads. ``dovetail run`` and
        `dovetail.as_torch` set "torch" for the program that they run.

    Raises
    ------
    ValueError
        For any other format.
    """
    change_settings(save_format=checked_format(format))


def checked_format(format: str) -> str:
    """Return the name of a format of `save`.

    Raises
    ------
    ValueError
        If there is no such format.
    """
    if format not in ("safetensors", "torch"):
        raise ValueError(f"format should be 'safetensors' or 'torch', not {format!r}")
    return format


def byte_order_of_old_files() -> str:
    """Return ``"little"`` or ``"big"``: the byte order of files that do not declare it."""
    order = settings().endianness
    return sys.byteorder if order in (None, LoadEndianness.NATIVE) else str(order.name).lower()


def get_crc32_options() -> bool:
    """Return the value set by `set_crc32_options`; True by default."""
    return settings().crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Accept the setting and ignore it: files always have checksums, because `load` checks them."""
    change_settings(crc32=compute_crc32)


def get_default_mmap_options() -> int:
    """Return how files are mapped: ``mmap.MAP_PRIVATE``."""
    return MAP_PRIVATE


class set_default_mmap_options:
    """Set how files are mapped: privately, so that writes stay in this process. Also a context
    manager.

    Parameters
    ----------
    flags
        ``mmap.MAP_PRIVATE``.

    Raises
    ------
    NotImplementedError
        For ``mmap.MAP_SHARED``: tensors would write to the file.
    ValueError
        For anything else.
    """

    def __init__(self, flags: int) -> None:
        if flags == MAP_SHARED:
            raise NotImplementedError(
                "files are mapped privately, so that what is written to a tensor stays in this "
                "process. Save the tensors to change the file."
            )
        if flags != MAP_PRIVATE:
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def location_tag(storage: Any) -> str:
    """Return the name of the device of a storage in files: ``"cpu"``, ``"cuda:0"``."""
    untyped = storage.untyped() if isinstance(storage, TypedStorage) else storage
    return str(untyped.device)

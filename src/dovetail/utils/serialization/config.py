"""Defaults of `dovetail.load` and `dovetail.save`: ``load.mmap``, ``load.endianness``,
``save.compute_crc32``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ...serialization import set_crc32_options, set_default_load_endianness
from ...serialization.settings import LoadEndianness, change_settings, settings

__all__ = ["load", "patch", "save"]


class _Load:
    """What `load` does where its caller does not say."""

    __slots__ = ()

    @property
    def mmap(self) -> bool:
        """Whether files are mapped; False at first."""
        return settings().mmap

    @mmap.setter
    def mmap(self, value: bool) -> None:
        change_settings(mmap=bool(value))

    @property
    def endianness(self) -> LoadEndianness | None:
        """The order of bytes of files that do not say it."""
        return settings().endianness

    @endianness.setter
    def endianness(self, value: LoadEndianness | None) -> None:
        set_default_load_endianness(value)


class _Save:
    """What `save` does where its caller does not say."""

    __slots__ = ()

    @property
    def compute_crc32(self) -> bool:
        """What it was told; files always have checksums."""
        return settings().crc32

    @compute_crc32.setter
    def compute_crc32(self, value: bool) -> None:
        set_crc32_options(value)


load = _Load()
save = _Save()


class patch(AbstractContextManager[None]):
    """Changes settings within a ``with`` block.

    Parameters
    ----------
    name
        A setting, such as ``"load.mmap"``, and `value`; or a dict of several.

    Raises
    ------
    AttributeError
        For an unknown setting.
    """

    def __init__(self, name: str | dict[str, object], value: object = None) -> None:
        self._wanted = name if isinstance(name, dict) else {name: value}
        self._before: dict[str, Any] = {}
        for each in self._wanted:
            _holder(each)

    def __enter__(self) -> None:
        self._before = {each: getattr(*_holder(each)) for each in self._wanted}
        _set_all(self._wanted)

    def __exit__(self, *exception: object) -> None:
        _set_all(self._before)


def _holder(name: str) -> tuple[Any, str]:
    """Return the object that has a setting, and its name there."""
    part, _, setting = name.partition(".")
    holder = {"load": load, "save": save}.get(part)
    if holder is None or not hasattr(holder, setting):
        raise AttributeError(
            f"{name!r} is no setting of dovetail.utils.serialization.config. It has load.mmap, "
            "load.endianness and save.compute_crc32."
        )
    return holder, setting


def _set_all(values: dict[str, object]) -> None:
    for each, value in values.items():
        setattr(*_holder(each), value)

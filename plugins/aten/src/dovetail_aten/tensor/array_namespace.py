"""The methods of `Tensor` by which the Array API knows an array: its namespace, and its device."""

from __future__ import annotations

from typing import Any, Final

from dovetail_kernel import DeviceLike

from ..sockets import ARRAY_NAMESPACE
from .other_layouts import TensorLayouts

VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the standard whose functions the namespace has."""


class TensorNamespace(TensorLayouts):
    """The part of Tensor that the Array API asks for beside operators."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the namespace of functions of the Array API. Raises ValueError for a version of
        the standard that it is not of, and RuntimeError where the front end is not installed.
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(
                f"unrecognized Array API version: {api_version!r}. It is one of: "
                f"{', '.join(VERSIONS)}."
            )
        load = ARRAY_NAMESPACE.plug
        if load is None:
            raise RuntimeError("The Array API is in the distribution dovetail: import dovetail.")
        return load()

    def to_device(self, device: DeviceLike | None, /, *, stream: Any = None) -> Any:
        """Return the tensor on a device: itself, if it is there. Raises NotImplementedError for a
        stream: copies are made on the current one.
        """
        if stream is not None:
            raise NotImplementedError("to_device on a stream. Leave stream out.")
        own: Any = self
        return own.to(device)

"""Types for annotations, as ``torch.types``."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from os import PathLike
from typing import IO, TypeAlias

from dovetail_aten import Tensor, UntypedStorage
from dovetail_kernel import Device as _Device
from dovetail_kernel import DispatchKey, Layout, Size, dtype

__all__ = ["Device", "FileLike", "Number", "Storage"]

_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex
_device = _Device
_dtype = dtype
_layout = Layout
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize = _size
_dispatchkey: TypeAlias = str | DispatchKey

Number: TypeAlias = int | float | bool
"""A Python number; also what a tensor's `item` gives."""

Device: TypeAlias = _Device | str | int | None
"""What names a device; None is the default device."""

FileLike: TypeAlias = str | PathLike[str] | IO[bytes]
"""A path, or a file that is open for bytes."""

Storage: TypeAlias = UntypedStorage
"""The bytes of tensors."""

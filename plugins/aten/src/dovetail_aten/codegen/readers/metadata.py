"""What formulas may ask of a tensor without saving it: its shape, its dtype and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Metadata:
    """A property of a tensor that is saved in the tensor's stead: slot ``self_sym_sizes`` for
    ``self.shape``.
    """

    suffix: str
    expression: str


METADATA: Final[Mapping[str, Metadata]] = {
    "sym_sizes": Metadata("sym_sizes", "{}.array.shape"),
    "sym_strides": Metadata("sym_strides", "{}.stride()"),
    "sym_numel": Metadata("sym_numel", "{}.array.size"),
    "sym_size": Metadata("sym_argsize_{index}", "{}.array.shape[{index}]"),
    "dim": Metadata("dim", "{}.dim()"),
    "scalar_type": Metadata("scalar_type", "{}.dtype"),
    "is_complex": Metadata("is_complex", "{}.is_complex()"),
    "sym_storage_offset": Metadata("sym_storage_offset", "{}.storage_offset()"),
    "layout": Metadata("layout", "{}.layout"),
    "device": Metadata("device", "{}.device"),
    "is_column_major": Metadata("is_column_major", "is_column_major({}.array)"),
}
"""Methods that read only metadata, by their names in formulas."""

TEMPORARY_METADATA: Final[Mapping[str, str]] = {
    "sym_sizes": "{}.shape",
    "sym_size": "{}.shape[{index}]",
    "dim": "{}.ndim",
    "scalar_type": "{}.dtype",
}
"""The same of a value that the formula has at hand, spelled so that tensors and arrays both have
it.
"""

SYMBOLIC_METADATA: Final[Mapping[str, str]] = {
    "sizes": "sym_sizes",
    "size": "sym_size",
    "strides": "sym_strides",
    "numel": "sym_numel",
}
"""The names in formulas that PyTorch spells otherwise, and its spelling."""

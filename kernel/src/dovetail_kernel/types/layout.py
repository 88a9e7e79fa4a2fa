"""Layouts and memory formats: how the elements of a tensor lie in memory."""

from __future__ import annotations

from typing import Final

from .immutable import NamedValue


class Layout(NamedValue):
    """Storage layout of a tensor: `strided`, or one of the sparse and jagged forms."""

    __slots__ = ()


class MemoryFormat(NamedValue):
    """A memory format: the order of dimensions in memory."""

    __slots__ = ()


strided: Final = Layout.define("strided")
sparse_coo: Final = Layout.define("sparse_coo")
sparse_csr: Final = Layout.define("sparse_csr")
sparse_csc: Final = Layout.define("sparse_csc")
sparse_bsr: Final = Layout.define("sparse_bsr")
sparse_bsc: Final = Layout.define("sparse_bsc")
jagged: Final = Layout.define("jagged")

contiguous_format: Final = MemoryFormat.define("contiguous_format")
preserve_format: Final = MemoryFormat.define("preserve_format")
channels_last: Final = MemoryFormat.define("channels_last")
channels_last_3d: Final = MemoryFormat.define("channels_last_3d")

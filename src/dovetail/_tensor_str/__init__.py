"""Parts of the texts of tensors by PyTorch's names; subclasses print themselves by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor, get_printoptions
from dovetail_aten.printing import contents_text, with_suffixes

__all__ = ["PRINT_OPTS"]


class _PrintOptionsInForce:
    """The options in force, as attributes; `set_printoptions` sets them."""

    def __getattr__(self, name: str) -> Any:
        try:
            return get_printoptions()[name]
        except KeyError:
            raise AttributeError(name) from None


PRINT_OPTS = _PrintOptionsInForce()


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return the numbers of a tensor in nested brackets; ``[]`` if there are none."""
    return contents_text(self.detach(), indent) if self.numel() else "[]"


def _add_suffixes(
    tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool
) -> str:
    """Return a text with its suffixes, on a line of their own if `force_newline`, and ``)``."""
    if force_newline and suffixes:
        tensor_str += ",\n" + " " * indent + suffixes[0]
        suffixes = suffixes[1:]
    return with_suffixes(tensor_str, suffixes, indent, get_printoptions()["linewidth"])


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of a tensor, with `tensor_contents` in place of its numbers."""
    text: Any = Tensor.__repr__
    return text(self, tensor_contents=tensor_contents)  # type: ignore[no-any-return]


_str_intern = _str

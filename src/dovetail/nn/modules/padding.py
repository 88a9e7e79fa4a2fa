"""Padding of the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dovetail_aten import Tensor

from .. import functional as F
from ..functional_arguments import repeated
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Pad the last dimensions with elements of the input.

    Parameters
    ----------
    padding : int or sequence
        Number of elements before and after each dimension, starting with the last; one number
        applies to all. Negative numbers crop.
    """

    _ndim: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self._ndim)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, mode=self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(Module):
    _ndim: ClassVar[int]

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__()
        self.value = value
        self.padding = repeated(padding, 2 * self._ndim)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, mode="constant", value=self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Pad the last dimension with a number.

    Parameters
    ----------
    padding : int or sequence
        Number of elements before and after each dimension, starting with the last; one number
        applies to all. Negative numbers crop.
    value : float
        The number.
    """

    _ndim = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last two dimensions with a number.

    Parameters
    ----------
    padding, value
        As for `ConstantPad1d`.
    """

    _ndim = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad the last three dimensions with a number.

    Parameters
    ----------
    padding, value
        As for `ConstantPad1d`.
    """

    _ndim = 3


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Pad the last dimension with zeros; see `ConstantPad1d`."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Pad the last two dimensions with zeros; see `ConstantPad2d`."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Pad the last three dimensions with zeros; see `ConstantPad3d`."""


class ReflectionPad1d(_Pad):
    """Pad the last dimension with the elements at its ends, reflected; the edge is not repeated.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad1d`.
    """

    _ndim = 1
    _mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pad the last two dimensions with the elements at their ends, reflected; the edges are not
    repeated.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad2d`.
    """

    _ndim = 2
    _mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pad the last three dimensions with the elements at their ends, reflected; the edges are not
    repeated.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad3d`.
    """

    _ndim = 3
    _mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pad the last dimension with copies of its edge elements.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad1d`.
    """

    _ndim = 1
    _mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pad the last two dimensions with copies of their edge elements.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad2d`.
    """

    _ndim = 2
    _mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pad the last three dimensions with copies of their edge elements.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad3d`.
    """

    _ndim = 3
    _mode = "replicate"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)

    def _check_input_dim(self, input: Tensor) -> None:
        expected = self._ndim + 1, self._ndim + 2
        if input.dim() not in expected:
            raise ValueError(
                f"expected {expected[0]}D or {expected[1]}D input (got {input.dim()}D input)"
            )


class CircularPad1d(_CircularPadNd):
    """Pad the last dimension with the elements from its other end.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad1d`.
    """

    _ndim = 1


class CircularPad2d(_CircularPadNd):
    """Pad the last two dimensions with the elements from their other ends.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad2d`.
    """

    _ndim = 2


class CircularPad3d(_CircularPadNd):
    """Pad the last three dimensions with the elements from their other ends.

    Parameters
    ----------
    padding : int or sequence
        As for `ConstantPad3d`.
    """

    _ndim = 3

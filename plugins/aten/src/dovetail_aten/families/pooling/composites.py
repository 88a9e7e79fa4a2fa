"""Pooling along one dimension, and without the places, in terms of other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F


def _check_lines(name: str, self: Any, **numbers: Sequence[int]) -> None:
    """Raise an error for anything except a line with channels or a batch of lines."""
    if self.ndim not in (2, 3):
        raise RuntimeError(
            f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(self.shape)}"
        )
    for each, values in numbers.items():
        if len(values) > 1 or (not values and each != "stride"):
            raise RuntimeError(
                f"{name}() {each} must be an int, list of ints or tuple of ints of size 1 but got "
                f"size {len(values)}"
            )


def max_pool1d_with_indices(self: Any, *how: Any) -> tuple[Any, Any]:
    """Return the maximum of each window over the last dimension, and its place."""
    made, places = _maxima_of_lines(self, *how)
    return F.squeeze_dim(made, -2), F.squeeze_dim(places, -2)


def _maxima_of_lines(
    self: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Any, Any]:
    """Return the same of lines as images of one row."""
    how = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    _check_lines("max_pool1d", self, **how)
    made: tuple[Any, Any] = F.max_pool2d_with_indices(
        F.unsqueeze(self, -2),
        (1, *kernel_size),
        (1, *(stride or kernel_size)),
        (0, *padding),
        (1, *dilation),
        ceil_mode,
    )
    return made


def max_pool1d(self: Any, *how: Any) -> Any:
    """Return the maximum of each window over the last dimension."""
    return F.squeeze_dim(_maxima_of_lines(self, *how)[0], -2)


def max_pool2d(self: Any, *how: Any) -> Any:
    """Return the maximum of each window over the last two dimensions."""
    return F.max_pool2d_with_indices(self, *how)[0]


def max_pool3d(self: Any, *how: Any) -> Any:
    """Return the maximum of each window over the last three dimensions."""
    return F.max_pool3d_with_indices(self, *how)[0]


def avg_pool1d(
    self: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Return the average of each window over the last dimension."""
    _check_lines("avg_pool1d", self, kernel_size=kernel_size, stride=stride, padding=padding)
    made = F.avg_pool2d(
        F.unsqueeze(self, -2),
        (1, *kernel_size),
        (1, *(stride or kernel_size)),
        (0, *padding),
        ceil_mode,
        count_include_pad,
    )
    return F.squeeze_dim(made, -2)


def adaptive_avg_pool1d(self: Any, output_size: Sequence[int]) -> Any:
    """Return the averages of nearly equal windows over the last dimension."""
    _check_adaptive("adaptive_avg_pool1d", self, output_size)
    return F.squeeze_dim(F.adaptive_avg_pool2d(F.unsqueeze(self, -2), (1, *output_size)), -2)


def adaptive_max_pool1d(self: Any, output_size: Sequence[int]) -> tuple[Any, Any]:
    """Return the maxima of nearly equal windows over the last dimension, and their places."""
    _check_adaptive("adaptive_max_pool1d", self, output_size)
    made, places = F.adaptive_max_pool2d(F.unsqueeze(self, -2), (1, *output_size))
    return F.squeeze_dim(made, -2), F.squeeze_dim(places, -2)


def _check_adaptive(name: str, self: Any, output_size: Sequence[int]) -> None:
    if self.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.ndim}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
        )
    if len(output_size) != 1:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(output_size)})"
        )


def adaptive_avg_pool2d(self: Any, output_size: Sequence[int]) -> Any:
    """Return the averages of nearly equal windows over the last two dimensions."""
    if tuple(output_size) == (1, 1) and self.ndim in (3, 4) and self.numel():
        return F.mean_dim(self, (-1, -2), True)
    return F._adaptive_avg_pool2d(self, output_size)


def adaptive_avg_pool3d(self: Any, output_size: Sequence[int]) -> Any:
    """Return the averages of nearly equal windows over the last three dimensions."""
    if tuple(output_size) == (1, 1, 1) and self.ndim in (4, 5) and self.numel():
        return F.mean_dim(self, (-1, -2, -3), True)
    return F._adaptive_avg_pool3d(self, output_size)

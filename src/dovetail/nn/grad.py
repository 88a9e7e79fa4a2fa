"""Gradients of convolutions as functions, as in ``torch.nn.grad``."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_aten import Tensor
from dovetail_dispatcher import ops

from .functional_arguments import repeated

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

Sizes = int | Sequence[int]


def _gradient(
    ndim: int,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    of_weight: bool,
) -> Tensor:
    found = ops.aten.convolution_backward(
        grad_output,
        input,
        weight,
        None,
        *[list(repeated(each, ndim)) for each in (stride, padding, dilation)],
        False,
        [0],
        groups,
        (not of_weight, of_weight, False),
    )
    result: Tensor = found[of_weight]
    return result


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `functional.conv1d` with respect to an input of shape `input_size`."""
    input = grad_output.new_empty(1).expand(input_size)
    return _gradient(1, grad_output, input, weight, stride, padding, dilation, groups, False)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `functional.conv1d` with respect to a weight of `weight_size`."""
    weight = grad_output.new_empty(1).expand(weight_size)
    return _gradient(1, grad_output, input, weight, stride, padding, dilation, groups, True)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `functional.conv2d` with respect to an input of shape `input_size`."""
    input = grad_output.new_empty(1).expand(input_size)
    return _gradient(2, grad_output, input, weight, stride, padding, dilation, groups, False)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `functional.conv2d` with respect to a weight of `weight_size`."""
    weight = grad_output.new_empty(1).expand(weight_size)
    return _gradient(2, grad_output, input, weight, stride, padding, dilation, groups, True)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `functional.conv3d` with respect to an input of shape `input_size`."""
    input = grad_output.new_empty(1).expand(input_size)
    return _gradient(3, grad_output, input, weight, stride, padding, dilation, groups, False)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `functional.conv3d` with respect to a weight of `weight_size`."""
    weight = grad_output.new_empty(1).expand(weight_size)
    return _gradient(3, grad_output, input, weight, stride, padding, dilation, groups, True)

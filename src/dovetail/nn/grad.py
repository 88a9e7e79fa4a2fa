"""Gradients of convolutions as functions, as in ``torch.nn.grad``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def _of_input(ndim: int) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        input = grad_output.new_empty(1).expand(input_size)
        return _gradient(ndim, grad_output, input, weight, stride, padding, dilation, groups, False)

    gradient.__doc__ = (
        f"Return the gradient of `functional.conv{ndim}d` with respect to an input of shape "
        "`input_size`."
    )
    return _named(gradient, f"conv{ndim}d_input")


def _of_weight(ndim: int) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        weight = grad_output.new_empty(1).expand(weight_size)
        return _gradient(ndim, grad_output, input, weight, stride, padding, dilation, groups, True)

    gradient.__doc__ = (
        f"Return the gradient of `functional.conv{ndim}d` with respect to a weight of shape "
        "`weight_size`."
    )
    return _named(gradient, f"conv{ndim}d_weight")


def _named(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    return function


conv1d_input, conv2d_input, conv3d_input = [_of_input(ndim) for ndim in (1, 2, 3)]
conv1d_weight, conv2d_weight, conv3d_weight = [_of_weight(ndim) for ndim in (1, 2, 3)]

"""Derivatives of the gradients of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, TensorLike


def convolution_double_backward(
    k: Namespace,
    to_input: TensorLike,
    to_weight: TensorLike,
    to_bias: Any,
    grad_output: TensorLike,
    input: TensorLike,
    weight: TensorLike,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of ``convolution_backward``, each of whose results is linear in two of
    `grad_output`, `input` and `weight`, given the gradients of these results.
    """
    how = (stride, padding, dilation, transposed, output_padding, groups)
    of_output = of_input = of_weight = None
    if mask[0]:
        if to_input is not None:
            of_output = k.convolution(to_input, weight, to_bias, *how)
            to_bias = None
        if to_weight is not None:
            made = k.convolution(input, to_weight, to_bias, *how)
            to_bias = None
            of_output = made if of_output is None else k.add(of_output, made)
        if to_bias is not None:
            shape = (-1, *[1] * (grad_output.ndim - 2))
            of_output = k.expand(k.reshape(to_bias, shape), grad_output.shape)
    if mask[1] and to_weight is not None:
        only = (True, False, False)
        of_input = k.convolution_backward(grad_output, input, to_weight, None, *how, only)[0]
    if mask[2] and to_input is not None:
        only = (False, True, False)
        of_weight = k.convolution_backward(grad_output, to_input, weight, None, *how, only)[1]
    return of_output, of_input, of_weight

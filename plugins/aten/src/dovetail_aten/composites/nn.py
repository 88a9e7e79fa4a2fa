"""Layers and activations in terms of other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F


def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Return softmax along `dim`, computed in `dtype`."""
    return F._softmax(self if dtype is None else F.to(self, dtype), dim, False)


def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Return the logarithm of softmax along `dim`, computed in `dtype`."""
    return F._log_softmax(self if dtype is None else F.to(self, dtype), dim, False)


def log_sigmoid(self: Any) -> Any:
    """Return the logarithm of the sigmoid."""
    return F.log_sigmoid_forward(self)[0]


def prelu(self: Any, weight: Any) -> Any:
    """Return `self` where positive, else `self` times `weight` of its channel."""
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype} and {weight.dtype}. Convert "
            "one."
        )
    if weight.numel() != 1:
        channels = self.shape[1] if self.ndim > 1 else 1
        if self.ndim == 0 or channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and "
                f"channel size = {channels}. Give one weight, or one per channel."
            )
    if weight.ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight.ndim}. Flatten it."
        )
    if weight.ndim == 1 and self.ndim != 1:
        shape = [1] * self.ndim
        if self.ndim > 1:
            shape[1] = weight.shape[0]
        weight = F.reshape(weight, shape)
    return F._prelu_kernel(self, weight)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """Return the sums of ``input1[i] * weight[k, i, j] * input2[j]`` for every k, plus `bias`."""
    _check_bilinear(input1, input2, weight, bias)
    outputs, left, right = weight.shape
    rows = F.reshape(F.permute(weight, (1, 0, 2)), (left, outputs * right))
    half = F.reshape(F.matmul(input1, rows), (*input1.shape[:-1], outputs, right))
    made = F.squeeze(F.matmul(half, F.unsqueeze(input2, -1)), -1)
    return made if bias is None else F.add(made, bias)


def _check_bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    if not input1.dtype is input2.dtype is weight.dtype:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {input1.dtype}, input2: "
            f"{input2.dtype}, weight: {weight.dtype}. Convert them."
        )
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}. "
            "Reshape one."
        )
    for dim, sizes in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if sizes[0] != sizes[1]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {sizes[0]} and "
                f"{sizes[1]}. Give as many vectors."
            )
    if weight.ndim != 3:
        raise RuntimeError(
            f"bilinear(): weight has {weight.ndim} dimensions, not 3. Give (out, in1, in2)."
        )
    for at, x in ((1, input1), (2, input2)):
        if x.shape[-1:] != weight.shape[at : at + 1]:
            raise RuntimeError(
                f"bilinear(): input{at} size does not match weight size: got {list(x.shape)[-1:]} "
                f"but expected [{weight.shape[at]}]. Give vectors of that length."
            )
    if bias is not None and tuple(bias.shape) != tuple(weight.shape[:1]):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but "
            f"expected [{weight.shape[0]}]. Give one number for each output."
        )


def embedding(
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return the rows of `weight` that `indices` name."""
    if weight.ndim != 2:
        raise RuntimeError(
            f"'weight' must be 2-D, but it is {weight.ndim}-D. Give one row per entry."
        )
    if indices.ndim == 1:
        return F.index_select(weight, 0, indices)
    rows = F.index_select(weight, 0, F.reshape(indices, (-1,)))
    return F.view(rows, (*indices.shape, weight.shape[1]))


def layer_norm(
    input: Any,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:
    """Return `input` normalized over its last dimensions, which are `normalized_shape`, then scaled
    and shifted.
    """
    return F.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def select_backward(grad_output: Any, input_sizes: Sequence[int], dim: int, index: int) -> Any:
    """Return zeros of shape `input_sizes` with `grad_output` at `index` of `dim`."""
    result = F.new_zeros(grad_output, input_sizes)
    F.copy_(F.select(result, dim, index), grad_output)
    return result


def slice_backward(
    grad_output: Any, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Any:
    """Return zeros of shape `input_sizes` with `grad_output` in the slice of `dim`."""
    result = F.new_zeros(grad_output, input_sizes)
    F.copy_(F.slice(result, dim, start, end, step), grad_output)
    return result


def diagonal_backward(
    grad_output: Any, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> Any:
    """Return zeros of shape `input_sizes` with `grad_output` on a diagonal."""
    result = F.new_zeros(grad_output, input_sizes)
    F.copy_(F.diagonal(result, offset, dim1, dim2), grad_output)
    return result

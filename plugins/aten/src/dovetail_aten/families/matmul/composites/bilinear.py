"""Bilinear forms, of products of matrices."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F

from ....typing import Tensor, TensorLike


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """Return the sums of ``input1[i] * weight[k, i, j] * input2[j]`` for every k, plus `bias`."""
    _check_bilinear(input1, input2, weight, bias)
    outputs, left, right = weight.shape
    rows = F.reshape(F.permute(weight, (1, 0, 2)), (left, outputs * right))
    half = F.reshape(F.matmul(input1, rows), (*input1.shape[:-1], outputs, right))
    made = F.squeeze(F.matmul(half, F.unsqueeze(input2, -1)), -1)
    return made if bias is None else F.add(made, bias)


def _check_bilinear(
    input1: Tensor, input2: Tensor, weight: TensorLike, bias: Tensor | None
) -> None:
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

"""Fake quantization: rounds elements as a quantized tensor would, for training."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import Function
from dovetail_dispatcher import overridable
from dovetail_kernel import dtype as Dtype
from dovetail_kernel import float16, float32, float64, int32


@overridable
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """Round elements to the values of a quantized tensor.

    The result is ``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) *
    scale``. The gradient is that of the result where nothing was clamped, else zero.

    Parameters
    ----------
    input
        A floating-point tensor.
    scale
        Distance of two values: a number, or a tensor of one element.
    zero_point
        The integer that stands for zero, within the range: as `scale`.
    quant_min, quant_max
        The range of the integers.

    Returns
    -------
    Tensor
        Of the shape and dtype of `input`.

    Raises
    ------
    TypeError
        For a number that is not an integer as zero point.
    RuntimeError
        For an empty range, a zero point outside of it, or a scale that requires grad.
    NotImplementedError
        If `input` is not a floating-point tensor.

    Examples
    --------
    >>> import dovetail
    >>> x = dovetail.tensor([-1.0, 0.04, 0.26, 9.0])
    >>> dovetail.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15)
    tensor([0.0000, 0.0000, 0.3000, 1.5000])
    """
    if isinstance(scale, Tensor):
        if scale.requires_grad:
            raise RuntimeError(
                "fake_quantize_per_tensor_affine is not differentiable with respect to argument "
                "'scale'. Detach it."
            )
        scale = scale.item()
    if isinstance(zero_point, Tensor):
        zero_point = int(zero_point.item())
    if not isinstance(zero_point, int):
        raise TypeError(
            "fake_quantize_per_tensor_affine(): argument 'zero_point' must be int, not "
            f"{type(zero_point).__name__}. Pass an integer."
        )
    _check(input, quant_min, quant_max, zero_point, zero_point)
    step = aten.scalar_tensor(float(scale), dtype=float32, device=input.device)
    zero = aten.scalar_tensor(zero_point, dtype=float32, device=input.device)
    result: Tensor = FakeQuantizePerTensorAffineCachemask.apply(
        input, step, zero, quant_min, quant_max, False
    )[0]
    return result


@overridable
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Round elements as `fake_quantize_per_tensor_affine`, with a scale and a zero point for each
    index of a dimension.

    Parameters
    ----------
    input
        A floating-point tensor.
    scale
        The scales, one-dimensional.
    zero_point
        The zero points, int32, float32 or float16.
    axis
        The dimension.
    quant_min, quant_max
        The range of the integers.

    Returns
    -------
    Tensor
        Of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        For scales and zero points that do not fit the dimension, or are of another dtype, for an
        empty range, or a zero point outside of it.
    IndexError
        If there is no such dimension.
    NotImplementedError
        If `input` is not a floating-point tensor.
    """
    if scale.dtype is not float32 and scale.dtype.itemsize != 2:
        raise RuntimeError(
            f"Scale must be Float or BFloat16, found {scale.dtype.scalar_name}. Convert it."
        )
    if zero_point.dtype not in (int32, float32, float16):
        raise RuntimeError(
            f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.scalar_name}. "
            "Convert it: zero_point.int()."
        )
    if scale.dim() != 1 or scale.shape != zero_point.shape:
        raise RuntimeError(
            "scale and zero-point need to have the same dimensions, and one. Give one of each for "
            "every index of the dimension."
        )
    if input.size(axis) != len(scale):
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor: "
            f"{len(scale)} of them for {input.size(axis)}. Give one for every index."
        )
    if axis < 0:
        raise RuntimeError(
            "`axis` must be between 0 and number of dimensions of input. Count from the first."
        )
    ends = (zero_point.min().item(), zero_point.max().item()) if len(scale) else (0, 0)
    _check(input, quant_min, quant_max, *(ends if zero_point.dtype is int32 else ()))
    shape = [-1 if dim == axis else 1 for dim in range(input.dim())]
    result: Tensor = FakeQuantizePerChannelAffineCachemask.apply(
        input,
        scale.detach().float().reshape(shape),
        zero_point.detach().float().reshape(shape),
        quant_min,
        quant_max,
        zero_point.is_floating_point(),
    )[0]
    return result


def _check(input: Tensor, quant_min: int, quant_max: int, *zero_points: float) -> None:
    if quant_min > quant_max:
        raise RuntimeError(
            "`quant_min` should be less than or equal to `quant_max`. Exchange them."
        )
    if zero_points and not (quant_min <= zero_points[0] and zero_points[1] <= quant_max):
        raise RuntimeError(
            "`zero_point` must be between `quant_min` and `quant_max`. Give another."
        )
    if not input.is_floating_point():
        raise NotImplementedError(
            f"fake quantization is not implemented for '{input.dtype.scalar_name}'. Convert the "
            "tensor: x.float()."
        )


class FakeQuantizePerTensorAffineCachemask(Function):
    """The rounded elements, and where nothing was clamped."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        quant_min: int,
        quant_max: int,
        is_added_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return the rounded elements, and the mask of those that were not clamped; whole zero
        points are added to what was rounded, others before.
        """
        own = input.dtype
        wide: Dtype = float64 if own is float64 else float32
        scaled = input.to(wide) * (1 / scale).to(wide)
        levels = (scaled + zero_point).round() if is_added_first else scaled.round() + zero_point
        mask = (levels >= quant_min) & (levels <= quant_max)
        low = aten.where(levels.isnan(), quant_min, levels)
        rounded = (low.clamp(quant_min, quant_max) - zero_point).to(float32) * scale
        return rounded.to(own), mask  # computed in float32, as in PyTorch

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save the mask."""
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])
        ctx.set_materialize_grads(True)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Return the gradient where nothing was clamped."""
        (mask,) = ctx.saved_tensors
        return grads[0] * mask, None, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Any:
        """Return the tangent where nothing was clamped."""
        (mask,) = ctx.saved_tensors
        return tangents[0] * mask, None


class FakeQuantizePerChannelAffineCachemask(FakeQuantizePerTensorAffineCachemask):
    """The same, for scales along a dimension."""

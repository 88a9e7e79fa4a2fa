"""Convolutions of one, two and three dimensions in terms of `convolution`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.geometry.window_geometry import per_dimension
from dovetail_kernel import warn_user_once

from ...typing import Tensor, TensorLike


def _unbatched(name: str, ndim: int, input: Tensor, convolve: Callable[[Any], Any]) -> Any:
    """Return the convolution of a batch of images, or of one."""
    if input.ndim == ndim + 2:
        return convolve(input)
    if input.ndim != ndim + 1:
        raise RuntimeError(
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input.shape)}"
        )
    return F.squeeze_dim(convolve(F.unsqueeze(input, 0)), 0)


def _direct(name: str, ndim: int) -> Callable[..., Any]:
    """Return a convolution of `ndim` dimensions."""

    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sequence[int] = (1,),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        groups: int = 1,
    ) -> Any:
        none = (0,) * ndim
        return _unbatched(
            name,
            ndim,
            input,
            lambda images: F.convolution(
                images, weight, bias, stride, padding, dilation, False, none, groups
            ),
        )

    return _described(convolve, name, f"Return the convolution of images of {ndim} dimensions.")


def _padded_by_name(name: str, ndim: int) -> Callable[..., Any]:
    """Return a convolution of `ndim` dimensions whose padding is ``"valid"`` or ``"same"``."""

    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sequence[int] = (1,),
        padding: str = "valid",
        dilation: Sequence[int] = (1,),
        groups: int = 1,
    ) -> Any:
        if padding not in ("valid", "same"):
            raise RuntimeError(
                f"Invalid padding string: '{padding}'. Give 'valid', 'same' or numbers."
            )
        none = (0,) * ndim
        if padding == "valid":
            return _unbatched(
                name,
                ndim,
                input,
                lambda images: F.convolution(
                    images, weight, bias, stride, none, dilation, False, none, groups
                ),
            )
        if any([step != 1 for step in stride]):
            raise RuntimeError(
                "padding='same' is not supported for strided convolutions. Give numbers."
            )

        def keep_size(images: Any) -> Any:
            before, more = _same_padding(images, weight, dilation)
            if any(more):
                warn_user_once(
                    "Using padding='same' with even kernel lengths and odd dilation may require a "
                    "zero-padded copy of the input be created: give padding as numbers."
                )
                pads = [amount for each in reversed(more) for amount in (0, each)]
                images = F.constant_pad_nd(images, pads)
            return F.convolution(
                images, weight, bias, stride, before, dilation, False, none, groups
            )

        return _unbatched(name, ndim, input, keep_size)

    return _described(
        convolve, name, f"Return the convolution of images of {ndim} dimensions, padded by name."
    )


def _same_padding(
    images: Tensor, weight: TensorLike, dilation: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding on both sides that keeps the size of images, and what has to be added
    behind.
    """
    if images.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight"
            f"{list(weight.shape)}, but got {images.ndim}-dimensional input of size "
            f"{list(images.shape)} instead"
        )
    kernel = weight.shape[2:]
    apart = per_dimension(dilation, len(kernel))
    totals = [step * (k - 1) for step, k in zip(apart, kernel, strict=True)]
    return tuple([total // 2 for total in totals]), tuple([total % 2 for total in totals])


def _transposed(name: str, ndim: int) -> Callable[..., Any]:
    """Return a transposed convolution of `ndim` dimensions."""

    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sequence[int] = (1,),
        padding: Sequence[int] = (0,),
        output_padding: Sequence[int] = (0,),
        groups: int = 1,
        dilation: Sequence[int] = (1,),
    ) -> Any:
        return _unbatched(
            name,
            ndim,
            input,
            lambda images: F.convolution(
                *[images, weight, bias, stride, padding, dilation, True, output_padding, groups]
            ),
        )

    return _described(
        convolve, name, f"Return the transposed convolution of images of {ndim} dimensions."
    )


def _described(function: Callable[..., object], name: str, text: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


conv1d = _direct("conv1d", 1)
conv2d = _direct("conv2d", 2)
conv3d = _direct("conv3d", 3)
conv1d_padded = _padded_by_name("conv1d", 1)
conv2d_padded = _padded_by_name("conv2d", 2)
conv3d_padded = _padded_by_name("conv3d", 3)
conv_transpose1d = _transposed("conv_transpose1d", 1)
conv_transpose2d = _transposed("conv_transpose2d", 2)
conv_transpose3d = _transposed("conv_transpose3d", 3)


def _convolution(*arguments: Any) -> Any:
    """Return the convolution; how PyTorch's libraries are to compute it, which the last four
    arguments say, does not matter here.
    """
    return F.convolution(*arguments[:-4])


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Any:
    """Return the convolution of sequences ``(time, batch, channels)`` with a weight ``(kernel,
    channels in, channels out)``.
    """
    if self.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError(
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor, but they are "
            f"{self.shape[2]} and {weight.shape[1]}"
        )
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError(
            "Bias size must equal dim 2 in the weight tensor (output channels), but they are "
            f"{bias.shape[0]} and {weight.shape[2]}."
        )
    images, kernel = F.permute(self, (1, 2, 0)), F.permute(weight, (2, 1, 0))
    made = F.convolution(images, kernel, bias, (1,), (pad,), (1,), False, (0,), 1)
    return F.contiguous(F.permute(made, (2, 0, 1)))


native_channel_shuffle = F.channel_shuffle

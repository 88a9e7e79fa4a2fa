"""Samples of convolutions, patches and shuffles of images, and of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import ErrorInput, SampleInput, TensorMaker
from dovetail_kernel import bfloat16, float16

from ..makers import ALL, BOOL, INEXACT, NUMBERS, Samples, op_info, refusals
from . import references

info = partial(op_info, family="convolution")

LOOSE = {float16: (5e-3, 5e-3), bfloat16: (5e-2, 5e-2)}
"""Sums of some dozen products, rounded at the end."""

# input, weight, bias, stride, padding, dilation, transposed, output padding, groups
GENERAL: tuple[tuple[Any, ...], ...] = (
    ((2, 2, 5), (4, 2, 3), 4, (1,), (0,), (1,), False, (0,), 1),
    ((1, 4, 3), (2, 2, 2), None, (2,), (1,), (1,), False, (0,), 2),
    ((1, 2, 3, 3), (2, 2, 2, 2), 2, (1, 2), (1, 0), (2, 1), False, (0, 0), 1),
    ((1, 2, 2, 2), (2, 1, 1, 1), None, (1,), (0,), (1,), False, (0,), 2),
    ((1, 1, 2, 2, 3), (1, 1, 2, 1, 2), 1, (1, 1, 2), (0, 1, 0), (1, 1, 1), False, (0,), 1),
    ((0, 2, 4), (2, 2, 3), 2, (1,), (0,), (1,), False, (0,), 1),
    ((2, 2, 3), (2, 2, 2), 2, (2,), (1,), (1,), True, (1,), 1),
    ((1, 2, 2), (2, 1, 2), None, (1,), (0,), (2,), True, (1,), 2),
    ((1, 2, 2, 2), (2, 1, 2, 2), 2, (2, 1), (0, 1), (1, 2), True, (1, 0), 2),
    ((1, 1, 1, 2, 2), (1, 1, 1, 2, 1), 1, (1, 2, 1), (0,), (1,), True, (0, 1, 0), 1),
)


def rows(make: TensorMaker) -> list[tuple[Any, ...]]:
    """Return all rows, of those that are differentiated numerically a few of few elements."""
    return [GENERAL[place] for place in (1, 3, 7)] if make.requires_grad else list(GENERAL)


def general(make: TensorMaker) -> Iterator[SampleInput]:
    for input, weight, channels, *how in rows(make):
        bias = None if channels is None else make(channels)
        yield SampleInput(make(input), make(weight), bias, *how)


def as_called(make: TensorMaker) -> Iterator[SampleInput]:
    for sample in list(general(make))[:2]:
        yield SampleInput(sample.input, *sample.args, False, False, True, True)


def gradients(make: TensorMaker) -> Iterator[SampleInput]:
    for input, weight, channels, *how in rows(make):
        shape = shape_of_result(input, weight, *how)
        sizes = None if channels is None else (channels,)
        yield SampleInput(make(shape), make(input), make(weight), sizes, *how, (True, True, True))


def shape_of_result(input: Sequence[int], weight: Sequence[int], *how: Any) -> tuple[int, ...]:
    made: tuple[int, ...] = references.convolution(
        np.zeros(input), np.zeros(weight), None, *how
    ).shape
    return made


def gradient(
    grad: np.ndarray, x: np.ndarray, weight: np.ndarray, sizes: Sequence[int] | None, *how: Any
) -> tuple[Any, Any, Any]:
    """Return the gradients as what they are: the transposes of linear maps, column by column."""
    how = how[:-1]

    def adjoint(like: np.ndarray, function: Any) -> Any:
        made = np.zeros(like.shape, grad.dtype)
        for place in np.ndindex(*like.shape):
            unit = np.zeros(like.shape, grad.dtype)
            unit[place] = 1
            made[place] = (np.conj(function(unit)) * grad).sum()
        return made

    return (
        adjoint(x, lambda e: references.convolution(e, weight, None, *how)),
        adjoint(weight, lambda e: references.convolution(x, e, None, *how)),
        grad.sum((0, *range(2, grad.ndim))),
    )


def direct(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes, kernel = (3, 2, 2)[:ndim], (2, 2, 1)[:ndim]
        twos, ones = (2,) * ndim, (1,) * ndim
        yield SampleInput(make(1, 2, *sizes), make(1, 2, *kernel), make(1))
        yield SampleInput(make(1, *sizes), make(2, 1, *kernel))
        yield SampleInput(make(1, 2, *ones), make(2, 1, *kernel), None, twos, (1,), groups=2)

    return samples


def by_name(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes, kernel = (3, 2, 2)[:ndim], (2, 2, 1)[:ndim]
        weight, ones = (1, 1, *kernel), (1,) * ndim
        yield SampleInput(make(2, 1, *sizes), make(weight), make(1), ones, "same")
        yield SampleInput(make(1, *sizes), make(weight), None, (2,) * ndim, "valid")
        yield SampleInput(make(1, 1, *sizes), make(weight), None, ones, "same", (2,) * ndim)

    return samples


def transposed(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes, kernel = (2, 2, 1)[:ndim], (2, 2, 1)[:ndim]
        twos, ones = (2,) * ndim, (1,) * ndim
        yield SampleInput(make(1, 1, *sizes), make(1, 2, *kernel), make(2))
        yield SampleInput(make(1, *sizes), make(1, 1, *kernel), None, twos)
        yield SampleInput(make(1, 2, *ones), make(2, 1, *kernel), make(2), twos, (0,), ones, 2)

    return samples


def sequences(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 2, 1), make(3, 1, 2), make(2), 1)
    yield SampleInput(make(3, 1, 2), make(2, 2, 1), make(1))


PATCHES = (
    ((2, 1, 3, 4), (2, 3), (1, 1), (0, 0), (1, 1)),
    ((2, 3, 3), (2, 2), (2, 1), (1, 0), (2, 1)),
    ((1, 1, 2, 3), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((1, 1, 3, 3), (3, 2), (1, 2), (1, 1), (1, 3)),
)


def patches(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, *how in PATCHES:
        yield SampleInput(make(shape), *how)
    yield SampleInput(make(0, 2, 3, 3), (2, 2), (1, 1), (0, 0), (1, 1))


def columns(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, *how in PATCHES:
        made = references.im2col(np.zeros(shape), *how).shape
        yield SampleInput(make(made), shape[-2:], *how)


def shuffled(factor: int, *shapes: tuple[int, ...]) -> Samples:
    return lambda make: [
        *[SampleInput(make(shape), factor) for shape in shapes],
        SampleInput(make(shapes[0]), 1),
    ]


# -- errors ----------------------------------------------------------------------------------------


def misfits(make: TensorMaker) -> Iterator[ErrorInput]:
    plain = ((1,), (0,), (1,), False, (0,), 1)
    for input, weight, bias, how, text in (
        ((2, 3, 2), (4, 3, 3), None, plain, r"Kernel size can't be greater than actual input size"),
        ((2, 4, 5), (4, 3, 3), None, plain, r"to have 3 channels, but got 4 channels instead"),
        ((3, 5), (4, 3, 3), None, plain, "Expected 3-dimensional input for 3-dimensional weight"),
        ((2, 3, 5), (4, 3, 3), 3, plain, "expected bias to be 1-dimensional with 4 elements"),
        ((2, 3, 5), (4, 3), None, plain, "weight should have at least three dimensions"),
        ((2, 3, 5), (4, 3, 3), None, ((0,), *plain[1:]), "non-positive stride is not supported"),
        ((2, 3, 5), (4, 3, 3), None, ((1, 1), *plain[1:]), "expected stride to be a single"),
        ((2, 3, 5), (4, 3, 3), None, ((1,), (-1,), *plain[2:]), "negative padding is not supp"),
        ((2, 3, 5), (4, 3, 3), None, (*plain[:2], (0,), *plain[3:]), "non-positive dilation"),
        ((2, 3, 5), (4, 3, 3), None, (*plain[:5], 0), "non-positive groups is not supported"),
        ((2, 3, 5), (3, 3, 3), None, (*plain[:5], 2), "to be divisible by 2 at dimension 0"),
        ((2, 3, 5), (1, 3, 3), None, (*plain[:5], 2), "expected weight to be at least 2"),
        ((2, 3, 5), (3, 3, 3), None, (*plain[:3], True, (1,), 1), "output padding must be smaller"),
        ((2, 3, 5), (3, 3, 3), None, ((1,), (4,), (1,), True, (0,), 1), "Output size is too small"),
        ((2, 3, 0), (3, 3, 3), None, ((1,), (4,), *plain[2:]), "Only zero batch or zero channel"),
    ):
        own = None if bias is None else make(bias)
        yield ErrorInput(SampleInput(make(input), make(weight), own, *how), RuntimeError, text)
    yield ErrorInput(
        SampleInput(make(2, 3, 5), make(4, 3, 3, dtype=float16), None, *plain),
        RuntimeError,
        r"Input type \(float\) and weight type \(c10::Half\) should be the same",
    )


def wrong_rank(ndim: int) -> Any:
    return refusals(
        (
            lambda make: SampleInput(make(*[2] * ndim), make(*[1] * (ndim + 2))),
            RuntimeError,
            rf"Expected {ndim + 1}D \(unbatched\) or {ndim + 2}D \(batched\) input to conv",
        )
    )


def wrong_name(ndim: int) -> Any:
    def call(padding: str, step: int) -> Any:
        return lambda make: SampleInput(
            make(*[2] * (ndim + 2)), make(*[2] * (ndim + 2)), None, (step,) * ndim, padding
        )

    return refusals(
        (call("full", 1), RuntimeError, "Invalid padding string: 'full'"),
        (call("same", 2), RuntimeError, "padding='same' is not supported for strided"),
    )


def _of_images(ndim: int) -> list[Any]:
    return [
        info(
            f"conv{ndim}d",
            direct(ndim),
            references.images_of(ndim),
            NUMBERS,
            tolerances=LOOSE,
            errors=wrong_rank(ndim),
        ),
        info(
            f"conv{ndim}d.padding",
            by_name(ndim),
            references.images_of(ndim),
            NUMBERS,
            tolerances=LOOSE,
            errors=wrong_name(ndim),
        ),
        info(
            "conv_transpose1d" if ndim == 1 else f"conv_transpose{ndim}d.input",
            transposed(ndim),
            references.transposed_of(ndim),
            NUMBERS,
            tolerances=LOOSE,
            errors=wrong_rank(ndim),
        ),
    ]


def one(row: Callable[..., object], text: str) -> tuple[Any, type[Exception], str]:
    return row, RuntimeError, text


OP_INFOS = [
    info("convolution", general, references.convolution, NUMBERS, tolerances=LOOSE, errors=misfits),
    info(
        "_convolution",
        as_called,
        lambda *args: references.convolution(*args[:9]),
        NUMBERS,
        tolerances=LOOSE,
    ),
    info(
        "convolution_backward",
        gradients,
        gradient,
        INEXACT,
        tolerances=LOOSE,
        errors=refusals(
            one(
                lambda make: SampleInput(
                    *[make(2, 4, 2), make(2, 3, 5), make(4, 3, 3), None, (1,), (0,), (1,)],
                    *[False, (0,), 1, (True, True, False)],
                ),
                r"its gradient has shape \[2, 4, 2\]",
            )
        ),
    ),
    *_of_images(1),
    *_of_images(2),
    *_of_images(3),
    info(
        "conv_tbc",
        sequences,
        references.conv_tbc,
        NUMBERS,
        tolerances=LOOSE,
        errors=refusals(
            one(
                lambda make: SampleInput(make(5, 2, 3), make(3, 2, 4), make(4)),
                r"Input dim 2 \(input channels\) is not == dim 1",
            ),
            one(
                lambda make: SampleInput(make(5, 2, 3), make(3, 3, 4), make(3)),
                "Bias size must equal dim 2 in the weight tensor",
            ),
            one(
                lambda make: SampleInput(make(5, 2), make(3, 3, 4), make(4)),
                "Input must have 3 dims: time, batch, in_channel",
            ),
        ),
    ),
    info(
        "im2col",
        patches,
        references.im2col,
        INEXACT | BOOL,
        errors=refusals(
            one(
                lambda make: SampleInput(make(1, 1, 3, 3), (4, 4), (1, 1), (0, 0), (1, 1)),
                "but its components must be at least one",
            ),
            one(
                lambda make: SampleInput(make(1, 1, 1, 3, 3), (2, 2), (1, 1), (0, 0), (1, 1)),
                "Expected 3D or 4D",
            ),
            one(
                lambda make: SampleInput(make(1, 1, 3, 3), (2, 0), (1, 1), (0, 0), (1, 1)),
                "kernel size should be greater than zero",
            ),
            one(
                lambda make: SampleInput(make(1, 1, 3, 3), (2, 2), (1, 1), (0, -1), (1, 1)),
                "padding should be non-negative",
            ),
        ),
    ),
    info(
        "col2im",
        columns,
        references.col2im,
        INEXACT | BOOL,
        errors=refusals(
            one(
                lambda make: SampleInput(make(2, 12, 8), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
                r"sliding blocks 3 \* 3 = 9, but got input.size\(2\)=8",
            ),
            one(
                lambda make: SampleInput(make(2, 13, 9), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
                "to be divisible by the product of kernel_size",
            ),
            one(
                lambda make: SampleInput(make(12), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
                "Expected 2D or 3D",
            ),
        ),
    ),
    info(
        "pixel_shuffle",
        shuffled(2, (1, 8, 2, 3), (4, 2, 2), (2, 1, 4, 1, 1)),
        references.pixel_shuffle,
        ALL,
        errors=refusals(
            one(lambda make: SampleInput(make(3, 2, 2), 2), "divisible by the square of upscale"),
            one(lambda make: SampleInput(make(4, 2, 2), 0), "expects a positive upscale_factor"),
            one(lambda make: SampleInput(make(4, 2), 2), "at least 3 dimensions"),
        ),
    ),
    info(
        "pixel_unshuffle",
        shuffled(2, (1, 2, 4, 6), (1, 2, 2), (2, 1, 1, 2, 2)),
        references.pixel_unshuffle,
        ALL,
        errors=refusals(
            one(lambda make: SampleInput(make(1, 3, 2), 2), "expects height to be divisible"),
            one(lambda make: SampleInput(make(1, 2, 3), 2), "expects width to be divisible"),
            one(lambda make: SampleInput(make(4, 2, 2), -1), "a positive downscale_factor"),
        ),
    ),
    info(
        "channel_shuffle",
        shuffled(2, (1, 6, 2, 3), (2, 4, 1)),
        references.channel_shuffle,
        ALL,
        errors=refusals(
            one(lambda make: SampleInput(make(1, 3, 2), 2), "channels must be divisible by groups"),
            one(lambda make: SampleInput(make(1, 3, 2), 0), "must be positive"),
            one(lambda make: SampleInput(make(4, 2), 2), "expects input with > 2 dims"),
        ),
    ),
    info("native_channel_shuffle", shuffled(2, (1, 4, 2)), references.channel_shuffle, ALL),
]

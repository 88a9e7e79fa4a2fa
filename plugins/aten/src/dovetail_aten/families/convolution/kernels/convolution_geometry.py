"""Shapes of convolutions, and what is wrong with their arguments, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from dovetail_kernel import dtype as DType

from ....kernel_support.geometry.window_geometry import Window, per_dimension, positions


class Convolution(NamedTuple):
    """What a convolution is, apart from its values.

    Attributes
    ----------
    windows
        Over the input; of a transposed convolution over its result, which has as many as its input
        elements.
    shape
        That of the result.
    """

    windows: tuple[Window, ...]
    shape: tuple[int, ...]


def convolution_of(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Convolution:
    """Return the geometry of a convolution of arrays, after checking all arguments. Raises
    RuntimeError for shapes or numbers that do not fit.
    """
    return _convolution(
        tuple(input.shape),
        tuple(weight.shape),
        None if bias is None else tuple(bias.shape),
        *[tuple(stride), tuple(padding), tuple(dilation)],
        *[bool(transposed), tuple(output_padding), groups],
    )


@lru_cache(maxsize=1024)
def _convolution(
    input: tuple[int, ...],
    weight: tuple[int, ...],
    bias: tuple[int, ...] | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    output_padding: tuple[int, ...],
    groups: int,
) -> Convolution:
    ndim = len(weight) - 2
    if ndim < 1:
        raise RuntimeError(
            f"weight should have at least three dimensions, but it has size {list(weight)}. Give "
            "(channels out, channels in, kernel...)."
        )
    given = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "output_padding": output_padding,
    }
    _check_numbers(given, ndim, groups)
    strides, paddings, dilations, beyond = [per_dimension(each, ndim) for each in given.values()]
    _check_channels(input, weight, bias, transposed, groups)
    kernel, sizes = weight[2:], input[2:]
    rows = list(zip(sizes, kernel, strides, paddings, dilations, strict=True))
    if transposed:
        _check_output_padding(beyond, strides, dilations)
        windows = tuple(
            [
                Window(
                    (n - 1) * step - 2 * pad + apart * (k - 1) + more + 1, k, step, pad, apart, n
                )
                for (n, k, step, pad, apart), more in zip(rows, beyond, strict=True)
            ]
        )
        made = [window.size for window in windows]
        if min(made) < 1:
            raise RuntimeError(
                f"Given input size per channel: {list(sizes)}. Calculated output size per channel: "
                f"{made}. Output size is too small. Pad less."
            )
        return Convolution(windows, (input[0], weight[1] * groups, *made))
    padded = [n + 2 * pad for n, _, _, pad, _ in rows]
    spans = [apart * (k - 1) + 1 for _, k, _, _, apart in rows]
    if any([line < span for line, span in zip(padded, spans, strict=True)]):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: "
            f"({_by(spans)}). Kernel size can't be greater than actual input size"
        )
    windows = tuple([Window(*row, positions(*row)) for row in rows])
    return Convolution(windows, (input[0], weight[0], *[window.number for window in windows]))


def _check_numbers(given: dict[str, tuple[int, ...]], ndim: int, groups: int) -> None:
    for name, values in given.items():
        if len(values) not in (1, ndim):
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {ndim} values to match "
                f"the convolution dimensions, but got {name}={list(values)}"
            )
    for name, word, least in (
        ("padding", "negative", 0),
        ("output_padding", "negative", 0),
        ("stride", "non-positive", 1),
        ("dilation", "non-positive", 1),
    ):
        if min(given[name]) < least:
            raise RuntimeError(
                f"{word} {name} is not supported, but got {name}={list(given[name])}. Give numbers "
                f"of at least {least}."
            )
    if groups < 1:
        raise RuntimeError(
            f"non-positive groups is not supported, but got groups={groups}. Give 1 or more."
        )


def _check_channels(
    input: tuple[int, ...],
    weight: tuple[int, ...],
    bias: tuple[int, ...] | None,
    transposed: bool,
    groups: int,
) -> None:
    if len(input) != len(weight):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight "
            f"{list(weight)}, but got {len(input)}-dimensional input of size {list(input)} instead"
        )
    if weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight)} instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(weight)} instead"
        )
    if min(weight[2:]) < 1:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got weight of size {list(weight)}"
        )
    how = "transposed=1" if transposed else f"groups={groups}"
    channels = weight[0] if transposed else weight[1] * groups
    if input[1] != channels:
        raise RuntimeError(
            f"Given {how}, weight of size {list(weight)}, expected input{list(input)} to have "
            f"{channels} channels, but got {input[1]} channels instead"
        )
    made = weight[1] * groups if transposed else weight[0]
    if bias is not None and bias != (made,):
        raise RuntimeError(
            f"Given {how}, weight of size {list(weight)}, expected bias to be 1-dimensional with "
            f"{made} elements, but got bias of size {list(bias)} instead"
        )
    if 0 in input[2:]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(input)}"
        )


def _check_output_padding(
    beyond: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> None:
    for more, step, apart in zip(beyond, strides, dilations, strict=True):
        if more >= step and more >= apart:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {list(beyond)} stride: {list(strides)} dilation: "
                f"{list(dilations)}"
            )


def check_convolution_dtypes(input: DType, weight: DType, bias: DType | None) -> None:
    """Raise an error for a weight or bias of another dtype than the input. Raises RuntimeError with
    PyTorch's message.
    """
    for name, own in (("weight", weight), ("bias", bias)):
        if own is not None and own is not input:
            raise RuntimeError(
                f"Input type ({_LETTERS.get(input.name, input.name)}) and {name} type "
                f"({_LETTERS.get(own.name, own.name)}) should be the same. Convert one of them."
            )


_LETTERS = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int64": "long int",
    "int32": "int",
}


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))

"""Convolutions: sample by sample, so chunks of the batch stay; channels and sizes are one chunk.

The gradients of weight and bias are sums over the chunks of the batch, made in a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.array as da

from dovetail_aten.backends import KernelTable
from dovetail_aten.typing import Array

from ..blockwise import Result, on_blocks
from ..chunked import Dim, OneTask
from ..cpu_calls import CpuCall, cpu_call
from ..shapes import results_of


def define(_xp: object, kernel: KernelTable, _capabilities: object) -> None:
    """Define the kernels of convolutions in a table."""
    kernel("convolution", Convolution("convolution"))
    kernel("convolution_backward", convolution_backward)


class Convolution(OneTask):
    """The array kernel of `convolution`: the input and the result have a batch, weight and bias are
    handed over whole.
    """

    def chunked(self, args: object, kwargs: object, given: Sequence[object]) -> tuple[int, ...]:
        """Return the first dimension."""
        return (0,)

    def _labels(self, number: int, array: Array, chunked: Sequence[int]) -> tuple[Any, ...]:
        return super()._labels(number, array, chunked if number == 0 else ())


def convolution_backward(grad_output: Array, input: Array, weight: Array, *others: Any) -> Any:
    """Return the gradients of input, weight and bias that the last argument asks for."""
    *geometry, mask = others
    args = (grad_output, input, weight, *geometry)
    shapes = results_of("convolution_backward", (*args, mask), {})
    assert shapes is not None
    return tuple(
        [
            _gradient(place, shaped, args) if wanted and shaped is not None else None
            for place, (wanted, shaped) in enumerate(zip(mask, shapes, strict=True))
        ]
    )


def _gradient(place: int, shaped: Any, args: tuple[object, ...]) -> Any:
    """Return one of the three gradients."""
    mask = [each == place for each in range(3)]
    dtypes = [shaped.dtype] * 3
    call, arrays = cpu_call("convolution_backward", (*args, mask), {}, dtypes, place)
    grad, input, weight = arrays
    own = [Dim(-1, dim) for dim in range(len(shaped.shape))]
    new = dict(zip(own, shaped.shape, strict=True))
    operands = [
        *(grad, ("batch", *[Dim(0, dim) for dim in range(1, grad.ndim)])),
        *(input, ("batch", *[Dim(1, dim) for dim in range(1, input.ndim)])),
        *(weight, [Dim(2, dim) for dim in range(weight.ndim)]),
    ]
    if place == 0:
        del new[own[0]]
        return on_blocks(call, Result(("batch", *own[1:]), shaped.dtype, new), *operands)
    parts = on_blocks(
        _InFront(call), Result(("batch", *own), shaped.dtype, new), *operands, sizes={"batch": 1}
    )
    return da.sum(parts, axis=0, dtype=shaped.dtype, split_every=4)


class _InFront:
    """Calls a function, and gives its result a dimension in front."""

    __slots__ = ("__name__", "_function")

    def __init__(self, function: CpuCall) -> None:
        self._function = function
        self.__name__ = function.__name__

    def __call__(self, *chunks: Any) -> Any:
        return self._function(*chunks)[None]

    def __reduce__(self) -> tuple[Any, ...]:
        return _InFront, (self._function,)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "in front", self._function

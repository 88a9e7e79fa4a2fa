"""Operators whose cpu kernel runs on chunks: on those that hold some dimensions whole, or, where
nothing is known of the operator, on whole arrays in one task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import dask.array as da
import numpy as np

from dovetail_aten.backends import KernelTable
from dovetail_aten.kernel_support import wrap_dim
from dovetail_aten.typing import Array
from dovetail_dispatcher import Operator
from dovetail_dispatcher.table import registry

from .blockwise import Result, on_blocks, on_blocks_for_several
from .cpu_calls import arrays_among, cpu_call, cpu_kernel
from .error_state import computed
from .shapes import Shaped, results_of

ALONG_DIM: Final = (
    *("cummax", "cummin", "logcumsumexp", "sort", "sort.stable", "kthvalue"),
    *("median.dim", "nanmedian.dim", "mode"),
)
"""Operators with an argument `dim`, along which they work: all other dimensions are alike."""

BATCHED: Final = {
    "avg_pool2d": 4,
    "avg_pool3d": 5,
    "_adaptive_avg_pool2d": 4,
    "_adaptive_avg_pool3d": 5,
    "adaptive_max_pool2d": 4,
    "adaptive_max_pool3d": 5,
    "max_pool2d_with_indices": 4,
    "max_pool3d_with_indices": 5,
    "max_unpool2d": 4,
    "max_unpool3d": 5,
    "avg_pool2d_backward": 4,
    "avg_pool3d_backward": 5,
    "_adaptive_avg_pool2d_backward": 4,
    "_adaptive_avg_pool3d_backward": 5,
    "adaptive_max_pool2d_backward": 4,
    "adaptive_max_pool3d_backward": 5,
    "max_pool2d_with_indices_backward": 4,
    "max_pool3d_with_indices_backward": 5,
    "im2col": 4,
    "col2im": 3,
    "pixel_shuffle": 4,
    "pixel_unshuffle": 4,
    "channel_shuffle": 4,
}
"""Operators that treat the samples of a batch alike, with the number of dimensions of a batch."""


def define(_xp: object, kernel: KernelTable, _capabilities: object) -> None:
    """Define these kernels in a table."""
    for name in ALONG_DIM:
        kernel(name, AlongDim(name))
    for name, ndim in BATCHED.items():
        kernel(name, OverBatch(name, ndim))


def operator_named(name: str) -> Operator:
    """Return the operator of the base library with a name: ``"add.Tensor"``."""
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload)


class Dim(NamedTuple):
    """Label of a dimension of one operand alone, which the kernel is given whole."""

    operand: int
    place: int


class OneTask:
    """The array kernel of an operator that one task computes, on whole arrays. What has a result
    whose shape depends on values is computed at once.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the lazy results, of the shapes that the meta device tells."""
        given = list(arrays_among([args, kwargs]))
        shapes = results_of(self.name, args, kwargs) if given else None
        if shapes is None:
            args, kwargs = computed(list(args), dict(kwargs))
            return _lazy(cpu_kernel(self.name)(*args, **kwargs))
        chunked = self.chunked(args, kwargs, given)
        operands = [
            part
            for number, each in enumerate(given)
            for part in (each, self._labels(number, each, chunked))
        ]
        results = [each and self._result(each, chunked) for each in shapes]
        call, _ = cpu_call(self.name, args, kwargs, [each and each.dtype for each in shapes])
        returns = operator_named(self.name).schema.returns
        if len(returns) == 1 and returns[0].real_type.schema_str == "Tensor":
            assert results[0] is not None
            return on_blocks(call, results[0], *operands, align=bool(chunked))
        made = on_blocks_for_several(call, chunked, results, *operands, align=bool(chunked))
        return tuple(made) if len(returns) > 1 else made

    def chunked(
        self, args: Sequence[object], kwargs: Mapping[str, object], given: Sequence[object]
    ) -> tuple[int, ...]:
        """Return the dimensions, of all operands and results, of which chunks are handed over."""
        return ()

    def _labels(self, number: int, array: Array, chunked: Sequence[int]) -> tuple[Any, ...]:
        return tuple([dim if dim in chunked else Dim(number, dim) for dim in range(array.ndim)])

    def _result(self, shaped: Shaped, chunked: Sequence[int]) -> Result:
        labels = self.labels_of_result(len(shaped.shape), chunked)
        new = {
            label: size
            for label, size in zip(labels, shaped.shape, strict=True)
            if label not in chunked
        }
        return Result(labels, shaped.dtype, new)

    def labels_of_result(self, ndim: int, chunked: Sequence[int]) -> tuple[Any, ...]:
        """Return the labels of the dimensions of a result, `Dim`\\ s where it has one chunk."""
        return tuple([dim if dim in chunked else Dim(-1, dim) for dim in range(ndim)])


class AlongDim(OneTask):
    """The array kernel of an operator that works along its argument `dim`; all other dimensions of
    its arrays, which have one shape, are treated alike and keep their chunks.
    """

    def chunked(
        self, args: Sequence[object], kwargs: Mapping[str, object], given: Sequence[Any]
    ) -> tuple[int, ...]:
        """Return all dimensions but `dim`."""
        ndim = given[0].ndim
        dim = wrap_dim(argument(self.name, "dim", args, kwargs), ndim)
        return tuple([each for each in range(ndim) if each != dim])

    def labels_of_result(self, ndim: int, chunked: Sequence[int]) -> tuple[Any, ...]:
        """Return the labels of the operands, without `dim` where the result has it not."""
        if ndim == len(chunked):
            return tuple(chunked)
        return super().labels_of_result(ndim, chunked)


class OverBatch(OneTask):
    """The array kernel of an operator that treats the samples of a batch, the first dimension,
    alike.

    Parameters
    ----------
    name
        Of the operator.
    ndim
        How many dimensions a batch has; one less, and it is a sample.
    """

    def __init__(self, name: str, ndim: int) -> None:
        super().__init__(name)
        self._ndim = ndim

    def chunked(
        self, args: Sequence[object], kwargs: Mapping[str, object], given: Sequence[Any]
    ) -> tuple[int, ...]:
        """Return the first dimension, of a batch."""
        return (0,) if given[0].ndim == self._ndim else ()


def argument(name: str, wanted: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    """Return an argument of an operator, its default where it is not given."""
    if wanted in kwargs:
        return kwargs[wanted]
    declared = operator_named(name).schema.arguments
    place = [each.name for each in declared].index(wanted)
    return args[place] if place < len(args) else declared[place].default_value


def _lazy(value: object) -> Any:
    """Return NumPy's arrays as lazy ones."""
    if isinstance(value, tuple | list):
        return type(value)([_lazy(each) for each in value])
    if isinstance(value, np.ndarray | np.generic):
        return da.from_array(np.asarray(value))
    return value

"""New tensors: like those of a batch, or random ones, of which there is one per sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import MemoryFormat

from .._generated import functions as F
from ..kernel_support.geometry.view_bounds import extent
from ..typing import Batch, Dims
from .randomness import new_random, random_like
from .table import Rule


def factory(op: Operator) -> Rule | None:
    """Return the rule of a factory; None for one that takes no tensor and draws no numbers."""
    names = [argument.name for argument in op.schema.arguments]
    if op.kind == "random":
        return random_like(op) if "self" in names else new_random(op)
    if "self" not in names:
        return None
    return _new(op.handle) if "size" in names else _like(op.handle)


def _like(call: Callable[..., object]) -> Rule:
    def apply(
        info: Batch,
        in_dims: Sequence[int],
        self: Any,
        *args: Any,
        memory_format: MemoryFormat | None = None,
        **options: Any,
    ) -> Any:
        return call(self, *args, **options), 0

    return apply


def _new(call: Callable[..., object]) -> Rule:
    def apply(
        info: Batch, in_dims: Dims, self: Any, size: Sequence[int], *args: Any, **options: Any
    ) -> Any:
        return call(self, (info.batch_size, *size), *args, **options), 0

    return apply


def new_empty_strided(
    info: Batch,
    in_dims: Dims,
    self: Any,
    size: Sequence[int],
    stride: Sequence[int],
    **options: Any,
) -> Any:
    """Lay one sample behind the other, each with the strides that are asked for."""
    sizes, strides = (info.batch_size, *size), (extent(size, stride), *stride)
    return F.new_empty_strided(self, sizes, strides, **options), 0

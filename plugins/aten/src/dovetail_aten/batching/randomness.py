"""Random operators: refused, drawn for every sample, or drawn once, as ``vmap(...,
randomness=...)`` says.

These rules are called for unbatched arguments too, and for none at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import MemoryFormat, TensorBase

from .._generated import functions as F
from ..typing import Batch, Dims, Tensor
from .table import Rule, batched, logical_ndim, logical_shape, padded

REFUSED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' "
    "or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME_OF_BATCH = (
    "Vmap does not currently support same randomness with a "
    "batched tensor input. Use randomness='different'."
)
DIFFERENT_IN_PLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. "
    "Make the tensor from a batched one, with empty_like or new_empty."
)


def _drawing(fn: Rule) -> Rule:
    """Return the rule `fn` of a random operator, which has to see only what is not refused."""

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if info.randomness == "error":
            raise RuntimeError(REFUSED)
        return fn(info, in_dims, *args, **kwargs)

    return apply


def new_random(op: Operator) -> Rule:
    """Return the rule of a random factory: with different randomness it makes a batch."""
    call = op.handle
    sized = [a.name for a in op.schema.arguments].index("size")

    @_drawing
    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if info.randomness == "same":
            return call(*args, **kwargs), None
        values = list(args)
        values[sized] = (info.batch_size, *values[sized])
        return call(*values, **kwargs), 0

    return apply


@_drawing
def randperm(info: Batch, in_dims: Dims, n: int, **options: Any) -> tuple[Any, Any]:
    if info.randomness == "same":
        return F.randperm(n, **options), None
    return F.stack([F.randperm(n, **options) for _ in range(info.batch_size)]), 0


def drawn_in_place(op: Operator) -> Rule:
    """Return the rule of an operator that fills a tensor with random numbers."""
    call = op.handle

    @_drawing
    def apply(info: Batch, in_dims: Dims, self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if in_dims[0] is None:
            if info.randomness == "different":
                raise RuntimeError(DIFFERENT_IN_PLACE)
            return call(self, *args, **kwargs), None
        if info.randomness == "different":
            return call(self, *args, **kwargs), 0
        drawn = call(F.new_empty(self, logical_shape(self, 0)), *args, **kwargs)
        return F.copy_(self, drawn), 0

    return apply


def drawn_in_place_by(op: Operator) -> Rule:
    """Return the rule of an operator that fills a tensor by the probabilities of another."""
    call = op.handle

    @_drawing
    def apply(
        info: Batch, in_dims: Dims, self: Any, p: object, *, generator: object = None
    ) -> tuple[Any, Any]:
        if in_dims[0] is None and (in_dims[1] is not None or info.randomness == "different"):
            raise RuntimeError(DIFFERENT_IN_PLACE)
        if info.randomness == "different":
            return call(self, padded(p, in_dims[1], logical_ndim(self, 0)), generator=generator), 0
        if in_dims[1] is not None:
            raise RuntimeError(SAME_OF_BATCH)
        if in_dims[0] is None:
            return call(self, p, generator=generator), None
        drawn = call(F.new_empty(self, logical_shape(self, 0)), p, generator=generator)
        return F.copy_(self, drawn), 0

    return apply


def drawn_from(op: Operator) -> Rule:
    """Return the rule of an operator that draws a number for every element of tensors, which
    broadcast.
    """
    call = op.handle

    @_drawing
    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        places = [place for place, value in enumerate(args) if isinstance(value, TensorBase)]
        if info.randomness == "same":
            if any([in_dims[place] is not None for place in places]):
                raise RuntimeError(SAME_OF_BATCH)
            return call(*args, **kwargs), None
        values = list(args)
        ndim = max([logical_ndim(values[place], in_dims[place]) for place in places])
        for place in places:
            spread = batched(values[place], in_dims[place], info.batch_size)
            values[place] = padded(spread, 0, ndim)
        return call(*values, **kwargs), 0

    return apply


def random_like(op: Operator) -> Rule:
    """Return the rule of a random factory like a tensor."""
    call = op.handle

    @_drawing
    def apply(
        info: Batch,
        in_dims: Sequence[int],
        self: Any,
        *,
        memory_format: MemoryFormat | None = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        if info.randomness == "different":
            return call(batched(self, in_dims[0], info.batch_size), **options), 0
        return call(F.new_empty(self, logical_shape(self, in_dims[0])), **options), None

    return apply


@_drawing
def bernoulli(
    info: Batch, in_dims: Dims, self: Any, *, generator: object = None
) -> tuple[Any, Any]:
    if info.randomness == "different":
        return F.bernoulli(batched(self, in_dims[0], info.batch_size), generator=generator), 0
    if in_dims[0] is not None:
        raise RuntimeError(SAME_OF_BATCH)
    return F.bernoulli(self, generator=generator), None


@_drawing
def multinomial(
    info: Batch,
    in_dims: Dims,
    self: Any,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: object = None,
) -> tuple[Any, Any]:
    if info.randomness == "same":
        if in_dims[0] is not None:
            raise RuntimeError(SAME_OF_BATCH)
        return F.multinomial(self, num_samples, replacement, generator=generator), None
    ndim = logical_ndim(self, in_dims[0])
    if not 1 <= ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim. Give one distribution per row.")
    weights = batched(self, in_dims[0], info.batch_size)
    shape = weights.array.shape
    rows = F.reshape(weights, (math.prod(shape[:-1]), shape[-1]))
    drawn = F.multinomial(rows, num_samples, replacement, generator=generator)
    return F.view(drawn, (*shape[:-1], num_samples)), 0


@_drawing
def native_dropout(
    info: Batch, in_dims: Dims, input: Tensor, p: float, train: bool | None
) -> tuple[Any, Any]:
    if info.randomness == "different":
        return F.native_dropout(batched(input, in_dims[0], info.batch_size), p, train), (0, 0)
    if in_dims[0] is None:
        return F.native_dropout(input, p, train), (None, None)
    noise, mask = F.native_dropout(F.new_ones(input, logical_shape(input, 0)), p, train)
    return (F.mul(input, noise), mask), (0, None)

"""Operators of images: the samples of a batch are further images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Argument, Operator

from ..._generated import functions as F
from ...batching.table import Rule, batched, call_one, logical_shape
from ...typing import Batch, Dims, Tensor


def images(op: Operator) -> Rule:
    """Return the rule of an operator of images, which may come one by one or in a batch: the
    samples of a batch are further images.
    """
    call = op.handle
    single = _DIMENSIONS_OF_ONE.get(op.base_name, 4 if "3d" in op.base_name else 3)
    tensors = [argument.name for argument in op.schema.arguments if _is_tensor(argument)]
    names = [argument.name for argument in op.schema.arguments]

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        size = info.batch_size
        given = list(args)
        places = [names.index(name) for name in tensors]
        shapes = [logical_shape(args[place], in_dims[place]) for place in places]
        if any([len(shape) not in (single, single + 1) for shape in shapes]) or not size:
            call_one(call, in_dims, *args, **kwargs)
        together = len(shapes[0]) == single + 1
        for place, shape in zip(places, shapes, strict=True):
            each = batched(args[place], in_dims[place], size)
            given[place] = F.reshape(each, (size * shape[0], *shape[1:])) if together else each
        made = call(*given, **kwargs)
        results = made if isinstance(made, tuple) else (made,)
        count = shapes[0][0]
        parted = [
            F.reshape(each, (size, count, *each.array.shape[1:])) if together else each
            for each in results
        ]
        return (tuple(parted), (0,) * len(parted)) if isinstance(made, tuple) else (parted[0], 0)

    return apply


def _is_tensor(argument: Argument) -> bool:
    return bool(argument.real_type.schema_str == "Tensor")


_DIMENSIONS_OF_ONE = {"col2im": 2}
"""How many dimensions one image has, where that is not two or three, and its channels."""


def fractional_max_pool(op: Operator) -> Rule:
    """Return the rule of a fractional pooling, whose random numbers are always of a batch."""
    call = op.handle
    single = 4 if "3d" in op.base_name else 3

    def apply(
        info: Batch,
        in_dims: Dims,
        self: Any,
        kernel_size: Sequence[int],
        output_size: Sequence[int],
        random_samples: Tensor,
    ) -> tuple[Any, Any]:
        size = info.batch_size
        shape = logical_shape(self, in_dims[0])
        drawn = logical_shape(random_samples, in_dims[3])
        images = shape[0] if len(shape) == single + 1 else 1
        if len(shape) not in (single, single + 1) or len(drawn) != 3 or drawn[0] < images:
            call_one(call, in_dims, self, kernel_size, output_size, random_samples)
        flat = F.reshape(batched(self, in_dims[0], size), (size * images, *shape[-single:]))
        numbers = batched(random_samples, in_dims[3], size)
        numbers = F.reshape(F.narrow(numbers, 1, 0, images), (size * images, *drawn[1:]))
        made = call(flat, kernel_size, output_size, numbers)
        lead = (size, *shape[: len(shape) - single])
        return tuple([F.reshape(each, (*lead, *each.array.shape[1:])) for each in made]), (0, 0)

    return apply

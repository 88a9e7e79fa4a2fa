"""Samples of the operators that say which part of which storage a tensor shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import channels_last, int64, preserve_format

from ..makers import Samples, op_info, refusals, refused

info = partial(op_info, family="views", supports_autograd=False)

BY_MEMORY: Final = Skip("layouts", "it says how memory is read, whatever the tensor is")
OF_A_DEVICE: Final = tuple(
    [
        Skip(check, "the storage is on the device of the samples")
        for check in ("meta", "meta_strides")
    ]
)
NOT_ITSELF: Final = (
    Skip("vmap", "a sample of a batch has no memory of its own"),
    Skip("constants", "a leaf that requires grad is refused"),
)
UNTOLD: Final = Skip("schema", "PyTorch's schema does not tell that results show the source")


def beginning(x: np.ndarray, size: Sequence[int], **_options: Any) -> Any:
    """Return the first elements in another shape."""
    return x.reshape(-1)[: prod(size)].reshape(size)


def part(_self: object, source: np.ndarray, offset: int, size: Any, stride: Any = ()) -> Any:
    """Return elements of a line by sizes, strides and offset."""
    steps = stride or [prod(size[dim + 1 :]) for dim in range(len(size))]
    places = offset + sum(
        np.arange(length).reshape([-1 if i == dim else 1 for i in range(len(size))]) * step
        for dim, (length, step) in enumerate(zip(size, steps, strict=True))
    )
    return source.reshape(-1)[places]


def smaller(make: TensorMaker) -> list[SampleInput]:
    """Return tensors, and sizes with no more elements."""
    rows: Any = [((2, 3), (3, 2)), ((2, 3), (2, 2)), ((2, 3), ()), ((), (1, 1)), ((0, 3), (0,))]
    found = [SampleInput(make(shape), size) for shape, size in rows]
    found.append(SampleInput(make(2, 3), (2, 3)))
    return found


def like_smaller(make: TensorMaker) -> list[SampleInput]:
    """Return tensors, and others with no more elements."""
    return [SampleInput(make(2, 3), make(3)), SampleInput(make(2, 3), make(3, 2))]


def nothing(make: TensorMaker) -> list[SampleInput]:
    """Return tensors."""
    return [SampleInput(make(2, 3)), SampleInput(make(()))]


def of_storage(*row: Any) -> Samples:
    """Return an empty tensor, a storage, and other arguments."""

    def samples(make: TensorMaker) -> list[SampleInput]:
        return [SampleInput(make(0), make.values(range(6), make.dtype).untyped_storage(), *row)]

    return samples


def of_tensor(make: TensorMaker) -> list[SampleInput]:
    """Return pairs of tensors."""
    return [SampleInput(make(0), make(2, 3)), SampleInput(make(3), make(()))]


def of_part(make: TensorMaker) -> list[SampleInput]:
    """Return pairs of tensors with a part of the storage of the second."""
    return [
        SampleInput(make(0), make(6), 1, (2, 2)),
        SampleInput(make(0), make(6), 0, (2, 3), (1, 2)),
        SampleInput(make(2), make(6), 5, ()),
        SampleInput(make(2), make(6), 2, (0,)),
    ]


MEMORY = [
    info(
        "resize_",
        smaller,
        beginning,
        errors=refusals(
            (lambda make: SampleInput(make(3), (-1,)), RuntimeError, "negative dimension"),
            (
                lambda make: SampleInput(make(3), (2,), memory_format=preserve_format),
                RuntimeError,
                "Unsupported memory format",
            ),
            (
                lambda make: SampleInput(make(3), (2,), memory_format=channels_last),
                RuntimeError,
                "required rank 4 tensor",
            ),
        ),
        skips=(*NOT_ITSELF, BY_MEMORY),
    ),
    info(
        "resize_as_",
        like_smaller,
        lambda x, other: beginning(x, other.shape),
        errors=refused(
            lambda make: SampleInput(make(3), make(2), memory_format=channels_last),
            RuntimeError,
            "required rank 4 tensor",
        ),
        skips=(*NOT_ITSELF, BY_MEMORY),
    ),
    info("set_", nothing, lambda x: np.empty(0), skips=NOT_ITSELF),
    info("set_.source_Storage", of_storage(), skips=(*NOT_ITSELF, *OF_A_DEVICE)),
    info(
        "set_.source_Storage_storage_offset",
        of_storage(1, (2, 2)),
        skips=(*NOT_ITSELF, *OF_A_DEVICE),
    ),
    info(
        "set_.source_Tensor",
        of_tensor,
        lambda x, source: source,
        errors=refused(
            lambda make: SampleInput(make(3), make.values([1, 2], int64)),
            RuntimeError,
            "Could not set tensor of type Long to a tensor of type Float",
        ),
        skips=(*NOT_ITSELF, UNTOLD),
    ),
    info(
        "set_.source_Tensor_storage_offset",
        of_part,
        part,
        errors=refusals(
            (
                lambda make: SampleInput(make(3), make(3), -1, (1,)),
                RuntimeError,
                "invalid storage offset -1",
            ),
            (
                lambda make: SampleInput(make(3), make(3), 0, (1, 2), (1,)),
                RuntimeError,
                "mismatch in length of strides and shape",
            ),
        ),
        skips=(*NOT_ITSELF, UNTOLD),
    ),
]

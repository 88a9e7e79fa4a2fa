"""Common parts of all collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dovetail

from ..host_arrays import HostArray
from ..process_group import ProcessGroup
from ..work import Work
from .arguments import check_same

Tensor = dovetail.Tensor
Group = ProcessGroup | None


def begun(
    group: ProcessGroup,
    call: str,
    size: int,
    start: Callable[[], object],
    finish: Callable[[], object],
    tensors: Sequence[Tensor],
    async_op: bool,
) -> Work | None:
    """Begin a collective; wait for it unless `async_op`."""
    work = Work(group.begin(call, size, start), finish, tensors)
    if async_op:
        return work
    work.wait()
    return None


def room_for(array: NDArray[Any], count: int) -> NDArray[Any]:
    """Return room for `count` arrays like `array`."""
    return np.empty((count, *array.shape), array.dtype)


def unpack(tensors: Sequence[Tensor], room: Any) -> None:
    """Put arrays into tensors."""
    for tensor, values in zip(tensors, room, strict=True):
        into = HostArray(tensor)
        into.array[...] = values
        into.store()


def check_parts(function: str, whole: Tensor, part: Tensor, count: int) -> None:
    """Raise an error for a tensor that does not consist of `count` parts, joined or stacked."""
    check_same([whole.new_empty(())], part.new_empty(()), "output or input")
    joined = (part.shape[0] * count, *part.shape[1:]) if part.ndim else (count,)
    if tuple(whole.shape) not in (joined, (count, *part.shape)):
        raise RuntimeError(
            f"{function}: for {count} ranks and parts of shape {tuple(part.shape)} the whole "
            f"should have shape {joined} or {(count, *part.shape)}, not {tuple(whole.shape)}"
        )

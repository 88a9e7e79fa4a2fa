"""Collectives in which every rank sends a tensor to every other rank: `all_to_all`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..host_arrays import HostArray
from ..work import Work
from .arguments import check_same, check_tensor, check_tensors, for_members, shown
from .collective_calls import Group, Tensor, begun, unpack


@for_members
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Split `input` along its first dimension, send part i to rank i, and join the received parts,
    ordered by rank.

    Parameters
    ----------
    output, input : Tensor
        Tensors with the same dtype, and the same shape except for the first dimension.
    output_split_sizes, input_split_sizes : sequence of int, optional
        Sizes of the parts. Default: equal sizes.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    assert group is not None
    check_same([output.new_empty(output.shape[1:])], input.new_empty(input.shape[1:]), "output")
    into, host = HostArray(output), HostArray(input)
    row = int(np.prod(host.array.shape[1:], dtype=np.int64))
    sent = [each * row for each in _parts(input, input_split_sizes, group.size(), "input")]
    came = [each * row for each in _parts(output, output_split_sizes, group.size(), "output")]

    def start() -> Any:
        return group.communicators.collecting.Ialltoallv([host.array, sent], [into.array, came])

    call = shown("all_to_all_single", input.new_empty(0))
    return begun(group, call, host.array.nbytes, start, into.store, [output], async_op)


def _parts(tensor: Tensor, sizes: Sequence[int] | None, count: int, name: str) -> list[int]:
    length = tensor.shape[0] if tensor.ndim else 0
    if not sizes:
        if tensor.ndim == 0 or length % count:
            raise RuntimeError(
                f"Tensor's dim 0 does not divide equally across group size: `{name}` has shape "
                f"{tuple(tensor.shape)} for {count} ranks. Pass {name}_split_sizes"
            )
        return [length // count] * count
    if len(sizes) != count or sum(sizes) != length or min(sizes) < 0:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size: {name}_split_sizes {list(sizes)} for "
            f"{count} ranks and a length of {length}"
        )
    return [int(each) for each in sizes]


@for_members
def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Send tensor i of `input_tensor_list` to rank i, and receive from rank i into tensor i of
    `output_tensor_list`. Different pairs of ranks may use different shapes.
    """
    assert group is not None
    check_tensors(output_tensor_list, "output_tensor_list", group.size())
    check_tensors(input_tensor_list, "input_tensor_list", group.size())
    dtype = input_tensor_list[0].dtype
    for each in (*output_tensor_list, *input_tensor_list):
        if each.dtype is not dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes: {each.dtype} and {dtype}"
            )
    sent = [HostArray(each).array.ravel() for each in input_tensor_list]
    given = np.concatenate(sent)
    room = np.empty(sum(each.numel() for each in output_tensor_list), given.dtype)
    came = [each.numel() for each in output_tensor_list]

    def start() -> Any:
        counts = [each.size for each in sent]
        return group.communicators.collecting.Ialltoallv([given, counts], [room, came])

    def finish() -> None:
        parts = np.split(room, np.cumsum(came)[:-1])
        shaped = zip(parts, output_tensor_list, strict=True)
        unpack(output_tensor_list, [part.reshape(tuple(each.shape)) for part, each in shaped])

    call = shown("all_to_all", input_tensor_list[0].new_empty(0))
    return begun(group, call, given.nbytes, start, finish, output_tensor_list, async_op)

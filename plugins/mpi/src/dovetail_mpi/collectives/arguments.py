"""Checks of the arguments of collectives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import dovetail
from dovetail_kernel import warn_user

from ..groups import get_rank, resolved
from ..process_group import ProcessGroup

F = TypeVar("F")


def for_members(function: F) -> F:
    """Give a function its ``group`` resolved; processes that are not in it are warned, and do
    nothing.
    """
    from inspect import signature

    call = cast(Any, function)
    position = list(signature(call).parameters).index("group")

    @wraps(call)
    def for_member(*args: Any, **kwargs: Any) -> Any:
        chosen = args[position] if len(args) > position else kwargs.get("group")
        found = resolved(chosen)
        if found is None:
            warn_user(
                f"Running {call.__name__} on global rank {get_rank()} which does not belong to the "
                "given group."
            )
            return None
        if len(args) > position:
            args = (*args[:position], found, *args[position + 1 :])
        else:
            kwargs["group"] = found
        return call(*args, **kwargs)

    return cast(F, for_member)


def check_tensor(tensor: object, name: str) -> None:
    """Raise an error for anything except a tensor."""
    if not isinstance(tensor, dovetail.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got "
            f"{type(tensor)} instead."
        )


def check_tensors(tensors: object, name: str, count: int) -> None:
    """Raise an error for anything except a list of `count` tensors."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] "
            f"but got {type(tensors)} instead."
        )
    for tensor in tensors:
        check_tensor(tensor, name)
    if len(tensors) != count:
        raise RuntimeError(
            f"`{name}` has {len(tensors)} tensors, but the group has {count} ranks; pass one each"
        )


def check_same(tensors: Sequence[dovetail.Tensor], other: dovetail.Tensor, name: str) -> None:
    """Raise an error for tensors that differ from `other` in shape or dtype."""
    for index, tensor in enumerate(tensors):
        if tensor.dtype is not other.dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes: `{name}` number {index} has "
                f"{tensor.dtype}, the other side {other.dtype}"
            )
        if tensor.shape != other.shape:
            raise RuntimeError(
                f"`{name}` number {index} has shape {tuple(tensor.shape)}, the other side "
                f"{tuple(other.shape)}; they should be equal"
            )


def whole_rank(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """Return the rank within `group` that one of two arguments gives: `rank` among all processes
    (default 0), or `group_rank`.
    """
    if group_rank is not None:
        if rank is not None:
            raise ValueError(f"Can't specify both {name} and group_{name}")
        if not 0 <= group_rank < group.size():
            raise RuntimeError(f"group_{name}={group_rank} is no rank of {group}")
        return group_rank
    rank = 0 if rank is None else rank
    if rank not in group.ranks:
        raise RuntimeError(
            f"{name}={rank} is no rank of {group}, whose ranks are {list(group.ranks)}"
        )
    return group.ranks.index(rank)


def shown(function: str, tensor: dovetail.Tensor, *details: object) -> str:
    """Return a call as text that is equal on all ranks that fit together."""
    dtype = str(tensor.dtype).rpartition(".")[2]
    words = [f"{dtype}{list(tensor.shape)}", *(str(each) for each in details)]
    return f"{function}({', '.join(words)})"

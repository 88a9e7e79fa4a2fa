"""Tensors in nested containers, split over devices and joined again, as
``torch.nn.parallel.scatter_gather``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dovetail_aten import Tensor, cat
from dovetail_kernel import Device

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: object) -> bool:
    """Return whether an object is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: object, target_gpus: Sequence[int | Device], dim: int = 0) -> list[Any]:
    """Split `inputs` over devices.

    Parameters
    ----------
    inputs
        Tensors, in tuples, lists and dicts; other objects in these are passed to each device.
    target_gpus
        The devices.
    dim : int, default 0
        The dimension to split tensors along, as by `chunk`.

    Returns
    -------
    list
        A container like `inputs` for each device that gets a part of every tensor. Gradients flow
        back through it.
    """
    if isinstance(inputs, Tensor):
        pieces = inputs.chunk(len(target_gpus), dim)
        return [p.to(device) for p, device in zip(pieces, target_gpus, strict=False)]
    if isinstance(inputs, (tuple, list)) and len(inputs) > 0:
        columns = [scatter(each, target_gpus, dim) for each in inputs]
        return [_like(inputs)(row) for row in zip(*columns, strict=False)]
    if isinstance(inputs, dict) and len(inputs) > 0:
        columns = [scatter(each, target_gpus, dim) for each in inputs.values()]
        kind = type(inputs)
        return [kind(zip(inputs, row, strict=True)) for row in zip(*columns, strict=False)]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[object, ...],
    kwargs: Mapping[str, object] | None,
    target_gpus: Sequence[int | Device],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Split positional and keyword arguments over devices; see `scatter`.

    If one has parts for fewer devices than the other, the remaining devices get empty arguments.
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{}] * (count - len(named))
    return tuple(positional), tuple(named)


def gather(outputs: Sequence[Any], target_device: int | Device | str, dim: int = 0) -> Any:
    """Concatenate the outputs of modules from several devices on one device.

    Parameters
    ----------
    outputs
        For each device, a tensor, a number, None, or tuples, lists and dicts of these, with the
        same structure.
    target_device
        Device of the result.
    dim : int, default 0
        The dimension to concatenate along; 0-dimensional tensors are concatenated to a vector.

    Raises
    ------
    ValueError
        For dicts with different numbers of items.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        whole = [each.reshape(1) if each.dim() == 0 else each for each in outputs]
        return cat([each.to(target_device) for each in whole], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any([len(each) != len(first) for each in outputs]):
            raise ValueError("All dicts must have the same number of keys")
        kind: Any = type(first)
        return kind(
            (key, gather([each[key] for each in outputs], target_device, dim)) for key in first
        )
    columns = zip(*outputs, strict=False)
    return _like(first)([gather(list(column), target_device, dim) for column in columns])


def _like(container: object) -> Callable[[Sequence[Any]], Any]:
    """Return what makes a container of the kind of `container` from its items."""
    kind: Any = type(container)
    return (lambda items: kind(*items)) if is_namedtuple(container) else kind

"""Makes one batch of a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import float64

__all__ = [
    "collate",
    "default_collate",
    "default_collate_err_msg_format",
    "default_collate_fn_map",
    "default_convert",
]

CollateMap: TypeAlias = dict[type | tuple[type, ...], Callable[..., Any]]

np_str_obj_array_pattern: Final = re.compile("[SaUO]")
"""Finds in the text of a NumPy dtype that its values are strings or objects."""

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Convert the NumPy arrays and scalars in a sample to tensors, inside containers too; other
    objects are unchanged.
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if _is_text(data.dtype) else aten.as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(data[key]) for key in data})
    if _is_named(data):
        return type(data)(*[default_convert(each) for each in data])
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _like(data, [default_convert(each) for each in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Return one object for a list of samples of one kind: containers are gone through, and what
    is in them is given to the function of its type.

    Parameters
    ----------
    batch : sequence
        Samples.
    collate_fn_map : dict, optional
        Functions ``f(batch, *, collate_fn_map)`` by types, or tuples of types; the type itself
        first, then those that it inherits from.

    Raises
    ------
    TypeError
        If there is no function for a type.
    RuntimeError
        If sequences have different lengths.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        found = collate_fn_map.get(kind)
        if found is None:
            found = next(
                iter([make for types, make in collate_fn_map.items() if isinstance(first, types)]),
                None,
            )
        if found is not None:
            return found(batch, collate_fn_map=collate_fn_map)

    def column(samples: object) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like(first, {key: column([sample[key] for sample in batch]) for key in first})
    if _is_named(first):
        return kind(*[column(samples) for samples in zip(*batch, strict=False)])
    if isinstance(first, Sequence):
        if any([len(sample) != len(first) for sample in batch]):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [column(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _like(first, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def default_collate(batch: object) -> Any:
    """Combine samples to a batch: tensors and NumPy arrays are stacked along a new first dimension,
    numbers become a tensor, strings a list, and containers are combined item by item.

    Parameters
    ----------
    batch : sequence
        Samples with the same structure.

    Returns
    -------
    object
        Floats become float64, integers int64, ``[(1, 'a'), (2, 'b')]`` becomes
        ``[tensor([1, 2]), ('a', 'b')]``.

    Raises
    ------
    TypeError
        For samples of another type.
    RuntimeError
        If shapes or lengths differ.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Stack tensors."""
    return aten.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack NumPy arrays as tensors."""
    if _is_text(batch[0].dtype):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([aten.as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Make a tensor of NumPy's scalars."""
    return aten.as_tensor(np.asarray(batch))


def collate_float_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Make a tensor of floats."""
    return aten.tensor(batch, dtype=float64)


def collate_int_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Make a tensor of integers."""
    return aten.tensor(batch)


def collate_str_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Leave strings as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""The functions of `default_collate`, by type; a program may add its own."""


def _is_named(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_text(kind: Any) -> bool:
    return np_str_obj_array_pattern.search(kind.str) is not None


def _like(first: Any, parts: Any) -> Any:
    """Return a container like the first, with other parts; a dict or list where it makes none."""
    kind = type(first)
    try:
        made: Any = copy.copy(first)
        if isinstance(first, MutableMapping):
            made.update(parts)
            return made
        if isinstance(first, MutableSequence):
            made[:] = parts
            return made
        return kind(parts)
    except TypeError:  # its constructor takes something else
        return parts

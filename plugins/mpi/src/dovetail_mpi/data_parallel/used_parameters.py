"""Find the parameters that a graph leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import dovetail


def unused_parameters(outputs: object, positions: Mapping[int, int]) -> set[int]:
    """Return the numbers of the parameters that no gradient will reach from `outputs`.

    Parameters
    ----------
    outputs : object
        Tensors, in containers.
    positions : mapping of int to int
        The numbers by the identity of the parameters.
    """
    used: set[int] = set()
    seen: set[Any] = set()
    waiting: list[Any] = []
    for tensor in _tensors_in(outputs):
        if tensor.grad_fn is not None:
            waiting.append(tensor.grad_fn)
        elif id(tensor) in positions:  # a parameter is returned as it is
            used.add(positions[id(tensor)])
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if id(variable) in positions:
            used.add(positions[id(variable)])
        waiting += [following for following, _ in node.next_functions if following is not None]
    return set(positions.values()) - used


def _tensors_in(value: object) -> Iterator[Any]:
    if isinstance(value, dovetail.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors_in(each)
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            yield from _tensors_in(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _tensors_in(getattr(value, field.name))

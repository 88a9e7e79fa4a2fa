"""Flattens what a derivative body returned to one gradient per edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .node import Node


def flatten(node: Node, returned: Any) -> Sequence[Any]:
    """Return what a body of `node` returned as one gradient per edge: entries for a ``Tensor[]``
    argument are lists or tuples. Raises RuntimeError if there are not as many gradients as edges.
    """
    if type(returned) is tuple and len(returned) == len(node.next_edges):
        for grad in returned:
            if type(grad) is list or type(grad) is tuple:
                break
        else:
            return returned
    flat: list[Any] = []
    for grad in returned:
        if type(grad) in (list, tuple):
            flat.extend(grad)
        else:
            flat.append(grad)
    if len(flat) != len(node.next_edges):
        if any([grad is not None for grad in flat]):
            raise RuntimeError(
                f"function {node.name()} returned an incorrect number of gradients (expected "
                f"{len(node.next_edges)}, got "
                f"{len(flat)}). Return one gradient, or None, per differentiable input."
            )
        return [None] * len(node.next_edges)
    return flat

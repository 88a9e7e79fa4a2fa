"""The array side of a backend, which a run over its arrays needs: its tensors and their arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from dovetail_dispatcher.calls import array_wrapper
from dovetail_kernel import Backend, TensorBase, backend_of_signature
from dovetail_kernel.keys import NOT_PLAIN
from dovetail_kernel.signature import NORMAL, WRAPPED_BIT

from ...graph.node import Node


class ArraySide:
    """Keeps what every run over the arrays of a backend asks of it.

    Attributes
    ----------
    add
        Returns the sum of two gradients.
    array_type
        The class of its arrays.
    error_state
        How to keep its floating-point warnings back; None if it has none.
    is_mutable
        Whether its arrays can be written.
    plain, mask
        A tensor is a plain one of the backend if of the bits `mask` its signature has `plain`.
    wrap
        Makes tensors of its arrays outside inference mode.
    """

    __slots__ = (
        "add",
        "array_type",
        "backend",
        "error_state",
        "is_mutable",
        "mask",
        "plain",
        "wrap",
    )

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.add = backend.arrays.addition()
        self.array_type = backend.arrays.array_types[0]
        self.error_state = backend.arrays.error_state
        self.is_mutable = backend.arrays.mutable_arrays
        self.plain = backend.bit & ~WRAPPED_BIT
        self.mask = self.plain | NOT_PLAIN | WRAPPED_BIT
        self.wrap = array_wrapper(backend, backend.bit | NORMAL)


_side_of_backend: Final = cache(ArraySide)


class _KnownSides(dict[int, ArraySide]):
    """The array side of the backend of each signature that was asked for."""

    def __missing__(self, signature: int) -> ArraySide:
        side = _side_of_backend(backend_of_signature(signature))
        if len(self) >= 1024:
            self.clear()
        self[signature] = side
        return side


array_side: Final[Callable[[int], ArraySide]] = _KnownSides().__getitem__
"""Return the array side of the backend in a signature. Raises the errors of
`backend_of_signature`.
"""


def as_tensors(
    node: Node, grad: object, wrap: Callable[..., TensorBase]
) -> list[TensorBase | None]:
    """Return the arrays that came to `node` as one tensor or None per output."""
    if type(grad) is list:
        return [None if each is None else wrap(each, None) for each in grad]
    if grad is None:
        return [None] * node._num_outputs
    return [wrap(grad, None)]


def as_arrays(tensors: Sequence[TensorBase | None], side: ArraySide) -> Sequence[Any] | None:
    """Return the arrays of `tensors`; None if one is not a plain tensor of the backend."""
    plain = side.plain
    mask = side.mask
    arrays: list[Any] = []
    for tensor in tensors:
        if tensor is None:
            arrays.append(None)
        elif tensor._signature & mask == plain:
            arrays.append(tensor.array)
        else:
            return None
    return arrays

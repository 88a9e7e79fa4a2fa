"""Levels of a nesting: each turns a function of leaves into another one, in any way.

A function takes the tuple of all leaves of a trial and returns a list of tensors. A level acts on
some of the leaves; the function inside captures the others.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ways import Way

__all__ = ["KINDS", "NESTINGS", "Leaves", "Level", "applied", "direction", "put"]

Leaves = Sequence[Any]
Body = Callable[[Leaves], list[Any]]

KINDS = ("jvp", "grad", "jacrev", "jacfwd", "vmap")
NESTINGS = tuple([nest for depth in (1, 2, 3) for nest in itertools.product(KINDS, repeat=depth)])
"""All nestings to depth three, outermost level first."""


@dataclass(frozen=True)
class Level:
    """One transform of a nesting.

    Attributes
    ----------
    kind
        One of `KINDS`, ``"functionalize"``, or ``"backward"`` and ``"backward twice"`` for a
        recorded graph.
    leaves
        Indices of the leaves that it maps or differentiates.
    seed
        Selects its directions and weights.
    dim
        The dimension that `vmap` maps, of every leaf.
    """

    kind: str
    leaves: tuple[int, ...]
    seed: int
    dim: int = 0

    def __repr__(self) -> str:
        on = ",".join(map(str, self.leaves))
        return f"{self.kind}[{on}{f' dim {self.dim}' if self.kind == 'vmap' else ''}]"

    def apply(self, way: Way, body: Body) -> Body:
        """Return the function of leaves that this level makes of another one."""
        return getattr(self, f"_{self.kind.partition(' ')[0]}")(way, body)

    def _vmap(self, way: Way, body: Body) -> Body:
        def outer(leaves: Leaves) -> list[Any]:
            batches = [leaves[i] for i in self.leaves]
            dims = tuple([min(self.dim, each.ndim - 1) for each in batches])
            return way.mapped(lambda *each: body(put(leaves, self.leaves, each)), dims, batches)

        return outer

    def _functionalize(self, way: Way, body: Body) -> Body:
        def outer(leaves: Leaves) -> list[Any]:
            chosen = [leaves[i] for i in self.leaves]
            return way.functionalized(lambda *each: body(put(leaves, self.leaves, each)), chosen)

        return outer

    def _jvp(self, way: Way, body: Body) -> Body:
        def outer(leaves: Leaves) -> list[Any]:
            chosen = [leaves[i] for i in self.leaves]
            along = self._directions(way, chosen)
            return way.pushed(lambda *each: body(put(leaves, self.leaves, each)), chosen, along)

        return outer

    def _grad(self, way: Way, body: Body) -> Body:
        return self._reverse(way, body, way.pulled)

    def _backward(self, way: Way, body: Body) -> Body:
        order = 2 if "twice" in self.kind else 1
        return self._reverse(way, body, functools.partial(way.recorded, order=order))

    def _reverse(self, way: Way, body: Body, pulled: Any) -> Body:
        """Differentiate a scalar of the results."""

        def outer(leaves: Leaves) -> list[Any]:
            chosen = [leaves[i] for i in self.leaves]
            along = self._directions(way, chosen)

            def scalars(*each: Any) -> list[Any]:
                results = body(put(leaves, self.leaves, each))
                return [self._weighed(way, one, k) for k, one in enumerate(results)]

            return list(pulled(scalars, chosen, along))

        return outer

    def _jacrev(self, way: Way, body: Body) -> Body:
        return self._jacobian(way, body, reverse=True)

    def _jacfwd(self, way: Way, body: Body) -> Body:
        return self._jacobian(way, body, reverse=False)

    def _jacobian(self, way: Way, body: Body, *, reverse: bool) -> Body:
        """Differentiate by two parameters, along two directions of the leaves.

        The result is the product of the Jacobian and a vector: differences need two points for
        it, and an error in any element of the Jacobian changes it.
        """

        def outer(leaves: Leaves) -> list[Any]:
            chosen = [leaves[i] for i in self.leaves]
            first, second = self._directions(way, chosen), self._directions(way, chosen, 1)

            def of_parameters(point: Any) -> list[Any]:
                by_first, by_second = point.unbind()
                moved = [
                    x + by_first * u + by_second * v
                    for x, u, v in zip(chosen, first, second, strict=True)
                ]
                results = body(put(leaves, self.leaves, moved))
                if not reverse:  # `jacfwd` refuses complex results
                    return [_real(way.lib, one) for one in results]
                return [self._weighed(way, one, k, outputs=2) for k, one in enumerate(results)]

            origin = way.lib.zeros(2, dtype=way.lib.float64)
            along = direction(way.lib, origin, f"{self.seed} column")
            return list(way.jacobian(of_parameters, origin, along, reverse=reverse))

        return outer

    def _directions(self, way: Way, leaves: Sequence[Any], turn: int = 0) -> list[Any]:
        return [
            direction(way.lib, each, f"{self.seed} {turn} {place}")
            for place, each in zip(self.leaves, leaves, strict=True)
        ]

    def _weighed(self, way: Way, result: Any, place: int, outputs: int = 1) -> Any:
        """Return numbers of a result, not linear in it: so its second derivatives count."""
        square = 0.25 * (result * result.conj() if result.is_complex() else result * result).sum()
        shape = (*result.shape,) if outputs == 1 else (outputs, *result.shape)
        weights = direction(way.lib, result, f"{self.seed} weights {place}", shape)
        products = weights * result
        if outputs == 1:
            value = products.sum() + square
        else:
            value = products.reshape(outputs, result.numel()).sum(-1) + square
        return value.real if value.is_complex() else value


def _real(lib: Any, tensor: Any) -> Any:
    return lib.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def put(leaves: Leaves, places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """Return the leaves with some of them replaced."""
    result = list(leaves)
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return result


def applied(levels: Sequence[Level], way: Way, body: Body) -> Body:
    """Return the function that a nesting makes of another one, in one way."""
    for level in reversed(levels):
        body = level.apply(way, body)
    return body


_NUMBERS = np.random.default_rng(32).uniform(-1, 1, 997)


def direction(lib: Any, like: Any, seed: str, shape: tuple[int, ...] | None = None) -> Any:
    """Return numbers without a pattern in the dtype of a tensor; `shape` is its own by default."""
    values = _values(tuple(like.shape) if shape is None else shape, like.is_complex(), seed)
    return lib.from_numpy(np.array(values)).to(like.dtype)


@functools.lru_cache(maxsize=4096)
def _values(shape: tuple[int, ...], is_complex: bool, seed: str) -> Any:
    start = int.from_bytes(seed.encode()[-8:], "little") % 991 + sum(seed.encode())
    count = int(np.prod(shape, dtype=int))
    values = _NUMBERS[(start + 7 * np.arange(count)) % 997].reshape(shape)
    if not is_complex:
        return values
    return values + 1j * _NUMBERS[(start + 11 + 5 * np.arange(count)) % 997].reshape(shape)

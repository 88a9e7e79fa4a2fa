"""Ways to run a trial: a library's transforms, a loop in place of `vmap`, differences in place of
derivatives.

A way gives four operations on functions from tensors to lists of tensors. Derivatives are taken
along a direction for each leaf, so that the results are small and differences cost a few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

__all__ = ["Differences", "Function", "Looped", "NotSmooth", "Transforms", "Way"]

Function = Callable[..., list[Any]]
"""A function of tensors that returns a list of tensors."""


class Way(Protocol):
    """Operations on functions, done in one way.

    Attributes
    ----------
    name
        Name for reports.
    lib
        The library whose tensors it computes with.
    compares_nan
        Whether NaN in its results has to be in the others too; otherwise it says nothing of them.
    """

    name: str
    lib: Any
    compares_nan: bool

    def mapped(self, function: Function, dims: tuple[int, ...], batches: Sequence[Any]) -> Any:
        """Return the results of `function` for every entry of the batches, stacked."""

    def pushed(self, function: Function, leaves: Sequence[Any], along: Sequence[Any]) -> Any:
        """Return the derivatives of the results along the direction, by forward mode."""

    def pulled(self, function: Function, leaves: Sequence[Any], along: Sequence[Any]) -> Any:
        """Return the derivative of the sum of the results along the direction, by `grad`."""

    def jacobian(self, function: Function, point: Any, along: Any, *, reverse: bool) -> Any:
        """Return the products of the Jacobians of the results at a vector, and a vector."""

    def functionalized(self, function: Function, leaves: Sequence[Any]) -> Any:
        """Return the results of `function` with its writes replaced by new tensors."""

    def recorded(
        self, function: Function, leaves: Sequence[Any], along: Sequence[Any], order: int
    ) -> Any:
        """Return what `pulled` does, by a graph and backward; `order` 2 differentiates twice."""


def inner(left: Any, right: Any) -> Any:
    """Return the real inner product of two tensors."""
    product = left.conj() * right if left.is_complex() else left * right
    return (product.real if product.is_complex() else product).sum()


def total(values: Sequence[Any]) -> Any:
    """Return the sum of scalars."""
    result = values[0]
    for each in values[1:]:
        result = result + each
    return result


class Transforms:
    """The transforms of a library.

    Parameters
    ----------
    lib
        The library: Dovetail or PyTorch.
    """

    name = "transforms"
    compares_nan = True

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self._func = lib.func

    def mapped(self, function: Function, dims: tuple[int, ...], batches: Sequence[Any]) -> Any:
        return list(self._func.vmap(lambda *each: tuple(function(*each)), in_dims=dims)(*batches))

    def pushed(self, function: Function, leaves: Sequence[Any], along: Sequence[Any]) -> Any:
        def body(*each: Any) -> Any:
            return tuple(function(*each))

        return list(self._func.jvp(body, tuple(leaves), tuple(along))[1])

    def pulled(self, function: Function, leaves: Sequence[Any], along: Sequence[Any]) -> Any:
        places = tuple(range(len(leaves)))
        grads = self._func.grad(lambda *each: total(function(*each)), argnums=places)(*leaves)
        return [total([inner(g, v) for g, v in zip(grads, along, strict=True)])]

    def jacobian(self, function: Function, point: Any, along: Any, *, reverse: bool) -> Any:
        transform = self._func.jacrev if reverse else self._func.jacfwd
        found = transform(lambda each: tuple(function(each)))(point)
        return [(each * along).sum(-1) for each in found]

    def functionalized(self, function: Function, leaves: Sequence[Any]) -> Any:
        def body(*each: Any) -> Any:
            return tuple(function(*each))

        return list(self._func.functionalize(body)(*leaves))

    def recorded(
        self, function: Function, leaves: Sequence[Any], along: Sequence[Any], order: int
    ) -> Any:
        held = [each.detach().requires_grad_() for each in leaves]
        value = total(function(*held))
        for step in range(order):
            if not value.requires_grad:
                return [value * 0]
            grads = self.lib.autograd.grad(
                value, held, create_graph=step + 1 < order, allow_unused=True
            )
            pairs = [(g, v) for g, v in zip(grads, along, strict=True) if g is not None]
            if not pairs:
                return [value.detach() * 0]
            value = total([inner(g, v) for g, v in pairs])
        return [value]


class Looped(Transforms):
    """A library's transforms with a loop in place of `vmap`, and without `functionalize`."""

    name = "loop"

    def mapped(self, function: Function, dims: tuple[int, ...], batches: Sequence[Any]) -> Any:
        count = batches[0].shape[dims[0]]
        rows = [
            function(*[each.select(d, row) for each, d in zip(batches, dims, strict=True)])
            for row in range(count)
        ]
        return [self.lib.stack(list(column)) for column in zip(*rows, strict=True)]

    def functionalized(self, function: Function, leaves: Sequence[Any]) -> Any:
        return function(*leaves)


class NotSmooth(Exception):
    """Says that a function has no derivative at a point, or that differences do not find it."""


CENTRAL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
SIDED = (-11 / 6, 3.0, -3 / 2, 1 / 3)
STEP = 1e-3
SMOOTH = 5e-6
"""How far slopes from the left and from the right may lie apart, relative to their size."""


class Differences(Looped):
    """Differences in the place of derivatives.

    Parameters
    ----------
    lib
        The library.
    points
        Number of points on each side: 3, where elements that are not smooth become NaN, or 1.
    """

    name = "differences"

    def __init__(self, lib: Any, points: int = 3) -> None:
        super().__init__(lib)
        self.compares_nan = points == 1
        self._steps = [k for k in range(-points, points + 1) if k or points > 1]

    def pushed(self, function: Function, leaves: Sequence[Any], along: Sequence[Any]) -> Any:
        def at(step: float) -> list[Any]:
            return function(*[x + v * step for x, v in zip(leaves, along, strict=True)])

        return self._slopes(at)

    def pulled(self, function: Function, leaves: Sequence[Any], along: Sequence[Any]) -> Any:
        return self.pushed(lambda *each: [total(function(*each))], leaves, along)

    def recorded(
        self, function: Function, leaves: Sequence[Any], along: Sequence[Any], order: int
    ) -> Any:
        if order == 1:
            return self.pulled(function, leaves, along)

        def slope(*each: Any) -> Any:
            return super(Differences, self).recorded(function, each, along, order - 1)

        return self.pushed(slope, leaves, along)

    def jacobian(self, function: Function, point: Any, along: Any, *, reverse: bool) -> Any:
        return self.pushed(function, [point], [along])

    def _slopes(self, at: Callable[[float], list[Any]]) -> list[Any]:
        values = {k: [_array(each) for each in at(k * STEP)] for k in self._steps}
        slopes = []
        for place in range(len(values[1])):
            points = {k: each[place] for k, each in values.items()}
            slopes.append(self.lib.tensor(_slope(points)))
        return slopes


def _array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().resolve_conj().numpy())


def _slope(points: dict[int, Any]) -> Any:
    """Return the derivative at 0 of values at two points or seven; NaN where these show a kink."""
    if points[1].dtype.kind not in "fc" or len({each.shape for each in points.values()}) > 1:
        raise NotSmooth("shapes or dtypes change along the direction")
    with np.errstate(all="ignore"):
        if len(points) == 2:
            return np.asarray((points[1] - points[-1]) / (2 * STEP))
        central = sum([weight * (points[k] - points[-k]) for k, weight in CENTRAL.items()]) / STEP
        right = sum([weight * points[k] for k, weight in enumerate(SIDED)]) / STEP
        left = -sum([weight * points[-k] for k, weight in enumerate(SIDED)]) / STEP
        size = np.max([np.abs(each) for each in points.values()], axis=0)
        allowed = SMOOTH * (np.abs(central) + 0.01 * size + 1e-3)
        smooth = (np.abs(right - central) <= allowed) & (np.abs(left - central) <= allowed)
        return np.where(smooth & np.isfinite(size), central, np.nan)

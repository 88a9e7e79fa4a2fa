"""Line search for a step that satisfies the strong Wolfe conditions: the loss has decreased enough,
and its slope is small enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dovetail_aten import Tensor

from .options import root


class Conditions(NamedTuple):
    """When a search ends.

    Attributes
    ----------
    fall
        Part of the fall that the slope at the start promises.
    flatness
        Part of the slope at the start that may remain.
    tolerance
        The search stops where the parameters would change less.
    most_probes
        How often the loss may be evaluated, beside the first time.
    """

    fall: float = 1e-4
    flatness: float = 0.9
    tolerance: float = 1e-9
    most_probes: int = 25

    def has_fallen(self, point: Point, start: Point) -> bool:
        """Return whether the loss at `point` has fallen enough."""
        return bool(point.loss <= start.loss + self.fall * point.length * start.slope)

    def is_flat(self, point: Point, start: Point) -> bool:
        """Return whether the slope at `point` is small enough."""
        return bool(abs(point.slope) <= -self.flatness * start.slope)


@dataclass(frozen=True)
class Point:
    """A point on the line: how far it is, the loss, its gradient, and the slope along the line."""

    length: Any
    loss: float
    gradient: Tensor
    slope: Any


def search(
    probe: Callable[[Any], Point],
    start: Point,
    length: Any,
    greatest: Any,
    conditions: Conditions = Conditions(),  # noqa: B008 - a constant
) -> tuple[Point, int]:
    """Search along a line.

    Parameters
    ----------
    probe
        Evaluates the loss at a length.
    start
        Where the line begins.
    length
        The first to try.
    greatest
        Of the elements of the direction.
    conditions
        When it ends.

    Returns
    -------
    tuple of Point and int
        The point found, and how often `probe` was called.
    """
    low, high, probes, is_found = _bracket(probe, start, length, conditions)
    calls = probes + 1
    is_stuck = False
    while high is not None and not is_found and probes < conditions.most_probes:
        if abs(high.length - low.length) * greatest < conditions.tolerance:
            break
        length, is_stuck = _between(low, high, is_stuck)
        point = probe(length)
        calls += 1
        probes += 1
        if not conditions.has_fallen(point, start) or point.loss >= low.loss:
            high = point
            if low.loss > high.loss:
                low, high = high, low
        else:
            is_found = conditions.is_flat(point, start)
            if not is_found and point.slope * (high.length - low.length) >= 0:
                high = low
            low = point
    return low, calls


def _bracket(
    probe: Callable[[Any], Point], start: Point, length: Any, conditions: Conditions
) -> tuple[Point, Point | None, int, bool]:
    """Go on until a point that is good lies between two, of which the first is the lower; or until
    one is good itself.
    """
    before, point = start, probe(length)
    for probes in range(conditions.most_probes):
        if not conditions.has_fallen(point, start) or (probes > 1 and point.loss >= before.loss):
            return (*_sorted(before, point), probes, False)
        if conditions.is_flat(point, start):
            return point, None, probes, True
        if point.slope >= 0:
            return (*_sorted(before, point), probes, False)
        least = point.length + 0.01 * (point.length - before.length)
        following = minimum_of_cubic(before, point, (least, point.length * 10))
        before, point = point, probe(following)
    return (*_sorted(start, point), conditions.most_probes, False)


def _sorted(first: Point, second: Point) -> tuple[Point, Point]:
    return (first, second) if first.loss <= second.loss else (second, first)


def _between(low: Point, high: Point, is_stuck: bool) -> tuple[Any, bool]:
    """Return a length between two, and whether it lies near one of them: not twice running."""
    first, last = min(low.length, high.length), max(low.length, high.length)
    length = minimum_of_cubic(low, high, (first, last))
    margin = 0.1 * (last - first)
    if min(last - length, length - first) >= margin:
        return length, False
    if not is_stuck and first < length < last:
        return length, True
    is_near_last = abs(length - last) < abs(length - first)
    return (last - margin if is_near_last else first + margin), False


def minimum_of_cubic(one: Point, other: Point, bounds: tuple[Any, Any]) -> Any:
    """Return the minimum of the cubic through two points with their slopes, within bounds; the
    middle of those if it has none.
    """
    left, right = (one, other) if one.length <= other.length else (other, one)
    width = right.length - left.length
    mean = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.length - right.length)
    square = mean**2 - left.slope * right.slope
    if square < 0:
        return (bounds[0] + bounds[1]) / 2.0
    turn = root(square)
    share = (right.slope + turn - mean) / (right.slope - left.slope + 2 * turn)
    return min(max(right.length - width * share, bounds[0]), bounds[1])

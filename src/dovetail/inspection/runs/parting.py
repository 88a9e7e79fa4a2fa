"""Search for the first call at which two recorded runs diverge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from .recording import RecordedSpan, values_in
from .runners import Repeated, Runner
from .values import (
    Difference,
    Fingerprint,
    Tolerance,
    Value,
    difference_of_errors,
    first_difference,
    scale_of,
)

_EXACTLY: Final = Tolerance(0.0, 0.0)
_UNINITIALIZED: Final = ("empty", "new_empty", "_empty")
Pair = tuple[RecordedSpan | None, RecordedSpan | None]


class Place(NamedTuple):
    """Where a call is made: the node of backward, and the line of the program."""

    node: str | None = None
    called_at: str | None = None

    def inside(self, span: RecordedSpan) -> Place:
        """Return the place of calls inside `span`."""
        return Place(
            span.name if span.kind == "node" else self.node, self.called_at or span.called_at
        )


_TOP: Final = Place()


@dataclass
class Parting:
    """The first call at which two runs diverge.

    Attributes
    ----------
    name
        The operator, such as ``"aten::mul.Tensor"``, or the node.
    text
        How the results differ.
    error
        Greatest absolute difference; infinite if it is undefined.
    first, second
        The call in either run.
    node
        The backward node that made the call; None in forward.
    called_at
        ``file:line`` of the program's call, or None if unknown.
    kernels
        The kernels of either run, with file and line.
    arguments
        Arguments of the call, if repeating it reproduces the difference; else None.
    """

    name: str
    text: str
    error: float
    first: RecordedSpan
    second: RecordedSpan
    node: str | None
    called_at: str | None
    kernels: tuple[tuple[str, ...], tuple[str, ...]]
    arguments: tuple[Any, ...] | None = None


@dataclass
class Search:
    """Compares two runs call by call.

    A call with different results is repeated under both configurations with the arguments of the
    first run, if known, so that accumulated rounding errors are not attributed to it. If they are
    unknown, the arguments of both runs must agree.

    Parameters
    ----------
    runners
        The runners of the two configurations.
    tolerance
        Tolerance of the comparison.

    Attributes
    ----------
    compared
        Number of compared calls.
    explained
        Calls whose results differ because their arguments differ.
    lone
        Calls that only one of the runs made.
    """

    runners: tuple[Runner, Runner]
    tolerance: Tolerance
    compared: int = 0
    explained: list[str] = field(default_factory=list)
    lone: list[Pair] = field(default_factory=list)

    def first_parting(
        self, first: Sequence[RecordedSpan], second: Sequence[RecordedSpan], place: Place = _TOP
    ) -> Parting | None:
        """Return the first call at which two sequences of calls diverge, or None."""
        pairs = _aligned(first, second)
        if place is _TOP and _is_foreign(first) != _is_foreign(second):
            pairs = self._matched(_calls_of(first), _calls_of(second))
        for pair in pairs:
            x, y = pair
            if x is None or y is None:
                self.lone.append(pair)
                continue
            found = self._parting_of(x, y, place.inside(x))
            if found is not None:
                return found
        return None

    def _matched(self, first: Sequence[RecordedSpan], second: Sequence[RecordedSpan]) -> list[Pair]:
        """Return each call with the first one of the other run that has the same arguments.

        Libraries make inner calls in other orders, and some that others do not make. A call
        without counterpart is left out if no call of its name and shapes is left to match.
        """
        waiting: dict[tuple[str, str], list[RecordedSpan]] = {}
        for y in second:
            waiting.setdefault(_form(y), []).append(y)
        pairs: list[Pair] = []
        for x in first:
            candidates = waiting.get(_form(x), [])
            found = [y for y in candidates if self._results(x.given, y.given, ()) is None]
            if found:
                candidates.remove(found[0])
                pairs.append((x, found[0]))
            elif candidates and not _leaves_memory_as_it_is(x.name):
                pairs.append((x, None))
        return pairs

    def _parting_of(self, x: RecordedSpan, y: RecordedSpan, place: Place) -> Parting | None:
        self.compared += 1
        if _leaves_memory_as_it_is(x.name):
            return None
        if x.error is None and y.error is None:
            found = self._results(x.results, y.results, x.given)
            if found is None:
                # A part that the program named has no results, and of tensors inside of a transform
                # nothing is known here: the inner calls tell.
                known = x.results and _are_known(x.results)
                return None if known else self._inside(x, y, place)
        else:
            found = difference_of_errors(x.error, y.error)
            if (x.error is None) == (y.error is None):
                return self._inside(x, y, place)
        if self._can_repeat(x, y):
            return self._repeated(x, y, place)
        explained = len(self.explained)
        inner = self._inside(x, y, place)
        if inner is not None:
            return inner
        inputs = self._results(x.given, y.given, ())
        if inputs is not None:
            self.explained.append(f"{x.name} ({inputs.text} in its arguments)")
            return None
        if len(self.explained) > explained and _names(x.children) == _names(y.children):
            self.explained.append(f"{x.name} (by saved values)")
            return None
        return Parting(x.name, found.text, found.error, x, y, *place, _kernels(x, y))

    def _inside(self, x: RecordedSpan, y: RecordedSpan, place: Place) -> Parting | None:
        """Return the first inner call in which two calls part, if both make some."""
        if not x.children or not y.children:
            return None
        return self.first_parting(x.children, y.children, place)

    def _repeated(self, x: RecordedSpan, y: RecordedSpan, place: Place) -> Parting | None:
        """Make both calls again with the same values; return the parting if they still differ."""
        assert x.arguments is not None and y.arguments is not None
        if (options := _options_apart(x, y)) is not None:
            if self._results(x.given, y.given, ()) is None:
                return Parting(x.name, options, float("inf"), x, y, *place, _kernels(x, y))
            return None
        arguments = x.arguments, _with_elements(y.arguments, x.arguments)
        made: list[Repeated] = []
        for runner, given, span in zip(self.runners, arguments, (x, y), strict=True):
            made.append(runner.repeat(span.name, given, span.records))
        if made[0].error is None and made[1].error is None:
            found = self._results(made[0].results, made[1].results, x.given)
        elif (made[0].error is None) == (made[1].error is None):
            found = None
        else:
            found = difference_of_errors(made[0].error, made[1].error)
        if found is None:
            return self._unrepeatable(x, y, place)
        inner = self._inside(x, y, place) if _names(x.children) == _names(y.children) else None
        if inner is not None and inner.arguments is not None:
            return inner
        kernels = made[0].kernels or x.kernels, made[1].kernels or y.kernels
        return Parting(x.name, found.text, found.error, x, y, *place, kernels, x.arguments)

    def _unrepeatable(self, x: RecordedSpan, y: RecordedSpan, place: Place) -> Parting | None:
        """Return the parting of calls that agree when they are made again: only if they had the
        same arguments, so that something else decided.
        """
        found = self._results(x.results, y.results, x.given)
        if found is None or first_difference(x.given, y.given, _EXACTLY) is not None:
            self.explained.append(f"{x.name} (the results agree for the same arguments)")
            return None
        text = f"{found.text}; made again alone, the calls agree"
        return Parting(x.name, text, found.error, x, y, *place, _kernels(x, y))

    def _can_repeat(self, x: RecordedSpan, y: RecordedSpan) -> bool:
        if x.arguments is None or y.arguments is None:
            return False
        if not all([each.can_repeat for each in self.runners]):
            return False
        values = [*values_in(x.arguments), *values_in(y.arguments)]
        return all([each.array is not None for each in values])

    def _results(
        self,
        first: Sequence[Value | Fingerprint],
        second: Sequence[Value | Fingerprint],
        given: Sequence[Value | Fingerprint],
    ) -> Difference | None:
        """Return the first difference between tensors of two calls."""
        return first_difference(first, second, self.tolerance, scale_of(given))


def _aligned(first: Sequence[RecordedSpan], second: Sequence[RecordedSpan]) -> list[Pair]:
    """Return the calls of two runs in pairs; with None for a call that only one makes."""
    if _names(first) == _names(second):
        return list(zip(first, second, strict=True))
    pairs: list[Pair] = []
    matcher = SequenceMatcher(None, _names(first), _names(second), autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(first[a:b], second[c:d], strict=True)
        else:
            pairs += [(x, None) for x in first[a:b]]
            pairs += [(None, y) for y in second[c:d]]
    return pairs


def _is_foreign(spans: Sequence[RecordedSpan]) -> bool:
    """Return whether a recording is that of another library, which names no kernels."""
    return not any([span.kernels for span in spans])


def _calls_of(spans: Sequence[RecordedSpan]) -> list[RecordedSpan]:
    return [each for span in spans for each in span.walk() if each.kind != "node"]


def _form(span: RecordedSpan) -> tuple[str, str]:
    return span.name, str([each.shape for each in span.given])


def _names(spans: Sequence[RecordedSpan]) -> list[str]:
    return [f"{span.kind} {span.name}" for span in spans]


def _leaves_memory_as_it_is(name: str) -> bool:
    """Return whether the results of an operator are whatever is in their memory."""
    return name.partition("::")[2].startswith(_UNINITIALIZED)


def _are_known(values: Sequence[Value | Fingerprint]) -> bool:
    """Return whether all values have their elements."""
    return all([isinstance(each, Fingerprint) or each.array is not None for each in values])


def _options_apart(x: RecordedSpan, y: RecordedSpan) -> str | None:
    for name in {**x.options, **y.options}:
        a, b = x.options.get(name, "default"), y.options.get(name, "default")
        if a != b and not _close(a, b):
            return f"{name} is {a} and {b}"
    return None


def _close(first: str, second: str) -> bool:
    """Return whether two arguments are numbers that differ by rounding."""
    try:
        a, b = float(first), float(second)
    except ValueError:
        return False
    return abs(a - b) <= 1e-4 * max(abs(a), abs(b))


def _with_elements(target: object, source: object) -> Any:
    """Return arguments like `target` with the elements of the tensors of `source`."""
    if isinstance(target, Value) and isinstance(source, Value):
        return target.with_elements(source)
    if (
        isinstance(target, list | tuple)
        and isinstance(source, list | tuple)
        and len(target) == len(source)
    ):
        return type(target)([_with_elements(a, b) for a, b in zip(target, source, strict=True)])
    return target


def _kernels(x: RecordedSpan, y: RecordedSpan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return x.kernels, y.kernels

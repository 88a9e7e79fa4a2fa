"""What a call gives in one way, and how what it gives in two ways differs.

Whatever compares two libraries or two ways generates calls, and says with a `Comparison` what of
their outcomes has to agree.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "EXACT",
    "Closeness",
    "Comparison",
    "Outcome",
    "Seen",
    "numbers",
    "outcome",
    "seen",
    "steps",
]


@dataclass(frozen=True)
class Seen:
    """What is compared of a tensor.

    Attributes
    ----------
    dtype, shape
        Its dtype, without the library, and its shape.
    values
        Its numbers, or None where these do not count.
    facts
        What else has to be equal, by name.
    """

    dtype: str
    shape: tuple[int, ...]
    values: Any
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.dtype} {_shown(self.values)}"


def seen(tensor: Any, **facts: Any) -> Seen:
    """Return what is compared of a tensor of either library."""
    dtype = str(tensor.dtype).rpartition(".")[2]
    return Seen(dtype, tuple(tensor.shape), numbers(tensor), facts)


def steps(shape: Iterable[int], strides: Iterable[int]) -> tuple[int, ...]:
    """Return the strides of the dimensions that are stepped along; none without elements."""
    pairs = list(zip(shape, strides, strict=True))
    if any([size == 0 for size, _ in pairs]):
        return ()
    return tuple([stride for size, stride in pairs if size != 1])


def numbers(tensor: Any) -> Any:
    """Return the numbers of a tensor of either library, in the widest dtype of their kind."""
    shape = tuple(tensor.shape)
    if getattr(tensor, "_is_zerotensor", bool)() or min(shape, default=0) < 0:
        return np.zeros([max(size, 0) for size in shape])  # PyTorch has no memory for it
    return np.array(tensor.tolist()).reshape(shape)


@dataclass
class Outcome:
    """What a call gave.

    Attributes
    ----------
    result
        What it returned: numbers, texts, `Seen` tensors, in lists, tuples and dicts.
    error
        What it raised, or None.
    warned
        The warnings, in order.
    """

    result: Any = None
    error: Exception | None = None
    warned: list[warnings.WarningMessage] = field(default_factory=list)


def outcome(call: Callable[[], Any], lib: Any = None) -> Outcome:
    """Run a call; with `lib`, record all warnings, those too that the library gives but once."""
    found = Outcome()
    recording: Any = contextlib.nullcontext([]) if lib is None else _recorded(lib)
    with recording as found.warned:
        try:
            found.result = call()
        except Exception as error:
            found.error = error
    return found


@contextlib.contextmanager
def _recorded(lib: Any) -> Iterator[list[warnings.WarningMessage]]:
    is_often = lib.is_warn_always_enabled()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lib.set_warn_always(True)  # otherwise the way that comes second would not warn
        try:
            yield caught
        finally:
            lib.set_warn_always(is_often)


class Closeness(NamedTuple):
    """How far numbers may lie apart.

    Attributes
    ----------
    relative, absolute
        As in ``numpy.isclose``; both 0 is equality.
    of_largest
        Whether the absolute one counts in units of the largest number, if that is above 1.
    with_nan
        Whether NaN and infinities of the reference have to be in the other too; otherwise they say
        nothing.
    """

    relative: float = 0.0
    absolute: float = 0.0
    of_largest: bool = True
    with_nan: bool = True

    def difference(self, mine: Any, other: Any) -> str:
        """Return how arrays of one shape differ; integers and truth values have to be equal."""
        if other.dtype.kind not in "fc":
            wrong = np.asarray(mine != other)
        else:
            finite = np.isfinite(other)
            largest = np.abs(other[finite]).max(initial=1.0) if self.of_largest else 1.0
            with np.errstate(all="ignore"):
                close = np.isclose(
                    mine, other, self.relative, self.absolute * largest, equal_nan=self.with_nan
                )
            wrong = ~close if self.with_nan else finite & ~close
        return f"{_shown(mine[wrong])}, not {_shown(other[wrong])}" if wrong.any() else ""


EXACT = Closeness()


def _shown(values: Any) -> str:
    return "" if values is None else repr(values.ravel()[:6].tolist())


@dataclass(frozen=True)
class Comparison:
    """What of two outcomes has to agree.

    Attributes
    ----------
    name
        The name of the reference, for texts.
    close
        Returns how far numbers may lie apart, by their dtype.
    same_error
        Says whether one exception may stand for that of the reference, which comes second.
    warned
        Returns what counts of warnings.
    without
        Names of facts that do not count.
    """

    name: str
    close: Callable[[str], Closeness] = lambda dtype: EXACT
    same_error: Callable[[Exception, Exception], bool] = lambda mine, other: True
    warned: Callable[[list[warnings.WarningMessage]], Any] = lambda caught: None
    without: tuple[str, ...] = ()

    def of(self, mine: Outcome, other: Outcome) -> tuple[str, str]:
        """Return the kind of the difference of an outcome from that of the reference, and its text.

        Kinds are ``"same"``, ``"both raise"``, ``"accepted"`` (only the reference raises),
        ``"refusal"`` (only the other does), ``"wrong"``.
        """
        if mine.error is None and other.error is not None:
            return "accepted", f"the {self.name} raises {_said(other.error)}"
        if mine.error is not None and other.error is None:
            return "refusal", _said(mine.error)
        if mine.error and other.error and not self.same_error(mine.error, other.error):
            return "wrong", f"raises {_said(mine.error)}, not {_said(other.error)}"
        heard, expected = self.warned(mine.warned), self.warned(other.warned)
        if heard != expected:
            return "wrong", f"warned: {heard}, not {expected}"
        if other.error is not None:
            return "both raise", ""
        text = self.difference(mine.result, other.result)
        return ("wrong", text) if text else ("same", "")

    def difference(self, mine: Any, other: Any) -> str:
        """Return where and how results differ first."""
        if isinstance(mine, Seen) and isinstance(other, Seen):
            return self._of_tensors(mine, other)
        if _are(dict, mine, other) and mine.keys() == other.keys():
            pairs = [(key, mine[key], value) for key, value in other.items()]
        elif _are(list, mine, other) or _are(tuple, mine, other):
            pairs = [(place, mine[place], value) for place, value in enumerate(other)]
        else:
            return "" if mine == other else f"{mine!s:.300}, not {other!s:.300}"
        found = ((place, self.difference(*pair)) for place, *pair in pairs)
        return next((f"result {place!r}: {text}" for place, text in found if text), "")

    def _of_tensors(self, mine: Seen, other: Seen) -> str:
        if mine.shape != other.shape:
            return f"shape {mine.shape}, not {other.shape}"
        if mine.dtype != other.dtype:
            return f"{mine.dtype}, not {other.dtype}"
        for name in {**mine.facts, **other.facts}:
            value, expected = mine.facts.get(name), other.facts.get(name)
            if value != expected and name not in self.without:
                return f"{name}: {value}, not {expected}"
        if mine.values is None or other.values is None:
            return "" if mine.values is other.values else f"{mine}, not {other}"
        return self.close(other.dtype).difference(mine.values, other.values)


def _are(kind: type[Any], mine: Any, other: Any) -> bool:
    return isinstance(mine, kind) and isinstance(other, kind) and len(mine) == len(other)


def _said(error: Exception) -> str:
    """Return the type and the beginning of the text of an exception."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"

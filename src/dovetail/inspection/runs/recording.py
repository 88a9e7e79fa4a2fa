"""Recordings of runs: every call and node with its arguments and results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from reprlib import repr as repr_of
from types import NoneType
from typing import Any, Final

from dovetail_dispatcher import CallSpan, Observer, Span, Trace, parse_schema
from dovetail_kernel import TensorBase, printable

from .values import OUT_OF_REACH, SKETCHES, Fingerprint, Value, recorded_value


@dataclass(slots=True, eq=False)
class RecordedSpan:
    """One call, or one node of backward, with its argument and result tensors.

    Attributes
    ----------
    name, kind, called_at, error, children
        As for `Span`.
    given, results
        The tensors, with lists flattened; for a call that writes, also the arguments after the
        call.
    options
        The other arguments that differ from their defaults, as text.
    kernels
        ``key: kernel at file:line``, those that the call went through.
    records
        Whether the call recorded a graph.
    arguments
        All arguments in the order of the schema, with a `Value` for each tensor; None where they
        are not known.
    """

    name: str
    kind: str
    called_at: str | None
    error: str | None
    given: list[Value | Fingerprint]
    results: list[Value | Fingerprint]
    options: dict[str, str]
    kernels: tuple[str, ...]
    records: bool = False
    arguments: tuple[Any, ...] | None = None
    children: list[RecordedSpan] = field(default_factory=list)

    def walk(self) -> Iterator[RecordedSpan]:
        """Yield the span and those inside."""
        pending = [self]
        while pending:
            span = pending.pop()
            yield span
            pending += reversed(span.children)


class ValueObserver(Observer):
    """Copies the values of every span of a trace."""

    def __init__(self) -> None:
        self.given: dict[Span, Any] = {}
        self.results: dict[Span, list[Value]] = {}
        self._written: dict[Span, Sequence[Any]] = {}

    def opened(self, span: Span, given: Sequence[object]) -> None:
        """Copy the arguments."""
        self.given[span] = copied(tuple(given))
        if isinstance(span, CallSpan) and "!" in span.decision.schema:
            self._written[span] = given
            arguments = parse_schema(span.decision.schema).arguments
            self.given[span] = tuple(
                [
                    _as_written(value) if argument.is_write else value
                    for argument, value in zip(arguments, self.given[span], strict=True)
                ]
            )

    def closed(self, span: Span, result: object) -> None:
        """Copy the results, and the arguments of an operator that writes to some."""
        self.results[span] = list(values_in(copied((result, self._written.pop(span, ())))))


def copied(value: object) -> Any:
    """Return `value` with a `Value` in place of every tensor."""
    if isinstance(value, TensorBase):
        return recorded_value(value)
    if isinstance(value, list | tuple):
        items = [copied(each) for each in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _as_written(value: Any) -> Any:
    """Return an argument with its values marked as those of one that is written to."""
    if isinstance(value, list | tuple):
        return type(value)([_as_written(each) for each in value])
    return replace(value, is_written=True) if isinstance(value, Value) else value


def values_in(value: object) -> Iterator[Value]:
    """Yield every `Value` in lists and tuples."""
    if isinstance(value, Value):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from values_in(each)


def recorded_spans(trace: Trace, observer: ValueObserver) -> list[RecordedSpan]:
    """Return the spans of a trace with their values."""
    return [_recorded(span, observer) for span in trace.spans]


def _recorded(span: Span, observer: ValueObserver) -> RecordedSpan:
    given = observer.given.get(span)
    made = RecordedSpan(
        span.name,
        span.kind,
        span.called_at,
        span.error,
        list(values_in(given)),
        list(observer.results.get(span, ())),
        _options_of(span),
        _kernels_of(span),
        isinstance(span, CallSpan) and span.decision.records_graph,
        given if isinstance(span, CallSpan) else None,
    )
    made.children = [_recorded(child, observer) for child in span.children]
    return made


_SETTINGS: Final = ("dtype", "device", "layout", "pin_memory")


def _options_of(span: Span) -> dict[str, str]:
    """Return the arguments of a call that are not tensors, without those that a configuration
    changes.
    """
    if not isinstance(span, CallSpan):
        return {}
    return _options([(each.name, each.value) for each in span.arguments], span.options)


def _options(arguments: Iterable[tuple[str, str]], others: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a call.

    Parameters
    ----------
    arguments
        Names and texts of the arguments that take tensors, of which numbers are options.
    others
        The other arguments.
    """
    texts = {name: text.rpartition(" (")[0] for name, text in arguments}  # "2.0 (float)"
    numbers = {name: text for name, text in texts.items() if _is_number(text)}
    named = {name: text for name, text in others.items() if name not in _SETTINGS}
    return numbers | {n: _as_list(t) for n, t in named.items()}


def _as_list(text: str) -> str:
    """Return the text of a value in which tuples look like lists."""
    return text.replace(",)", "]").replace("(", "[").replace(")", "]")


def _is_number(text: str) -> bool:
    try:
        complex(text)
    except ValueError:
        return text in ("True", "False")
    return True


def _kernels_of(span: Span) -> tuple[str, ...]:
    if not isinstance(span, CallSpan):
        return ()
    return tuple([f"{each.key}: {each.kernel} at {each.source}" for each in span.decision.chain])


# -- files -----------------------------------------------------------------------------------------


class HashObserver(ValueObserver):
    """Records fingerprints of the values of every span of a trace."""

    def __init__(self) -> None:
        super().__init__()
        self.fingerprints: dict[Span, dict[str, list[dict[str, Any] | None]]] = {}

    def opened(self, span: Span, given: Sequence[object]) -> None:
        """Record the arguments."""
        super().opened(span, given)
        self.fingerprints[span] = {"given": _as_dicts(values_in(self.given.pop(span)))}

    def closed(self, span: Span, result: object) -> None:
        """Record the results, and the arguments of an operator that writes to them."""
        super().closed(span, result)
        self.fingerprints[span]["results"] = _as_dicts(self.results.pop(span))


def _as_dicts(values: Iterable[Value]) -> list[dict[str, Any] | None]:
    """Return fingerprints; None for tensors whose elements are out of reach."""
    found = [each.fingerprint for each in values]
    return [each if each is None else each.as_dict() for each in found]


def load_recording(path: str | Path) -> list[RecordedSpan]:
    """Return the spans of a file that ``tracing(hashes=True).export_json`` wrote, with control
    characters escaped.

    Raises
    ------
    ValueError
        If the file is not such a trace, or the trace was recorded without hashes.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        return [_loaded(span) for span in _items(data, "spans")]
    except RecursionError:
        problem = "it is nested too deeply"
    except (ValueError, OverflowError) as error:
        problem = printable(str(error))[:300]
    raise ValueError(
        f"can't read the trace {str(path)!r}: {problem}. Record one with "
        "dovetail.tracing(hashes=True), and save it by export_json."
    )


def _member(data: object, name: str, *kinds: type) -> Any:
    """Return an item of a JSON object, None if there is none; of one of the types `kinds`."""
    if not isinstance(data, dict):
        raise ValueError(f"{repr_of(data)} stands in the place of an object with {name!r}")
    value = data.get(name)
    if type(value) not in kinds:
        is_missing = name not in data
        raise ValueError(f"{name!r} is {'missing' if is_missing else repr_of(value)}")
    return value


def _items(data: object, name: str) -> list[Any]:
    return _member(data, name, list, NoneType) or []


def _text(data: object, name: str) -> str:
    return printable(_member(data, name, str))


def _loaded(data: object) -> RecordedSpan:
    marks = _member(data, "fingerprints", dict, NoneType)
    if marks is None:
        raise ValueError("it was recorded without the values of tensors")
    given, results = [
        [_fingerprint(each) for each in _member(marks, name, list)] for name in ("given", "results")
    ]
    called_at, error = [
        printable(_member(data, name, str, NoneType) or "") or None
        for name in ("called_at", "error")
    ]
    chain = _items(_member(data, "decision", dict, NoneType) or {}, "chain")
    arguments = [(_text(each, "name"), _text(each, "value")) for each in _items(data, "arguments")]
    options = _member(data, "options", dict, NoneType) or {}
    return RecordedSpan(
        _text(data, "name"),
        _text(data, "kind"),
        called_at,
        error,
        given,
        results,
        _options(arguments, {printable(name): _text(options, name) for name in options}),
        tuple(["{}: {} at {}".format(*[_text(e, n) for n in _KERNEL]) for e in chain]),
        children=[_loaded(child) for child in _items(data, "children")],
    )


_KERNEL: Final = ("key", "kernel", "source")


def _fingerprint(data: object) -> Value | Fingerprint:
    """Return what the result of `Fingerprint.as_dict` stands for."""
    if data is None:
        return OUT_OF_REACH
    shape, sketch = _member(data, "shape", list), _member(data, "sketch", list)
    are_sizes = len(shape) <= 64 and all([type(each) is int and each >= 0 for each in shape])
    if not are_sizes or prod(shape) >= 2**63:
        raise ValueError(f"'shape' is {repr_of(shape)}")
    if len(sketch) != SKETCHES or not all([type(each) in (float, int) for each in sketch]):
        raise ValueError(f"'sketch' is {repr_of(sketch)}")
    return Fingerprint(
        tuple(shape),
        _text(data, "dtype"),
        _text(data, "digest"),
        float(_member(data, "greatest", float, int)),
        _text(data, "odd"),
        tuple(map(float, sketch)),
        _member(data, "is_written", bool, NoneType) or False,
    )

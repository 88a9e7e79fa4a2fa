"""Data that a profile records for every call besides its time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

from dovetail_dispatcher import CallSpan, Observer, Span
from dovetail_kernel import DisableTorchFunction, TensorBase, restoring

from .flops import flops_of
from .memory import MemoryRecord, tensors_in

_SKIPPED: Final = frozenset(
    (
        "contextlib",  # stands between a `with` and what it enters
        "dovetail",
        "dovetail_aten",
        "dovetail_autograd",
        "dovetail_cpu",
        "dovetail_cuda",
        "dovetail_dispatcher",
        "dovetail_kernel",
    )
)
_LONGEST_STACK: Final = 100


@dataclass(slots=True)
class Details:
    """Recorded data of one call.

    Attributes
    ----------
    shapes, strides, dtypes
        Properties of every argument; empty for other objects.
    concrete
        The arguments; None for tensors.
    flops
        Number of floating-point operations; 0 if unknown.
    stack
        ``file(line): function`` of the program's frames, innermost first.
    """

    shapes: list[Any] = field(default_factory=list)
    strides: list[Any] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    concrete: list[Any] = field(default_factory=list)
    flops: int = 0
    stack: list[str] = field(default_factory=list)


class Observation(Observer):
    """Records the requested data.

    Parameters
    ----------
    shapes, memory, flops, stack
        What to record.
    """

    def __init__(self, *, shapes: bool, memory: bool, flops: bool, stack: bool) -> None:
        self.memory = MemoryRecord() if memory else None
        self.details: dict[Span, Details] = {}
        self._shapes = shapes
        self._flops = flops
        self._stack = stack

    def opened(self, span: Span, given: Sequence[object]) -> None:
        """Record the arguments."""
        if self.memory is not None:
            self.memory.know(given)
        if self._shapes or self._flops or self._stack:
            self.details[span] = details = Details()
            if self._shapes or self._flops:
                _note_arguments(details, given)
            if self._stack:
                details.stack = _stack()

    def closed(self, span: Span, result: object) -> None:
        """Record data about the result."""
        results = result if isinstance(result, list | tuple) else (result,)
        if self.memory is not None:
            self.memory.count(span, results)
        if self._flops and isinstance(span, CallSpan):
            tensors = tensors_in(results)
            if tensors:
                details = self.details[span]
                name = span.name.partition(".")[0]
                details.flops = flops_of(name, details.shapes, tuple(tensors[0].shape))


@restoring()
def _note_arguments(details: Details, given: Sequence[object]) -> None:
    for value in given:
        tensors = tensors_in((value,))
        with DisableTorchFunction():  # the classes of the tensors are not asked
            shapes = [list(each.shape) for each in tensors]
            strides = [list(each.stride()) for each in tensors]
        several = not isinstance(value, TensorBase) and bool(tensors)
        details.shapes.append(shapes if several else shapes[0] if shapes else [])
        details.strides.append(strides if several else strides[0] if strides else [])
        details.dtypes.append(str(tensors[0].dtype).rpartition(".")[2] if tensors else "")
        details.concrete.append(None if tensors else value)


def _stack() -> list[str]:
    frame: FrameType | None = sys._getframe(1)
    lines: list[str] = []
    while frame is not None and len(lines) < _LONGEST_STACK:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        code = frame.f_code
        if package not in _SKIPPED and not code.co_filename.startswith("<dovetail"):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines

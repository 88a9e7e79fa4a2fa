"""Writing into arguments: what is checked before, the write itself, and counting it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail_kernel import VersionCounter
from dovetail_kernel.signature import NORMAL

from ..arrays.array_writes import (
    check_inference_write,
    check_overlap,
    copy_between_backends,
    write_into,
    write_out,
    write_outs,
)
from ..plan import Step, Value
from .kernel_calls import TranslateErrors

if TYPE_CHECKING:
    from ..printer import Printer


class CheckInferenceWrite(Step):
    """Raise an error for a write to an inference tensor outside inference mode."""

    written: Value

    def print(self, to: Printer) -> None:
        name, normal = to.name(self.written), to.bind("NORMAL", NORMAL)
        check = to.bind("check_inference_write", check_inference_write)
        to.extend((f"if not {name}._signature & {normal}:", f"    {check}({name})"))


class CheckOverlap(Step):
    """Raise an error for a write to memory that partly overlaps an argument."""

    written: Value
    read: Value

    def print(self, to: Printer) -> None:
        written, read = to.name(self.written), to.name(self.read)
        to.add(f"if {read}._storage is not None and {read}._storage is {written}._storage:")
        to.add(f"    {to.bind('check_overlap', check_overlap)}({written}, {read})")


class WriteInto(Step):
    """Write an array into a tensor.

    Attributes
    ----------
    computed
        Value that holds the dtype in which the array was computed, or a function that finds it;
        None: it can be cast.
    """

    written: Value
    array: Value
    computed: Value | Callable[..., Any] | None
    rewording: TranslateErrors | None

    def print(self, to: Printer) -> None:
        array = to.name(self.array)
        if isinstance(self.computed, Value):
            computed = to.name(self.computed)
        elif self.computed is not None:
            computed = f"{to.bind('dtype_of', self.computed)}({array})"
        else:
            computed = "None"
        line = f"{to.bind('write_into', write_into)}({to.name(self.written)}, {array}, {computed})"
        to.extend([line] if self.rewording is None else self.rewording.around(to, [line]))


class WriteOut(Step):
    """Resize all ``out=`` tensors and write arrays into them, or into none on an error.

    Attributes
    ----------
    refuses
        Words of `Operator.refuses`: which tensors are refused.
    reads
        The operands that the tensors are compared with; empty if no tensor is refused.
    """

    outs: tuple[Value, ...]
    arrays: tuple[Value, ...]
    refuses: tuple[str, ...] = ()
    reads: tuple[Value, ...] = ()

    def print(self, to: Printer) -> None:
        refuses = to.bind("refused", self.refuses) if self.refuses else "()"
        count = len(self.outs)
        names = [to.name(value) for value in (*self.outs, *self.arrays, *self.reads)]
        if count > 1:
            to.add(
                f"{to.bind('write_outs', write_outs)}({', '.join([str(count), refuses, *names])})"
            )
            return
        if self.refuses:
            names.insert(2, refuses)
        to.add(f"{to.bind('write_out', write_out)}({', '.join(names)})")


class CountWrite(Step):
    """Increment the version of a written tensor."""

    written: Value

    def print(self, to: Printer) -> None:
        name, counter = to.name(self.written), to.scratch("counter")
        to.extend(
            (
                f"{counter} = {name}._counter",
                f"if {counter} is None:",
                f"    {name}._counter = {to.bind('VersionCounter', VersionCounter)}(1)",
                "else:",
                f"    {counter}.value += 1",
            )
        )


class CopyBetweenBackends(Step):
    """Copy the elements of a tensor of another backend."""

    written: Value
    source: Value

    def print(self, to: Printer) -> None:
        copy = to.bind("copy_between_backends", copy_between_backends)
        to.add(f"{copy}({to.name(self.written)}, {to.name(self.source)})")

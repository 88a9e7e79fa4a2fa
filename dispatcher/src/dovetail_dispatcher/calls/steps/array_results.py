"""Checking what an array kernel returned: quick looks, whose misses go to `ArrayResults`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..plan import Step, Value
from .arguments import ArrayOf

if TYPE_CHECKING:
    from ..printer import Printer


class UnpackArrays(Step):
    """Unpack the results of a kernel with several results.

    Attributes
    ----------
    several
        Returns what has the right number of items, or raises.
    """

    returned: Value
    arrays: tuple[Value, ...]
    several: Callable[..., Any]

    def print(self, to: Printer) -> None:
        returned, several = to.name(self.returned), to.bind("several", self.several)
        is_tuple = f"{returned}.__class__ is {to.builtin('tuple')}"
        fits = f"{is_tuple} and {to.builtin('len')}({returned}) == {len(self.arrays)}"
        names = ", ".join([to.name(each) for each in self.arrays])
        to.add(f"{names} = {returned} if {fits} else {several}({returned})")


class CheckWritten(Step):
    """Check a result that will be written to a tensor.

    Attributes
    ----------
    array_type, dtype_bits
        The class of the backend's arrays, and their dtypes.
    checked
        Returns what is an array after all, or raises.
    """

    array: Value
    array_type: type
    dtype_bits: Any
    checked: Callable[..., Any]

    def print(self, to: Printer) -> None:
        array = to.name(self.array)
        is_other = f"{array}.__class__ is not {to.bind('Array', self.array_type)}"
        bits = to.bind("dtype_bits", self.dtype_bits)
        to.add(f"if {is_other} or {array}.dtype not in {bits}:")
        to.add(f"    {array} = {to.bind('checked', self.checked)}({array})")


class CheckOwn(Step):
    """Check a result that must be an array with its own memory.

    Attributes
    ----------
    given
        The arrays that the kernel was given.
    earlier
        Its earlier results.
    looks_quickly
        Whether an array has its own memory if its ``base`` is None and it is not an argument.
    may_be_none
        Whether None stands for a result that was not asked for.
    own
        Returns what is such an array after all, or raises.
    """

    array: Value
    array_type: type
    given: tuple[ArrayOf, ...]
    earlier: tuple[Value, ...]
    looks_quickly: bool
    may_be_none: bool
    own: Callable[..., Any]

    def print(self, to: Printer) -> None:
        array = to.name(self.array)
        earlier = [to.name(each) for each in self.earlier]
        given = "".join([f"{each}, " for each in (*[g.text(to) for g in self.given], *earlier)])
        check = f"{array} = {to.bind('own', self.own)}({array}, ({given}))"
        lists = [each for each in self.given if each.kind.endswith("[]")]
        if not self.looks_quickly or lists:
            lines = [f"if {array} is not None:", f"    {check}"] if self.may_be_none else [check]
            to.extend(lines)
            return
        tests = [f"{array}.__class__ is not {to.bind('Array', self.array_type)}"]
        if hasattr(self.array_type, "base"):
            tests.append(f"{array}.base is not None")
        tests += [f"{array} is {each.text(to)}" for each in self.given]
        tests += [f"{array} is {each}" for each in earlier]
        test = " or ".join(tests)
        to.add(f"if {f'{array} is not None and ({test})' if self.may_be_none else test}:")
        to.add(f"    {check}")


class CheckView(Step):
    """Check a result that must share the memory of an argument."""

    array: Value
    shared: Value
    view: Callable[..., Any]

    def print(self, to: Printer) -> None:
        array = to.name(self.array)
        to.add(f"{array} = {to.bind('view', self.view)}({array}, {to.name(self.shared)}.array)")


class ExpectDtype(Step):
    """Check that a result has the dtype that the operator computes in."""

    array: Value
    native: Any
    expect: Callable[..., None]

    def print(self, to: Printer) -> None:
        array, native = to.name(self.array), to.bind("DTYPE", self.native)
        to.add(f"if {array}.dtype is not {native}:")
        to.add(f"    {to.bind('expect_dtype', self.expect)}({array}, {native})")

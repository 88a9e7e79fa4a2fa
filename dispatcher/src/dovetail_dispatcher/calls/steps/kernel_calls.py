"""Calling an array kernel: its fast path or all of it, quietly, with errors in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...record import Record
from ...sockets import COMPILED_KERNEL
from ..arrays.array_writes import write_into
from ..plan import Operand, Step, Value
from .arguments import CastArray

if TYPE_CHECKING:
    from ..printer import Printer


class KernelCall(Record):
    """One way to call an array kernel.

    Attributes
    ----------
    role
        What the function is: ``kernel``, ``fast_path``, ``out_function`` or
        ``general_out_function``.
    out
        The tensor whose array the function writes its result into; None: it returns the result.
    written
        The tensor that the result is written into by the dispatcher; None: no such tensor.
    checked
        Checks the result that is written; None: it need not be checked.
    ordered
        What is called in place of the function, unless compiled code stands for it, if arrays of
        `decisive` have other shapes or are not in C order; None: nothing else is.
    quiet
        How floating-point warnings of the function are kept from the user; None: there are none.
    """

    role: str
    function: Callable[..., Any]
    arguments: tuple[Operand, ...]
    keywords: tuple[tuple[str, Operand], ...] = ()
    out: Value | None = None
    written: Value | None = None
    checked: Callable[..., Any] | None = None
    ordered: Callable[..., Any] | None = None
    decisive: tuple[Operand, ...] = ()
    quiet: ErrorStateCall | None = None

    def lines(self, to: Printer, results: tuple[Value, ...]) -> list[str]:
        """Return the lines of the call."""
        given = [each.text(to) for each in self.arguments]
        given += [to.by_name(name, each.text(to)) for name, each in self.keywords]
        if self.out is not None:
            given.append(f"out={to.name(self.out)}.array")
        function = to.bind(self.role, COMPILED_KERNEL.plug(self.function))
        if self.ordered is not None:
            arrays = [each.text(to) for each in self.decisive]
            are_c = f"{'.flags.c_contiguous and '.join(arrays)}.flags.c_contiguous"
            tests = f"{'.shape == '.join(arrays)}.shape and {are_c}"
            function = f"({function} if {tests} else {to.bind('in_order', self.ordered)})"
        call = f"{function}({', '.join(given)})"
        if self.written is not None:
            if self.checked is not None:
                call = f"{to.bind('checked', self.checked)}({call})"
            call = f"{to.bind('write_into', write_into)}({to.name(self.written)}, {call}, None)"
        elif results:
            call = f"{', '.join([to.name(each) for each in results])} = {call}"
        return [call] if self.quiet is None else self.quiet.lines(to, call)


class ErrorStateCall(Record):
    """A call in an error state of the array library that suppresses warnings.

    Attributes
    ----------
    enter, leave, state
        Functions that put an error state in force and the one before back, and the quiet one.
    is_nameless
        Whether the function warns in the name of its caller, so that text needs no error state:
        CPython drops the warnings of a module without a name.
    """

    enter: Callable[..., Any]
    leave: Callable[..., Any]
    state: Any
    is_nameless: bool

    def lines(self, to: Printer, line: str) -> list[str]:
        """Return the lines that run `line` so."""
        if self.is_nameless:
            to.bindings["__name__"] = None
            return [line]
        quiet = to.scratch("quiet")
        enter = to.bind("set_error_state", self.enter)
        return [
            f"{quiet} = {enter}({to.bind('QUIET', self.state)})",
            "try:",
            f"    {line}",
            "finally:",
            f"    {to.bind('reset_error_state', self.leave)}({quiet})",
        ]


class TranslateErrors(Record):
    """Raises what a function of `operands` raises in the words of the schema.

    Attributes
    ----------
    writes
        Whether the function writes the first operand: where `call_error` returns None, that lay in
        read-only memory and no longer does, and the function is called again.
    """

    call_error: Callable[..., Exception | None]
    operands: tuple[Value, ...]
    writes: bool = False

    def around(self, to: Printer, lines: list[str]) -> list[str]:
        """Return lines that run `lines` so."""
        errors = f"({to.builtin('ValueError')}, {to.builtin('TypeError')})"
        error, call_error = to.scratch("error"), to.bind("call_error", self.call_error)
        operands = ", ".join([to.name(each) for each in self.operands])
        if self.writes:
            reworded = to.scratch("reworded")
            return [
                "try:",
                *[f"    {line}" for line in lines],
                f"except {errors} as {error}:",
                f"    {reworded} = {call_error}({error}, {operands})",
                f"    if {reworded} is not None:",
                "        try:",
                f"            raise {reworded} from {error}",
                "        finally:",  # or the error would hold the frame that holds it
                f"            del {reworded}",
                *[f"    {line}" for line in lines],
            ]
        return [
            "try:",
            *[f"    {line}" for line in lines],
            f"except {errors} as {error}:",
            f"    raise {call_error}({error}, {operands}) from {error}",
        ]


class CallKernel(Step):
    """Call an array kernel: the fast path if all arguments but the tensors have their defaults.

    Attributes
    ----------
    results
        The arrays that it returns.
    general
        The call with all arguments.
    fast
        The call with the tensors alone; None if there is none.
    defaults
        The other arguments with their defaults, which tell which of the two is made. None: one
        has no default, so that the fast path is never taken.
    rewording
        How errors are raised; None: as they are.
    """

    results: tuple[Value, ...]
    general: KernelCall
    fast: KernelCall | None = None
    defaults: tuple[tuple[Value, Any], ...] | None = ()
    rewording: TranslateErrors | None = None

    @property
    def casts(self) -> bool:
        """Whether the kernel is given arrays of another dtype than the arguments have."""
        return any([isinstance(each, CastArray) for each in self.general.arguments])

    def print(self, to: Printer) -> None:
        results = self.results
        if self.fast is None or self.defaults is None:
            lines = self.general.lines(to, results)
        elif not self.defaults:
            lines = self.fast.lines(to, results)
        else:
            tests = [_test(to.name(value), default) for value, default in self.defaults]
            lines = [
                f"if {' and '.join(tests)}:",
                *[f"    {line}" for line in self.fast.lines(to, results)],
                "else:",
                *[f"    {line}" for line in self.general.lines(to, results)],
            ]
        if self.rewording is not None:
            lines = self.rewording.around(to, lines)
        to.extend(lines)


def _test(name: str, default: object) -> str:
    if default is None or isinstance(default, bool):
        return f"{name} is {default}"
    return f"{name} == {default!r}"

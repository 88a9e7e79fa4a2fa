"""Calling a tensor kernel, as PyTorch does, and checking what comes back; running steps in another
state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail_kernel import bump_version, set_state, state, tensor_class

from ..fake_context import FakeImplCtx, get_ctx, set_ctx
from ..plan import Around, Step, Value

if TYPE_CHECKING:
    from ..printer import Printer


class CallTensorKernel(Step):
    """Call a kernel with every argument.

    Attributes
    ----------
    first
        What it is given before them, with names for the text.
    """

    kernel: Callable[..., Any]
    first: tuple[tuple[str, Any], ...]
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    result: Value
    calls_operators: ClassVar[bool] = True

    def print(self, to: Printer) -> None:
        given = [to.bind(name, bound) for name, bound in self.first]
        given += [to.name(each) for each in self.arguments]
        given += [to.by_name(name, to.name(each)) for name, each in self.keywords]
        kernel = to.bind("kernel", self.kernel)
        to.add(f"{to.name(self.result)} = {kernel}({', '.join(given)})")


class CallWithoutDefaults(Step):
    """Call a kernel without arguments that equal their defaults, so that its own defaults apply."""

    kernel: Callable[..., Any]
    first: tuple[tuple[str, Any], ...]
    strip: Callable[..., Any]
    arguments: tuple[Value, ...]
    result: Value
    calls_operators: ClassVar[bool] = True

    def print(self, to: Printer) -> None:
        args, kwargs = to.scratch("args"), to.scratch("kwargs")
        values = ", ".join([to.name(each) for each in self.arguments])
        to.add(f"{args}, {kwargs} = {to.bind('stripped', self.strip)}({values})")
        first = "".join([f"{to.bind(name, bound)}, " for name, bound in self.first])
        kernel = to.bind("kernel", self.kernel)
        to.add(f"{to.name(self.result)} = {kernel}({first}*{args}, **{kwargs})")


class CallForWrapped(Step):
    """Call the fallback of wrapped tensors: with the operator, the arguments in a tuple, and a
    dict of those that are keyword-only. It brings its calls to the level below itself.
    """

    kernel: Callable[..., Any]
    overload: Any
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    result: Value

    def print(self, to: Printer) -> None:
        positional = "".join([f"{to.name(each)}, " for each in self.arguments])
        keywords = ", ".join([f"{name!r}: {to.name(each)}" for name, each in self.keywords])
        given = f"{to.bind('OVERLOAD', self.overload)}, ({positional}), {{{keywords}}}"
        to.add(f"{to.name(self.result)} = {to.bind('kernel', self.kernel)}({given})")


# -- what comes back -------------------------------------------------------------------------------


class CheckTensor(Step):
    """Check that a result is a tensor."""

    result: Value
    checked: Callable[..., Any]

    def print(self, to: Printer) -> None:
        result, checked = to.name(self.result), to.bind("checked", self.checked)
        to.add(f"if {result}.__class__ is not {to.bind('Tensor', tensor_class())}:")
        to.add(f"    {result} = {checked}({result})")


class CheckReturns(Step):
    """Check a result against the returns of the schema."""

    result: Value
    checked: Callable[..., Any]

    def print(self, to: Printer) -> None:
        result = to.name(self.result)
        to.add(f"{result} = {to.bind('checked', self.checked)}({result})")


class CheckIdentity(Step):
    """Check that a kernel returned exactly the tensors that it wrote.

    Attributes
    ----------
    written
        Pairs of a result's index and the argument that it must be.
    is_only
        Whether there is one result, returned without a tuple.
    """

    result: Value
    written: tuple[tuple[int, Value], ...]
    is_only: bool
    wrong_identity: Callable[..., Exception]

    def print(self, to: Printer) -> None:
        result = to.name(self.result)
        same = " and ".join(
            [
                f"{result if self.is_only else f'{result}[{number}]'} is {to.name(argument)}"
                for number, argument in self.written
            ]
        )
        to.add(f"if not ({same}):")
        to.add(f"    raise {to.bind('wrong_identity', self.wrong_identity)}()")


class CheckMeta(Step):
    """Check that the tensors among the results of a fake kernel have no data."""

    result: Value
    check: Callable[..., None]

    def print(self, to: Printer) -> None:
        to.add(f"{to.bind('check_meta', self.check)}({to.name(self.result)})")


class CheckAliases(Step):
    """Check that the results of a kernel share no memory with its arguments.

    Attributes
    ----------
    is_one_tensor
        Whether result and arguments are single tensors. A new one has no storage object yet, so
        that in the common case one look at each suffices.
    """

    result: Value
    tensors: tuple[Value, ...]
    check: Callable[..., None]
    is_one_tensor: bool

    def print(self, to: Printer) -> None:
        result, names = to.name(self.result), [to.name(each) for each in self.tensors]
        given = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
        check = f"{to.bind('check_aliases', self.check)}({result}, {given})"
        if not self.is_one_tensor:
            to.add(check)
            return
        tests = [f"{result} is None or {result}._storage is not None"]
        tests += [f"{result} is {name}" for name in names]
        to.extend((f"if {' or '.join(tests)}:", f"    {check}"))


# -- steps around others ---------------------------------------------------------------------------


class WithFakeContext(Around):
    """Run steps with the context of a fake kernel."""

    context: FakeImplCtx

    def print(self, to: Printer) -> None:
        outer, context = to.scratch("outer"), to.bind("CONTEXT", self.context)
        to.add(f"{outer} = {to.bind('get_ctx', get_ctx)}()")
        with to.block("try:"):
            to.add(f"{to.bind('set_ctx', set_ctx)}({context})")
            to.print(self.steps)
        with to.block("finally:"):
            to.add(f"{to.bind('set_ctx', set_ctx)}({outer})")


class InState(Around):
    """Run steps in a dispatch state that follows from the present one.

    Attributes
    ----------
    transition
        Function of a state.
    """

    transition: Callable[[int], int]

    def chosen(self, to: Printer) -> str:
        """Return the text of the transition of a call."""
        return to.bind("below", self.transition)

    def print(self, to: Printer) -> None:
        before, below = to.scratch("state_before"), self.chosen(to)
        set_to = to.bind("set_state", set_state)
        to.add(f"{before} = {to.bind('state', state)}()")
        with to.block("try:"):
            to.add(f"{set_to}({below}({before}))")
            to.print(self.steps)
        with to.block("finally:"):
            to.add(f"{set_to}({before})")


class BumpVersion(Step):
    """Increment the version of an argument before a write.

    Attributes
    ----------
    kind
        How its type is spelled: ``Tensor``, ``Tensor?``, or that of a list.
    """

    written: Value
    kind: str

    def print(self, to: Printer) -> None:
        name, bump = to.name(self.written), to.bind("bump_version", bump_version)
        match self.kind:
            case "Tensor":
                to.add(f"{bump}({name})")
            case "Tensor?":
                to.extend((f"if {name} is not None:", f"    {bump}({name})"))
            case _:
                each = to.scratch("each")
                to.add(f"for {each} in {name}:")
                to.extend((f"    if {each} is not None:", f"        {bump}({each})"))

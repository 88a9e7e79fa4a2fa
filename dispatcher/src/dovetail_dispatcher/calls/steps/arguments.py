"""What routes do with arguments before they reach an array kernel: move, promote, unwrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..plan import Expression, Step, Value

if TYPE_CHECKING:
    from ..printer import Printer


class MoveToBackend(Step):
    """Replace a tensor, or a list, by its counterpart on the backend of the kernel."""

    value: Value
    on_backend: Callable[..., Any]

    def print(self, to: Printer) -> None:
        name = to.name(self.value)
        to.add(f"{name} = {to.bind('on_backend', self.on_backend)}({name})")


class PromoteOperands(Step):
    """Compute the promoted dtype of a call, if the key does not determine it, and cast the
    operands.

    Attributes
    ----------
    promote
        Returns the arrays of the operands and the dtype.
    unchanged
        The dtypes by their bits of which `promote` casts no operands if all are of one, as far as
        it has met them; None if it may cast them.
    """

    operands: tuple[Value, ...]
    promote: Callable[..., Any]
    unchanged: dict[int, Any] | None
    arrays: tuple[Value, ...]
    computed: Value

    def print(self, to: Printer) -> None:
        operands = ", ".join([to.name(each) for each in self.operands])
        arrays = "".join([f"{to.name(each)}, " for each in self.arrays])
        promote = to.bind("promote", self.promote)
        to.add(f"({arrays}), {to.name(self.computed)} = {promote}({operands})")


class CheckOperand(Step):
    """Check the dtype of an operand that is not part of the key."""

    operand: Value
    check: Callable[[Any], None]

    def print(self, to: Printer) -> None:
        to.add(f"{to.bind('check_operand', self.check)}({to.name(self.operand)})")


class NumberToTensor(Step):
    """Replace a Python number by a cached 0-d tensor."""

    value: Value
    known: dict[Any, Any]
    remember: Callable[..., Any]

    def print(self, to: Printer) -> None:
        name, number = to.name(self.value), to.scratch("number")
        known, remember = to.bind("numbers", self.known), to.bind("remember", self.remember)
        to.extend((f"{number} = {name}", f"{name} = {known}.get({number})"))
        to.extend((f"if {name} is None:", f"    {name} = {remember}({number})"))


# -- operands of a kernel --------------------------------------------------------------------------


class ArrayOf(Expression):
    """The array of a tensor; None for None, and a list for a list.

    Attributes
    ----------
    kind
        How the type of the argument is spelled: ``Tensor``, ``Tensor?``, ``Tensor[]``,
        ``Tensor?[]``.
    """

    value: Value
    kind: str = "Tensor"

    @property
    def is_one(self) -> bool:
        """Whether it is always one array."""
        return self.kind == "Tensor"

    def text(self, to: Printer) -> str:
        name = to.name(self.value)
        match self.kind:
            case "Tensor":
                return f"{name}.array"
            case "Tensor?":
                return f"(None if {name} is None else {name}.array)"
            case "Tensor[]":
                return f"[{(each := to.scratch('each'))}.array for {each} in {name}]"
        each = to.scratch("each")
        return f"[None if {each} is None else {each}.array for {each} in {name}]"


class CastArray(Expression):
    """The array of a tensor, cast to a dtype of the backend."""

    value: Value
    cast: Callable[..., Any]
    native: Any

    def text(self, to: Printer) -> str:
        cast, native = to.bind("cast", self.cast), to.bind("computed_native", self.native)
        return f"{cast}({to.name(self.value)}.array, {native})"


class NativeDtype(Expression):
    """The backend's dtype for a dtype that is an argument; None for None."""

    value: Value
    native_dtypes: Any
    optional: bool

    def text(self, to: Printer) -> str:
        name = to.name(self.value)
        native = f"{to.bind('native_dtypes', self.native_dtypes)}[{name}]"
        return f"(None if {name} is None else {native})" if self.optional else native

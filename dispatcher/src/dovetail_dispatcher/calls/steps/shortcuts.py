"""The step that takes a shortcut."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..plan import Expression, Operand, RoutePlan, Step, Value

if TYPE_CHECKING:
    from ..printer import Printer


class ConstantOperand(Expression):
    """An object that is the same in every call."""

    value: Any

    def text(self, to: Printer) -> str:
        return to.bind("constant", self.value)


class TakeShortcut(Step):
    """Run the call by another plan if some arguments have their defaults, and the array of a tensor
    is in C order; else run steps.

    Attributes
    ----------
    tensor
        The first argument.
    defaults
        Arguments with their defaults.
    is_contiguous
        Tells whether an array is in C order; None: it need not be.
    other_ndim
        The number of dimensions that the tensor must not have; -1: it may have any.
    ndims
        Tensors with the numbers of dimensions that they must have.
    plan
        The whole call by a shortcut, a route of its own. None: its result is the tensor.
    build
        Makes a route of `plan`.
    given
        The arguments of that route.
    result
        The result of the call, which `otherwise` leaves too.
    """

    tensor: Value
    defaults: tuple[tuple[Value, Any], ...]
    is_contiguous: Callable[[Any], bool] | None
    other_ndim: int
    ndims: tuple[tuple[Value, int], ...]
    plan: RoutePlan | None
    build: Callable[[RoutePlan], Callable[..., Any]]
    given: tuple[Operand, ...]
    result: Value
    otherwise: tuple[Step, ...]

    @property
    def calls_operators(self) -> bool:  # type: ignore[override]
        """Whether a step of the other way may call operators, as the kernel does that it calls."""
        return any([step.calls_operators for step in self.otherwise])

    def print(self, to: Printer) -> None:
        tensor, tests = to.name(self.tensor), []
        for value, default in self.defaults:
            is_constant = default is None or isinstance(default, bool)
            test = f"is {default}" if is_constant else f"== {to.bind('default', default)}"
            tests.append(f"{to.name(value)} {test}")
        if self.other_ndim >= 0:
            tests.append(f"len({tensor}.array.shape) != {self.other_ndim}")
        tests += [f"len({to.name(each)}.array.shape) == {count}" for each, count in self.ndims]
        if self.is_contiguous is not None:
            tests.append(f"{to.bind('is_contiguous', self.is_contiguous)}({tensor}.array)")
        made = tensor
        if self.plan is not None:
            given = ", ".join([each.text(to) for each in self.given])
            made = f"{to.bind('shortcut', self.build(self.plan))}({given})"
        with to.block(f"if {' and '.join(tests)}:"):
            to.add(f"{to.name(self.result)} = {made}")
        with to.block("else:"):
            to.print(self.otherwise)

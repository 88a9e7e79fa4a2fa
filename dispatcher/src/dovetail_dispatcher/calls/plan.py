"""RoutePlan: what a route does, as data. Layers take a plan and return a plan; the printer makes
text of it.

The plan of ``x + y`` for two float32 tensors on the CPU, of which one may require grad, is::

    RoutePlan(
        op=aten::add.Tensor,
        steps=(
            FindEdge(self, self_edge),
            FindEdge(other, other_edge),
            CallKernel(
                results=(array,),
                general=KernelCall("kernel", add, (self.array, other.array), alpha=alpha),
                fast=KernelCall("fast_path", numpy.add, (self.array, other.array)),
                defaults=((alpha, 1),),
            ),
            WrapArray(array, result, Signature(GRAD | NORMAL | CPU, float32)),
            RecordNode(AddBackward0, (self_edge, other_edge), makes=(result,), ...),
        ),
        results=(result,),
    )

Without autograd it has the two steps in the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from ..record import Record, shown
from ..schema import Argument
from ..table.operator import Operator

if TYPE_CHECKING:
    from .printer import Printer


class Value(NamedTuple):
    """Something that a call has: an argument of the operator, or what a step makes.

    Attributes
    ----------
    name
        Its name in the plan. The printer chooses the one in the text.
    is_argument
        Whether it is an argument: a value that a step makes may have the same name.
    """

    name: str
    is_argument: bool = False

    def text(self, to: Printer) -> str:
        """Return the name of the value in the text."""
        return to.name(self)

    def __repr__(self) -> str:
        return self.name


def argument_value(argument: Argument) -> Value:
    """Return the value that an argument of the schema is in a plan."""
    return _argument_value(argument.name)


@lru_cache(maxsize=4096)
def _argument_value(name: str) -> Value:
    return Value(name, True)


class Expression(Record):
    """Something made of a value, such as the array of a tensor."""

    def text(self, to: Printer) -> str:
        """Return the expression as source."""
        raise NotImplementedError


Operand: TypeAlias = Value | Expression
"""What a step gives to a function."""


class Step(Record):
    """One step of a route. What it does is in its fields; it prints itself.

    Attributes
    ----------
    calls_operators
        Whether it runs a function that may itself call operators. An array kernel does not.
    """

    calls_operators: ClassVar[bool] = False

    def print(self, to: Printer) -> None:
        """Add the lines of the step."""
        raise NotImplementedError


class Around(Step):
    """A step with other steps inside, such as those that run in another dispatch state."""

    steps: tuple[Step, ...]

    @property
    def calls_operators(self) -> bool:  # type: ignore[override]
        """Whether an inner step may call operators."""
        return any([step.calls_operators for step in self.steps])


class CallFunction(Step):
    """Pass all arguments to `function`, and return its result.

    A route that consists of this step alone *is* the function.
    """

    function: Callable[..., Any]
    arguments: tuple[Value, ...]
    result: Value
    calls_operators: ClassVar[bool] = True

    def print(self, to: Printer) -> None:
        given = ", ".join([to.name(each) for each in self.arguments])
        to.add(f"{to.name(self.result)} = {to.bind('kernel', self.function)}({given})")


AnyStep = TypeVar("AnyStep", bound=Step)


class RoutePlan(Record):
    """What a route does.

    Attributes
    ----------
    op
        The operator.
    steps
        What is done, in order.
    results
        What is returned: nothing, one value, or a tuple of several.
    """

    op: Operator
    steps: tuple[Step, ...]
    results: tuple[Value, ...] = ()

    def beginning_with(self, *steps: Step) -> RoutePlan:
        """Return the plan with `steps` before its own."""
        return self.replaced(steps=(*steps, *self.steps))

    def ending_with(self, *steps: Step) -> RoutePlan:
        """Return the plan with `steps` behind its own."""
        return self.replaced(steps=(*self.steps, *steps))

    def each(self, kind: type[AnyStep]) -> list[AnyStep]:
        """Return the steps of a class, not those inside others."""
        return [step for step in self.steps if isinstance(step, kind)]

    @property
    def calls_operators(self) -> bool:
        """Whether a step may call operators."""
        return any([step.calls_operators for step in self.steps])

    def __repr__(self) -> str:
        steps = "".join([f"        {step!r},\n" for step in self.steps])
        return (
            f"RoutePlan(\n    op={self.op.qualified_name},\n    steps=(\n{steps}    ),\n"
            f"    results={shown(self.results)},\n)"
        )

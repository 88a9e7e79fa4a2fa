"""Records of a derivative, as the reader of its entry makes them and writers turn them into
code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..errors import Location
from .expressions import Rewritten
from .native_functions import NativeFunction


@dataclass(frozen=True)
class SavedValue:
    """One value that a node saves; the fields are those of
    `dovetail_dispatcher.table.derivative_formula.Saved`.
    """

    name: str
    kind: str
    optional: bool = False
    needed_by: tuple[str, ...] = ()
    expression: str = ""
    output: int = 0


@dataclass(frozen=True)
class InputFormula:
    """The formula of one input, or the joint formula of several."""

    inputs: tuple[str, ...]
    rewritten: Rewritten
    where: Location


@dataclass(frozen=True)
class ForwardFormula:
    """The forward formula of one result.

    Attributes
    ----------
    output
        Which result.
    kind
        ``'linear'`` (the operator itself, on the tangents), ``'elementwise'`` (the formula of the
        only input, which is its own transpose), or ``'expression'``.
    rewritten
        What gives the tangent; None for ``'linear'``.
    """

    output: int
    kind: str
    rewritten: Rewritten | None = None


@dataclass(frozen=True)
class Derivative:
    """The derivative of one operator.

    Attributes
    ----------
    function
        The operator.
    node
        Name of the node class, ``MulBackward0``.
    inputs
        Differentiable arguments in schema order.
    list_inputs
        The differentiable arguments that are lists of tensors.
    formulas
        One per input or group of inputs, in the order of the file.
    saved
        The values that the formulas read.
    gradients
        The parameters of the bodies for their gradients: ``grad``, ``*grads``, or one name per
        result.
    output_differentiability
        Whether each result is differentiable; None if all are.
    forward
        Forward formulas, at most one per result.
    refused
        Tensor arguments that must not require grad, since they have neither a formula nor the mark
        ``non_differentiable``.
    shares
        Operator whose bodies this operator uses, such as a view for its copy. None if it has its
        own bodies.
    """

    function: NativeFunction
    node: str
    inputs: tuple[str, ...]
    list_inputs: tuple[str, ...]
    formulas: tuple[InputFormula, ...]
    saved: tuple[SavedValue, ...]
    gradients: tuple[str, ...]
    output_differentiability: tuple[bool, ...] | None
    forward: tuple[ForwardFormula, ...]
    refused: tuple[str, ...]
    where: Location
    shares: NativeFunction | None = None

    @property
    def has_array_body(self) -> bool:
        """Whether every formula is valid for arrays."""
        return all([formula.rewritten.arrays for formula in self.formulas])

    @property
    def has_real_body(self) -> bool:
        """Whether there is an array body with a simpler form for real arguments and results."""
        function = self.function
        keeps_real = function.policies.shape == "matmul" or (
            function.policies.shape == "elementwise"
            and function.promotion in ("same", "exact", "operands", "int_to_float")
        )
        conjugates = any(
            [formula.rewritten.real_text != formula.rewritten.text for formula in self.formulas]
        )
        return self.has_array_body and keeps_real and conjugates


def with_copies(
    derivatives: Iterable[Derivative], functions: Iterable[NativeFunction]
) -> list[Derivative]:
    """Return `derivatives`, and behind that of a view the one of the operator that copies what it
    shows: the same formulas.
    """
    copies = {function.copy_of: function for function in functions if function.copy_of}
    found: list[Derivative] = []
    for derivative in derivatives:
        view = derivative.function
        found.append(derivative)
        if (copy := copies.get(view.name)) is not None:
            node = f"{derivative.node}_copy"
            found.append(replace(derivative, function=copy, node=node, shares=view))
    return found

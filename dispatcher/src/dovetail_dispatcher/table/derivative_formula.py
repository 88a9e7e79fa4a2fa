"""Derivative formulas: plain records in the operator table, registered without autograd and carried
out by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

SavedKind: TypeAlias = Literal["input", "result", "list", "value"]


class Saved(NamedTuple):
    """One value that a formula saves in forward for backward, in the slot ``_<name>`` of the node.

    Attributes
    ----------
    name
        The operator's argument or result, or an identifier for metadata (``self_shape``).
    kind
        ``'input'``: a Tensor (or ``Tensor?``) argument; the node stores the tensor, and its version
        in ``_<name>_version``. ``'result'``: a result; the node stores ``(array, version counter,
        version)`` and creates an equal tensor on demand, since a reference to the tensor would be a
        cycle. ``'list'``: a ``Tensor[]`` argument; the node stores a tuple of tensors, and a tuple
        of versions in ``_<name>_version``. ``'value'``: anything else.
    needed_by
        The inputs whose gradients read the value: it is saved only if one of them requires grad.
        Empty: always.
    expression
        For ``'value'``: a Python expression of the operator's arguments and ``result``, such as
        ``self.array.shape``. Default: the argument `name`.
    output
        For ``'result'``: which of the operator's results.
    """

    name: str
    kind: SavedKind
    needed_by: tuple[str, ...] = ()
    expression: str = ""
    output: int = 0


class Forward(NamedTuple):
    """The computation of the tangent of one result from the tangents of the inputs.

    Attributes
    ----------
    output
        Which result.
    kind
        ``'linear'``: the operator itself, applied to the tangents. ``'elementwise'``: the conjugate
        of `function` of the conjugate of the tangent of the only differentiable input.
        ``'expression'``: the result of `function`.
    function
        Its arguments are those in `parameters`; for ``'elementwise'``, the tangent precedes them.
    parameters
        Names of arguments (``self``, or ``self_p``), of their tangents (``self_t``), and of
        results.
    """

    output: int
    kind: Literal["linear", "elementwise", "expression"]
    function: Callable[..., Any] | None = None
    parameters: tuple[str, ...] = ()


class Formula:
    """The derivative of one operator overload.

    Attributes
    ----------
    operator
        Qualified name with overload, ``aten::mul.Tensor``.
    name
        Name of the node class, ``MulBackward0``.
    inputs
        The differentiable arguments, in schema order. Node edges are in this order; a ``Tensor[]``
        argument takes as many edges as it has tensors.
    saved
        The values that the bodies read from the node.
    tensors
        ``tensors(node, *grads)``: gradients over tensors, one entry per name in `inputs` (a list
        for a ``Tensor[]``), None for an input that needs no gradient. Undefined incoming gradients
        are None.
    arrays
        ``arrays(node, k, edges, *grads)``: the same over the backend's arrays with the array
        kernels `k`, for the edges of the node that are not None; or None.
    real_arrays
        `arrays` for real numbers, without conjugates; None if `arrays` has no conjugates.
    output_differentiability
        Which results are differentiable; None: all that are floating point or complex.
    where
        Where the formula is defined, for error messages.
    forward
        Forward formulas, at most one per result; results without one get their tangents from
        `tensors`.
    refused
        Tensor arguments that must not require grad, since their derivatives are unknown.
    has_arrays
        Whether there is `arrays`, which need not be compiled to know.
    """

    __slots__ = (
        "arrays",
        "forward",
        "has_arrays",
        "inputs",
        "name",
        "operator",
        "output_differentiability",
        "real_arrays",
        "refused",
        "saved",
        "tensors",
        "where",
    )

    def __init__(
        self,
        operator: str,
        name: str,
        inputs: tuple[str, ...],
        saved: tuple[Saved, ...] = (),
        tensors: Callable[..., object] | None = None,
        arrays: Callable[..., object] | None = None,
        real_arrays: Callable[..., object] | None = None,
        output_differentiability: tuple[bool, ...] | None = None,
        where: str = "",
        forward: tuple[Forward, ...] = (),
        refused: tuple[str, ...] = (),
    ) -> None:
        self.operator = operator
        self.name = name
        self.inputs = inputs
        self.saved = saved
        self.tensors = tensors
        self.arrays = arrays
        self.real_arrays = real_arrays
        self.output_differentiability = output_differentiability
        self.where = where
        self.forward = forward
        self.refused = refused
        self.has_arrays = arrays is not None


class PythonFormula(NamedTuple):
    """A derivative written by a user, as passed to `register_autograd`.

    Attributes
    ----------
    operator
        Qualified name with overload, ``mylib::sin.default``.
    backward
        ``backward(ctx, *grads)``: one gradient (or None) per argument of the operator.
    setup_context
        ``setup_context(ctx, inputs, output)``, called with keywords after forward, also with
        ``keyword_only_inputs`` if the schema has keyword-only arguments; None if backward needs no
        saved values.
    where
        Where the formula was registered, for error messages.
    """

    operator: str
    backward: Callable[..., object]
    setup_context: Callable[..., None] | None = None
    where: str = ""

    @property
    def name(self) -> str:
        """Name of the node class, without the suffix ``Backward``."""
        return "GeneratedBackwardFor_" + self.operator.replace("::", "_").replace(".", "_")

"""`Function` on wrapped tensors: its own rule for each transform, and a node for gradients of
wrapped tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail_kernel import TensorBase, set_state, state
from dovetail_kernel.signature import GRAD, NO_GRAD, WRAPPED_BIT

from ...graph.autograd_meta import gradient_edge
from ...graph.engine_ops import filled_like
from ...graph.function_node import DIFFERENTIABLE, BackwardCFunction, new_node
from ...graph.node import next_sequence_nr
from ...recording.error_nodes import Error
from ...recording.function import Function
from ...recording.function_outputs import wrap_outputs
from ..pytree import flatten
from .arrays import is_wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .levels import Level


class MissingRule(RuntimeError):
    """Error of a `Function` that lacks what a transform needs of it."""


def call_wrapped_function(
    cls: type[Function], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Any:
    """Return ``cls.apply(*args, **kwargs)`` for arguments some of which are wrapped. Raises
    RuntimeError if gradients of wrapped tensors are to be recorded, and the Function has no
    `setup_context`.
    """
    inputs = (*args, *kwargs.values())
    tensors = [value for value in flatten(inputs)[0] if isinstance(value, TensorBase)]
    levels: list[Level] = [each.array.level for each in tensors if each._signature & WRAPPED_BIT]
    level = max(levels, key=lambda each: each.depth)
    before = state()
    edges = _edges(inputs)
    recording = not before & NO_GRAD and any([edge is not None for edge in edges])
    missing = (
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
        "...), it must "
        f"override the setup_context staticmethod: split {cls.__name__}.forward(ctx, ...) into "
        "forward(...) and "
        "setup_context(ctx, inputs, output)."
    )
    if recording and not cls._has_setup_context and level.transforms_function:
        raise MissingRule(missing)
    outputs = level.run_outside(level.call_function, cls, args, kwargs)
    if not recording:
        return outputs
    if not cls._has_setup_context:
        # Its context holds primals: the first derivatives are to be had of them.
        return undifferentiable(
            outputs, tensors, f"{missing} For the gradient of the primal: unpack_dual(y).primal."
        )
    node = _set_up(cls, inputs, edges, outputs)
    node.sequence_nr = next_sequence_nr()
    return wrap_outputs(node, outputs, inputs, True)


def undifferentiable(outputs: object, inputs: Sequence[TensorBase], message: str) -> Any:
    """Return `outputs` with a graph that raises the error `message` when it is differentiated, if
    one is recorded of `inputs`.
    """
    values = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    made = [value for value in values if is_wrapped(value) and value._signature & DIFFERENTIABLE]
    if state() & NO_GRAD or not any([each._signature & GRAD for each in inputs]):
        return outputs
    node = Error(message, inputs, made)
    for output_nr, value in enumerate(made):
        value._grad_fn = node
        value.output_nr = output_nr
        value._signature |= GRAD
    return outputs


class Keeping:
    """Stands for a Function in ``apply``, and keeps the context of the call."""

    def __init__(self, function: type[Function]) -> None:
        self._function = function
        self.node: BackwardCFunction

    def _backward_cls(self) -> BackwardCFunction:
        self.node = new_node(self._function._backward_cls)
        return self.node

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def apply_keeping(
    cls: type[Function], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Any, BackwardCFunction]:
    """Return ``cls.apply(*args, **kwargs)``, and the context of the call.

    Where the arguments are wrapped by a transform further out, the call is made of others, with
    contexts of their own: this one is set up by itself.
    """
    inputs = (*args, *kwargs.values())
    edges = _edges(inputs)
    keeping: Any = Keeping(cls)
    apply: Any = Function.apply
    outputs = apply.__func__(keeping, *args, **kwargs)
    if cls._has_setup_context and any([is_wrapped(each) for each in flatten(inputs)[0]]):
        return outputs, _set_up(cls, inputs, edges, outputs)
    return outputs, keeping.node


def _edges(inputs: tuple[object, ...]) -> list[Any]:
    """Return the gradient edge of each tensor among the arguments of a call."""
    return [
        gradient_edge(each) if each._signature & GRAD else None
        for each in inputs
        if isinstance(each, TensorBase)
    ]


def _set_up(
    cls: type[Function], inputs: tuple[object, ...], edges: Sequence[Any], outputs: object
) -> BackwardCFunction:
    """Return a context that the Function set up for a call with these inputs and outputs."""
    node = new_node(cls._backward_cls)
    node._no_tensors = [
        index for index, value in enumerate(inputs) if not isinstance(value, TensorBase)
    ]
    node.next_edges = tuple(edges)
    before = state()
    try:
        set_state(before | NO_GRAD)
        cls.setup_context(node, inputs, outputs)
    finally:
        set_state(before)
    return node


def jvp_of_function(
    cls: type[Function],
    node: BackwardCFunction,
    primals: Sequence[object],
    tangents: Sequence[TensorBase | None],
    outputs: Sequence[object],
) -> Sequence[Any]:
    """Return the tangents of the outputs of a call: what the `jvp` of the Function says.

    Parameters
    ----------
    node
        The context of the call.
    primals
        Every argument of the call.
    tangents
        Their tangents. Zeros stand for missing ones of tensors that can have some, unless the
        Function said ``set_materialize_grads(False)``.
    outputs
        What the call returned.

    Raises
    ------
    NotImplementedError
        If the Function has no `jvp`.
    RuntimeError
        If that returns another number of tangents, or one of an output that has none.
    """
    given = [
        filled_like(primal, 0)
        if tangent is None
        and node.materialize_grads
        and isinstance(primal, TensorBase)
        and primal._signature & DIFFERENTIABLE
        else tangent
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    kept = node._entries
    saved = node.saved_for_forward or node.to_save
    if saved:
        node._entries = [
            None if each is None else node._entry(index, each, ())
            for index, each in enumerate(saved)
        ]
    try:
        returned = cls.jvp(node, *given)
    finally:
        node._entries = kept
    found = returned if isinstance(returned, (tuple, list)) else (returned,)
    if len(found) != len(outputs):
        raise RuntimeError(
            f"function {node.name()} returned an incorrect number of forward gradients (expected "
            f"{len(outputs)}, got "
            f"{len(found)}). Return one tangent, or None, per output of {cls.__name__}.forward."
        )
    constants = node.non_differentiable or ()
    for place, (each, output) in enumerate(zip(found, outputs, strict=True)):
        if each is not None and not isinstance(each, TensorBase):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a {type(each).__name__}: expected a Tensor or None "
                "per output."
            )
        has_tangent = isinstance(output, TensorBase) and output._signature & DIFFERENTIABLE
        if each is not None and (not has_tangent or any([output is one for one in constants])):
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {place}, but the corresponding "
                "forward output is not a differentiable Tensor. You should return None at that "
                f"position instead: in {cls.__name__}.jvp."
            )
    return found

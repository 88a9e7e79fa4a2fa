"""The interpreter of calls on dual tensors: the call on the primals, and the tangents of its
results.

Tangents come from the forward formula of the operator (`Forward` records); without one, from its
backward formula by the double-backward trick: the gradient of a gradient, taken with respect to the
gradient that it began with, is the product of the Jacobian with whatever that second gradient began
with. An operator without any formula is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, TypeGuard

from dovetail_dispatcher import OpOverload
from dovetail_kernel import TensorBase, set_state, share_version, state
from dovetail_kernel.keys import STATE, inside_transform, outside_inference_mode
from dovetail_kernel.signature import GRAD, NO_GRAD
from dovetail_kernel.tensor import PrimalCounter, next_transform

from ...engine.active_levels import LEVELS
from ...graph.autograd_meta import gradient_edge
from ...graph.engine_ops import cast, filled_like, operator
from ..wrapped.arrays import is_wrapped, wrapped
from ..wrapped.captured_writes import as_input
from ..wrapped.levels import Level
from ..wrapped.wrapped_calls import (
    bound_arguments,
    decomposition,
    map_tensors,
    numbers_as_tensors,
    present,
    run_decomposed,
)
from ..wrapped.wrapped_functions import apply_keeping, jvp_of_function
from ..wrapped.written_tensors import place_in_graph
from .duals import DualArray, batches, cut, is_of_memory, leads_elsewhere, same_layout
from .forward_plans import plan_of
from .inplace_duals import write_dual
from .tangents import TangentCall, conformed, is_differentiable, unsupported


class JvpLevel(Level):
    """One forward-mode differentiation in force. What is left of it afterwards are the primals."""

    variables: ClassVar[tuple[ContextVar[Any], ...]] = (STATE, LEVELS)

    def change(self) -> Any:
        """Become the innermost level, with inference mode off; captured tensors may not be written
        any more.
        """
        outside = outside_inference_mode(state()) if self.transforms_function else state()
        set_state(outside)
        super().change()
        if self.transforms_function:
            self.number = next_transform()
            set_state(inside_transform(outside) | outside & NO_GRAD)
        return self

    def results(self, tensors: Sequence[TensorBase]) -> list[TensorBase]:
        """Return physical results without a graph that leads to nothing but leaves of the
        inside.
        """
        if not self.leaves or leads_elsewhere(tensors, self.leaves):
            return list(tensors)
        return [cut(each) if each.requires_grad else each for each in tensors]

    def dual(self, primal: TensorBase, tangent: TensorBase) -> DualArray:
        """Return the array of a dual tensor."""
        return DualArray(primal, tangent, self)

    def primal(self, tensor: TensorBase) -> TensorBase:
        """Return `tensor` without what this level knows about it."""
        if is_wrapped(tensor) and tensor.array.level is self:
            inside: TensorBase = tensor.array.physical
            return inside
        return tensor

    def tangent(self, tensor: TensorBase) -> TensorBase | None:
        """Return the tangent of `tensor` at this level, None if it has none."""
        if (
            is_wrapped(tensor)
            and tensor.array.level is self
            and isinstance(tensor.array, DualArray)
        ):
            return tensor.array.tangent
        return None

    def interpret(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, object]) -> Any:
        """Run the call on the primals, and give its results their tangents."""
        if self.is_alive and (plan := plan_of(op)) is not None:
            return plan.run(self, args, kwargs)
        args = numbers_as_tensors(op._schema, args)
        physical_args, physical_kwargs = map_tensors(self.primal, args, kwargs)
        if not self.is_alive:
            return present(op, args, kwargs, op(*physical_args, **physical_kwargs))
        formula = op._operator.derivative
        if formula is None and (kernel := decomposition(op)) is not None:
            return run_decomposed(self, kernel, op, args, kwargs)
        schema = op._schema
        given = bound_arguments(schema, args, kwargs)
        if any([argument.is_out for argument in schema.arguments]):
            unsupported(op, "it is an out= function")
        if schema._is_view_op() or is_of_memory(op._operator):
            # First, since the views are to show the tangents that stay.
            for value in given.values():
                if isinstance(value, TensorBase) and isinstance(self.tangent(value), TensorBase):
                    value.array.tangent = same_layout(value.array.tangent, value.array.physical)
        call = TangentCall(self, op, formula, given)
        if any([argument.is_write for argument in schema.arguments]):
            outputs = call.in_place(physical_args, physical_kwargs)
        else:
            outputs = call.run(physical_args, physical_kwargs)
        return present(op, args, kwargs, outputs)

    def call_function(self, cls: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Run a `Function` on the primals, and its `jvp` on the tangents."""
        physical_args, physical_kwargs = map_tensors(self.primal, args, kwargs)
        if not self.is_alive:
            return cls.apply(*physical_args, **physical_kwargs)
        inputs = (*args, *kwargs.values())
        places = {id(value): place_in_graph(value) for value in filter(_is_tensor, inputs)}
        outputs, node = apply_keeping(cls, physical_args, physical_kwargs)
        given = [self.tangent(value) if isinstance(value, TensorBase) else None for value in inputs]
        if not any([tangent is not None for tangent in given]):
            return outputs
        several = isinstance(outputs, (tuple, list))
        values = list(outputs) if several else [outputs]
        primals = (*physical_args, *physical_kwargs.values())
        written = {id(value) for value in node.dirty_tensors or ()}
        versions = {
            place: tangent._version
            for place, (primal, tangent) in enumerate(zip(primals, given, strict=True))
            if tangent is not None and id(primal) in written and not tangent.is_inference()
        }
        tangents = jvp_of_function(cls, node, primals, given, values)
        for place, version in versions.items():
            tangent = given[place]
            if tangent is not None and tangent._version == version:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients "
                    "inplace. If the forward is modifying an input inplace, then the jvp function "
                    f"must modify the corresponding gradient inplace: {cls.__name__}.jvp, argument "
                    f"{place}."
                )
        made = [
            self._function_output(value, tangent, node, inputs, primals, places)
            for value, tangent in zip(values, tangents, strict=True)
        ]
        return tuple(made) if several else made[0]

    def _function_output(
        self,
        value: Any,
        tangent: Any,
        node: Any,
        inputs: Sequence[Any],
        primals: Sequence[object],
        places: dict[int, Any],
    ) -> Any:
        written = [outer for outer, inner in zip(inputs, primals, strict=True) if inner is value]
        skips = any(
            [value is each for each in node.non_differentiable or ()]
        ) or not is_differentiable(value)
        if any([value is each for each in node.dirty_tensors or ()]):
            if tangent is not None:
                place = places[id(written[0])]
                write_dual(self, written[0], _checked_tangent(tangent, value), place)
            return written[0]
        if skips or tangent is None:
            return value
        if any([tangent is each for each in map(self.tangent, filter(_is_tensor, inputs))]):
            tangent = operator("clone", "default")(tangent)
        return wrapped(value, self, self.dual(value, _checked_tangent(tangent, value)))


def _is_tensor(value: object) -> TypeGuard[TensorBase]:
    return isinstance(value, TensorBase)


def _checked_tangent(tangent: TensorBase, primal: TensorBase) -> TensorBase:
    if tuple(tangent.array.shape) != tuple(primal.array.shape):
        raise different_size(primal, tangent)
    return conformed(tangent, primal)


def dual(level: JvpLevel, primal: TensorBase, tangent: TensorBase) -> TensorBase:
    """Return a view of `primal` that carries `tangent` at `level`. Raises RuntimeError for a
    tangent of another shape or device.
    """
    if tuple(tangent.array.shape) != tuple(primal.array.shape):
        raise different_size(primal, tangent)
    if tangent.device != primal.device:
        raise RuntimeError(
            f"Expected a tangent on the device of its tensor, {primal.device}, but got one on "
            f"{tangent.device}. "
            "Move it there."
        )
    if tangent.dtype is not primal.dtype:
        tangent = cast(tangent, primal.dtype)
    if is_wrapped(primal) and batches(primal) - batches(tangent):
        # A sample may write to a view of the dual tensor, and so to a part of the tangent.
        tangent = operator("add", "Tensor")(filled_like(primal, 0), tangent)
    alias = operator("alias", "default")(primal)
    if level.number:
        as_input(alias, level.number)
    return wrapped(alias, level, level.dual(alias, tangent))


def attached_dual(level: JvpLevel, primal: TensorBase, tangent: TensorBase) -> TensorBase:
    """Return what `dual` does, in the graph of `primal` itself: gradients of dual tensors are dual,
    and lead there.
    """
    made = dual(level, primal, tangent)
    made._counter = PrimalCounter(share_version(primal))
    edge = gradient_edge(made.array.physical)
    if edge is not None:
        made._grad_fn, made.output_nr = edge[0].presented(), edge[1]
        made._signature |= GRAD
    return made


def different_size(primal: TensorBase, tangent: TensorBase) -> RuntimeError:
    """Return the error for a tangent of another shape than its primal."""
    return RuntimeError(
        "Trying to set a forward gradient that has a different size than that of the original "
        "Tensor, this is not "
        f"supported. Tensor is of size {list(primal.array.shape)} while the given forward "
        "gradient is of size "
        f"{list(tangent.array.shape)}. Give a tangent of the shape of the tensor."
    )

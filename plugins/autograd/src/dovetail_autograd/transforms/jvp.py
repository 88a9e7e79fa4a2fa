"""The interpreter of calls on dual tensors: the call on the primals, and the tangents of its results.

Tangents come from the forward formula of the operator (`Forward` records); without one, from its backward formula by
the double-backward trick: the gradient of a gradient, taken with respect to the gradient that it began with, is the
product of the Jacobian with whatever that second gradient began with. An operator without any formula is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_dispatcher import registry
from dovetail_dispatcher.formula import Formula, Forward, PythonFormula
from dovetail_kernel.signature import GRAD
from dovetail_kernel.tensor_base import TensorBase

from ..autograd_meta import gradient_edge
from ..calls import cast, filled_like, operator, real
from ..function_node import DIFFERENTIABLE
from .arrays import is_wrapped, wrapped
from .duals import DualArray, cut, leads_elsewhere, same_layout
from .functions import apply_keeping, jvp_of_function
from .inplace_duals import write_dual
from .levels import Level
from .transposed import tangents_by_transposing
from .wrapped_calls import (
    bound_arguments,
    decomposition,
    map_tensors,
    numbers_as_tensors,
    present,
    run_decomposed,
)


class JvpLevel(Level):
    """One forward-mode differentiation in force. What is left of it afterwards are the primals."""

    __slots__ = ()

    def results(self, tensors: Sequence[TensorBase]) -> list[TensorBase]:
        """Return physical results without a graph that leads to nothing but leaves of the inside."""
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
        if is_wrapped(tensor) and tensor.array.level is self and isinstance(tensor.array, DualArray):
            return tensor.array.tangent
        return None

    def interpret(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the call on the primals, and give its results their tangents."""
        args = numbers_as_tensors(op._schema, args)
        physical_args, physical_kwargs = map_tensors(self.primal, args, kwargs)
        if not self.is_alive:
            return present(op, args, kwargs, op(*physical_args, **physical_kwargs))
        formula = op._operator.derivative
        if formula is None and (kernel := decomposition(op)) is not None:
            return run_decomposed(kernel, op, args, kwargs)
        schema = op._schema
        given = bound_arguments(schema, args, kwargs)
        call = _Call(self, op, formula, given)
        if any([argument.is_out for argument in schema.arguments]):
            _unsupported(op, "it is an out= function")
        if any([argument.is_write for argument in schema.arguments]):
            outputs = call.in_place(physical_args, physical_kwargs)
        elif schema._is_view_op():
            for value in given.values():
                if isinstance(value, TensorBase) and isinstance(self.tangent(value), TensorBase):
                    value.array.tangent = same_layout(value.array.tangent, value.array.physical)
            outputs = call.run(physical_args, physical_kwargs)
        else:
            outputs = call.run(physical_args, physical_kwargs)
        return present(op, args, kwargs, outputs)

    def call_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a `Function` on the primals, and its `jvp` on the tangents."""
        physical_args, physical_kwargs = map_tensors(self.primal, args, kwargs)
        if not self.is_alive:
            return cls.apply(*physical_args, **physical_kwargs)
        outputs, node = apply_keeping(cls, physical_args, physical_kwargs)
        inputs = (*args, *kwargs.values())
        given = [self.tangent(value) if isinstance(value, TensorBase) else None for value in inputs]
        if not any([tangent is not None for tangent in given]):
            return outputs
        several = isinstance(outputs, (tuple, list))
        values = list(outputs) if several else [outputs]
        primals = (*physical_args, *physical_kwargs.values())
        tangents = jvp_of_function(cls, node, primals, given, len(values))
        made = [
            self._function_output(value, tangent, node, inputs, primals)
            for value, tangent in zip(values, tangents, strict=True)
        ]
        return tuple(made) if several else made[0]

    def _function_output(
        self, value: Any, tangent: Any, node: Any, inputs: Sequence[Any], primals: Sequence[Any]
    ) -> Any:
        written = [outer for outer, inner in zip(inputs, primals, strict=True) if inner is value]
        skips = any([value is each for each in node.non_differentiable or ()]) or not _is_differentiable(value)
        if any([value is each for each in node.dirty or ()]):
            if tangent is not None:
                write_dual(self, written[0], _checked_tangent(tangent, value))
            return written[0]
        if skips or tangent is None:
            return value
        if any([tangent is each for each in map(self.tangent, filter(_is_tensor, inputs))]):
            tangent = operator("clone", "default")(tangent)
        return wrapped(self.dual(value, _checked_tangent(tangent, value)))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase)


def _checked_tangent(tangent: TensorBase, primal: TensorBase) -> TensorBase:
    if tuple(tangent.array.shape) != tuple(primal.array.shape):
        raise different_size(primal, tangent)
    return conformed(tangent, primal)


class _Call:
    """One call at a level.

    Attributes
    ----------
    given
        Every argument of the call by name, as it came.
    primals, tangents
        The same without what the level knows, and only that: None for anything without a tangent.
    """

    def __init__(
        self, level: JvpLevel, op: Any, formula: Formula | PythonFormula | None, given: dict[str, Any]
    ) -> None:
        self.level = level
        self.op = op
        self.formula = formula
        self.given = given
        self.primals = map_tensors(level.primal, (), given)[1]
        self.tangents = {name: _tangents(level, value) for name, value in given.items()}

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the results of a functional call: dual arrays, or what the physical call returned."""
        if not self.can_have_tangents():
            return self.op(*args, **kwargs)
        forward = self.forward_formulas()
        if forward:
            outputs = self.op(*args, **kwargs)
            tangents: Sequence[Any] = self.evaluate(forward, outputs)
        elif self.formula is None:
            outputs = self.op(*args, **kwargs)
            if not _is_differentiable(outputs):
                return outputs
            _unsupported(self.op, "it has not been implemented yet")
        else:
            outputs, tangents = tangents_by_transposing(
                self.op, self.formula, self.primals, self.tangents, args, kwargs
            )
        several = len(self.op._schema.returns) > 1
        pairs = zip(outputs if several else (outputs,), tangents, strict=True)
        made = [self.paired(output, tangent) for output, tangent in pairs]
        return made if several else made[0]

    def can_have_tangents(self) -> bool:
        """Return whether an argument that the results depend on differentiably has a tangent."""
        formula = self.formula
        names: Sequence[str] = tuple(self.tangents)
        if isinstance(formula, Formula):
            flags = formula.output_differentiability
            if flags is not None and not any(flags):
                return False
            names = formula.inputs
        return any([self.tangents[name] is not None for name in names])

    def forward_formulas(self) -> tuple[Forward, ...]:
        """Return the forward formulas, none if some differentiable result has not got one."""
        formula = self.formula
        if not isinstance(formula, Formula):
            return ()
        count = len(self.op._schema.returns)
        flags = formula.output_differentiability or (True,) * count
        known = {forward.output for forward in formula.forward}
        return formula.forward if known >= {index for index in range(count) if flags[index]} else ()

    # -- forward formulas ----------------------------------------------------------------------------------------

    def evaluate(self, forward: Sequence[Forward], outputs: Any, before: dict[str, Any] | None = None) -> list[Any]:
        """Return a tangent, or None, per result.

        Parameters
        ----------
        outputs
            The results.
        before
            Arguments as they were before the call wrote to them.
        """
        returns = self.op._schema.returns
        results = tuple(outputs) if len(returns) > 1 else (outputs,)
        tangents: list[Any] = [None] * len(returns)
        for each in forward:
            result = results[each.output]
            if _is_differentiable(result):
                tangents[each.output] = self.evaluate_one(each, results, before or {})
        return tangents

    def evaluate_one(self, forward: Forward, results: tuple[Any, ...], before: dict[str, Any]) -> Any:
        formula = self.formula
        assert isinstance(formula, Formula)
        if forward.kind == "linear":
            values = {**self.primals, **before, **{name: self.tangent_of(name) for name in formula.inputs}}
            schema = self.op._schema
            linear = _operator(formula.operator)
            positional = [values[a.name] for a in schema.arguments if not a.kwarg_only]
            return linear(*positional, **{a.name: values[a.name] for a in schema.arguments if a.kwarg_only})
        assert forward.function is not None
        arguments = [self.value_of(name, results, before) for name in forward.parameters]
        if forward.kind == "expression":
            return forward.function(*arguments)
        tangent = self.tangent_of(formula.inputs[0])
        result = results[forward.output]
        if not tangent.dtype.is_complex and not result.dtype.is_complex:
            return forward.function(tangent, *arguments)
        conj = operator("conj", "default")
        return conj(forward.function(conj(tangent), *arguments))

    def value_of(self, name: str, results: tuple[Any, ...], before: dict[str, Any]) -> Any:
        """Return what `name` stands for in a forward formula."""
        known = before if name in before else self.primals
        if name in known:
            return known[name]
        owner, _, mark = name.rpartition("_")
        if mark in ("p", "t") and owner in self.primals:
            return self.tangent_of(owner) if mark == "t" else before.get(owner, self.primals[owner])
        names = [item.name for item in self.op._schema.returns]
        if name in names:
            return results[names.index(name)]
        return results[int(name.removeprefix("result") or 0)]

    def tangent_of(self, name: str) -> Any:
        """Return the tangent of an argument: zeros where it has none."""
        primal, tangent = self.primals[name], self.tangents[name]
        if isinstance(primal, (list, tuple)):
            tangents = tangent or [None] * len(primal)
            return [_or_zeros(t, p) for p, t in zip(primal, tangents, strict=True)]
        return _or_zeros(tangent, primal)

    # -- results -------------------------------------------------------------------------------------------------

    def paired(self, output: Any, tangent: Any) -> Any:
        """Return a physical result with its tangent as a dual array; as it is where it has none."""
        if isinstance(output, (list, tuple)):
            tangents = tangent if tangent is not None else [None] * len(output)
            return [self.paired(one, its) for one, its in zip(output, tangents, strict=True)]
        if tangent is None or not isinstance(output, TensorBase):
            return output
        return self.level.dual(output, conformed(self.own(tangent), output))

    def own(self, tangent: TensorBase) -> TensorBase:
        """Return `tangent`, or a copy where a formula returned that of an argument: a write to one is not for both."""
        if self.op._schema._is_view_op():
            return tangent
        given = map_tensors(lambda each: each.array, list(self.tangents.values()), {})[0]
        flat = [array for value in given for array in (value if isinstance(value, list) else [value])]
        if any([array is tangent.array for array in flat]):
            copy: TensorBase = operator("clone", "default")(tangent)
            return copy
        return tangent

    def in_place(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run a call that writes to one of its arguments, and give that its new tangent."""
        op, formula = self.op, self.formula
        writes = [argument.name for argument in op._schema.arguments if argument.is_write]
        name = writes[0]
        written = self.given[name]
        if len(writes) > 1 or not isinstance(written, TensorBase):
            _unsupported(op, "it writes to several tensors")
        primal = self.primals[name]
        if not self.can_have_tangents():
            result = op(*args, **kwargs)
            if formula is None and any([each is not None for each in self.tangents.values()]):
                _unsupported(op, "it has not been implemented yet")
            return result
        assert formula is not None
        clone = operator("clone", "default")
        if self.tangents[name] is not None:  # formulas may save it, and it is about to be written
            self.tangents[name] = clone(self.tangents[name])
        forward = self.forward_formulas()
        if forward:
            reads = any([{name, f"{name}_p"} & {*each.parameters} for each in forward])
            before = {name: clone(primal)} if reads else {}
            result = op(*args, **kwargs)
            tangent = self.evaluate(forward, primal, before)[0]
        else:
            functional = _operator(formula.operator)
            if functional is op:
                _unsupported(op, "it writes in place, and has no forward formula")
            self.primals[name] = clone(primal)
            given = tuple([self.primals[name] if value is primal else value for value in args])
            outputs, tangents = tangents_by_transposing(functional, formula, self.primals, self.tangents, given, kwargs)
            result = operator("copy_", "default")(primal, outputs)
            tangent = tangents[0]
        if tangent is not None:
            write_dual(self.level, written, conformed(self.own(tangent), primal))
        return result


def _operator(qualified: str) -> Any:
    base, _, overload = qualified.partition(".")
    return registry.find_or_throw(base, overload).handle


def _tangents(level: JvpLevel, value: Any) -> Any:
    if isinstance(value, TensorBase):
        return level.tangent(value)
    if isinstance(value, (list, tuple)):
        found = [level.tangent(each) if isinstance(each, TensorBase) else None for each in value]
        return found if any([each is not None for each in found]) else None
    return None


def _or_zeros(tangent: TensorBase | None, primal: Any) -> Any:
    if tangent is not None or not isinstance(primal, TensorBase):
        return tangent
    return filled_like(primal, 0)


def _is_differentiable(outputs: Any) -> bool:
    if isinstance(outputs, (list, tuple)):
        return any([_is_differentiable(each) for each in outputs])
    return isinstance(outputs, TensorBase) and bool(outputs._signature & DIFFERENTIABLE)


def conformed(tangent: TensorBase, primal: TensorBase) -> TensorBase:
    """Return `tangent` with the shape and dtype of `primal`, as a formula may leave broadcasting to us."""
    if tuple(tangent.array.shape) != tuple(primal.array.shape):
        tangent = operator("expand", "default")(tangent, list(primal.array.shape))
    if tangent.dtype is not primal.dtype:
        if tangent.dtype.is_complex and not primal.dtype.is_complex:
            tangent = real(tangent)
        tangent = cast(tangent, primal.dtype)
    return tangent


def attached_dual(level: JvpLevel, primal: TensorBase, tangent: TensorBase) -> TensorBase:
    """Return what `dual` does, in the graph of `primal` itself: gradients of dual tensors are dual, and lead there."""
    made = dual(level, primal, tangent)
    edge = gradient_edge(made.array.physical)
    if edge is not None:
        made._grad_fn, made.output_nr = edge[0].presented(), edge[1]
        made._signature |= GRAD
    return made


def different_size(primal: TensorBase, tangent: TensorBase) -> RuntimeError:
    """Return the error for a tangent of another shape than its primal."""
    return RuntimeError(
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        f"supported. Tensor is of size {list(primal.array.shape)} while the given forward gradient is of size "
        f"{list(tangent.array.shape)}. Give a tangent of the shape of the tensor."
    )


def dual(level: JvpLevel, primal: TensorBase, tangent: TensorBase) -> TensorBase:
    """Return a view of `primal` that carries `tangent` at `level`.

    Raises
    ------
    RuntimeError
        For a tangent of another shape or device.
    """
    if tuple(tangent.array.shape) != tuple(primal.array.shape):
        raise different_size(primal, tangent)
    if tangent.device != primal.device:
        raise RuntimeError(
            f"Expected a tangent on the device of its tensor, {primal.device}, but got one on {tangent.device}. "
            "Move it there."
        )
    if tangent.dtype is not primal.dtype:
        tangent = cast(tangent, primal.dtype)
    return wrapped(level.dual(operator("alias", "default")(primal), tangent))


def _unsupported(op: Any, reason: str) -> NoReturn:
    name = op.name() if op.namespace != "aten" else op._opname
    raise NotImplementedError(
        f"Trying to use forward AD with {name} that does not support it because {reason}. Write it with operators that "
        "have a derivative, or register one: dovetail.library.register_autograd."
    )


__all__ = ["JvpLevel", "attached_dual", "conformed", "dual"]

"""The tangents of the results of one call, from the forward formula of its operator or from its
backward formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dovetail_dispatcher.table import Formula, Forward, PythonFormula, registry
from dovetail_kernel import TensorBase

from ...graph.engine_ops import cast, filled_like, operator, real
from ...graph.function_node import DIFFERENTIABLE
from ...recording.write_steps import not_differentiable
from ..wrapped.wrapped_calls import map_tensors
from ..wrapped.written_tensors import place_in_graph
from .inplace_duals import write_dual
from .transposed import tangents_by_transposing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dovetail_dispatcher import OpOverload

    from .dual_interpreter import JvpLevel


class TangentCall:
    """One call at a level.

    Attributes
    ----------
    given
        Every argument of the call by name, as it came.
    primals, tangents
        The same without what the level knows, and only that: None for anything without a tangent.
    """

    def __init__(
        self,
        level: JvpLevel,
        op: OpOverload,
        formula: Formula | PythonFormula | None,
        given: Mapping[str, object],
    ) -> None:
        self.level = level
        self.op = op
        self.formula = formula
        self.given = given
        self.primals = map_tensors(level.primal, (), given)[1]
        self.tangents = {name: _tangents(level, value) for name, value in given.items()}

    def run(self, args: Sequence[object], kwargs: dict[str, object]) -> Any:
        """Return the results of a functional call: dual arrays, or what the physical call
        returned.
        """
        if not self.can_have_tangents():
            return self.op(*args, **kwargs)
        forward = self.forward_formulas()
        if forward:
            outputs = self.op(*args, **kwargs)
            tangents: Sequence[Any] = self.evaluate(forward, outputs)
        elif self.formula is None:
            outputs = self.op(*args, **kwargs)
            if not is_differentiable(outputs):
                return outputs
            unsupported(self.op, "it has not been implemented yet")
        else:
            outputs, tangents = tangents_by_transposing(
                self.op, self.formula, self.primals, self.tangents, args, kwargs
            )
        several = len(self.op._schema.returns) > 1
        pairs = zip(outputs if several else (outputs,), tangents, strict=True)
        made = [self.paired(output, tangent) for output, tangent in pairs]
        return made if several else made[0]

    def can_have_tangents(self) -> bool:
        """Return whether an argument that the results depend on differentiably has a tangent.
        Raises RuntimeError if an argument has one by which the operator has no derivative.
        """
        formula = self.formula
        names: Sequence[str] = tuple(self.tangents)
        if isinstance(formula, Formula):
            for name in formula.refused:
                if self.tangents[name] is not None:
                    raise not_differentiable(self.op._operator, name, "a tangent")
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

    # -- forward formulas --------------------------------------------------------------------------

    def evaluate(
        self, forward: Sequence[Forward], outputs: Any, before: dict[str, Any] | None = None
    ) -> list[Any]:
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
            if is_differentiable(result):
                tangents[each.output] = self.evaluate_one(each, results, before or {})
        return tangents

    def evaluate_one(
        self, forward: Forward, results: tuple[Any, ...], before: dict[str, object]
    ) -> Any:
        formula = self.formula
        assert isinstance(formula, Formula)
        if forward.kind == "linear":
            values = {
                **self.primals,
                **before,
                **{name: self.tangent_of(name) for name in formula.inputs},
            }
            schema = self.op._schema
            linear = _operator(formula.operator)
            positional = [values[a.name] for a in schema.arguments if not a.kwarg_only]
            return linear(
                *positional, **{a.name: values[a.name] for a in schema.arguments if a.kwarg_only}
            )
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

    def value_of(self, name: str, results: tuple[object, ...], before: dict[str, object]) -> Any:
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
            return [or_zeros(t, p) for p, t in zip(primal, tangents, strict=True)]
        return or_zeros(tangent, primal)

    # -- results -----------------------------------------------------------------------------------

    def paired(self, output: Any, tangent: Any) -> Any:
        """Return a physical result with its tangent as a dual array; as it is where it has none."""
        if isinstance(output, (list, tuple)):
            tangents = tangent if tangent is not None else [None] * len(output)
            return [self.paired(one, its) for one, its in zip(output, tangents, strict=True)]
        if tangent is None or not isinstance(output, TensorBase):
            return output
        return self.level.dual(output, conformed(self.own(tangent), output))

    def own(self, tangent: TensorBase) -> TensorBase:
        """Return `tangent`, or a copy where a formula returned that of an argument: a write to one
        is not for both.
        """
        if self.op._schema._is_view_op() or self.op._operator.kind == "unmarked_view":
            return tangent
        given = map_tensors(lambda each: each.array, list(self.tangents.values()), {})[0]
        flat = [
            array for value in given for array in (value if isinstance(value, list) else [value])
        ]
        if any([array is tangent.array for array in flat]):
            return operator("clone", "default")(tangent)
        return tangent

    def in_place(self, args: Sequence[object], kwargs: dict[str, object]) -> Any:
        """Run a call that writes to one of its arguments, and give that its new tangent."""
        op, formula = self.op, self.formula
        writes = [argument.name for argument in op._schema.arguments if argument.is_write]
        name = writes[0]
        written = self.given[name]
        if len(writes) > 1 or not isinstance(written, TensorBase):
            unsupported(op, "it writes to several tensors")
        primal = self.primals[name]
        if formula is None and any([each is not None for each in self.tangents.values()]):
            unsupported(op, "it has not been implemented yet")
        if formula is None or not self.can_have_tangents():
            return op(*args, **kwargs)
        place = place_in_graph(written)
        clone = operator("clone", "default")
        if self.tangents[name] is not None:  # formulas may save it, and it is about to be written
            self.tangents[name] = clone(self.tangents[name])
        forward = self.forward_formulas()
        if forward:
            # Also of other arguments in the same memory: x.mul_(x) reads what it writes.
            read = {item.removesuffix("_p") for each in forward for item in each.parameters}
            before = {
                each: clone(value)
                for each, value in self.primals.items()
                if each in read and _shares_memory(value, primal)
            }
            result = op(*args, **kwargs)
            tangent = self.evaluate(forward, primal, before)[0]
        else:
            functional = _operator(formula.operator)
            if functional is op:
                unsupported(op, "it writes in place, and has no forward formula")
            self.primals[name] = clone(primal)
            given = tuple([self.primals[name] if value is primal else value for value in args])
            outputs, tangents = tangents_by_transposing(
                functional, formula, self.primals, self.tangents, given, kwargs
            )
            result = operator("copy_", "default")(primal, outputs)
            tangent = tangents[0]
        if tangent is not None:
            write_dual(self.level, written, conformed(self.own(tangent), primal), place)
        return result


def _shares_memory(value: object, tensor: TensorBase) -> bool:
    if not isinstance(value, TensorBase):
        return False
    storage = tensor._storage
    return value is tensor or (storage is not None and value._storage is storage)


def _operator(qualified: str) -> Any:
    base, _, overload = qualified.partition(".")
    return registry.find_or_throw(base, overload).handle


def _tangents(level: JvpLevel, value: object) -> Any:
    if isinstance(value, TensorBase):
        return level.tangent(value)
    if isinstance(value, (list, tuple)):
        found = [level.tangent(each) if isinstance(each, TensorBase) else None for each in value]
        return found if any([each is not None for each in found]) else None
    return None


def or_zeros(tangent: TensorBase | None, primal: Any) -> Any:
    """Return the tangent of `primal`: zeros where it has none, None for what can have none."""
    if tangent is not None or not isinstance(primal, TensorBase):
        return tangent
    return filled_like(primal, 0)


def is_differentiable(outputs: object) -> bool:
    if isinstance(outputs, (list, tuple)):
        return any([is_differentiable(each) for each in outputs])
    return isinstance(outputs, TensorBase) and bool(outputs._signature & DIFFERENTIABLE)


def conformed(tangent: TensorBase, primal: TensorBase) -> TensorBase:
    """Return `tangent` with the shape and dtype of `primal`, as a formula may leave broadcasting to
    us.
    """
    if tuple(tangent.array.shape) != tuple(primal.array.shape):
        tangent = operator("expand", "default")(tangent, list(primal.array.shape))
    if tangent.dtype is not primal.dtype:
        if tangent.dtype.is_complex and not primal.dtype.is_complex:
            tangent = real(tangent)
        tangent = cast(tangent, primal.dtype)
    return tangent


def unsupported(op: OpOverload, reason: str) -> NoReturn:
    name = op.name() if op.namespace != "aten" else op._opname
    raise NotImplementedError(
        f"Trying to use forward AD with {name} that does not support it because {reason}. Write "
        "it with operators that "
        "have a derivative, or register one: dovetail.library.register_autograd."
    )

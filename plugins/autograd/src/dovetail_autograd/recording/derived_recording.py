"""Recording routes of operators with a derivative formula: the edges of the inputs before the call,
a node behind it.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail_dispatcher.calls import (
    ArrayOf,
    CallKernel,
    Composition,
    InState,
    NumberToTensor,
    Operand,
    Printer,
    PromoteOperands,
    RoutePlan,
    Step,
    Value,
    WrapArray,
    argument_value,
    numbers_allowed,
    tensor_of_number,
)
from dovetail_dispatcher.table import Formula, Saved
from dovetail_kernel import DTYPES, backends_of_signature, bfloat16, float16
from dovetail_kernel.keys import below_ad_inplace_or_view
from dovetail_kernel.signature import DTYPE_MASK, INFERENCE, PYTHON_COMPLEX, PYTHON_SCALAR, VIEW

from ..graph.function_node import DIFFERENTIABLE
from ..graph.saved_extras import needs_extras
from .edges import IfAnyEdge, find_edge
from .node_classes import build_node_class
from .record_node import (
    AttachList,
    AttachResult,
    DescribeResults,
    HandleExtras,
    RebaseHistory,
    RecordNode,
    TupleOf,
)
from .saving import (
    FormulaExpression,
    ItemOf,
    NoteVersion,
    SaveList,
    SaveNothing,
    SaveResult,
    SaveTensor,
    SaveValue,
)
from .write_steps import CheckInplace, CopyBeforeWrite, RefuseGradient, marking_views

COMPLEX: Final = PYTHON_COMPLEX | sum([each.bit for each in DTYPES if each.is_complex])
"""The bits of a call key that say that some number in the call is complex."""

_HALF_BITS: Final = float16.bit | bfloat16.bit


def derived_plan(composition: Composition, formula: Formula, below: RoutePlan) -> RoutePlan:
    """Return the plan that runs `below` and records a node of `formula`."""
    return _Recording(composition, formula, below).plan()


class TensorOfNumber(Step):
    """Convert a Python scalar to the tensor that the node saves."""

    number: Value
    beside: Value

    def print(self, to: Printer) -> None:
        number, make = to.name(self.number), to.bind("tensor_of_number", tensor_of_number)
        to.add(f"{number} = {make}({number}, [{to.name(self.beside)}])")


class _Recording:
    """What a recording is composed from, and its parts."""

    def __init__(self, composition: Composition, formula: Formula, below: RoutePlan) -> None:
        self.op = op = composition.op
        self.composition, self.key = composition, composition.key
        self.formula = formula
        self.below = below
        self.arguments = {a.name: a for a in op.schema.arguments}
        self.values = {a.name: argument_value(a) for a in op.schema.arguments}
        self.tensors = [a for a in op.schema.arguments if a.is_tensor_like and not a.is_out]
        # Whether some input requires grad in every call that the route is for.
        self.is_sure = not self.key & VIEW and all([a.name in formula.inputs for a in self.tensors])
        is_only = self.is_sure and [a.kind for a in self.tensors] == ["Tensor"]
        inputs = [self.arguments[name] for name in formula.inputs]
        self.find = [find_edge(a, self.key, is_only=is_only) for a in inputs]
        self.edges = {a.name: each.edge for a, each in zip(inputs, self.find, strict=True)}
        self.written = next(iter([a.name for a in op.schema.arguments if _is_written(a)]), None)
        self.is_view = op.schema._is_view_op() and self.written is None
        self.arrays = {wrap.result: wrap.array for wrap in below.each(WrapArray)}
        self.backend = self._backend()
        flags = formula.output_differentiability or (True,) * len(below.results)
        self.differentiable = [r for r, flag in zip(below.results, flags, strict=False) if flag]
        # The results that the node is the maker of in every call.
        bits = self.key & DTYPE_MASK
        is_float = op.kind == "pointwise" and bits & DIFFERENTIABLE == bits
        self.made = [
            r for r in self.differentiable if is_float and self.is_sure and r in self.arrays
        ]

    def _backend(self) -> Any:
        """Return the backend whose arrays the array body of the formula can take; None if it cannot
        run: array libraries round numbers to half precision where operators do not.
        """
        backends = backends_of_signature(self.key)
        if not self.formula.has_arrays or self.below.calls_operators or len(backends) != 1:
            return None
        if self.key & _HALF_BITS:
            return None
        if any([call.casts for call in self.below.each(CallKernel)]):
            return None
        # Where operands may have been cast, only a call tells; a result that is saved as an array
        # needs the backend in any case.
        keeps_result = any([saved.kind == "result" for saved in self.formula.saved])
        if (self.key & PYTHON_SCALAR or keeps_result) and self.below.each(PromoteOperands):
            return None
        return backends[0] if backends[0].is_device else None

    def plan(self) -> RoutePlan:
        below = self.below
        if below.calls_operators:
            below = below.replaced(steps=(InState(below.steps, below_ad_inplace_or_view),))
        steps = [self._recorded(step) for step in below.steps]
        plan = below.replaced(steps=(*self._before(), *steps, self._node()))
        return marking_views(plan, self.composition) if self.is_view else plan

    # -- before the call ---------------------------------------------------------------------------

    def _before(self) -> list[Step]:
        refused = [RefuseGradient(self.op, self.values[name]) for name in self.formula.refused]
        return [*refused, *self.find, *self._before_write()]

    def _before_write(self) -> list[Step]:
        if self.written is None:
            return []
        written = self.values[self.written]
        edges = () if self.is_sure else tuple(self.edges.values())
        has_own = bool(edges) and self.written in self.edges
        steps: list[Step] = [CheckInplace(written, edges, self.is_sure, has_own)]
        if any([s.kind == "input" and s.name == self.written for s in self.formula.saved]):
            copying = CopyBeforeWrite(written, _copy_of(self.written))
            steps.append(IfAnyEdge((copying,), edges) if edges else copying)
        for saved in self.formula.saved:
            version = self._noted_version(saved)
            if version is not None:
                value, is_list = self.values[saved.name], saved.kind == "list"
                note = NoteVersion(value, version, is_list, self._is_checked(saved))
                steps += self._if_needed(saved, [note])
        return steps

    # -- the node ----------------------------------------------------------------------------------

    def _recorded(self, step: Step) -> Step:
        """Return a step of the plan below as it is where the call is recorded."""
        if isinstance(step, WrapArray) and step.result in self.made:
            return step.recorded(self.below.results.index(step.result))
        return step

    def _node(self) -> RecordNode:
        parts = [*self._numbers(), *self._results()]
        for saved in self.formula.saved:
            parts += self._if_needed(saved, [self._save(saved)], [SaveNothing(f"_{saved.name}")])
        written = None if self.written is None else self.values[self.written]
        if written is not None:
            parts.append(RebaseHistory(written))
        if needs_extras():
            parts.append(HandleExtras())
        has_lists = any([edge.is_list for edge in self.edges.values()])
        edges = tuple(self.edges.values())
        # What is written to may be of integers, which have no gradient.
        may_be_integer = self.key & DTYPE_MASK & ~DIFFERENTIABLE
        return RecordNode(
            build_node_class(self.formula, has_lists, not self.key & COMPLEX),
            edges,
            tuple(parts),
            self.backend,
            self._uncast(),
            makes=tuple(self.made),
            if_any=() if self.is_sure else edges,
            if_differentiable=written if may_be_integer else None,
        )

    def _uncast(self) -> tuple[tuple[Value, Value], ...]:
        """Return the arrays that were promoted in the call, with the tensors whose own they must be
        for the array body.
        """
        promoted = self.below.each(PromoteOperands) if self.backend is not None else []
        return tuple([pair for p in promoted for pair in zip(p.arrays, p.operands, strict=False)])

    def _numbers(self) -> list[Step]:
        """Return the step that makes a tensor of a Python number, if the call below does not."""
        if not self.key & PYTHON_SCALAR or self.below.each(NumberToTensor):
            return []
        if not numbers_allowed(self.op.schema, self.op.promote):
            return []
        first, second = [self.values[a.name] for a in self.tensors]
        return [TensorOfNumber(second, first)]

    def _results(self) -> list[Step]:
        """Return the steps that describe the results, and make the node their maker."""
        results, returns = self.below.results, self.op.schema.returns
        is_masked = "output_mask" in self.arguments
        if len(results) == 1 and (len(returns) > 1 or "[" in returns[0].kind):
            flags = self.formula.output_differentiability
            is_part = flags is not None and not all(flags)
            return [AttachList(results[0], is_masked, flags if is_part else None)]
        if is_masked:
            return [AttachList(TupleOf(results), is_masked)]
        if self.written is not None:
            return [DescribeResults((ArrayOf(self.values[self.written]),))]
        # As in PyTorch, those behind the last differentiable one are not even undefined gradients.
        count = max([results.index(each) + 1 for each in self.differentiable], default=1)
        arrays = [self.arrays.get(result) or ArrayOf(result) for result in results[:count]]
        attached = [
            AttachResult(result, results.index(result) or None)
            for result in self.differentiable
            if result not in self.made
        ]
        return [DescribeResults(tuple(arrays)), *attached]

    # -- what is saved -----------------------------------------------------------------------------

    def _if_needed(
        self, saved: Saved, steps: list[Step], otherwise: list[Step] | None = None
    ) -> list[Step]:
        """Return `steps` such that they run where one of the inputs that need `saved` requires
        grad.
        """
        needed = [name for name in saved.needed_by if name in self.edges]
        if not needed or (self.is_sure and len(set(needed)) == len(self.edges)):
            return steps
        edges = tuple([self.edges[name] for name in needed])
        return [IfAnyEdge(tuple(steps), edges, tuple(otherwise or ()))]

    def _save(self, saved: Saved) -> Step:
        slot = f"_{saved.name}"
        match saved.kind:
            case "input":
                is_copied = saved.name == self.written
                tensor = _copy_of(saved.name) if is_copied else self.values[saved.name]
                version = self._noted_version(saved)
                return SaveTensor(slot, tensor, self._is_checked(saved), version)
            case "list":
                return SaveList(slot, self.values[saved.name], self._noted_version(saved))
            case "result":
                return self._save_result(saved, slot)
        if not saved.expression:
            return SaveValue(slot, self.values[saved.name])
        named = {**{result.name: result for result in self.below.results}, **self.values}
        is_column_major = self.backend.arrays.is_column_major if self.backend else _is_column_major
        functions = {"is_column_major": is_column_major}
        return SaveValue(slot, FormulaExpression(saved.expression, named, functions))

    def _is_checked(self, saved: Saved) -> bool:
        """Return whether what is saved may be None, or an inference tensor."""
        return self.arguments[saved.name].kind == "Tensor?" or bool(self.key & INFERENCE)

    def _noted_version(self, saved: Saved) -> Value | None:
        """Return the version that an argument has before the call writes to another one; None where
        it has none, or cannot be the same.
        """
        if self.written in (None, saved.name) or saved.kind not in ("input", "list"):
            return None
        is_number = self.key & PYTHON_SCALAR and numbers_allowed(self.op.schema, self.op.promote)
        if is_number and saved.name == self.tensors[1].name:
            return None  # of which a tensor is made for the node
        return Value(f"{saved.name}_version")

    def _save_result(self, saved: Saved, slot: str) -> Step:
        results = self.below.results
        if len(results) != len(self.op.schema.returns):
            result: Operand = ItemOf(results[0], saved.output)
            return SaveResult(slot, result, None, self.backend is not None)
        result = results[saved.output]
        array = None if self.is_view else self.arrays.get(result)
        return SaveResult(slot, result, array, self.backend is not None)


def _is_written(argument: Any) -> bool:
    return bool(argument.is_write and not argument.kwarg_only)


def _copy_of(name: str) -> Value:
    """Return the value that holds a copy of an argument from before it was written."""
    return Value(f"{name}_overwritten")


def _is_column_major(array: Any) -> bool:
    """Return whether a matrix of any backend is stored by columns: beside wrapped arrays, an
    argument may be one of those that they wrap.
    """
    strides = getattr(array, "strides", None)
    if strides is None:  # of no backend with memory
        return False
    return bool(strides == (array.itemsize, array.itemsize * array.shape[0]))

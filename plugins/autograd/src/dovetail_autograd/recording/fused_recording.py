"""Routes of composites that are computed, and recorded, as one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_dispatcher import Kernel, NoArrayKernelError, Operator, kernel_namespace
from dovetail_dispatcher.calls import (
    ArrayOf,
    CallKernel,
    Composition,
    KernelCall,
    Operand,
    Printer,
    RoutePlan,
    Signature,
    Step,
    Value,
    WrapArray,
    argument_value,
    quiet,
)
from dovetail_dispatcher.table import Formula, Fusion
from dovetail_kernel import (
    Backend,
    DispatchState,
    backend_key,
    backends_of_signature,
    dtype_of_signature,
)
from dovetail_kernel.keys import inference_mode_on, intern_state
from dovetail_kernel.signature import DTYPE_MASK, GRAD, INFERENCE, NO_GRAD, NORMAL

from ..graph.function_node import DIFFERENTIABLE
from ..graph.saved_extras import needs_extras, recording_extras
from .edges import Edge, find_edge
from .fused_nodes import FusedSlots, fused_class, fused_slots, operator_of
from .record_node import DescribeResults, RecordNode
from .saving import SaveTensor, SaveValue

_INFERENCE_MODE: Final = inference_mode_on(0)


def fused_plan(composition: Composition, kernel: Kernel) -> RoutePlan | None:
    """Return the plan that computes a call of a composite as one, and records it where a graph is
    recorded; None where it is not to be fused.

    Parameters
    ----------
    composition
        The call.
    kernel
        The composite.
    """
    fusion, key = composition.op.fusion, composition.key
    backends = backends_of_signature(key)
    if fusion is None or kernel.registrar is not None or len(backends) != 1:
        return None
    backend = backends[0]
    known = DTYPE_MASK | NORMAL | GRAD | backend.bit
    if composition.state.transformed:
        known |= intern_state(DispatchState(transformed=True))
    elif not composition.records:
        known |= NO_GRAD | INFERENCE | _INFERENCE_MODE
    if not backend.is_device or key & ~known:
        return None
    if not fusion.takes(key & DTYPE_MASK):
        return None
    outer, inner = operator_of(fusion.outer), operator_of(fusion.inner)
    if not (_is_own(outer, backend) and _is_own(inner, backend)):
        return None
    try:
        helper = getattr(kernel_namespace(backend), fusion.helper)
        for part in (outer, inner):
            getattr(kernel_namespace(backend), part.base_name)
    except NoArrayKernelError:
        return None
    assert isinstance(outer.formula, Formula)
    assert isinstance(inner.formula, Formula)
    fused = fused_slots(fusion, outer.formula, inner.formula)
    node_class = fused_class(fusion, outer.formula, inner.formula)
    call = _FusedCall(composition, kernel, backend, fused)
    return call.recorded_plan(helper, node_class) if composition.records else call.plan(helper)


def _is_own(op: Operator, backend: Backend) -> bool:
    """Return whether the library's own kernel and derivative are the only ones of `op` on
    `backend`.
    """
    kernels = op.kernels.get(backend_key("Dense", backend), ())
    return len(kernels) == 1 and isinstance(op.formula, Formula)


class _FusedCall:
    """What a fused route is composed from."""

    def __init__(
        self, composition: Composition, kernel: Kernel, backend: Backend, fused: FusedSlots
    ) -> None:
        self.op, self.key = composition.op, composition.key
        self.kernel, self.backend, self.fused = kernel, backend, fused
        assert self.op.fusion is not None
        self.fusion: Fusion = self.op.fusion
        self.arguments = {a.name: a for a in self.op.schema.arguments}
        self.values = {a.name: argument_value(a) for a in self.op.schema.arguments}
        self.result = Value("result")
        self.array = Value("array")
        self.mark = INFERENCE if composition.state.inference else NORMAL

    def plan(self, helper: Callable[..., object]) -> RoutePlan:
        """Return the plan of a call that is not recorded."""
        steps = (self._unless_fitting(), self._call(helper), self._wrap())
        return RoutePlan(self.op, steps, (self.result,))

    def _call(self, helper: Callable[..., Any]) -> CallKernel:
        given = tuple([self._array_of(name) for name in self.fusion.helper_arguments])
        call = KernelCall("helper", helper, given, quiet=quiet(self.backend, helper))
        return CallKernel((self.array,), call)

    def _wrap(self) -> WrapArray:
        dtype = dtype_of_signature(self.key & DTYPE_MASK & DIFFERENTIABLE)
        signature = Signature(self.backend.bit | self.mark, dtype, True, True, self.backend.arrays)
        return WrapArray(self.array, self.result, signature)

    def recorded_plan(self, helper: Callable[..., object], node_class: Any) -> RoutePlan:
        """Return the plan of a call that is recorded by a node of `node_class`."""
        inputs = [self.arguments[name] for name in self.fused.inputs]
        found = [find_edge(a, self.key, is_given=True) for a in inputs]
        edges = tuple([each.edge for each in found])
        return RoutePlan(
            self.op,
            (
                self._unless_fitting(),
                *([self._composite(UnlessUnwatched)] if needs_extras() else []),
                *found,
                self._composite(UnlessEdge, edge=edges[self.fused.place]),
                self._call(helper),
                self._wrap().recorded(0),
                RecordNode(
                    node_class,
                    edges,
                    (DescribeResults((self.array,)), *self._saved()),
                    self.backend,
                    makes=(self.result,),
                    numbers=("inner", "sequence_nr"),
                ),
            ),
            (self.result,),
        )

    def _unless_fitting(self) -> Step:
        dims = tuple([(self.values[name], count) for name, count in self.fusion.dims.items()])
        optional = tuple(
            [
                self.values[name]
                for name in self.fusion.dims
                if self.arguments[name].real_type.schema_str == "Tensor?"
            ]
        )
        return self._composite(UnlessFitting, optional=optional, dims=dims)

    def _composite(self, step: Callable[..., Step], **fields: Any) -> Step:
        """Return the step that runs the composite itself under some condition."""
        return step(composite=self.kernel.fn, arguments=tuple(self.values.values()), **fields)

    def _saved(self) -> list[Step]:
        fused, values = self.fused, self.values
        array = ArrayOf(values[fused.inner_input])
        return [
            SaveValue(f"{fused.inner_input}_array", array),
            *[SaveTensor(slot, values[name]) for slot, name in fused.tensors.items()],
        ]

    def _array_of(self, name: str) -> Operand:
        value = self.values[name]
        return ArrayOf(value) if self.arguments[name].is_tensor_like else value


class _RunComposite(Step):
    """Run the composite itself, under a condition."""

    composite: Callable[..., Any]
    arguments: tuple[Value, ...]

    def print(self, to: Printer) -> None:
        given = ", ".join([to.name(each) for each in self.arguments])
        to.add(f"if {self.condition(to)}:")
        to.add(f"    return {to.bind('composite', self.composite)}({given})")

    def condition(self, to: Printer) -> str:
        raise NotImplementedError


class UnlessFitting(_RunComposite):
    """Run the composite unless the arguments allow fusion.

    Attributes
    ----------
    optional
        Those that must be given.
    dims
        Tensors and how many dimensions they must have.
    """

    optional: tuple[Value, ...]
    dims: tuple[tuple[Value, int], ...]

    def condition(self, to: Printer) -> str:
        tests = [f"{to.name(value)} is None" for value in self.optional]
        tests += [f"{to.name(value)}.array.ndim != {count}" for value, count in self.dims]
        return " or ".join(tests)


class UnlessUnwatched(_RunComposite):
    """Run the composite if every created node is observed."""

    def condition(self, to: Printer) -> str:
        return f"{to.bind('recording_extras', recording_extras)}() is not None"


class UnlessEdge(_RunComposite):
    """Run the composite if an input needs no gradient."""

    edge: Edge

    def condition(self, to: Printer) -> str:
        return f"{to.name(self.edge.value)} is None"

"""Fused nodes: one node for two calls, until the graph is looked at.

Such a node has the name of the outer of the two and is of a subclass of its class. Its edges lead
past the inner one, and in the engine's loop over arrays it gives the gradients of both. What shows
it, puts a hook on it or runs it on tensors has it split first: the inner node is made, both are
given what they would have saved, and the edges lead through it.

The last step of that is one assignment, and the engine hands the edges that it follows to the body,
so that a thread which runs the graph meanwhile follows either the edges of one node or those of
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any, ClassVar, Final

from dovetail_dispatcher import Operator
from dovetail_dispatcher.record import Record
from dovetail_dispatcher.table import INNER, Always, Formula, Fusion, registry
from dovetail_kernel import (
    Backend,
    TensorBase,
    renewed_after_fork,
    share_storage,
    share_version,
    tensor_class,
)
from dovetail_kernel.signature import GRAD, NORMAL, ZERO_DIM
from dovetail_kernel.tensor import new_tensor

from ..graph.hooks import NodeHooks
from ..graph.node import EdgeTuple, Node
from ..graph.saved_slots import RELEASED
from ..graph.views import CreationMeta, set_view
from .node_classes import build_node_class, freed_slots, slots_of

_lock: Final = renewed_after_fork(Lock())


class FusedSlots(Record):
    """What a fused node keeps, as it follows from the formulas of the two operators.

    Attributes
    ----------
    inputs
        Arguments of the composite that the edges of the node are of, in order.
    place
        Which of them is the input of the inner operator. Where it needs no gradient, nothing is
        fused.
    tensors
        Slots for arguments of the composite that the node saves.
    inner_input
        The argument of the composite that the inner operator shows.
    constants, inner_constants
        Slots of the two nodes that are the same for every call.
    """

    inputs: tuple[str, ...]
    place: int
    tensors: dict[str, str]
    inner_input: str
    constants: dict[str, Any]
    inner_constants: dict[str, Any]


@cache
def fused_slots(fusion: Fusion, outer: Formula, inner: Formula) -> FusedSlots:
    """Return what a node keeps that stands for `outer` applied to the result of `inner`."""
    given = fusion.outer_arguments
    tensors: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for saved in outer.saved:
        slot, source = f"_{saved.name}", given.get(saved.name, INNER)
        if isinstance(source, Always):
            constants[slot] = source.value
            if saved.kind == "input":
                constants[f"{slot}_version"] = 0
        elif source is not INNER:
            tensors[slot] = source
    (inner_input,) = [fusion.inner_arguments[name] for name in inner.inputs]
    assert isinstance(inner_input, str)
    tensors[inner_input] = inner_input
    inputs = [given[name] for name in outer.inputs]
    place = inputs.index(INNER)
    inputs[place] = inner_input
    always = [(f"_{saved.name}", fusion.inner_arguments.get(saved.name)) for saved in inner.saved]
    return FusedSlots(
        inputs=tuple([name for name in inputs if isinstance(name, str)]),
        place=place,
        tensors=tensors,
        inner_input=inner_input,
        constants=constants,
        inner_constants={slot: each.value for slot, each in always if isinstance(each, Always)},
    )


def operator_of(qualified: str) -> Operator:
    """Return the operator of a qualified name."""
    name, _, overload = qualified.partition(".")
    return registry.find_or_throw(name, overload)


# -- nodes -----------------------------------------------------------------------------------------


class FusedNode(Node):
    """What the classes that `fused_class` makes have in common.

    Attributes
    ----------
    inner
        The sequence number kept for the inner node; once there is one, that node.
    """

    __slots__ = ()

    _fusion: ClassVar[Fusion]
    _fused: ClassVar[FusedSlots]
    outer_class: ClassVar[Any]
    inner_class: ClassVar[Any]
    inner: int | Node

    def presented(self) -> Node:
        """Return this node, which is two from now on."""
        split(self)
        return self

    def _make_hooks(self) -> NodeHooks:
        split(self)
        return super()._make_hooks()


@cache
def fused_class(fusion: Fusion, outer: Formula, inner: Formula) -> type[Node]:
    """Return the class of the nodes that stand for `outer` applied to the result of `inner`, of
    real numbers.
    """
    outer_class: Any = build_node_class(outer, is_real=True)
    fused = fused_slots(fusion, outer, inner)
    slots = {slot for saved in outer.saved for slot in slots_of(saved)}
    array = f"{fused.inner_input}_array"
    stored = [array]
    for slot in fused.tensors:
        stored += [slot, f"{slot}_version"]
    freed = {*freed_slots(outer)} - set(fused.constants) | {array, *fused.tensors}
    own = ["inner", *[slot for slot in stored if slot not in slots]]
    place, body = fused.place, fusion.backward

    def apply_arrays(self: Any, kernels: object, edges: Sequence[Any], grad: Any) -> Any:
        if edges[place][0] is self.inner:
            return outer_class.apply_arrays(self, kernels, edges, grad)
        return body(self, kernels, edges, grad)

    parts = {
        "__doc__": f"Node of {fusion.operator}, until the graph is looked at: {fusion.inner}, then "
        f"{fusion.outer}.",
        "__module__": __name__,
        "__slots__": tuple(own),
        "_freed": tuple(sorted(freed)),
        "_fused": fused,
        "_fusion": fusion,
        "apply_arrays": apply_arrays,
        "inner_class": build_node_class(inner, is_real=True),
        "outer_class": outer_class,
        **fused.constants,
    }
    return type(outer.name, (FusedNode, outer_class), parts)


# -- splitting -------------------------------------------------------------------------------------


def split(node: Any) -> tuple[EdgeTuple | None, ...]:
    """Make two nodes of a fused one, if that was not done before; return its edges."""
    with _lock:
        if not isinstance(node.inner, Node):
            _split(node, node._fusion, node._fused)
    edges: tuple[EdgeTuple | None, ...] = node.next_edges
    return edges


def _split(node: Any, fusion: Fusion, fused: FusedSlots) -> None:
    edges = list(node.next_edges)
    inner = _inner_node(node, fusion, fused)
    edges[fused.place] = (inner, 0)
    outer: Formula = node.outer_class._formula_record
    name = outer.inputs[fused.place]
    if getattr(node, fused.inner_input) is RELEASED:
        inner._release_saved()
        node._release_saved()
        result: Any = RELEASED
    else:
        result = _result_of_inner(node, inner, fusion, fused)
    setattr(node, f"_{name}", result if _needs(node, outer, name) else None)
    setattr(node, f"_{name}_version", getattr(node, f"{fused.inner_input}_version"))
    node.inner = inner
    node.next_edges = tuple(edges)


def _inner_node(node: Any, fusion: Fusion, fused: FusedSlots) -> Any:
    """Return the node of the inner call, with what does not depend on saved tensors."""
    edge = node.next_edges[fused.place]
    target, output_nr, *_ = edge
    metadata = target.input_metadata
    shape, native = metadata[output_nr] if isinstance(metadata, list) else metadata
    inner: Any = node.inner_class()
    inner.next_edges = (edge,)
    inner.sequence_nr = node.inner
    inner._array_backend = node._array_backend
    inner._node_hooks = None
    inner.input_metadata = fusion.inner_shape(shape), native
    for slot, value in fused.inner_constants.items():
        setattr(inner, slot, value)
    return inner


def _needs(node: Any, formula: Formula, name: str) -> bool:
    """Return whether the outer node saves the input `name`: some input whose gradient takes it
    requires grad.
    """
    saved = next(iter([each for each in formula.saved if each.name == name]), None)
    if saved is None:
        return False
    needed = [node.next_edges[formula.inputs.index(each)] is not None for each in saved.needed_by]
    return not needed or any(needed)


def _result_of_inner(node: Any, inner: Node, fusion: Fusion, fused: FusedSlots) -> TensorBase:
    """Return the tensor that the inner call would have returned."""
    array = fusion.inner_result(node)
    backend: Backend = node._array_backend
    dtype_bit = backend.arrays.dtype_bits[array.dtype]
    bits = backend.bit | dtype_bit | NORMAL | GRAD | (0 if array.ndim else ZERO_DIM)
    tensor = new_tensor(array, bits, tensor_class())
    tensor._grad_fn = inner
    source: TensorBase = getattr(node, fused.inner_input)
    tensor._storage = share_storage(source)
    tensor._counter = share_version(source)
    set_view(tensor, source, CreationMeta.DEFAULT)
    tensor._meta.attr_version = getattr(node, f"{fused.inner_input}_version")
    return tensor

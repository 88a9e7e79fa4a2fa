"""Fused recording: one node for two calls, until somebody looks.

Such a node has the name of the outer of the two and is of a subclass of its class. Its edges lead
past the inner one, and in the engine's loop over arrays it gives the gradients of both. Whoever
gets to see it, puts a hook on it or runs it on tensors has it split first: the inner node is made,
both are given what they would have saved, and the edges lead through it.

The last step of that is one assignment, and the engine hands the edges that it follows to the body,
so that a thread which runs the graph meanwhile follows either the edges of one node or those of
two.
"""

from __future__ import annotations

import linecache
from functools import cache
from threading import Lock
from typing import Any, ClassVar, Final

from dovetail_dispatcher import NoArrayKernelError, array_kernels
from dovetail_dispatcher.calls.routes import Composition
from dovetail_dispatcher.calls.templates import RouteText, quiet_lines
from dovetail_dispatcher.calls.templates.arguments import is_tensor_like
from dovetail_dispatcher.calls.templates.arguments import route_parameter as parameter
from dovetail_dispatcher.calls.templates.entry import symbol
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula
from dovetail_dispatcher.table.fusion import Fusion
from dovetail_dispatcher.table.kernels import Kernel
from dovetail_dispatcher.table.operator import Operator
from dovetail_kernel import Backend, backend_key, backends_of_signature
from dovetail_kernel.tensor.new_tensors import bare_tensor_maker, new_tensor, tensor_class
from dovetail_kernel.tensor.storage import share_storage
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.tensor.version import VersionCounter, share_version
from dovetail_kernel.types.signature import DTYPE_MASK, GRAD, NORMAL, ZERO_DIM

from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.function_node import DIFFERENTIABLE
from ..graph.hooks import NodeHooks
from ..graph.node import EdgeTuple, Node, next_sequence_nr
from ..graph.recording_extras import needs_extras, recording_extras
from ..graph.saved_slots import RELEASED
from ..graph.views import CreationMeta, set_view
from .edge_text import edge_lines
from .node_classes import build_node_class, slots_of

_lock: Final = Lock()


class FusedNode(Node):
    """What the classes that `fused_class` makes have in common.

    Attributes
    ----------
    inner
        The sequence number kept for the inner node; once there is one, that node.
    """

    __slots__ = ()

    _fusion: ClassVar[Fusion]
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


def split(node: Any) -> tuple[EdgeTuple | None, ...]:
    """Make two nodes of a fused one, if that was not done before; return its edges."""
    with _lock:
        if not isinstance(node.inner, Node):
            _split(node, node._fusion)
    edges: tuple[EdgeTuple | None, ...] = node.next_edges
    return edges


def _split(node: Any, fusion: Fusion) -> None:
    edges = list(node.next_edges)
    name = node.outer_class._formula_record.inputs[fusion.place]
    inner: Any = node.inner_class()
    inner.next_edges = (edges[fusion.place],)
    inner.sequence_nr = node.inner
    inner._array_backend = node._array_backend
    inner._node_hooks = None
    inner.input_metadata = _metadata_of_inner(node, fusion)
    for slot, value in fusion.inner_values.items():
        setattr(inner, slot, value)
    edges[fusion.place] = (inner, 0)
    if getattr(node, fusion.source) is RELEASED:
        inner._release_saved()
        node._release_saved()
        result: Any = RELEASED
    else:
        result = _result_of_inner(node, inner, fusion)
        for slot, kept in fusion.inner_results.items():
            setattr(inner, slot, (getattr(node, kept), result._counter, 0))
        for slot, kept in fusion.outer_results.items():
            setattr(node, slot, (getattr(node, kept), VersionCounter(), 0))
    setattr(node, f"_{name}", result if _needs(node, name) else None)
    setattr(node, f"_{name}_version", getattr(node, f"{fusion.source}_version", 0))
    node.inner = inner
    node.next_edges = tuple(edges)


def _metadata_of_inner(node: Any, fusion: Fusion) -> Any:
    target, output_nr, *_ = node.next_edges[fusion.place]
    metadata = target.input_metadata
    shape, native = metadata[output_nr] if isinstance(metadata, list) else metadata
    return fusion.inner_shape(shape), native


def _needs(node: Any, name: str) -> bool:
    """Return whether the outer node saves the input `name`: some input whose gradient takes it
    requires grad.
    """
    formula: Formula = node.outer_class._formula_record
    saved = next((each for each in formula.saved if each.name == name), None)
    if saved is None:
        return False
    needed = [node.next_edges[formula.inputs.index(each)] is not None for each in saved.needed_by]
    return not needed or any(needed)


def _result_of_inner(node: Any, inner: Node, fusion: Fusion) -> TensorBase:
    """Return the tensor that the inner call would have returned."""
    array = fusion.inner_result(node)
    backend: Backend = node._array_backend
    bits = (
        backend.bit
        | backend.arrays.dtype_bits[array.dtype]
        | NORMAL
        | GRAD
        | (0 if array.ndim else ZERO_DIM)
    )
    tensor = new_tensor(array, bits, tensor_class())
    tensor._grad_fn = inner
    if _operator(fusion.inner).schema._is_view_op():
        source: TensorBase = getattr(node, fusion.source)
        tensor._storage = share_storage(source)
        tensor._counter = share_version(source)
        set_view(tensor, source, CreationMeta.DEFAULT)
        tensor._meta.view.attr_version = getattr(node, f"{fusion.source}_version")
    else:
        tensor._counter = VersionCounter()
    return tensor


def _operator(qualified: str) -> Operator:
    name, _, overload = qualified.partition(".")
    return registry.find_or_throw(name, overload)


# -- the class of the nodes ------------------------------------------------------------------------


@cache
def fused_class(fusion: Fusion, outer: Formula, inner: Formula) -> type[Node]:
    """Return the class of the nodes that stand for `outer` applied to the result of `inner`, of
    real numbers.
    """
    outer_class: Any = build_node_class(outer, is_real=True)
    slots = {slot for saved in outer.saved for slot in slots_of(saved)}
    arguments = {
        argument.name: argument for argument in _operator(fusion.operator).schema.arguments
    }
    stored = [*fusion.kept, *fusion.saved_arrays]
    for slot, name in fusion.saved.items():
        stored += [slot, f"{slot}_version"] if is_tensor_like(arguments[name]) else [slot]
    own = ["inner", *[slot for slot in stored if slot not in slots]]
    freed = {f"_{saved.name}" for saved in outer.saved if saved.kind != "value"} - set(
        fusion.outer_values
    )
    freed |= {slot for slot, name in fusion.saved.items() if is_tensor_like(arguments[name])} | {
        *fusion.kept,
        *fusion.saved_arrays,
    }
    lines = [
        f"class {outer.name}(FusedNode, Outer):",
        f'    """Node of {fusion.operator}, until somebody '
        f'looks: {fusion.inner}, then {fusion.outer}."""',
        "",
        f"    __slots__ = {tuple(own)!r}",
        "",
        "    def apply_arrays(self, kernels, edges, grad):",
        f"        if edges[{fusion.place}][0] is self.inner:",
        "            return split_body(self, kernels, edges, grad)",
        "        return fused_body(self, kernels, edges, grad)",
        "",
        "    def _release_saved(self):",
        f"        {' = '.join([f'self.{slot}' for slot in sorted(freed)])} = RELEASED",
    ]
    text = "\n".join(lines) + "\n"
    filename = f"<node class of {fusion.operator}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace: dict[str, Any] = {
        "FusedNode": FusedNode,
        "Outer": outer_class,
        "RELEASED": RELEASED,
        "__name__": __name__,
        "fused_body": fusion.backward,
        "split_body": outer_class.apply_arrays,
    }
    exec(compile(text, filename, "exec"), namespace)
    cls: Any = namespace[outer.name]
    cls._fusion = fusion
    cls.outer_class = outer_class
    cls.inner_class = build_node_class(inner, is_real=True)
    for slot, value in fusion.outer_values.items():
        setattr(cls, slot, value)
    made: type[Node] = cls
    return made


# -- the route -------------------------------------------------------------------------------------


def fused_route(composition: Composition, kernel: Kernel) -> RouteText | None:
    """Return the route that records a call of a composite as one, or None where it is not to be
    fused.

    Parameters
    ----------
    composition
        A call that is recorded.
    kernel
        The composite.
    """
    op, key = composition.op, composition.key
    fusion = op.fusion
    backends = backends_of_signature(key)
    if fusion is None or len(backends) != 1:
        return None
    backend = backends[0]
    if (
        not backend.is_device
        or key & ~(DTYPE_MASK | NORMAL | GRAD | backend.bit)
        or not fusion.takes(key & DTYPE_MASK)
    ):
        return None
    outer, inner = _operator(fusion.outer), _operator(fusion.inner)
    if kernel.registrar is not None or not (_is_own(outer, backend) and _is_own(inner, backend)):
        return None
    try:
        helper = getattr(array_kernels(backend), fusion.helper)
        for part in (outer, inner):
            getattr(array_kernels(backend), part.base_name)
    except NoArrayKernelError:
        return None
    return _FusedRoute(composition, fusion, kernel, backend, helper).text


def _is_own(op: Operator, backend: Backend) -> bool:
    """Return whether nobody put a kernel over that of `backend`, nor a derivative over that of the
    base library.
    """
    return len(op.kernels.get(backend_key("Dense", backend), ())) == 1 and isinstance(
        op.formula, Formula
    )


class _FusedRoute:
    """One pass over a schema that writes the text of the route."""

    def __init__(
        self,
        composition: Composition,
        fusion: Fusion,
        kernel: Kernel,
        backend: Backend,
        helper: Any,
    ) -> None:
        op = composition.op
        self.fusion = fusion
        self.arguments = {argument.name: argument for argument in op.schema.arguments}
        parameters = [parameter(argument) for argument in op.schema.arguments]
        outer, inner = _operator(fusion.outer).formula, _operator(fusion.inner).formula
        assert isinstance(outer, Formula)
        assert isinstance(inner, Formula)
        bits = composition.key & DTYPE_MASK & DIFFERENTIABLE
        self.text = text = RouteText(symbol(op.schema), parameters, results=["result"])
        text.bindings.update(
            BACKEND=backend,
            GRAD=GRAD,
            Node=fused_class(fusion, outer, inner),
            SIGNATURE=backend.bit | NORMAL | GRAD | bits,
            ZERO_DIM_SIGNATURE=backend.bit | NORMAL | GRAD | bits | ZERO_DIM,
            composite=kernel.fn,
            gradient_edge=gradient_edge,
            helper=helper,
            leaf_edge=leaf_edge,
            make_tensor=bare_tensor_maker(),
            next_sequence_nr=next_sequence_nr,
        )
        composite = f"    return composite({', '.join(parameters)})"
        text.lines += [f"if {fusion.unless}:", composite]
        if needs_extras():
            text.bindings["recording_extras"] = recording_extras
            text.lines += ["if recording_extras() is not None:", composite]
        for name in fusion.inputs:
            text.lines += edge_lines(
                self.arguments[name], composition.key, is_only=False, is_given=True
            )
        text.lines += [f"if {fusion.inputs[fusion.place]}_edge is None:", composite]
        further = [f"array{i}" for i, _ in enumerate(fusion.kept, 1)]
        results = ", ".join(["array", *further])
        arguments = [self.array_of(name) for name in fusion.arguments]
        text.lines += quiet_lines(
            text, backend, f"{results} = helper({', '.join(arguments)})", helper
        )
        text.lines += [
            "result = make_tensor()",
            "result.array = array",
            "result._signature = SIGNATURE if array.ndim else ZERO_DIM_SIGNATURE",
            "result.output_nr = 0",
            "result._storage = None",
            "result._counter = None",
            "result._meta = None",
            "result._grad_fn = node = Node()",
            f"node.next_edges = ({', '.join([f'{name}_edge' for name in fusion.inputs])},)",
            "node.inner = next_sequence_nr()",
            "node.sequence_nr = next_sequence_nr()",
            "node._array_backend = BACKEND",
            "node._node_hooks = None",
            "node.input_metadata = (array.shape, array.dtype)",
            *[f"node.{slot} = {array}" for slot, array in zip(fusion.kept, further, strict=True)],
        ]
        text.lines += [
            f"node.{slot} = {self.array_of(name)}" for slot, name in fusion.saved_arrays.items()
        ]
        for slot, name in fusion.saved.items():
            text.lines += self.save(slot, name)

    def array_of(self, name: str) -> str:
        argument = self.arguments[name]
        return f"{parameter(argument)}.array" if is_tensor_like(argument) else parameter(argument)

    def save(self, slot: str, name: str) -> list[str]:
        argument = self.arguments[name]
        local = parameter(argument)
        if not is_tensor_like(argument):
            return [f"node.{slot} = {local}"]
        return [
            f"node.{slot} = {local}",
            f"counter = {local}._counter",
            f"node.{slot}_version = 0 if counter is None else counter.value",
        ]

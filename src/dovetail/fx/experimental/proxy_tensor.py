"""`make_fx`: runs a function on tensors, and records the operators that it calls as a graph."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dovetail_aten import Tensor
from dovetail_dispatcher import dispatch_modes

from ...nn import Module, Parameter
from ...utils import _pytree as pytree
from ...utils._python_dispatch import TorchDispatchMode
from .._symbolic_trace import Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from ..source import TreeCodeGen

__all__ = ["ProxyTorchDispatchMode", "get_proxy_mode", "make_fx"]


def make_fx(
    f: Callable[..., object],
    decomposition_table: Mapping[object, Callable[..., object]] | None = None,
    tracing_mode: str = "real",
    **options: Any,
) -> Callable[..., GraphModule]:
    """Return a function that runs `f` on its arguments and returns the recorded calls as a module.

    Operators are recorded below autograd and the transforms of `dovetail.func`, including those of
    a gradient. Decisions that depend on values, and shapes, are fixed for these arguments.

    Parameters
    ----------
    f
        A function or a module on nested tensors; other arguments are constants.
    decomposition_table
        Functions that replace operators; their calls are recorded.
    tracing_mode
        ``'real'``, ``'fake'`` or ``'symbolic'``; all modes run `f` on the arguments.

    Raises
    ------
    ValueError
        For any other `tracing_mode`.

    Examples
    --------
    ::

        make_fx(lambda x: (x.sin() * 2).sum())(dovetail.ones(3)).code
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise ValueError(
            f"Unexpected tracing type: {tracing_mode}; it is 'real', 'fake' or 'symbolic'"
        )

    def traced(*args: Any) -> GraphModule:
        root = Module()
        mode = ProxyTorchDispatchMode(root, decomposition_table or {})
        graph = mode.graph
        names = _names(f, len(args))
        leaves, spec = pytree.tree_flatten(args)
        nested = any([isinstance(each, (tuple, list, dict)) for each in args])
        for name, leaf in zip(_names_of_leaves(names, args), leaves, strict=True):
            node = graph.placeholder(f"{name}_1")
            if isinstance(leaf, Tensor):
                mode.note(leaf, node)
        if nested:
            graph.set_codegen(TreeCodeGen(names, spec))
        result = mode.around(f, *args)
        graph.output(pytree.tree_map(mode.node_of, result))
        return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__))

    return traced


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the mode of the `make_fx` that is running, or None."""
    found = [each for each in dispatch_modes.modes if isinstance(each, ProxyTorchDispatchMode)]
    return found[-1] if found else None


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records the operators called inside.

    Parameters
    ----------
    root
        Module that receives unknown tensors as attributes.
    decomposition_table
        Functions that replace operators.
    """

    def __init__(
        self, root: Module, decomposition_table: Mapping[object, Callable[..., object]]
    ) -> None:
        super().__init__()
        self.root = root
        self.graph = Graph(tracer_cls=Tracer)
        self.decomposition_table = decomposition_table
        self._nodes: dict[int, Node] = {}
        self._held: list[Any] = []
        self._constants = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.decomposition_table:
            return self.around(self.decomposition_table[func], *args, **kwargs)
        args_ = pytree.tree_map(self.node_of, tuple(args))
        kwargs_ = pytree.tree_map(self.node_of, dict(kwargs))
        result = func(*args, **kwargs)
        name = getattr(func, "overloadpacket", func).__name__
        self.note(result, self.graph.call_function(func, args_, kwargs_, name=name))
        return result

    def note(self, result: object, node: Node) -> None:
        """Let a node stand for a result, and nodes that take its items for those of a sequence."""
        if isinstance(result, Tensor):
            # By its array: transforms give operators other tensors of the same.
            self._nodes[id(result.array)] = node
            self._held.append(result.array)
        elif isinstance(result, (tuple, list)):
            for place, each in enumerate(result):
                item = self.graph.call_function(operator.getitem, (node, place))
                self.note(each, item)

    def node_of(self, value: object) -> Any:
        """Return the node of a tensor, that of an attribute if it is not known; other values as
        they are.
        """
        if not isinstance(value, Tensor):
            return value
        found = self._nodes.get(id(value.array))
        if found is None:
            kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
            name = f"{kind}{self._constants}"
            self._constants += 1
            if isinstance(value, Parameter):
                self.root.register_parameter(name, value)
            else:
                self.root.register_buffer(name, value)
            found = self.graph.get_attr(name)
            self.note(value, found)
        return found


def _names(f: Callable[..., object], count: int) -> list[str]:
    """Return the names of the arguments of a call."""
    function = f.forward if isinstance(f, Module) else f
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [each.name for each in parameters if each.kind in kinds][:count]
    return names + [f"arg{place}" for place in range(len(names), count)]


def _names_of_leaves(names: list[str], args: tuple[object, ...]) -> list[str]:
    """Return the names of the leaves of the arguments: those of the arguments."""
    return [
        name
        for name, arg in zip(names, args, strict=True)
        for _ in range(len(pytree.tree_leaves(arg)))
    ]

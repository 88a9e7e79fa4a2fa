"""`Proxy`: stands for a value while a program is traced, and records what is done with it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from dis import get_instructions
from typing import Any, Final, NoReturn, cast

from dovetail_dispatcher import OpOverload, OpOverloadPacket, ask_arguments, is_overridable
from dovetail_kernel import Device, Layout, MemoryFormat, TensorBase, dtype

from ..overrides import is_tensor_method_or_property
from .graph import Graph
from .names import name_of_target
from .node import Argument, Node, Target, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

_CONSTANTS: Final = (
    *(str, int, float, bool, complex, type(None), type(...), range),
    *(dtype, Device, Layout, MemoryFormat, OpOverload, OpOverloadPacket),
)
"""Classes whose values stand in the arguments of nodes as they are."""

_NOT_RECORDED: Final = frozenset({"root", "attr", "tracer", "node", "_node", *TensorBase.__slots__})
"""Attributes of proxies that are being copied, and those in which calls look for tensors."""


class TraceError(ValueError):
    """A program does what cannot be recorded: it asks a value that is not known yet."""


class TracerBase:
    """What makes nodes of calls. `Tracer` traces programs; `GraphAppendingTracer` adds to a graph.

    Attributes
    ----------
    graph
        The graph that gets the nodes.
    """

    graph: Graph

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph and return it: the place to note more of it, in a subclass."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Return what stands for the result of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node with the arguments of a call, and return what stands for its result."""
        args_ = self.create_arg(tuple(args))
        kwargs_ = self.create_arg(dict(kwargs))
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """Return an argument as nodes have it: nodes in place of proxies.

        Raises
        ------
        NotImplementedError
            For what no node can have.
        RuntimeError
            For a dict with proxies among its keys.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, dict):
            for key in a:
                if isinstance(key, (Proxy, Node)):
                    raise RuntimeError(
                        f"Keys for dictionaries used as an argument cannot contain a Node. Got "
                        f"key: {key}"
                    )
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*[self.create_arg(each) for each in a])
        if isinstance(a, (tuple, list)):
            return type(a)([self.create_arg(each) for each in a])
        if isinstance(a, slice):
            return slice(*[self.create_arg(each) for each in (a.start, a.stop, a.step)])
        if isinstance(a, (Node, *_CONSTANTS)):
            return a
        if is_dataclass(a) and not isinstance(a, type):
            values = {each.name: self.create_arg(getattr(a, each.name)) for each in fields(a)}
            return self.create_node("call_function", type(a), (), values)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Return the truth of a value: raises TraceError, since it is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Return the items of a value, as many as are unpacked; how many there are is not known
        else.

        Raises
        ------
        TraceError
            Anywhere but in ``a, b = value``.
        """
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame and frame.f_back else None
        if caller is not None:
            for each in get_instructions(caller.f_code):
                if each.offset == caller.f_lasti and each.opname == "UNPACK_SEQUENCE":
                    return iter([operator.getitem(cast("Any", obj), k) for k in range(each.argval)])
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. How many items there are is not "
            "known while a program is traced: take them by their number, or unpack them by name"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return what stands for ``obj.keys()``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds calls of proxies to a graph.

    Parameters
    ----------
    graph
        The graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Placeholder for the result of a node during tracing; operations on it are recorded.

    Parameters
    ----------
    node
        The node.
    tracer
        Tracer that creates nodes; by default, nodes are added to the graph of `node`.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        ask_arguments()
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in _NOT_RECORDED:
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return self

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return a proxy for the keys, for ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call dovetail.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = name_of_target(orig_method)
        if is_tensor_method_or_property(orig_method) and is_overridable(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name)


class Attribute(Proxy):
    """Stands for an attribute of a value, which is read when it is not called at once.

    Parameters
    ----------
    root
        What stands for the value.
    attr
        The name.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads it."""
        if self._node is None:
            self._node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            ).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


_OPERATORS: Final = (
    *("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_"),
    *("or_", "xor", "getitem", "matmul", "eq", "ne", "lt", "gt", "le", "ge"),
    *("neg", "pos", "invert"),
)
_SWAPPED: Final = (*_OPERATORS[: _OPERATORS.index("getitem")], "matmul")


def _define_operators() -> None:
    """Give `Proxy` the methods behind Python's operators."""

    def forward(function: Callable[..., Any]) -> Callable[..., Proxy]:
        def record(self: Proxy, *args: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (self, *args), {})

        return record

    def backward(function: Callable[..., Any]) -> Callable[..., Proxy]:
        def record(self: Proxy, other: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return record

    for name in _OPERATORS:
        function = getattr(operator, name)
        word = name.strip("_")
        setattr(Proxy, f"__{word}__", forward(function))
        if name in _SWAPPED:
            setattr(Proxy, f"__r{word}__", backward(function))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_define_operators()

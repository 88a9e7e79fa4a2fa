"""`Interpreter`: runs a graph node by node. `Transformer`: makes another graph of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..nn import Module
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .order import last_uses
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node. Subclasses change what nodes do.

    Parameters
    ----------
    module
        The module whose graph is run; without `graph` it is a GraphModule.
    garbage_collect_values
        Free each result after its last use.
    graph
        The graph, if it is not the graph of `module`.

    Attributes
    ----------
    env
        The results of executed nodes.
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses = last_uses(self.graph)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, object] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph and return its result.

        Parameters
        ----------
        *args
            The arguments of the module, in the order of its placeholders.
        initial_env
            Results of nodes that are not run.
        enable_io_processing
            Whether to flatten nested arguments, if the graph does.

        Raises
        ------
        Exception
            Any exception of a node, with a note that names the node.
        """
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _name_node(error, node)
                raise
            if self.garbage_collect_values:
                for each in self.user_to_last_uses.get(node, []):
                    del self.env[each]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def run_node(self, n: Node) -> Any:
        """Run a node and return its result."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, object]
    ) -> Any:
        """Return the argument of a parameter, or its default.

        Raises
        ------
        RuntimeError
            If there is neither.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
        )

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function."""
        if isinstance(target, str):
            raise AssertionError(f"a function was expected, not {target!r}")
        return target(*args, **kwargs)

    def call_method(
        self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, object]
    ) -> Any:
        """Call a method of the first argument."""
        taker, *rest = args
        return getattr(taker, str(target))(*rest, **kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a submodule."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(
        self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, object]
    ) -> Any:
        """Return the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return the attribute of the module at a path.

        Raises
        ------
        RuntimeError
            If there is no such attribute.
        """
        found: Any = self.module
        names = target.split(".")
        for place, name in enumerate(names):
            if not hasattr(found, name):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(names[: place + 1])}"
                )
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a node, with results in place of nodes."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return args, kwargs

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Return arguments with results in place of nodes.

        Raises
        ------
        RuntimeError
            For a node that has not run.
        """

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)


class Transformer(Interpreter):
    """Transforms a graph: the operations of its methods on proxies are recorded in a new graph.

    Parameters
    ----------
    module
        A GraphModule.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class _Recording(Tracer):
            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = _Recording()
        self.tracer.graph = self.new_graph
        self.tracer.root = module

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, object]
    ) -> Proxy:
        """Add a parameter to the new graph."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Add access to an attribute to the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Add the call of a submodule to the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Add the call of a function to the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module with the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(value: object) -> Any:
                return value.node if isinstance(value, Proxy) else value

            old = self.graph.output_node()
            new = self.new_graph.output(map_aggregate(result, node_of))
            new.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)


def _name_node(error: Exception, node: Node) -> None:
    """Name a node behind the message of an error, once."""
    if getattr(error, "_names_node", False):
        return
    text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
    message = f"{error.args[0]}\n\n{text}" if error.args else text
    error.args = (message, *error.args[1:])
    error._names_node = True  # type: ignore[attr-defined]

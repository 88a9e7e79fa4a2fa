"""`Graph`: the steps of a program, in order."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .names import Namespace, name_of_target
from .node import Argument, Node, Target, map_arg
from .order import Inserting, Nodes
from .source import CodeGen, PythonCode

__all__ = ["CodeGen", "Graph", "PythonCode"]


class Graph:
    """The steps of a program, in order.

    Parameters
    ----------
    owning_module
        The module whose attributes and submodules the nodes name.
    tracer_cls, tracer_extras
        The class of the tracer that created the graph, and its extra data.

    Examples
    --------
    ::

        graph = Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_function(dovetail.relu, (x,)))
        GraphModule(nn.Module(), graph)(dovetail.tensor([-1.0, 2.0]))  # tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: object = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._members: dict[Node, None] = {}
        self._names = Namespace()
        self._places: dict[Node, int] | None = None
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._codegen = CodeGen()

    @property
    def nodes(self) -> Nodes:
        """The nodes, in order."""
        return Nodes(self)

    def output_node(self) -> Node:
        """Return the output node.

        Raises
        ------
        StopIteration
            If there is no such node.
        """
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise StopIteration("the graph has no output: give it one with Graph.output")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes with this `op`, and with this `target` if passed, in order."""
        found = [each for each in self.nodes if each.op == op]
        return found if target is None else [each for each in found if each.target == target]

    def places(self) -> dict[Node, int]:
        """Return the position of every node."""
        if self._places is None:
            self._places = {node: place for place, node in enumerate(self.nodes)}
        return self._places

    # -- new nodes -------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: object = None,
    ) -> Node:
        """Add a node at the insertion point, which is initially the end.

        Parameters
        ----------
        op, target, args, kwargs
            As for `Node`.
        name
            The name of the node; a number is appended if it is already used.
        type_expr
            Its annotation.

        Raises
        ------
        AssertionError
            For an unknown `op`.
        """
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else name_of_target(target)
        node = Node(self, candidate, op, target, args, kwargs, type_expr)
        node.name = self._names.create_name(candidate, None)
        self._names.associate(node.name, node)
        self._insert(node)
        self._members[node] = None
        self._places = None
        return node

    def placeholder(self, name: str, type_expr: object = None, default_value: object = ...) -> Node:
        """Add a parameter.

        Parameters
        ----------
        name
            Name of the parameter, prefixed by one or two stars for variadic parameters.
        default_value
            Its default value, if any.
        """
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, {}, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: object = None) -> Node:
        """Add access to an attribute of the owning module: ``'layers.0.weight'``."""
        return self.create_node("get_attr", qualified_name, (), {}, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: object = None,
    ) -> Node:
        """Add the call of a submodule of the owning module: ``'layers.0'``."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: object = None,
    ) -> Node:
        """Add the call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., object],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: object = None,
        name: str | None = None,
    ) -> Node:
        """Add the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: object = None) -> Node:
        """Add the return of `result`, in which nodes represent their results."""
        return self.create_node("output", "output", (result,), {}, type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda n: n
    ) -> Node:
        """Add a copy of a node of another graph.

        Parameters
        ----------
        arg_transform
            Function that maps a node in the arguments to a node of this graph.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add copies of all nodes of `g` except the output node, and return the value that it
        returns.

        Parameters
        ----------
        val_map
            Mapping from nodes of `g` to their copies; updated in place.
        return_output_node
            Also return the output node of `g`.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # -- places of new nodes ---------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> Any:
        """Set the insertion point before `n`, or at the start without `n`; as a context manager,
        only inside the block.
        """
        if n is None:
            return self._inserting(self._root.next.prepend if self._members else None)
        self._require_own(n)
        return self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Set the insertion point after `n`, or at the end without `n`; as a context manager, only
        inside the block.
        """
        if n is None:
            return self._inserting(self._root.prepend)
        self._require_own(n)
        return self._inserting(n.append)

    def _require_own(self, n: Node) -> None:
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    def _inserting(self, insert: Callable[[Node], None] | None) -> Inserting:
        return Inserting(self, insert or self._root.prepend)

    # -- changes ---------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users.

        Raises
        ------
        RuntimeError
            If the node has users, or belongs to another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set((), {})
        del self._members[to_erase]
        self._places = None

    def eliminate_dead_code(
        self,
        is_impure_node: Callable[[Node], bool] | None = None,
        ignore_impure_random: bool = False,
    ) -> bool:
        """Remove nodes without users, and return whether there were any.

        Parameters
        ----------
        is_impure_node
            Predicate for nodes to keep. Default: `Node.is_impure`.
        ignore_impure_random
            Whether to remove unused random operators too.
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            if node.users:
                continue
            stays = (
                node.is_impure(impure_random=not ignore_impure_random)
                if is_impure_node is None
                else is_impure_node(node)
            )
            if not stays:
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Check that nodes come after their arguments, that names are unique, and that targets
        exist in the owning module.

        Raises
        ------
        RuntimeError
            If a check fails.
        """
        seen: dict[Node, None] = {}
        names: dict[str, Node] = {}
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for each in node.all_input_nodes:
                if each.graph is not self:
                    raise RuntimeError(
                        f"Argument '{each}' of Node '{node}' does not belong to this Graph, but "
                        "was used as an argument! If you are copying nodes from another graph, "
                        "make sure to use ``arg_transform`` on node_copy() to remap values\n"
                        f"{self}"
                    )
                if each not in seen:
                    raise RuntimeError(
                        f"Argument '{each}' of Node '{node}' was used before it has been defined! "
                        "Please check that Nodes in the graph are topologically ordered\n"
                        f"{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen[node], names[node.name] = None, node
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                _require_target(self.owning_module, node)

    # -- what it is ------------------------------------------------------------------------------

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """Return the source of the graph as a function, and the values of its global names.

        Parameters
        ----------
        root_module
            The name of the parameter that holds the attributes and submodules.
        """
        return self._codegen.source_of(self, root_module)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Use `codegen` to write the source."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: object) -> Any:
        """Return the result of a call from the result of the graph."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [
            (each.op, each.name, str(each.target), str(each.args), str(each.kwargs))
            for each in self.nodes
        ]
        widths = [max([len(row[place]) for row in rows]) for place in range(5)]
        rows.insert(1, tuple(["-" * width for width in widths]))  # type: ignore[arg-type]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            print("  ".join(cells).rstrip())

    def __str__(self) -> str:
        returns = [""]
        lines = [each.format_node(None, returns) for each in self.nodes]
        text = "".join([f"\n    {line}" for line in lines if line is not None])
        return f"graph(){returns[0]}:{text}"

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        found: dict[Node, Node] = {}
        result = copied.graph_copy(self, found, return_output_node=True)
        if result is not None:
            value, output = result
            made = copied.output(value, output.type)
            made.meta = copy.copy(output.meta)
        copied._codegen = copy.deepcopy(self._codegen)
        if memo is not None:
            memo[id(self)] = copied
        return copied


def _require_target(module: object, node: Node) -> None:
    """Check that the module has what a node names."""
    names = str(node.target).split(".")
    for place, name in enumerate(names):
        found = getattr(module, name, None)
        if found is None:
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {name} of "
                f"{'.'.join(names[:place])}"
            )
        module = found

"""Gradient edges of the arguments of a call: how routes find them, and ask whether there are
any.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from dovetail_dispatcher.calls import Around, Printer, Step, Value, argument_value
from dovetail_dispatcher.record import Record
from dovetail_dispatcher.schema import Argument
from dovetail_kernel import TensorBase
from dovetail_kernel.signature import GRAD, PYTHON_SCALAR, VIEW

from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.node import EdgeTuple


class Edge(Record):
    """An input's gradient edge, from `FindEdge`: an edge or None; a tuple of these for a list."""

    value: Value
    is_list: bool = False

    def test(self, to: Printer) -> str:
        """Return the condition that there is an edge."""
        name = to.name(self.value)
        return f"{to.builtin('any')}({name})" if self.is_list else f"{name} is not None"

    def item(self, to: Printer) -> str:
        """Return the entry of the edge in a tuple of edges."""
        return f"*{to.name(self.value)}" if self.is_list else to.name(self.value)


def any_edge(edges: Iterable[Edge], to: Printer) -> str:
    """Return the condition that there is one of `edges`."""
    return " or ".join([edge.test(to) for edge in edges])


class FindEdge(Step):
    """Find the gradient edge of an argument.

    Attributes
    ----------
    way
        ``list``: of every tensor of a list. ``ask``: of something that may be None or a number.
        ``view``: of a tensor that may be a view. ``recorded``: of a tensor that requires grad,
        since the call is recorded and has no other. ``tensor``: of any other tensor.
    """

    argument: Value
    edge: Edge
    way: str

    def print(self, to: Printer) -> None:
        name, edge = to.name(self.argument), to.name(self.edge.value)
        if self.way == "list":
            to.add(f"{edge} = {to.bind('edges_of', edges_of)}({name})")
            return
        if self.way == "ask":
            to.add(f"{edge} = {to.bind('edge_of', edge_of)}({name})")
            return
        fn, leaf = to.scratch("fn"), f"{to.bind('leaf_edge', leaf_edge)}({name})"
        to.add(f"{fn} = {name}._grad_fn")
        if self.way == "recorded":
            to.add(f"{edge} = {leaf} if {fn} is None else ({fn}, {name}.output_nr)")
            return
        first = "if"
        if self.way == "view":
            of_view = f"{to.bind('gradient_edge', gradient_edge)}({name})"
            to.extend(
                (
                    f"if {name}._signature & {to.bind('VIEW', VIEW)} and "
                    f"({fn} is None or {name}._counter.value != {name}._meta.attr_version):",
                    f"    {edge} = {of_view}",
                )
            )
            first = "elif"
        to.extend(
            (
                f"{first} {fn} is not None: {edge} = {fn}, {name}.output_nr",
                f"elif {name}._signature & {to.bind('GRAD', GRAD)}: {edge} = {leaf}",
                f"else: {edge} = None",
            )
        )


def find_edge(
    argument: Argument, key: int, *, is_only: bool = False, is_given: bool = False
) -> FindEdge:
    """Return the step that finds the edge of `argument`.

    Parameters
    ----------
    key
        The key of the calls that the route is for.
    is_only
        The argument is the one tensor of the call, so that a call that is recorded says that it
        requires grad. Default: False.
    is_given
        An optional argument is known not to be None. Default: False.
    """
    kind = argument.kind
    is_list = "[" in kind
    if is_list:
        way = "list"
    elif (kind == "Tensor?" and not is_given) or key & PYTHON_SCALAR:
        way = "ask"
    elif key & VIEW:
        way = "view"
    else:
        way = "recorded" if is_only else "tensor"
    return _find_edge(argument_value(argument), is_list, way)


@lru_cache(maxsize=1024)
def _find_edge(argument: Value, is_list: bool, way: str) -> FindEdge:
    return FindEdge(argument, Edge(Value(f"{argument.name}_edge"), is_list), way)


class IfAnyEdge(Around):
    """Run some steps if one of several edges exists, and other steps if none does."""

    edges: tuple[Edge, ...]
    otherwise: tuple[Step, ...] = ()

    def print(self, to: Printer) -> None:
        with to.block(f"if {any_edge(self.edges, to)}:"):
            to.print(self.steps)
        if self.otherwise:
            with to.block("else:"):
                to.print(self.otherwise)


# -- what routes call ------------------------------------------------------------------------------


def edge_of(value: object) -> EdgeTuple | None:
    """Return the gradient edge of an argument that may also be None or a Python number."""
    return gradient_edge(value) if isinstance(value, TensorBase) else None


def edges_of(values: Sequence[object] | None) -> tuple[EdgeTuple | None, ...]:
    """Return the gradient edges of a list of tensors."""
    return tuple([edge_of(value) for value in values]) if values else ()

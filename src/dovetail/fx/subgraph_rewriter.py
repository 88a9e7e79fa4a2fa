"""`replace_pattern`: finds the steps of one graph in another, and puts others in their place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Pattern = Callable[..., Any] | Graph | GraphModule


class Match(NamedTuple):
    """Where a pattern was found.

    Attributes
    ----------
    anchor
        The node that stands for the last step of the pattern.
    nodes_map
        The nodes of the pattern, and those that stand for them.
    """

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """Where a pattern was found, and what was put there.

    Attributes
    ----------
    anchor, nodes_map
        As for `Match`.
    replacements
        The new nodes.
    """

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node] = field(default_factory=list)


def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Replace each occurrence of `pattern` in a module by `replacement`.

    Matches are searched from the end of the graph; they do not overlap, and inner results have no
    outside users.

    Parameters
    ----------
    gm
        The module, changed in place.
    pattern, replacement
        Functions, or graphs, with as many parameters.

    Returns
    -------
    list of Match
        The matches, in graph order.

    Examples
    --------
    ::

        replace_pattern(traced, lambda x: relu(x) + 1, lambda x: sigmoid(x))
    """
    found = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in found]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[Callable[[Match, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[Match, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """Do as `replace_pattern`, where all filters agree.

    Parameters
    ----------
    gm, pattern, replacement
        As there.
    match_filters
        Get the place, the graph and that of the pattern.
    ignore_literals
        Numbers may be others than those of the pattern.
    replacement_callback
        Returns the graph to put there, given the same.
    """
    wanted = _graph_of(pattern)
    other = _graph_of(replacement) if replacement is not None else None
    matches = _places(gm.graph, wanted, ignore_literals)
    matches = [
        each
        for each in matches
        if all([keeps(each, gm.graph, wanted) for keeps in match_filters or ()])
    ]
    replaced: list[ReplacedPatterns] = []
    became: dict[Node, Node] = {}
    for match in matches:
        graph = replacement_callback(match, gm.graph, wanted) if replacement_callback else other
        if graph is None:
            raise AssertionError("Must provide either a replacement or a replacement callback")
        replaced.append(_replace(gm.graph, match, wanted, graph, became))
    for made in (replacement, pattern):
        if isinstance(made, Module):
            _take_modules(gm, made)
    gm.recompile()
    return replaced


def _graph_of(pattern: Pattern) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _places(graph: Graph, pattern: Graph, ignore_literals: bool) -> list[Match]:
    """Return where the pattern is, first things first; places do not overlap."""
    result = pattern.output_node().args[0]
    ends = [result] if isinstance(result, Node) else [each for each in result]
    taken: set[Node] = set()
    found: list[Match] = []
    for node in list(graph.nodes):
        nodes: dict[Node, Any] = {}
        if not _matches(ends[-1], node, nodes, ignore_literals):
            continue
        if len(ends) > 1 and not _match_others(ends[:-1], graph, nodes, ignore_literals):
            continue
        steps = [nodes[each] for each in nodes if each.op != "placeholder"]
        if taken.intersection(steps) or not _is_closed(nodes, ends):
            continue
        taken.update(steps)
        found.append(Match(node, nodes))
    return found


def _match_others(
    ends: list[Node], graph: Graph, nodes: dict[Node, object], ignore_literals: bool
) -> bool:
    """Find nodes for the other results of a pattern."""
    for end in ends:
        if end in nodes:
            continue
        for node in graph.nodes:
            trial = dict(nodes)
            if _matches(end, node, trial, ignore_literals):
                nodes.update(trial)
                break
        else:
            return False
    return True


def _is_closed(nodes: dict[Node, object], ends: list[Node]) -> bool:
    """Tell whether nothing but the results is taken from outside."""
    steps = {found for each, found in nodes.items() if each.op != "placeholder"}
    return all(
        [
            each.op in ("placeholder", "get_attr") or each in ends or steps.issuperset(found.users)
            for each, found in nodes.items()
            if isinstance(found, Node)
        ]
    )


def _matches(
    wanted: object, found: object, nodes: dict[Node, object], ignore_literals: bool
) -> bool:
    """Tell whether a value of the graph is that of the pattern, and note the nodes."""
    if isinstance(wanted, Node):
        if wanted in nodes:
            return nodes[wanted] is found or (
                not isinstance(found, Node) and bool(nodes[wanted] == found)
            )
        if wanted.op == "placeholder":
            nodes[wanted] = found
            return True
        if not isinstance(found, Node) or found.op != wanted.op or found in nodes.values():
            return False
        if wanted.op in ("get_attr", "call_module"):
            same = str(found.target).split(".")[-1] == str(wanted.target).split(".")[-1]
        else:
            same = found.target == wanted.target
        if not same or found.op == "output":
            return False
        nodes[wanted] = found
        return _matches(wanted.args, found.args, nodes, ignore_literals) and _matches(
            wanted.kwargs, found.kwargs, nodes, ignore_literals
        )
    if isinstance(found, Node):
        return False
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and wanted.keys() == found.keys()
            and all([_matches(wanted[key], found[key], nodes, ignore_literals) for key in wanted])
        )
    if isinstance(wanted, (tuple, list)):
        return (
            isinstance(found, (tuple, list))
            and len(wanted) == len(found)
            and all(
                [
                    _matches(one, other, nodes, ignore_literals)
                    for one, other in zip(wanted, found, strict=True)
                ]
            )
        )
    return type(wanted) is type(found) and (ignore_literals or bool(wanted == found))


def _replace(
    graph: Graph, match: Match, pattern: Graph, replacement: Graph, became: dict[Node, Node]
) -> ReplacedPatterns:
    """Put the steps of `replacement` at a place, and take out those that were there.

    Parameters
    ----------
    became
        What stands for nodes that were taken out; gets those of this place.
    """
    parameters = [each for each in pattern.nodes if each.op == "placeholder"]
    others = [each for each in replacement.nodes if each.op == "placeholder"]
    values: dict[Node, Any] = {}
    for one, other in zip(parameters, others, strict=False):
        value = match.nodes_map.get(one)
        values[other] = became.get(value, value) if isinstance(value, Node) else value
    steps = [found for each, found in match.nodes_map.items() if each.op != "placeholder"]
    last = max(steps, key=lambda each: graph.places()[each])
    made: list[Node] = []
    result: Any = None
    with graph.inserting_before(last.next):
        for node in replacement.nodes:
            if node.op == "placeholder":
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: values[n])
                break
            values[node] = graph.node_copy(node, lambda n: values[n])
            made.append(values[node])
    ends = pattern.output_node().args[0]
    pairs = [(ends, result)] if isinstance(ends, Node) else list(zip(ends, result, strict=True))
    for end, value in pairs:
        old = match.nodes_map[end]
        old.replace_all_uses_with(value, lambda user: user not in made)
        became[old] = value
    for each in sorted(set(steps), key=lambda each: graph.places()[each], reverse=True):
        if not each.users:
            graph.erase_node(each)
    return ReplacedPatterns(match.anchor, match.nodes_map, made)


def _take_modules(gm: GraphModule, other: Module) -> None:
    """Give a module what its nodes name and the module of a pattern has."""
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        name = str(node.target)
        if _value(gm, name) is None and (found := _value(other, name)) is not None:
            if isinstance(found, Module):
                gm.add_submodule(name, copy.deepcopy(found))
            else:
                setattr(gm, name, found)


def _value(module: object, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module

"""The classes of nodes by name, for those who ask what made a tensor."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NoReturn

from dovetail_dispatcher.table import Formula, registry

from ..graph.accumulate import AccumulateGrad
from ..graph.node import Node
from ..graph.views import CopySlices
from .error_nodes import Error, NotImplementedNode, UndefinedGradBackward

_OWN: Final[dict[str, type[Node]]] = {
    "AccumulateGrad": AccumulateGrad,
    "CopySlices": CopySlices,
    "Error": Error,
    "NotImplemented": NotImplementedNode,
    "UndefinedGradBackward": UndefinedGradBackward,
}


class NodeKind(type):
    """The class of what stands for all nodes of one name: these are of several classes, one for
    each way of computing the formula.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to make a node, which only a recorded call does."""
        raise TypeError(
            f"cannot create '{cls.__name__}' instances. Call an operator on a tensor that requires "
            "grad."
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Node) and type(instance).__name__ == cls.__name__

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Node) and subclass.__name__ == cls.__name__


def node_names() -> list[str]:
    """Return the names of the nodes of all operators that are loaded, and of those without
    operator.
    """
    formulas = [op.formula for op in registry.all_operators()]
    made = [each.name for each in formulas if isinstance(each, Formula) and each.tensors]
    return sorted({*_OWN, *made})


@cache
def node_kind(name: str) -> type[Any]:
    """Return the class of the nodes called `name`, ``"MulBackward0"``.

    Raises
    ------
    LookupError
        If no operator has such a node.
    """
    if name in _OWN:
        return _OWN[name]
    if name not in node_names():
        raise LookupError(f"no operator has a node {name!r}")
    return NodeKind(name, (), {"__module__": "dovetail._C._functions", "__slots__": ()})

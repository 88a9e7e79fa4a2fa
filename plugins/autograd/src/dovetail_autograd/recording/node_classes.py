"""Node classes made from formula records: ``MulBackward0`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

from dovetail_dispatcher.table import Formula, Saved
from dovetail_kernel import TensorBase, tensor_class

from ..graph.flatten import flatten
from ..graph.node import Node
from ..graph.saved_slots import RELEASED, unpack_input, unpack_list, unpack_result
from ..graph.saved_tensor import SavedTensor, leave_arrays


class FormulaNode(Node):
    """What the classes that `build_node_class` makes have in common."""

    __slots__ = ()

    _is_formula_node = True
    _freed: ClassVar[tuple[str, ...]]
    _leave_arrays = leave_arrays

    def _release_saved(self) -> None:
        for slot in self._freed:
            setattr(self, slot, RELEASED)


class FirstUse:
    """Body of a node class that is made when it is first asked for, and takes this place then.

    Parameters
    ----------
    make
        Returns the function.
    """

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self._make = make

    def __set_name__(self, owner: type[Node], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, node: Node | None, cls: type[Node]) -> Any:
        function = self._make()
        setattr(self._owner, self._name, function)
        return getattr(cls if node is None else node, self._name)


def slots_of(saved: Saved) -> tuple[str, ...]:
    """Return the slots that `saved` takes on a node."""
    name = f"_{saved.name}"
    return (name, f"{name}_version") if saved.kind in ("input", "list") else (name,)


def _unpack_input(saved: Saved) -> Callable[[Any], Any]:
    name, slot, version = saved.name, *slots_of(saved)
    plain = tensor_class()

    def unpack(self: Any) -> TensorBase | None:
        value = getattr(self, slot)
        if value.__class__ is plain and value._counter is None and not getattr(self, version):
            tensor: TensorBase = value
            return tensor
        return unpack_input(self, name, value)

    return unpack


def _unpack_other(saved: Saved) -> Callable[[Any], Any]:
    name, kind, output = saved.name, saved.kind, saved.output
    (slot, *_) = slots_of(saved)
    if kind == "result":
        return lambda self: unpack_result(self, name, output, getattr(self, slot))
    if kind == "list":
        return lambda self: unpack_list(self, name, getattr(self, slot))
    return lambda self: getattr(self, slot)


def freed_slots(formula: Formula) -> tuple[str, ...]:
    """Return the slots of a node that hold what is freed after a backward."""
    return tuple([f"_{saved.name}" for saved in formula.saved if saved.kind != "value"])


@cache
def build_node_class(
    formula: Formula, has_lists: bool = False, is_real: bool = False
) -> type[Node]:
    """Return the node class of `formula`, made at first use.

    Parameters
    ----------
    formula
        A record; equal only to itself, so that every record has its own class.
    has_lists
        Whether an input is a ``Tensor[]``, for which bodies return a list. Default: False.
    is_real
        Whether no number in the call is complex. Default: False.
    """

    def arrays() -> Callable[..., Any]:
        body = (formula.real_arrays if is_real else None) or formula.arrays
        assert body is not None
        return _flattened(body) if has_lists else body

    def tensors() -> Callable[..., Any]:
        return formula.tensors or Node.apply_tensors

    parts: dict[str, Any] = {
        "__doc__": f"Node of {formula.operator}.",
        "__module__": __name__,
        "__slots__": tuple([slot for saved in formula.saved for slot in slots_of(saved)]),
        "_formula_record": formula,
        "_freed": freed_slots(formula),
        "apply_tensors": FirstUse(tensors),
    }
    if formula.has_arrays:
        parts["apply_arrays"] = FirstUse(arrays)
    for saved in formula.saved:
        unpack = (_unpack_input if saved.kind == "input" else _unpack_other)(saved)
        unpack.__name__ = f"unpack_{saved.name}"
        parts[unpack.__name__] = unpack
        parts[f"_saved_{saved.name}"] = property(unpack)
        if saved.kind != "value":
            parts[f"_raw_saved_{saved.name}"] = property(_raw(saved))
    return type(formula.name, (FormulaNode,), parts)


def _raw(saved: Saved) -> Callable[[Node], SavedTensor]:
    return lambda node: SavedTensor(node, saved)


def _flattened(body: Callable[..., object]) -> Callable[..., Any]:
    """Return `body` with one gradient per edge in its result."""

    def apply_arrays(node: Node, kernels: object, edges: Sequence[object], *grads: Any) -> Any:
        return flatten(node, body(node, kernels, edges, *grads))

    return apply_arrays

"""Node classes made from formula records, as text that is compiled once: ``MulBackward0`` and its
kin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dovetail_dispatcher.compilation import compile_source
from dovetail_dispatcher.table import Formula, Saved
from dovetail_kernel import tensor_class

from ..graph import saved_slots
from ..graph.flatten import flatten
from ..graph.node import Node
from ..graph.saved_tensor import SavedTensor, leave_arrays


def node_class_text(formula: Formula) -> str:
    """Return the source of the node class of `formula`."""
    slots = [slot for saved in formula.saved for slot in slots_of(saved)]
    lines = [
        f"class {formula.name}(Node):",
        f'    """Node of {formula.operator}."""',
        "",
        f"    __slots__ = ({', '.join(map(repr, slots))}{',' if len(slots) == 1 else ''})",
        "    _is_formula_node = True",
        "    _leave_arrays = leave_arrays",
    ]
    for saved in formula.saved:
        lines += ["", *_UNPACK[saved.kind](saved)]
    lines += ["", "    def _release_saved(self):", *_release(formula)]
    return "\n".join(lines) + "\n"


def slots_of(saved: Saved) -> tuple[str, ...]:
    """Return the slots that `saved` takes on a node."""
    name = f"_{saved.name}"
    return (name, f"{name}_version") if saved.kind in ("input", "list") else (name,)


def _unpack_input(saved: Saved) -> list[str]:
    name = saved.name
    return [
        f"    def unpack_{name}(self):",
        f"        value = self._{name}",
        "        if value.__class__ is Tensor and value._counter is None and not "
        f"self._{name}_version:",
        "            return value",
        f"        return unpack_input(self, {name!r}, value)",
    ]


def _unpack_result(saved: Saved) -> list[str]:
    name = saved.name
    return [
        f"    def unpack_{name}(self):",
        f"        return unpack_result(self, {name!r}, {saved.output}, self._{name})",
    ]


def _unpack_list(saved: Saved) -> list[str]:
    name = saved.name
    return [
        f"    def unpack_{name}(self):",
        f"        return unpack_list(self, {name!r}, self._{name})",
    ]


def _unpack_value(saved: Saved) -> list[str]:
    return [f"    def unpack_{saved.name}(self):", f"        return self._{saved.name}"]


_UNPACK: dict[str, Callable[[Saved], list[str]]] = {
    "input": _unpack_input,
    "result": _unpack_result,
    "list": _unpack_list,
    "value": _unpack_value,
}


def _release(formula: Formula) -> list[str]:
    freed = [f"self.{slot}" for slot in freed_slots(formula)]
    return [f"        {' = '.join(freed)} = RELEASED"] if freed else ["        pass"]


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
    bindings: dict[str, Any] = {
        "Node": Node,
        "leave_arrays": leave_arrays,
        "RELEASED": saved_slots.RELEASED,
        "Tensor": tensor_class(),
        "__name__": __name__,
        "unpack_input": saved_slots.unpack_input,
        "unpack_list": saved_slots.unpack_list,
        "unpack_result": saved_slots.unpack_result,
    }
    cls: type[Node] = compile_source(node_class_text(formula), formula.name, bindings)
    cls._formula_record = formula
    cls._freed = freed_slots(formula)
    if formula.tensors is not None:
        cls.apply_tensors = formula.tensors  # type: ignore[method-assign]
    arrays = (formula.real_arrays if is_real else None) or formula.arrays
    if arrays is not None:
        cls.apply_arrays = _flattened(arrays) if has_lists else arrays  # type: ignore[method-assign]
    for saved in formula.saved:
        setattr(cls, f"_saved_{saved.name}", property(getattr(cls, f"unpack_{saved.name}")))
        if saved.kind != "value":
            setattr(cls, f"_raw_saved_{saved.name}", property(_raw(saved)))
    return cls


def _raw(saved: Saved) -> Callable[[Node], SavedTensor]:
    return lambda node: SavedTensor(node, saved)


def _flattened(body: Callable[..., object]) -> Callable[..., Any]:
    """Return `body` with one gradient per edge in its result."""

    def apply_arrays(node: Node, kernels: object, edges: Sequence[object], *grads: Any) -> Any:
        return flatten(node, body(node, kernels, edges, *grads))

    return apply_arrays

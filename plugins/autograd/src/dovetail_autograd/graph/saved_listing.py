"""Lists what a node saved, for drawings and explanations of graphs: runs no hook, raises no error,
changes nothing.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from dovetail_kernel import TensorBase

from .function_node import BackwardCFunction
from .node import Node
from .saved_slots import RELEASED, Packed, current_version, rebuild

State = Literal["kept", "freed", "changed", "packed"]


class SavedValue(NamedTuple):
    """One saved value.

    Attributes
    ----------
    name
        ``"self"`` for what ``node._saved_self`` gives; ``"tensors[0]"``, with a number, in a list.
    value
        The tensor, number, ...; None if nothing was saved, or it is not to be had.
    state
        "kept"; "freed" by a backward; "changed": written in place since, so that backward will
        fail; "packed" by saved-tensor hooks, which are not asked.
    """

    name: str
    value: Any
    state: State


def saved_values(node: Node) -> list[SavedValue]:
    """Return the values that `node` saved for backward."""
    if isinstance(node, BackwardCFunction):
        return _of_function(node)
    found: list[SavedValue] = []
    for saved in () if node._formula_record is None else node._formula_record.saved:
        value = getattr(node, f"_{saved.name}")
        match saved.kind:
            case _ if value is RELEASED:
                found.append(SavedValue(saved.name, None, "freed"))
            case _ if value is None or type(value) is Packed:
                found.append(_input(saved.name, value, 0))
            case "list":
                versions = getattr(node, f"_{saved.name}_version")
                for index, (each, version) in enumerate(zip(value, versions, strict=True)):
                    found.append(_input(f"{saved.name}[{index}]", each, version))
            case "input":
                found.append(_input(saved.name, value, getattr(node, f"_{saved.name}_version")))
            case "result":
                array, counter, version = value
                state: State = "kept" if counter.value == version else "changed"
                found.append(SavedValue(saved.name, rebuild(node, array), state))
            case _:
                found.append(SavedValue(saved.name, value, "kept"))
    return found


def _of_function(node: BackwardCFunction) -> list[SavedValue]:
    if node._entries is None:
        return [SavedValue("saved_tensors", None, "freed")]
    entries = enumerate(node._entries)
    return [
        SavedValue(f"saved_tensors[{index}]", None, "kept")
        if entry is None
        else _input(f"saved_tensors[{index}]", entry[0], entry[1])
        for index, entry in entries
    ]


def _input(name: str, value: object, version: int) -> SavedValue:
    if type(value) is Packed:
        return SavedValue(name, None, "packed")
    changed = isinstance(value, TensorBase) and current_version(value) != version
    return SavedValue(name, value, "changed" if changed else "kept")

"""What a node saves for backward: the steps that fill its slots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dovetail_dispatcher.calls import Expression, Operand, Printer, Step, Value
from dovetail_kernel import VersionCounter

from ..graph.saved_slots import save_input, save_inputs, save_result, save_result_tensor
from .record_node import NODE

_IDENTIFIER: Final = r"(?<![\w.])[A-Za-z_]\w*"


class NoteVersion(Step):
    """Record the version of a tensor, or of each in a list, before the call writes to a tensor,
    which may be the same: `x.mul_(x)`.

    Attributes
    ----------
    is_checked
        Whether it may be None, or an inference tensor, which cannot be saved.
    """

    tensor: Value
    version: Value
    is_list: bool
    is_checked: bool

    def print(self, to: Printer) -> None:
        name, version = to.name(self.tensor), to.name(self.version)
        if self.is_list:
            to.add(f"{version} = {to.bind('save_inputs', save_inputs)}({name})")
        elif self.is_checked:
            to.add(f"{version} = {to.bind('save_input', save_input)}({name})")
        else:
            counter = to.scratch("counter")
            to.extend(
                (
                    f"{counter} = {name}._counter",
                    f"{version} = 0 if {counter} is None else {counter}.value",
                )
            )


class SaveTensor(Step):
    """Save a tensor and its version.

    Attributes
    ----------
    is_checked
        Whether it may be None, or an inference tensor, which cannot be saved.
    version
        What `NoteVersion` noted; None: nothing was written since.
    """

    slot: str
    tensor: Value
    is_checked: bool = False
    version: Value | None = None

    def print(self, to: Printer) -> None:
        slot, tensor = f"{to.name(NODE)}.{self.slot}", to.name(self.tensor)
        to.add(f"{slot} = {tensor}")
        if self.version is not None:
            to.add(f"{slot}_version = {to.name(self.version)}")
        elif self.is_checked:
            version = f"{to.bind('save_input', save_input)}({tensor})"
            to.add(f"{slot}_version = 0 if {tensor} is None else {version}")
        else:
            counter = to.scratch("counter")
            to.add(f"{counter} = {tensor}._counter")
            to.add(f"{slot}_version = 0 if {counter} is None else {counter}.value")


class SaveList(Step):
    """Save the tensors of a list and their versions; `version` as for `SaveTensor`."""

    slot: str
    tensors: Value
    version: Value | None = None

    def print(self, to: Printer) -> None:
        slot, tensors = f"{to.name(NODE)}.{self.slot}", to.name(self.tensors)
        if self.version is None:
            versions = f"{to.bind('save_inputs', save_inputs)}({tensors})"
        else:
            versions = to.name(self.version)
        as_tuple = to.builtin("tuple")
        to.extend((f"{slot} = {as_tuple}({tensors})", f"{slot}_version = {versions}"))


class SaveResult(Step):
    """Save a result without its graph, which refers to this node.

    Attributes
    ----------
    array
        The array that the result was just made of; None: it may have a version already.
    is_for_arrays
        Whether the array is kept, for the engine's loop over arrays; else a tensor is.
    """

    slot: str
    result: Operand
    array: Value | None
    is_for_arrays: bool

    def print(self, to: Printer) -> None:
        slot, result = f"{to.name(NODE)}.{self.slot}", self.result.text(to)
        if not self.is_for_arrays:
            to.add(f"{slot} = {to.bind('save_result_tensor', save_result_tensor)}({result})")
        elif self.array is None:
            to.add(f"{slot} = {to.bind('save_result', save_result)}({result})")
        else:
            counter, new = to.scratch("counter"), to.bind("VersionCounter", VersionCounter)
            to.add(f"{result}._counter = {counter} = {new}()")
            to.add(f"{slot} = ({to.name(self.array)}, {counter}, 0)")


class SaveValue(Step):
    """Save any other value."""

    slot: str
    value: Operand

    def print(self, to: Printer) -> None:
        to.add(f"{to.name(NODE)}.{self.slot} = {self.value.text(to)}")


class SaveNothing(Step):
    """Leave a slot empty, because no requested gradient needs it."""

    slot: str

    def print(self, to: Printer) -> None:
        to.add(f"{to.name(NODE)}.{self.slot} = None")


class ItemOf(Expression):
    """One of the results that a kernel returned together."""

    results: Value
    index: int

    def text(self, to: Printer) -> str:
        return f"{to.name(self.results)}[{self.index}]"


class FormulaExpression(Expression):
    """An expression of a formula: Python over the arguments and results of the operator.

    Attributes
    ----------
    values
        What names in the expression stand for.
    functions
        The functions that it may call.
    """

    source: str
    values: Mapping[str, Value]
    functions: Mapping[str, Any]

    def named(self) -> dict[str, Value]:
        """Return the values that the expression names."""
        names = re.findall(_IDENTIFIER, self.source)
        return {name: value for name, value in self.values.items() if name in names}

    def text(self, to: Printer) -> str:
        def named(match: re.Match[str]) -> str:
            name = match.group()
            if name in self.values:
                return to.name(self.values[name])
            return to.bind(name, self.functions[name]) if name in self.functions else name

        return re.sub(_IDENTIFIER, named, self.source)

"""Writes the bodies of a derivative: over tensors, over arrays, over arrays of real numbers, and
forward.

What a formula reads from the node comes first, one line per saved tensor. Over arrays that line
compares the version as well, and leaves every other case to the node's own reading, which raises::

    self = saved.array if (version := (saved := node._self)._counter) is None or ... else ...

Plain values that are read once stand in the formula itself: ``node._alpha``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, TypeAlias

from ..readers.derivative_records import Derivative, ForwardFormula, InputFormula, SavedValue
from ..readers.expressions import Rewritten
from ..readers.native_functions import NativeFunction
from .text import INDENT, WIDTH

Over: TypeAlias = Literal["tensors", "arrays", "real"]
"""What a body works on; ``real``: arrays of real numbers."""


def bodies(derivative: Derivative) -> list[Over]:
    """Return which bodies a derivative has."""
    if not derivative.inputs:
        return []
    found: list[Over] = ["tensors"]
    if derivative.has_array_body:
        found.append("arrays")
    if derivative.has_real_body:
        found.append("real")
    return found


def body_name(function: NativeFunction, over: Over) -> str:
    """Return the name of a body, ``mul_Tensor_arrays``."""
    return f"{_own(function)}_{over}"


def forward_name(derivative: Derivative, forward: ForwardFormula) -> str:
    """Return the name of a forward body, ``mul_Tensor_forward``."""
    several = len(derivative.function.schema.returns) > 1
    return f"{_own(derivative.bodies_of)}_forward{forward.output if several else ''}"


def forward_parameters(rewritten: Rewritten) -> tuple[str, ...]:
    """Return the names that a forward body reads: arguments, ``_p`` and ``_t`` of them, and
    results.
    """
    owners = [
        expression.split(".", maxsplit=1)[0] if expression else name
        for name, expression in rewritten.saved.items()
    ]
    return tuple(dict.fromkeys(owners))


def texts(derivative: Derivative) -> Iterator[list[str]]:
    """Yield the lines of each body of a derivative, forward bodies last."""
    for over in bodies(derivative):
        yield _backward(derivative, over)
    for forward in derivative.forward:
        if forward.rewritten is not None:
            yield _forward(derivative, forward, forward.rewritten)


def _own(function: NativeFunction) -> str:
    return function.identifier.lstrip("_") or function.identifier


# -- backward --------------------------------------------------------------------------------------


def _backward(derivative: Derivative, over: Over) -> list[str]:
    parameters = ["node", *([] if over == "tensors" else ["k", "edges"]), *derivative.gradients]
    head = f"def {body_name(derivative.function, over)}({', '.join(parameters)}):"
    saved = {value.name: value for value in derivative.saved}
    if len(derivative.inputs) > 1:
        return _defined(head, _several_inputs(derivative, saved, over))
    formula = derivative.formulas[0]
    if formula.rewritten.not_implemented is not None:
        return _defined(head, [_not_implemented(formula)])
    loads, text = _read(formula, saved, over)
    return _defined(head, [*loads, f"return ({text},)"])


def _several_inputs(
    derivative: Derivative, saved: Mapping[str, SavedValue], over: Over
) -> list[str]:
    """Return the body of several inputs: each gradient is computed only if its edge leads
    somewhere.
    """
    inputs = derivative.inputs
    gradients = {
        name: f"grad_{name}_" if f"grad_{name}" in derivative.gradients else f"grad_{name}"
        for name in inputs
    }
    returned = f"return {', '.join(gradients.values())}"
    edges = "node.next_edges" if over == "tensors" else "edges"
    first = derivative.formulas[0]
    if len(derivative.formulas) == 1 and len(first.inputs) == len(inputs):
        mask = [f"grad_input_mask = tuple([edge is not None for edge in {edges}])"]
        loads, text = _read(first, saved, over)
        lines = [*(mask if first.rewritten.uses_mask else []), *loads]
        if first.inputs == inputs:
            return [*lines, f"return {text}"]
        return [*lines, f"{', '.join([gradients[n] for n in first.inputs])} = {text}", returned]
    computed: list[str] = []
    in_blocks: list[str] = []
    # Hooks may give a saved tensor back, so it is unpacked once.
    shared = _read_by_several(derivative, saved) if over == "tensors" else []
    loaded = [line for name in shared for line in _tensor_load(saved[name])]
    for formula in derivative.formulas:
        lines = _gradient(formula, gradients, saved, over, shared)
        computed += lines
        if len(lines) > 1:
            in_blocks += [gradients[name] for name in formula.inputs]
    unset = [f"{' = '.join([g for g in gradients.values() if g in in_blocks])} = None"]
    unpacked = f"{', '.join([f'{name}_edge' for name in inputs])} = {edges}"
    return [unpacked, *loaded, *(unset if in_blocks else []), *computed, returned]


def _gradient(
    formula: InputFormula,
    gradients: Mapping[str, str],
    saved: Mapping[str, SavedValue],
    over: Over,
    loaded: Collection[str],
) -> list[str]:
    """Return what computes one formula of several: one line, or a block under a condition.

    Parameters
    ----------
    loaded
        The saved tensors that have been read already.
    """
    edges = [f"{name}_edge" for name in formula.inputs]
    block: list[str] = []
    if formula.rewritten.not_implemented is not None:
        block.append(_not_implemented(formula))
    else:
        targets = ", ".join([gradients[name] for name in formula.inputs])
        loads, text = _read(formula, saved, over, loaded)
        if formula.rewritten.uses_mask:
            block.append(f"grad_input_mask = ({', '.join([f'{e} is not None' for e in edges])})")
        elif not loads and len(edges) == 1:
            return [f"{targets} = None if {edges[0]} is None else {text}"]
        block += [*loads, f"{targets} = {text}"]
    condition = " or ".join([f"{edge} is not None" for edge in edges])
    return [f"if {condition}:", *[INDENT + line for line in block]]


def _not_implemented(formula: InputFormula) -> str:
    message = f"the derivative for '{formula.rewritten.not_implemented}' is not implemented."
    return f"raise NotImplementedError({message!r})"


# -- what formulas read ----------------------------------------------------------------------------


def _read_by_several(derivative: Derivative, saved: Mapping[str, SavedValue]) -> list[str]:
    """Return the saved tensors that more than one formula reads."""
    readers = Counter([name for formula in derivative.formulas for name in formula.rewritten.saved])
    return [name for name, count in readers.items() if count > 1 and saved[name].kind != "value"]


def _read(
    formula: InputFormula,
    saved: Mapping[str, SavedValue],
    over: Over,
    loaded: Collection[str] = (),
) -> tuple[list[str], str]:
    """Return the lines that load what a formula reads, and the text of the formula."""
    text = formula.rewritten.real_text if over == "real" else formula.rewritten.text
    values = {
        name: f"node._{name}" for name in formula.rewritten.saved if saved[name].kind == "value"
    }
    text, read = _with_values(text, values)
    loads = [
        line
        for name in formula.rewritten.saved
        if name in read and name not in loaded
        for line in (_tensor_load if over == "tensors" else _array_load)(saved[name])
    ]
    return loads, text


def _with_values(text: str, values: Mapping[str, str]) -> tuple[str, Collection[str]]:
    """Put the values that `text` reads exactly once into it; return it and the names left."""
    tree = ast.parse(text, mode="eval").body
    names = Counter([node.id for node in ast.walk(tree) if isinstance(node, ast.Name)])
    repeats = any([isinstance(node, ast.comprehension) for node in ast.walk(tree)])
    once = {} if repeats else {name: values[name] for name in values if names[name] == 1}
    return ast.unparse(_Replaced(once).visit(tree)), set(names) - set(once)


class _Replaced(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, expressions: Mapping[str, str]) -> None:
        self.expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        expression = self.expressions.get(node.id)
        return node if expression is None else ast.parse(expression, mode="eval").body


def _tensor_load(saved: SavedValue) -> list[str]:
    if saved.kind == "value":
        return [f"{saved.name} = node._{saved.name}"]
    return [f"{saved.name} = node.unpack_{saved.name}()"]


def _array_load(saved: SavedValue) -> list[str]:
    """Return what reads a saved value as an array; on another version than was saved, the node's
    own reading raises.
    """
    name = saved.name
    if saved.kind == "value":
        return [f"{name} = node._{name}"]
    if saved.kind == "list":
        array = "None if tensor is None else tensor.array"
        return [f"{name} = [{array} for tensor in node.unpack_{name}()]"]
    if saved.kind == "result":
        return [
            f"{name}, version, expected = node._{name}",
            f"if version.value != expected: node.unpack_{name}()",
        ]
    held = "saved" if saved.optional else f"(saved := node._{name})"
    none = f"None if (saved := node._{name}) is None else " if saved.optional else ""
    same = f"(version := {held}._counter) is None or version.value == node._{name}_version"
    return [f"{name} = {none}saved.array if {same} else node.unpack_{name}()"]


# -- forward ---------------------------------------------------------------------------------------


def _forward(derivative: Derivative, forward: ForwardFormula, rewritten: Rewritten) -> list[str]:
    grad = ["grad"] if forward.kind == "elementwise" else []
    parameters = ", ".join([*grad, *forward_parameters(rewritten)])
    metadata = {name: text for name, text in rewritten.saved.items() if text}
    text, read = _with_values(rewritten.text, metadata)
    lines = [f"{name} = {expression}" for name, expression in metadata.items() if name in read]
    return _defined(
        f"def {forward_name(derivative, forward)}({parameters}):", [*lines, f"return {text}"]
    )


def _defined(head: str, lines: list[str]) -> list[str]:
    """Return a function; if it is short, in one line."""
    if len(lines) == 1 and len(head) + len(lines[0]) < WIDTH:
        return [f"{head} {lines[0]}"]
    return [head, *[INDENT + line for line in lines]]

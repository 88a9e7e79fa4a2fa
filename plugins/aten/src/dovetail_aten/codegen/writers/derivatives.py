"""Writes ``derivatives.py``: the bodies of each derivative, over tensors and over arrays, and the
table of records.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from ..derivatives import Derivative, ForwardFormula, InputFormula, SavedValue
from ..expressions import Rewritten
from ..native_functions import NativeFunction
from .text import HEADER, INDENT, Lines

Over: TypeAlias = Literal["tensors", "arrays", "real"]
"""What a body works on; ``real``: arrays of real numbers."""

BODIES_DOC = (
    '"""Derivative formulas: per operator bodies over tensors and over arrays, and the record that '
    'names them."""'
)


def write_derivatives(
    derivatives: Sequence[Derivative],
    *,
    functions_module: str,
    helper_modules: Mapping[str, str],
    base_module: str | None = None,
) -> str:
    """Return the text of the module of derivatives.

    Parameters
    ----------
    derivatives
        What `read_derivatives` returned.
    functions_module
        Module of the operator functions, which are `k` in the tensors bodies.
    helper_modules
        The module of each helper function.
    base_module
        Module of the functions of the base library, which are in `k` as well; None for the base
        library itself.
    """
    own = [derivative for derivative in derivatives if derivative.inputs]
    rewritten = [formula.rewritten for d in own for formula in d.formulas]
    rewritten += [
        forward.rewritten for d in own for forward in d.forward if forward.rewritten is not None
    ]
    helpers = sorted({name for each in rewritten for name in each.helpers})
    lines = Lines()
    lines.add(HEADER, BODIES_DOC, "", "from __future__ import annotations", "")
    lines.add(
        *(["from types import SimpleNamespace"] if base_module is not None else []),
        "from typing import Any",
        "",
    )
    names = ["Formula", *(["Forward"] if any([d.forward for d in own]) else []), "Saved"]
    lines.add(f"from dovetail_dispatcher.table.derivative_formula import {', '.join(names)}", "")
    package, _, module = functions_module.rpartition(".")
    lines.add(f"from {package} import {module} as {'k' if base_module is None else 'own'}")
    if base_module is not None:
        lines.add(
            f"from {base_module.rpartition('.')[0]} import {base_module.rpartition('.')[2]} as base"
        )
    for module in sorted({helper_modules[name] for name in helpers}):
        own_helpers = [name for name in helpers if helper_modules[name] == module]
        lines.add(f"from {module} import (", *[f"{INDENT}{name}," for name in own_helpers], ")")
    if base_module is not None:
        lines.add(
            "",
            "k = SimpleNamespace(**vars(base) | vars(own))",
            '"""The operators of the base library and of this one."""',
        )
    for derivative in own:
        for over in _bodies(derivative):
            lines.add("", "", *_body(derivative, over))
        for forward in derivative.forward:
            if forward.rewritten is not None:
                lines.add("", "", *_forward_body(derivative, forward, forward.rewritten))
    lines.add("", "", "FORMULAS = (")
    for derivative in derivatives:
        lines.add(*[INDENT + line for line in _record(derivative)])
    lines.add(
        ")",
        '"""One record per operator; in-place variants use that of their functional operator."""',
    )
    return lines.text()


def body_name(function: NativeFunction, over: Over) -> str:
    """Return the name of a body, ``mul_Tensor_arrays``."""
    return f"{function.identifier.lstrip('_') or function.identifier}_{over}"


def _bodies(derivative: Derivative) -> list[Over]:
    """Return which bodies a derivative has."""
    if not derivative.inputs:
        return []
    bodies: list[Over] = ["tensors"]
    if derivative.has_array_body:
        bodies.append("arrays")
    if derivative.has_real_body:
        bodies.append("real")
    return bodies


def _qualified(function: NativeFunction) -> str:
    return f"{function.namespace}::{function.name}"


# -- records ---------------------------------------------------------------------------------------


def _record(derivative: Derivative) -> list[str]:
    function = derivative.function
    lines = [
        "Formula(",
        f"{INDENT}operator={_qualified(derivative.function)!r},",
        f"{INDENT}name={derivative.node!r},",
        f"{INDENT}inputs={derivative.inputs!r},",
    ]
    if derivative.saved:
        lines += [
            f"{INDENT}saved=(",
            *[f"{INDENT * 2}{_saved(saved)}," for saved in derivative.saved],
            f"{INDENT}),",
        ]
    for over in _bodies(derivative):
        attribute = "real_arrays" if over == "real" else over
        lines.append(f"{INDENT}{attribute}={body_name(function, over)},")
    if derivative.output_differentiability is not None:
        lines.append(f"{INDENT}output_differentiability={derivative.output_differentiability!r},")
    if derivative.refused:
        lines.append(f"{INDENT}refused={derivative.refused!r},")
    if derivative.forward:
        forward = [f"{INDENT * 2}{_forward(derivative, each)}," for each in derivative.forward]
        lines += [f"{INDENT}forward=(", *forward, f"{INDENT}),"]
    return [*lines, f"{INDENT}where={str(derivative.where)!r},", "),"]


def _saved(saved: SavedValue) -> str:
    arguments = [repr(saved.name), repr(saved.kind)]
    if saved.needed_by:
        arguments.append(f"needed_by={saved.needed_by!r}")
    if saved.expression:
        arguments.append(f"expression={saved.expression!r}")
    if saved.output:
        arguments.append(f"output={saved.output}")
    return f"Saved({', '.join(arguments)})"


def _forward(derivative: Derivative, forward: ForwardFormula) -> str:
    arguments = [str(forward.output), repr(forward.kind)]
    if forward.rewritten is not None:
        arguments += [
            _forward_name(derivative, forward),
            repr(_forward_parameters(forward.rewritten)),
        ]
    return f"Forward({', '.join(arguments)})"


# -- forward bodies --------------------------------------------------------------------------------


def _forward_name(derivative: Derivative, forward: ForwardFormula) -> str:
    number = str(forward.output) if len(derivative.function.schema.returns) > 1 else ""
    function = derivative.function
    return f"{function.identifier.lstrip('_') or function.identifier}_forward{number}"


def _forward_parameters(rewritten: Rewritten) -> tuple[str, ...]:
    """Return the names that a forward body reads: arguments, ``_p`` and ``_t`` of them, and
    results.
    """
    owners = [
        expression.split(".", maxsplit=1)[0] if expression else n
        for n, expression in rewritten.saved.items()
    ]
    return tuple(dict.fromkeys(owners))


def _forward_body(
    derivative: Derivative, forward: ForwardFormula, rewritten: Rewritten
) -> list[str]:
    grad = ["grad"] if forward.kind == "elementwise" else []
    parameters = ", ".join([f"{name}: Any" for name in [*grad, *_forward_parameters(rewritten)]])
    metadata = [
        f"{INDENT}{name} = {expression}"
        for name, expression in rewritten.saved.items()
        if expression
    ]
    head = f"def {_forward_name(derivative, forward)}({parameters}) -> Any:"
    return [head, *metadata, f"{INDENT}return {rewritten.text}"]


# -- bodies ----------------------------------------------------------------------------------------


def _body(derivative: Derivative, over: Over) -> list[str]:
    parameters = ["node", *([] if over == "tensors" else ["k", "edges"]), *derivative.gradients]
    head = (
        "def "
        f"{body_name(derivative.function, over)}"
        f"({', '.join([f'{name}: Any' for name in parameters])}) -> Any:"
    )
    saved = {value.name: value for value in derivative.saved}
    if len(derivative.inputs) == 1:
        formula = derivative.formulas[0]
        if formula.rewritten.not_implemented is not None:
            return [head, INDENT + _not_implemented(formula)]
        lines = _unpack(formula, saved, over)
        return [head, *[INDENT + line for line in [*lines, f"return ({_text(formula, over)},)"]]]
    return [head, *[INDENT + line for line in _several(derivative, saved, over)]]


def _several(derivative: Derivative, saved: dict[str, SavedValue], over: Over) -> list[str]:
    """Return the body of several inputs: each gradient is computed only if its edge leads
    somewhere.
    """
    inputs = derivative.inputs
    edges = [f"{name}_edge" for name in inputs]
    gradients = [f"grad_{name}" for name in inputs]
    gradients = [f"{name}_" if name in derivative.gradients else name for name in gradients]
    of = dict(zip(inputs, gradients, strict=True))
    if len(derivative.formulas) == 1 and len(derivative.formulas[0].inputs) == len(inputs):
        formula = derivative.formulas[0]
        mask = [f"grad_input_mask = tuple([edge is not None for edge in {_edges(over)}])"]
        lines = mask if formula.rewritten.uses_mask else []
        lines += _unpack(formula, saved, over)
        if formula.inputs == inputs:
            return [*lines, f"return {_text(formula, over)}"]
        return [
            *lines,
            f"{', '.join(of[n] for n in formula.inputs)} = {_text(formula, over)}",
            f"return {', '.join(gradients)}",
        ]
    lines = [f"{', '.join(edges)} = {_edges(over)}", f"{' = '.join(gradients)} = None"]
    for formula in derivative.formulas:
        lines.append(f"if {' or '.join(f'{name}_edge is not None' for name in formula.inputs)}:")
        if formula.rewritten.not_implemented is not None:
            lines.append(INDENT + _not_implemented(formula))
            continue
        if formula.rewritten.uses_mask:
            mask_text = ", ".join([f"{name}_edge is not None" for name in formula.inputs])
            lines.append(f"{INDENT}grad_input_mask = ({mask_text})")
        lines += [INDENT + line for line in _unpack(formula, saved, over)]
        lines.append(
            f"{INDENT}{', '.join(of[name] for name in formula.inputs)} = {_text(formula, over)}"
        )
    return [*lines, f"return {', '.join(gradients)}"]


def _edges(over: Over) -> str:
    return "node.next_edges" if over == "tensors" else "edges"


def _text(formula: InputFormula, over: Over) -> str:
    return formula.rewritten.real_text if over == "real" else formula.rewritten.text


def _not_implemented(formula: InputFormula) -> str:
    message = f"the derivative for '{formula.rewritten.not_implemented}' is not implemented."
    return f"raise NotImplementedError({message!r})"


def _unpack(formula: InputFormula, saved: dict[str, SavedValue], over: Over) -> list[str]:
    used = {
        node.id
        for node in ast.walk(ast.parse(formula.rewritten.text))
        if isinstance(node, ast.Name)
    }
    lines: list[str] = []
    for name in formula.rewritten.saved:
        if name in used:
            lines += (_unpack_tensor if over == "tensors" else _unpack_array)(saved[name])
    return lines


def _unpack_tensor(saved: SavedValue) -> list[str]:
    if saved.kind == "value":
        return [f"{saved.name} = node._{saved.name}"]
    return [f"{saved.name} = node.unpack_{saved.name}()"]


def _unpack_array(saved: SavedValue) -> list[str]:
    """Return what reads a saved value as an array; on another version than was saved, the node's
    own reading raises.
    """
    name = saved.name
    if saved.kind == "value":
        return [f"{name} = node._{name}"]
    if saved.kind == "list":
        return [
            f"{name} = [None if tensor is None else tensor.array for tensor in "
            f"node.unpack_{name}()]"
        ]
    if saved.kind == "result":
        return [
            f"{name}, version, expected = node._{name}",
            "if version.value != expected:",
            f"{INDENT}node.unpack_{name}()",
        ]
    read = [
        f"version = {name}._counter",
        f"if version is not None and version.value != node._{name}_version:",
        f"{INDENT}node.unpack_{name}()",
        f"{name} = {name}.array",
    ]
    if saved.optional:
        read = [f"if {name} is not None:", *[INDENT + line for line in read]]
    return [f"{name} = node._{name}", *read]

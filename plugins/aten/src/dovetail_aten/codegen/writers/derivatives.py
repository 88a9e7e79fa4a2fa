"""Writes ``derivatives``: a row for each derivative, by family; and which module to import for
which operator.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..families import by_family
from ..readers.derivative_records import Derivative, ForwardFormula, InputFormula, SavedValue
from ..readers.expressions import Rewritten
from ..readers.native_functions import NativeFunction
from .text import HEADER, INDENT, Lines, bracketed, members

_DOC = "Derivative formulas: a row per operator, of which its bodies are made."


@dataclass(frozen=True)
class Modules:
    """Where the bodies find what they call.

    Attributes
    ----------
    functions
        Module of the operator functions, which are `k` in the bodies over tensors.
    helpers
        The module of each helper function.
    base
        Module of the functions of the base library, which are in `k` as well; None for the base
        library itself.
    """

    functions: str
    helpers: Mapping[str, str]
    base: str | None = None


def write_derivatives(
    derivatives: Sequence[Derivative], modules: Modules, *, is_split: bool
) -> dict[str, str]:
    """Return the modules of the derivatives, text by path; one per family if it `is_split`."""
    families = by_family(derivatives, lambda derivative: derivative.function.where)
    if not is_split:
        return {"derivatives.py": _module(_DOC, derivatives, modules)}
    package = Lines()
    package.add(HEADER, '"""Which family has the derivative formula of which operator."""', "")
    package.add("OPERATORS = {")
    for family, own in families.items():
        names = [f'"{_qualified(derivative.function)}"' for derivative in own]
        lines = bracketed(f'"{family}": (', members(names), "),")
        package.add(*[INDENT + line for line in lines])
    package.add("}")
    texts_by_path = {
        f"derivatives/{family}.py": _module(f"Derivatives of the family {family}.", own, modules)
        for family, own in families.items()
    }
    return {"derivatives/__init__.py": package.text(), **texts_by_path}


def _module(doc: str, derivatives: Sequence[Derivative], modules: Modules) -> str:
    lines = Lines()
    lines.add(HEADER, "# mypy: ignore-errors", f'"""{doc}"""', "", *_imports(derivatives, modules))
    lines.add("", "FORMULAS = formulas_of_module((")
    for derivative in derivatives:
        lines.add(*_row(derivative))
    lines.add(
        "), globals())",
        '"""One row per operator; in-place variants use that of their functional operator."""',
    )
    return lines.text()


def _imports(derivatives: Sequence[Derivative], modules: Modules) -> list[str]:
    rewritten = [formula.rewritten for each in derivatives for formula in each.formulas]
    rewritten += [f.rewritten for d in derivatives for f in d.forward if f.rewritten is not None]
    by_module: dict[str, list[str]] = {}
    for helper in sorted({helper for each in rewritten for helper in each.helpers}):
        by_module.setdefault(modules.helpers[helper], []).append(helper)
    package, _, functions = modules.functions.rpartition(".")
    lines = ["from __future__ import annotations", ""]
    if modules.base is not None:
        lines += ["from types import SimpleNamespace", ""]
    lines.append(
        "from dovetail_aten.templates.derivatives import "
        "Gradient, Row, Saved, Tangent, formulas_of_module"
    )
    lines.append(f"from {package} import {functions} as {'k' if modules.base is None else 'own'}")
    if modules.base is not None:
        package, _, functions = modules.base.rpartition(".")
        lines.append(f"from {package} import {functions} as base")
    for module in sorted(by_module):
        lines += bracketed(f"from {module} import (", by_module[module], ")")
    if modules.base is not None:
        lines += ["", "k = SimpleNamespace(**vars(base) | vars(own))"]
        lines.append('"""The operators of the base library and of this one."""')
    return lines


def _qualified(function: NativeFunction) -> str:
    return f"{function.namespace}::{function.name}"


# -- records ---------------------------------------------------------------------------------------


def _row(derivative: Derivative) -> list[str]:
    """Return the row of a derivative: a line for what it saves and how it is written, and one for
    each formula; defaults left out.
    """
    kinds = {saved.name: saved.kind for saved in derivative.saved}
    shared = "" if derivative.shares is None else _qualified(derivative.shares)
    bodies = ["arrays"] * derivative.has_array_body + ["real"] * derivative.has_real_body
    optional = [saved.name for saved in derivative.saved if saved.optional]
    named = {
        "grads": " ".join(derivative.gradients),
        "bodies": " ".join(bodies) if derivative.inputs else "",
        "optional": " ".join(optional),
        "shares": shared,
        "output_differentiability": derivative.output_differentiability,
        "refused": derivative.refused,
    }
    plain = {"grads": "grad", "output_differentiability": None, "refused": ()}
    gradients = [_gradient(formula, kinds) for formula in derivative.formulas]
    tangents = [_tangent(forward) for forward in derivative.forward]
    fields = [
        repr(_qualified(derivative.function)),
        repr(derivative.node),
        repr(derivative.inputs),
        repr(str(derivative.where)),
        _tuple([_saved(saved) for saved in derivative.saved]),
    ]
    more = [f"{name}={value!r}" for name, value in named.items() if value != plain.get(name, "")]
    lines = [INDENT + f"Row({', '.join(fields)}"]
    for formulas in (gradients, tangents) if tangents else (gradients,) if gradients else ():
        lines[-1] += ", ("
        lines += [INDENT * 2 + f"{formula}," for formula in formulas]
        lines[-1] += ")"
    lines[-1] += f"{''.join([f', {each}' for each in more])}),"
    return lines


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _saved(saved: SavedValue) -> str:
    fields = [repr(saved.name), repr(saved.kind)]
    if saved.needed_by:
        fields.append(f"needed_by={saved.needed_by!r}")
    if saved.expression:
        fields.append(f"expression={saved.expression!r}")
    if saved.output:
        fields.append(f"output={saved.output}")
    return f"Saved({', '.join(fields)})"


def _gradient(formula: InputFormula, kinds: Mapping[str, str]) -> str:
    rewritten = formula.rewritten
    fields = [repr(" ".join(formula.inputs))]
    if rewritten.not_implemented is not None:
        return f"Gradient({fields[0]}, '', missing={rewritten.not_implemented!r})"
    values = {name: f"node._{name}" for name in rewritten.saved if kinds[name] == "value"}
    text, read = _with_values(rewritten.text, values)
    real, also = _with_values(rewritten.real_text, values)
    reads = [name for name in rewritten.saved if name in {*read, *also}]
    fields.append(repr(text))
    if reads:
        fields.append(repr(" ".join(reads)))
    if real != text:
        fields.append(f"real={real!r}")
    if rewritten.uses_mask:
        fields.append("uses_mask=True")
    return f"Gradient({', '.join(fields)})"


def _tangent(forward: ForwardFormula) -> str:
    fields = [str(forward.output), repr(forward.kind)]
    if forward.rewritten is not None:
        expressions = {name: text for name, text in forward.rewritten.saved.items() if text}
        text, read = _with_values(forward.rewritten.text, expressions)
        metadata = tuple([item for item in expressions.items() if item[0] in read])
        fields += [repr(text), repr(" ".join(_parameters(forward.rewritten)))]
        fields += [repr(metadata)] if metadata else []
    return f"Tangent({', '.join(fields)})"


def _parameters(rewritten: Rewritten) -> tuple[str, ...]:
    """Return the names that a forward body reads: arguments, ``_p`` and ``_t`` of them, and
    results.
    """
    owners = [
        expression.split(".", maxsplit=1)[0] if expression else name
        for name, expression in rewritten.saved.items()
    ]
    return tuple(dict.fromkeys(owners))


def _with_values(text: str, values: Mapping[str, str]) -> tuple[str, Collection[str]]:
    """Put the values that `text` reads exactly once into it; return it and the names left."""
    tree = ast.parse(text, mode="eval").body
    names = Counter([node.id for node in ast.walk(tree) if isinstance(node, ast.Name)])
    repeats = any([isinstance(node, ast.comprehension) for node in ast.walk(tree)])
    once = {} if repeats else {name: values[name] for name in values if names[name] == 1}
    return ast.unparse(_Replaced(once).visit(tree)), set(names) - set(once)


class _Replaced(ast.NodeTransformer):
    """Puts expressions in place of names."""

    def __init__(self, expressions: Mapping[str, str]) -> None:
        self.expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        expression = self.expressions.get(node.id)
        return node if expression is None else ast.parse(expression, mode="eval").body

"""Writes ``derivatives``: the bodies of each derivative and the records that name them, by family;
and which module to import for which operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..families import by_family
from ..readers.derivative_records import Derivative, ForwardFormula, SavedValue
from ..readers.native_functions import NativeFunction
from .bodies import bodies, body_name, forward_name, forward_parameters, texts
from .text import HEADER, INDENT, Lines, bracketed, members

_DOC = (
    "Derivative formulas: per operator bodies over tensors and over arrays, and the record that "
    "names them."
)


@dataclass(frozen=True)
class Modules:
    """Where the bodies find what they call.

    Attributes
    ----------
    functions
        Module of the operator functions, which are `k` in the tensors bodies.
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
    for derivative in derivatives:
        if derivative.shares is not None:
            continue
        lines.add("")
        for text in texts(derivative):
            lines.add("", *text)
    lines.add("", "", "FORMULAS = (", *[f"{INDENT}{_record(each)}," for each in derivatives], ")")
    lines.add(
        '"""One record per operator; in-place variants use that of their functional operator."""'
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
    lines.append("from dovetail_dispatcher.table.derivative_formula import Formula, Forward, Saved")
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


def _record(derivative: Derivative) -> str:
    """Return the record of a derivative: one line, defaults left out."""
    function = derivative.function
    fields = [repr(_qualified(function)), repr(derivative.node), repr(derivative.inputs)]
    if derivative.saved:
        fields.append(f"saved={_tuple([_saved(saved) for saved in derivative.saved])}")
    for over in bodies(derivative):
        attribute = "real_arrays" if over == "real" else over
        fields.append(f"{attribute}={body_name(derivative.bodies_of, over)}")
    if derivative.output_differentiability is not None:
        fields.append(f"output_differentiability={derivative.output_differentiability!r}")
    if derivative.refused:
        fields.append(f"refused={derivative.refused!r}")
    if derivative.forward:
        forward = [_forward(derivative, forward) for forward in derivative.forward]
        fields.append(f"forward={_tuple(forward)}")
    return f"Formula({', '.join(fields)}, where={str(derivative.where)!r})"


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


def _forward(derivative: Derivative, forward: ForwardFormula) -> str:
    fields = [str(forward.output), repr(forward.kind)]
    if forward.rewritten is not None:
        fields.append(forward_name(derivative, forward))
        fields.append(repr(forward_parameters(forward.rewritten)))
    return f"Forward({', '.join(fields)})"

"""Writes ``tensor_methods.py``: the methods of tensors, which are the functions themselves, and the
operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..overload_sets import overload_sets
from ..readers.documentation import Documentation
from ..readers.native_functions import NativeFunction
from .python_operators import BINARY, OLD_NAMES, REFLECTED, SYMMETRIC, UNARY, operator_function
from .text import HEADER, INDENT, Lines

PROPERTIES = {
    "T": "numpy_T", "H": "matrix_H", "mT": "mT", "mH": "mH", "real": "real", "imag": "imag",
}  # fmt: skip
"""Attributes that are views, and the functions that make them."""

PARTS = ("real", "imag")
"""Those that can be assigned."""


def write_tensor_methods(
    functions: Sequence[NativeFunction],
    *,
    functions_module: str,
    documents: Mapping[str, Documentation],
) -> str:
    """Return the text of the class of tensor methods."""
    sets = overload_sets(functions)
    names = {overloads.name for overloads in sets}
    package, _, module = functions_module.rpartition(".")
    lines = Lines()
    lines.add(
        HEADER, "# mypy: ignore-errors", '"""The methods of tensors that run operators."""', ""
    )
    lines.add(
        "from __future__ import annotations", "", "from dovetail_kernel import TensorBase", ""
    )
    lines.add(
        "from dovetail_aten.calling.getters import getter, write_part",
        "from dovetail_aten.calling.operands import divide_by, reflect",
        "from dovetail_aten.calling.subclassed import SubclassedMeta",
    )
    lines.add(f"from {package} import {module} as functions", "", "")
    lines.add(
        "class TensorMethods(TensorBase, metaclass=SubclassedMeta):",
        f'{INDENT}"""Methods made from ``variants: method`` and Python\'s operators."""',
        "",
    )
    lines.add(f"{INDENT}__slots__ = ()", f"{INDENT}_is_plain = True", "")
    for overloads in sets:
        if overloads.is_method and overloads.name not in (*PROPERTIES, *BINARY):
            lines.add(f"{INDENT}{overloads.name} = functions.{overloads.name}")
    lines.add("")
    for dunder, name in UNARY.items():
        if name in names:
            lines.add(f"{INDENT}{dunder} = functions.{name}")
    for dunder, name in BINARY.items():
        if name in names:
            lines.add(f"{INDENT}{dunder} = functions.{operator_function(dunder)}")
    for dunder, name in SYMMETRIC.items():
        if BINARY[name] in names:
            lines.add(f"{INDENT}{dunder} = {name}")
    lines.add(f"{INDENT}__hash__ = TensorBase.__hash__")
    for dunder, expression in REFLECTED.items():
        lines.add("", f"{INDENT}def {dunder}(self, other):", f"{INDENT * 2}return {expression}")
    lines.add("")
    lines.add(*[f"{INDENT}{dunder} = {name}" for dunder, name in OLD_NAMES.items()], "")
    for name, function in PROPERTIES.items():
        if function not in names:
            continue
        doc = f", doc={documents[function].summary!r}" if function in documents else ""
        if name not in PARTS:
            lines.add(f"{INDENT}{name} = property(getter(functions.{function}){doc})")
            continue
        lines.add("", f"{INDENT}def _set_{name}(self, value):")
        lines.add(f"{INDENT * 2}write_part(self, functions.{function}(self), value)", "")
        lines.add(f"{INDENT}{name} = property(getter(functions.{function}), _set_{name}{doc})")
    return lines.text()

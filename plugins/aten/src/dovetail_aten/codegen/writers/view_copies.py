"""Writes ``view_copies.py``: the kernels of the operators that copy what a view operator shows."""

from __future__ import annotations

from collections.abc import Sequence

from ...templates.python_function import declared, passed_on
from ..overload_sets import overload_sets
from ..readers.native_functions import NativeFunction
from .functions import called_functions
from .text import HEADER, INDENT, Lines


def write_view_copies(functions: Sequence[NativeFunction], functions_module: str) -> str:
    """Return the text of the module: one function per operator, named as its overload.

    Parameters
    ----------
    functions
        The operators.
    functions_module
        Module of the operator functions, by which the views are called.
    """
    package, _, module = functions_module.rpartition(".")
    called = called_functions(overload_sets(functions))
    lines = Lines()
    lines.add(
        HEADER,
        "# mypy: ignore-errors",
        '"""The kernels of the operators that copy what a view operator shows."""',
        "",
        "from __future__ import annotations",
        "",
        f"from {package} import {module} as k",
        "from dovetail_kernel import contiguous_format",
    )
    for function in functions:
        if function.copy_of is not None:
            lines.add("", "", *_copy(function, called[shown_by(function)]))
    return lines.text()


def shown_by(function: NativeFunction) -> str:
    """Return the name of the operator that shows what `function` copies: the view, or where the
    elements allow no view what copies them.
    """
    assert function.copy_of is not None
    return _COPYING.get(function.copy_of, function.copy_of)


_COPYING = {"view": "reshape"}


def _copy(function: NativeFunction, view: str) -> list[str]:
    """Return the lines of one function."""
    schema = function.schema
    parameters = [declared(argument) for argument in schema.arguments if not argument.kwarg_only]
    keywords = [declared(argument) for argument in schema.arguments if argument.kwarg_only]
    head = ", ".join([*parameters, *(["*", *keywords] if keywords else [])])
    shown = f"k.{view}({', '.join(passed_on(schema))})"
    copied = f"k.clone({shown}, memory_format=contiguous_format)"
    if schema.returns[0].real_type.schema_str != "Tensor":
        copied = f"[k.clone(each, memory_format=contiguous_format) for each in {shown}]"
    return [f"def {function.identifier}({head}):", f"{INDENT}return {copied}"]

"""Writes ``.pyi`` stubs: every overload of every function and method with its types, for editors
and type checkers.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from dovetail_dispatcher.schema import Argument

from ...templates.python_function import python_schema, result_type, variadic_argument
from ..overload_sets import OverloadSet, function_name, overload_sets
from ..readers.native_functions import NativeFunction
from .python_operators import BINARY, OLD_NAMES, REFLECTED, SYMMETRIC, UNARY
from .tensor_methods import PARTS, PROPERTIES
from .text import HEADER, INDENT, Lines, bracketed

_TYPES = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool",
    "str": "str",
    "Scalar": "Number", "ScalarType": "dtype", "Device": "Device | str", "Layout": "Layout",
    "MemoryFormat": "MemoryFormat", "Generator": "Generator", "complex": "builtins.complex",
    "Storage": "Storage | TypedStorage",
}  # fmt: skip

_PREAMBLE = """
import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, overload

from dovetail_aten.tensor.storage_classes.typed_storage import TypedStorage
from dovetail_aten.tensor.tensor_class import Tensor
from dovetail_kernel import Device, Layout, MemoryFormat, Storage, TensorBase, dtype

Number: TypeAlias = bool | int | float | builtins.complex
Generator: TypeAlias = Any
"""


def write_function_stubs(functions: Sequence[NativeFunction], *, is_split: bool) -> dict[str, str]:
    """Return the stub of the functions, text by path, beside what `write_functions` writes."""
    sets = overload_sets(functions)
    public = bracketed("__all__ = [", [f'"{s.name}"' for s in sets if s.is_public], "]")
    lines = Lines()
    lines.add(HEADER, _PREAMBLE, *public, "", *_result_classes(sets))
    for overloads in sets:
        lines.add(*_declarations(overloads, method=False))
        if overloads.has_choice:
            for function in overloads.overloads:
                lines.add(
                    f"def {function_name(function)}{_signature(function, overloads, False)}: ..."
                )
    return {"functions/__init__.pyi" if is_split else "functions.pyi": lines.text()}


def write_method_stubs(functions: Sequence[NativeFunction]) -> str:
    """Return the stub of the class of tensor methods."""
    sets = {overloads.name: overloads for overloads in overload_sets(functions)}
    lines = Lines()
    methods = [
        overloads
        for overloads in sets.values()
        if overloads.is_method and overloads.name not in (*PROPERTIES, *BINARY)
    ]
    lines.add(HEADER, _PREAMBLE, *_result_classes(methods), "class TensorMethods(TensorBase):")
    for overloads in methods:
        lines.add(*[INDENT + line for line in _declarations(overloads, method=True)])
    for dunder in [*BINARY, *SYMMETRIC, *UNARY, *REFLECTED, *OLD_NAMES]:
        operand = "" if dunder in UNARY else ", other: Any"
        ignored = "  # type: ignore[override]" if dunder in ("__eq__", "__ne__") else ""
        lines.add(f"{INDENT}def {dunder}(self{operand}) -> Tensor: ...{ignored}")
    lines.add(f"{INDENT}def __hash__(self) -> int: ...")
    for name in PROPERTIES:
        lines.add(f"{INDENT}@property", f"{INDENT}def {name}(self) -> Tensor: ...")
        if name in PARTS:
            lines.add(f"{INDENT}@{name}.setter")
            lines.add(f"{INDENT}def {name}(self, value: Tensor | Number) -> None: ...")
    return lines.text()


def _result_classes(sets: Sequence[OverloadSet]) -> list[str]:
    """Return the lines of the classes of results with names that functions of `sets` return."""
    lines: dict[str, list[str]] = {}
    for function in [function for overloads in sets for function in overloads.overloads]:
        if kind := result_type(function.schema):
            fields = [f"{INDENT}{item.name}: Tensor" for item in function.schema.returns]
            lines[kind] = [f"class _{kind}_result(NamedTuple):", *fields, ""]
    return [line for own in lines.values() for line in own]


def _declarations(overloads: OverloadSet, *, method: bool) -> list[str]:
    chosen = [f for f in overloads.overloads if not method or "method" in f.variants]
    signatures = list(dict.fromkeys([_signature(f, overloads, method) for f in chosen]))
    if any([variadic_argument(f.schema) is not None for f in chosen]):
        signatures += [s for f in chosen if (s := _variadic_signature(f, method)) is not None]
    if len(signatures) == 1:
        return [f"def {overloads.name}{signatures[0]}: ..."]
    return [line for s in signatures for line in ("@overload", f"def {overloads.name}{s}: ...")]


def _signature(function: NativeFunction, overloads: OverloadSet, method: bool) -> str:
    arguments = python_schema(function.schema).arguments
    positional = [a for a in arguments if not a.kwarg_only]
    keywords = [a for a in arguments if a.kwarg_only]
    parameters = [_parameter(a) for a in positional]
    if method:
        parameters = ["self", *[_parameter(a) for a in positional if a.name != "input"]]
    out = overloads.outs.get(function.name)
    if keywords or (out is not None and not method):
        parameters += ["*", *[_parameter(a) for a in keywords]]
    if out is not None and not method:
        outs = len(out.schema.returns)
        parameters.append(f"out: {'Tensor' if outs == 1 else 'Sequence[Tensor]'} | None = None")
    return f"({', '.join(parameters)}) -> {_returned(function)}"


def _variadic_signature(function: NativeFunction, method: bool) -> str | None:
    schema = python_schema(function.schema)
    variadic = variadic_argument(schema)
    if variadic is None:
        return None
    first = [a for a in schema.arguments if a.name == "input"]
    parameters = ["self"] if method else [_parameter(a) for a in first]
    parameters += [
        f"*{_name(variadic)}: int",
        *[_parameter(a) for a in schema.arguments if a.kwarg_only],
    ]
    return f"({', '.join(parameters)}) -> {_returned(function)}"


def _parameter(argument: Argument) -> str:
    return (
        f"{_name(argument)}: "
        f"{_type(argument.real_type.schema_str)}{' = ...' if argument.has_default_value() else ''}"
    )


def _name(argument: Argument) -> str:
    return argument.name + "_" if keyword.iskeyword(argument.name) else argument.name


def _type(spelling: str) -> str:
    if spelling.endswith("?"):
        return f"{_type(spelling[:-1])} | None"
    if spelling.endswith("]"):
        element, _, size = spelling[:-1].rpartition("[")
        listed = f"Sequence[{_type(element)}]"
        return f"{_type(element)} | {listed}" if size and element in ("int", "SymInt") else listed
    return _TYPES.get(spelling, "Any")


def _returned(function: NativeFunction) -> str:
    if kind := result_type(function.schema):
        return f"_{kind}_result"
    returns = [_returned_type(a.real_type.schema_str) for a in function.schema.returns]
    if not returns:
        return "None"
    return returns[0] if len(returns) == 1 else f"tuple[{', '.join(returns)}]"


def _returned_type(spelling: str) -> str:
    return {"Tensor[]": "tuple[Tensor, ...]", "Scalar": "Any"}.get(spelling) or _type(spelling)

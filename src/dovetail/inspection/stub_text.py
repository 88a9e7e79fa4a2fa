"""Stubs of ``dovetail.ops.<namespace>`` for editors and type checkers, generated from the
registered schemas.
"""

from __future__ import annotations

import keyword
from typing import Final

from dovetail_dispatcher import FunctionSchema, OpOverloadPacket, ops

_TYPES: Final = {
    "Tensor": "_Tensor", "int": "_int", "SymInt": "_int", "float": "_float", "bool": "_bool",
    "SymBool": "_bool",
    "str": "_str", "Scalar": "_Number", "ScalarType": "_dtype", "Device": "_device | _str",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format", "complex": "complex", "DeviceIndex": "_int",
}  # fmt: skip
"""Types of schemas in Python, under names that no overload can have: overloads are called Tensor,
int, ...
"""

_HEAD = '''"""Stub of dovetail.ops.{namespace}, written by `dovetail stubs {namespace}`."""
# mypy: disable-error-code="override, overload-overlap, overload-cannot-match"
# Overloads that differ in types which are one type in Python overlap;
# the first that fits is taken, as at run time.

from builtins import bool as _bool, float as _float, int as _int, str as _str
from collections.abc import Sequence as _Sequence
from typing import Any as _Any, TypeAlias as _TypeAlias, overload

from dovetail import (
    Tensor as _Tensor, device as _device, dtype as _dtype, layout as _layout,
    memory_format as _memory_format,
)
from dovetail_dispatcher import OpOverload as _OpOverload, OpOverloadPacket as _OpOverloadPacket

_Number: _TypeAlias = _int | _float | complex
'''


def stub_of(namespace: str) -> str:
    """Return the text of a stub for the operators of a namespace.

    Use it as the type of the namespace: ``from stubs import vision`` under ``TYPE_CHECKING``.

    Parameters
    ----------
    namespace
        The namespace of an installed library, which is loaded.

    Raises
    ------
    RuntimeError
        If it has no operators.
    """
    operators = getattr(ops, namespace)
    names = sorted({*dir(operators)})
    if not names:
        raise RuntimeError(
            f"namespace {namespace!r} has no operators. Install the library that has them; "
            "'dovetail plugins' lists "
            "what is installed."
        )
    parts = [_HEAD.format(namespace=namespace)]
    for name in names:
        if name.isidentifier() and not keyword.iskeyword(name):
            parts.append(_packet(name, getattr(operators, name)))
    return "\n".join(parts)


def _packet(name: str, packet: OpOverloadPacket) -> str:
    """Return the classes of an operator and of its overloads, and the variable for it."""
    owner = f"_of_{name}"  # no operator is called so
    lines: list[str] = []
    for each in packet.op_overloads():
        lines += [f"class {owner}_{each._overloadname}(_OpOverload):"]
        lines += [f"    def __call__{_signature(each._schema)}: ...", ""]
    lines.append(f"class {owner}(_OpOverloadPacket):")
    for overload in packet.overloads():
        if not keyword.iskeyword(overload):
            lines.append(f"    {overload}: {owner}_{overload}")
    signatures = list(dict.fromkeys(_signature(each._schema) for each in packet.op_overloads()))
    for signature in signatures:
        lines += ["    @overload"] if len(signatures) > 1 else []
        lines.append(f"    def __call__{signature}: ...")
    return "\n".join([*lines, "", f"{name}: {owner}", ""])


def _signature(schema: FunctionSchema) -> str:
    parameters = ["__self"]
    starred = False
    for argument in schema.arguments:
        if argument.kwarg_only and not starred:
            parameters.append("*")
            starred = True
        name = argument.name + "_" if keyword.iskeyword(argument.name) else argument.name
        default = " = ..." if argument.has_default_value() else ""
        parameters.append(f"{name}: {_type(argument.real_type.schema_str)}{default}")
    return f"({', '.join(parameters)}) -> {_returned(schema)}"


def _returned(schema: FunctionSchema) -> str:
    kinds = [_type(each.real_type.schema_str, returned=True) for each in schema.returns]
    if not kinds:
        return "None"
    return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def _type(spelling: str, *, returned: bool = False) -> str:
    """Return the Python type of a type of schemas."""
    if spelling.endswith("?"):
        return f"{_type(spelling[:-1], returned=returned)} | None"
    if spelling.endswith("]"):
        element, _, size = spelling[:-1].rpartition("[")
        inner = _type(element, returned=returned)
        if returned:
            return f"list[{inner}]"
        return (
            f"{inner} | _Sequence[{inner}]"
            if size and element in ("int", "SymInt")
            else f"_Sequence[{inner}]"
        )
    return _TYPES.get(spelling, "_Any")

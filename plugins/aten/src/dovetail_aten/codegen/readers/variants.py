"""Derives the schemas of in-place and out variants from that of the functional operator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from dovetail_dispatcher import FunctionSchema

SchemaKind: TypeAlias = Literal["functional", "inplace", "out", "mutable"]


def schema_kind(schema: FunctionSchema) -> SchemaKind:
    """Say which kind of variant a schema is: ``add``, ``add_``, ``add.out`` or another that writes
    its arguments.
    """
    if any([argument.is_out for argument in schema.arguments]):
        return "out"
    if schema.name.endswith("_") and not schema.name.endswith("__") and schema.is_mutable:
        return "inplace"
    return "mutable" if schema.is_mutable else "functional"


def derive_variant(text: str, schema: FunctionSchema, name: str) -> str:
    """Return the schema text of the variant `name` of the functional operator `text`.

    Parameters
    ----------
    text
        Schema of the functional operator without namespace, ``add.Tensor(Tensor self, ...) ->
        Tensor``.
    schema
        The same, parsed.
    name
        ``add_`` or ``add_.overload`` for the in-place variant (`self` is written and returned),
        ``add.overload`` for the out variant (one keyword-only written argument per result, called
        ``out``, as the result is called, or ``out0``, ``out1``, ...; in parentheses other names:
        ``max_pool2d_with_indices.out(out, indices)``, whose results have no names). For a result
        that is a list of tensors it writes a list, and returns nothing.

    Raises
    ------
    ValueError
        If `name` belongs to another operator, or the operator is not functional.
    """
    if schema_kind(schema) != "functional":
        raise ValueError("it is not functional")
    base = schema.name.partition("::")[2]
    name, _, outs = name.removesuffix(")").partition("(")
    derived_base = name.partition(".")[0]
    written = _written_arguments(text)
    if derived_base == base + "_":
        return _inplace(name, written, schema)
    if derived_base == base and name != text.partition("(")[0]:
        return _out(name, written, schema, outs.split(", ") if outs else [])
    raise ValueError(f"the name is neither {base}_ nor an overload of {base}")


def copy_name(schema: FunctionSchema) -> str:
    """Return the name of the operator that copies what a view operator shows: ``squeeze_copy.dim``
    of ``squeeze.dim``.
    """
    base = schema.name.partition("::")[2]
    return f"{base}_copy" + (f".{schema.overload_name}" if schema.overload_name else "")


def derive_copy(text: str, schema: FunctionSchema) -> str:
    """Return the schema text of the operator that copies what the view operator `text` shows: the
    same arguments, and results that share no memory. Raises ValueError if the operator is not a
    view.
    """
    if not schema._is_view_op():
        raise ValueError("it is no view")
    written = text.partition("(")[2]
    return f"{copy_name(schema)}({re.sub(r'Tensor[(]a( -> [*])?[)]', 'Tensor', written)}"


def _written_arguments(text: str) -> str:
    match = re.fullmatch(r"[\w.]+\((.*)\) -> .*", text)
    if match is None:
        raise ValueError("the schema has no arrow")
    return match[1]


def _inplace(name: str, written: str, schema: FunctionSchema) -> str:
    first = schema.arguments[0] if schema.arguments else None
    if first is None or first.name != "self" or first.real_type.schema_str != "Tensor":
        raise ValueError("its first argument is not 'Tensor self'")
    arguments = re.sub(r"^Tensor self", "Tensor(a!) self", written)
    return f"{name}({arguments}) -> Tensor(a!)"


def _out(name: str, written: str, schema: FunctionSchema, given: Sequence[str]) -> str:
    returns = schema.returns
    names = given or [
        result.name or ("out" if len(returns) == 1 else f"out{index}")
        for index, result in enumerate(returns)
    ]
    if len(names) != len(returns):
        raise ValueError(f"it has {len(returns)} results, and {len(names)} names are given")
    kinds = [result.real_type.schema_str for result in returns]
    separator = [] if any([argument.kwarg_only for argument in schema.arguments]) else ["*"]
    before = [*([written] if written else []), *separator]
    if kinds == ["Tensor[]"]:
        return f"{name}({', '.join([*before, f'Tensor(a!)[] {names[0]}'])}) -> ()"
    if set(kinds) != {"Tensor"}:
        raise ValueError("it returns something else than tensors")
    written_types = [f"Tensor({letter}!)" for letter, _ in zip("abcdef", returns, strict=False)]
    outs = [f"{each} {out}" for each, out in zip(written_types, names, strict=True)]
    results = [
        f"{each} {result.name}" if result.name and not given else each
        for each, result in zip(written_types, returns, strict=True)
    ]
    return (
        f"{name}({', '.join([*before, *outs])}) -> "
        f"{results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"
    )

"""Compares schemas and types: whether one may replace another without breaking callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .types import (
    AnyType,
    ComplexType,
    FloatType,
    IntType,
    NoneType,
    NumberType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)

if TYPE_CHECKING:
    from .function_schema import Argument, FunctionSchema


def is_backward_compatible(new: FunctionSchema, old: FunctionSchema) -> bool:
    if (new.name, new.overload_name, new.is_vararg, new.is_varret) != (
        old.name,
        old.overload_name,
        old.is_vararg,
        old.is_varret,
    ):
        return False
    if len(new.returns) != len(old.returns) or len(new.arguments) < len(old.arguments):
        return False
    if not all(
        [
            _may_replace(old_one, new_one)
            for new_one, old_one in zip(new.returns, old.returns, strict=True)
        ]
    ):
        return False
    new_inputs, new_outs = _split(new)
    old_inputs, old_outs = _split(old)
    added = new_inputs[len(old_inputs) :]
    return (
        len(new_inputs) >= len(old_inputs)
        and len(new_outs) == len(old_outs)
        and all([_may_replace(*pair) for pair in zip(new_inputs, old_inputs, strict=False)])
        and all([_may_replace(*pair) for pair in zip(new_outs, old_outs, strict=True)])
        and all([argument.has_default_value() for argument in added])
    )


def check_forward_compatible(new: FunctionSchema, old: FunctionSchema) -> tuple[bool, str]:
    if (new.name, new.overload_name, new.is_vararg, new.is_varret, len(new.returns)) != (
        old.name,
        old.overload_name,
        old.is_vararg,
        old.is_varret,
        len(old.returns),
    ):
        return False, ""
    new_inputs, new_outs = _split_trailing_outs(new)
    old_inputs, old_outs = _split_trailing_outs(old)
    if len(new_outs) != len(old_outs):
        return False, "Function schema should have the same number of out arguments"
    for new_one, old_one in zip(new_inputs, old_inputs, strict=False):
        if not _may_be_read_as(new_one, old_one):
            return False, (
                f"'{new_one.name}' is not forward compatible with the older version of the schema"
            )
    for added in new_inputs[len(old_inputs) :]:
        what = (
            "Function schema is not forward compatible since the new argument "
            f"'{added.name}' of type {_without_size(added)} "
        )
        if not added.has_default_value():
            return False, f"{what}did not provide a default value."
        if isinstance(added.default_value, tuple | list):
            return False, f"{what}has a container type as its default value."
    for new_one, old_one in zip(new_outs, old_outs, strict=True):
        if not _may_be_read_as(new_one, old_one):
            return False, (
                f"Out argument ''{new_one.name} is not FC with the older version of the schema"
            )
    return True, ""


def is_subtype(narrow: Type, wide: Type) -> bool:
    """Return whether every value of the first type is a value of the second."""
    if narrow is wide or isinstance(wide, AnyType):
        return True
    if isinstance(narrow, OptionalType):
        return isinstance(wide, OptionalType) and is_subtype(narrow.elem, wide.elem)
    if isinstance(wide, OptionalType):
        return isinstance(narrow, NoneType) or is_subtype(narrow, wide.elem)
    if isinstance(wide, NumberType):
        return isinstance(narrow, IntType | FloatType | ComplexType)
    if isinstance(wide, UnionType):
        members = narrow.elems if isinstance(narrow, UnionType) else (narrow,)
        return all([any([is_subtype(member, one) for one in wide.elems]) for member in members])
    if (
        isinstance(narrow, TupleType)
        and isinstance(wide, TupleType)
        and len(narrow.elems) == len(wide.elems)
    ):
        return all([is_subtype(*pair) for pair in zip(narrow.elems, wide.elems, strict=True)])
    return False


def _split(schema: FunctionSchema) -> tuple[list[Argument], list[Argument]]:
    inputs = [argument for argument in schema.arguments if not argument.is_out]
    return inputs, [argument for argument in schema.arguments if argument.is_out]


def _split_trailing_outs(schema: FunctionSchema) -> tuple[list[Argument], list[Argument]]:
    count = 0
    for argument in reversed(schema.arguments):
        if not argument.is_out:
            break
        count += 1
    start = len(schema.arguments) - count
    return list(schema.arguments[:start]), list(schema.arguments[start:])


def _without_size(argument: Argument) -> str:
    return argument.real_type.schema_str.replace(f"[{argument.N}]", "[]")


def _stand_alike(new: Argument, old: Argument) -> bool:
    """Say whether ``new`` is given and written as ``old`` is; by position too, if ``old`` is."""
    return (
        new.name == old.name
        and new.N == old.N
        and new.alias_info == old.alias_info
        and (old.kwarg_only or not new.kwarg_only)
    )


def _may_be_read_as(new: Argument, old: Argument) -> bool:
    """Say whether what is written for ``new`` may be handed to ``old``."""
    return (
        _stand_alike(new, old)
        and new.has_default_value() == old.has_default_value()
        and new.default_value == old.default_value
        and is_subtype(new.type, old.type)
    )


def _may_replace(new: Argument, old: Argument) -> bool:
    """Say whether ``new`` takes whatever ``old`` takes. (For returns the roles are exchanged.)"""
    return (
        _stand_alike(new, old)
        and (
            not old.has_default_value()
            or (new.has_default_value() and new.default_value == old.default_value)
        )
        and is_subtype(old.type, new.type)
    )

"""Checks what a library is made with, and the names, schemas and keys that it registers at."""

from __future__ import annotations

from typing import Final

from dovetail_kernel import DispatchKey, parse_dispatch_key
from dovetail_kernel.errors import did_you_mean

from ..calls.overloads import OpOverload
from ..schema import FunctionSchema, parse_schema

RESERVED_NAMESPACES: Final = ("prim",)
KINDS: Final = ("DEF", "IMPL", "FRAGMENT")


def check_kind(ns: str, kind: str, dispatch_key: str, made_at: str) -> None:
    """Raise an error for an invalid library. Raises ValueError for an unknown kind, or a reserved
    namespace, and RuntimeError for the wildcard namespace or a dispatch key with another kind than
    IMPL.
    """
    if kind not in KINDS:
        raise ValueError(
            f"Unsupported kind: {kind}.{did_you_mean(str(kind), KINDS)} Choose from "
            f"{', '.join(KINDS)}."
        )
    if ns in RESERVED_NAMESPACES and kind != "IMPL":
        raise ValueError(
            f"{ns} is a reserved namespace. Please try creating a library with another name."
        )
    if ns == "_" and kind != "IMPL":
        raise RuntimeError(
            f"cannot define TORCH_LIBRARY_{kind} with the wildcard namespace _ at {made_at}. "
            "Only IMPL may have it."
        )
    if dispatch_key and kind != "IMPL":
        raise RuntimeError(
            f"!dispatch_key_.has_value(): a {kind} library cannot have a dispatch key "
            f"({dispatch_key}), at "
            f'{made_at}. Give the key to impl, or make the library with kind "IMPL".'
        )


def parse_schema_of(ns: str, schema: str, made_at: str) -> FunctionSchema:
    """Parse the schema of an operator of the namespace `ns`, which may be left out. Raises
    RuntimeError for a malformed schema, or one with another namespace.
    """
    head, paren, rest = schema.partition("(")
    if paren and "::" not in head:
        parsed = parse_schema(f"{ns}::{head.strip()}({rest}", allow_typevars=False)
    else:
        parsed = parse_schema(schema, allow_typevars=False)
        namespace = parsed.name.partition("::")[0]
        if namespace != ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace}) in schema string does not match "
                f"namespace of enclosing library ({ns}), made at {made_at}. Leave the namespace "
                "out."
            )
    return parsed


def operator_name(op_name: str | OpOverload, ns: str, made_at: str) -> tuple[str, str]:
    """Return the qualified name and the overload of what a library of `ns` registers a kernel for.
    Raises RuntimeError for an invalid name, a name of another namespace, or a library of the
    wildcard namespace.
    """
    if isinstance(op_name, OpOverload):
        text = op_name.name()
    elif isinstance(op_name, str):
        text = op_name
    else:
        raise RuntimeError(
            "impl should be passed either a name or an OpOverload object as the first argument, "
            f"but got {type(op_name).__name__}."
        )
    if ns == "_":
        raise RuntimeError(
            f'impl("{text}", ...): a library of the wildcard namespace _ has no operators, made at '
            f"{made_at}. Use fallback, or a library of the operator's namespace."
        )
    namespace, separator, rest = text.rpartition("::")
    if separator and namespace != ns:
        raise RuntimeError(
            f'impl("{text}", ...): Explicitly provided namespace ({namespace}) in operator name '
            f"does not match namespace of enclosing library ({ns}), made at {made_at}. Leave the "
            "namespace out."
        )
    base, _, overload = rest.partition(".")
    return f"{ns}::{base}", "" if overload == "default" else overload


def kernel_key(dispatch_key: str, name: str, own: DispatchKey | None, made_at: str) -> DispatchKey:
    """Return the key of a kernel, given the text that it was registered with and the key of its
    library. Raises RuntimeError for an unknown key, or another one than the library's.
    """
    if dispatch_key in ("", "Undefined"):  # no key of its own, as in PyTorch
        return own or DispatchKey.CompositeImplicitAutograd
    key = parse_dispatch_key(dispatch_key)
    if own is not None and key is not own:
        raise RuntimeError(
            f'impl("{name}", ...): Explicitly provided dispatch key ({dispatch_key}) is '
            "inconsistent with the dispatch key of the enclosing TORCH_LIBRARY_IMPL block "
            f"({own.name}), made at {made_at}. Leave the key out."
        )
    return key

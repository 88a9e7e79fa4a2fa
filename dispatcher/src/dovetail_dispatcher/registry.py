"""The operator table: what is registered now, and nothing derived from it but the routes, which every change clears.

Writers hold the lock, and clear routes under it; a route is composed and stored under it too, so no stale route can be
stored after a change. A cached call takes no lock. Each registration returns a function that takes it back, and the
table depends only on what is live, never on the order in which it came.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any, Final

from dovetail_kernel import DispatchKey, on_default_dtype_change
from dovetail_kernel.errors import did_you_mean

from .kernels import Kernel
from .operator import Operator
from .schema import FunctionSchema, parse_schema

lock: Final = RLock()
operators: Final[dict[str, dict[str, Operator]]] = {}
"""Operators by qualified name, then by overload, in order of definition."""
fallbacks: Final[dict[DispatchKey, Kernel]] = {}
epoch = 0
"""Counts changes; what was derived from the table outside it compares this number."""

Undo = Callable[[], None]
_warned_of_override = False


def find(name: str, overload: str = "") -> Operator | None:
    """Return the operator in the table, defined or not, or None."""
    return operators.get(name, {}).get(overload)


def find_or_throw(name: str, overload: str = "") -> Operator:
    """Return a defined operator.

    Raises
    ------
    RuntimeError
        If there is none; the text says what is there.
    """
    op = find(name, overload)
    if op is not None and op.is_defined:
        return op
    qualified = f"{name}.{overload}" if overload else name
    if op is not None:
        raise RuntimeError(
            f"Could not find schema for {qualified}. but we found an implementation; did you forget to def() the "
            f"operator? Kernels: {', '.join(k.location for stack in op.kernels.values() for k in stack)}. Define it: "
            "Library.define(...)."
        )
    raise RuntimeError(
        f"Could not find schema for {qualified}.{did_you_mean(name, operators)} Load the library that defines it, or "
        "define it: Library.define(...)."
    )


def all_operators() -> list[Operator]:
    """Return every operator of the table, by name then in order of definition."""
    return [op for overloads in list(operators.values()) for op in list(overloads.values())]


def define(
    schema: FunctionSchema | str,
    location: str,
    *,
    tags: Sequence[Any] = (),
    kind: str = "other",
    promotion: str = "none",
) -> tuple[Operator, Undo]:
    """Define an operator; `schema` carries the namespace.

    Raises
    ------
    RuntimeError
        If the same overload is defined already; nothing is changed then.
    """
    parsed = parse_schema(schema) if isinstance(schema, str) else schema
    with lock:
        op = _operator(parsed.name, parsed.overload_name)
        if op.is_defined:
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. Each "
                "overload's schema should only be registered with a single call to def(). Duplicate registration: "
                f"registered at {location}. Original registration: registered at {op.defined_at}. Choose another name, "
                "or destroy the library that defined it first."
            )
        _move_to_end(op)
        op.define(parsed, f"{location}")
        op.tags, op.kind, op.promotion = tuple(tags), kind, promotion
        _changed(op)

    def undo() -> None:
        with lock:
            op.undefine()
            _changed(op)
            _drop_if_empty(op)

    return op, undo


def define_many(rows: Iterable[tuple[str, str, str, tuple[Any, ...], str | None]], location: str) -> None:
    """Define the operators of a generated table: rows of schema text, kind, promotion, tags, and what it is a variant of.

    The texts (with namespace) were checked when they were generated, and are parsed when first looked at. An in-place
    or ``out=`` variant names its functional operator (``"aten::add.Tensor"``), which stands before it in the table.
    """
    with lock:
        for text, kind, promotion, tags, functional in rows:
            name, _, overload = text[: text.index("(")].partition(".")
            op = _operator(name, overload)
            if op.is_defined:
                raise RuntimeError(
                    f"Tried to register an operator ({text}) with the same name and overload name multiple times: "
                    f"at {location} and before that at {op.defined_at}."
                )
            op.define(text, location)
            op.kind, op.promotion, op.tags = kind, promotion, tags
            if functional is not None:
                op.variant_of = find_or_throw(*functional.split(".", 1))
                op.variant_of.variants.append(op)
            op.forget_routes()
        _next_epoch()


def add_kernel(name: str, overload: str, kernel: Kernel) -> Undo:
    """Put `kernel` on top of those at its key; return what takes it back and uncovers the one beneath."""
    with lock:
        op = _operator(name, overload)
        stack = op.kernels.setdefault(kernel.key, [])
        if stack and kernel.key is not DispatchKey.Meta:
            _warn_of_override(op, stack[0], kernel)
        stack.insert(0, kernel)
        _changed(op)

    def undo() -> None:
        with lock:
            if kernel in stack:
                stack.remove(kernel)
                if not stack and op.kernels.get(kernel.key) is stack:
                    del op.kernels[kernel.key]
                _changed(op)
                _drop_if_empty(op)

    return undo


def add_fallback(keys: Iterable[DispatchKey], make: Callable[[DispatchKey], Kernel]) -> Undo:
    """Put a backend fallback at each of `keys`.

    Raises
    ------
    RuntimeError
        If one of them has a fallback already; nothing is changed then.
    """
    with lock:
        new = {key: make(key) for key in keys}
        for key, kernel in new.items():
            old = fallbacks.get(key)
            if old is not None and old.location != BUILT_IN:
                raise RuntimeError(
                    f"Tried to register multiple backend fallbacks for the same dispatch key {key.name}; previous "
                    f"registration registered at {old.location}, new registration registered at {kernel.location}. "
                    "Destroy the library that registered the previous one first."
                )
        covered = {key: fallbacks[key] for key in new if key in fallbacks}
        fallbacks.update(new)
        _all_changed()

    def undo() -> None:
        with lock:
            for key, kernel in new.items():
                if fallbacks.get(key) is kernel:
                    del fallbacks[key]
                    if key in covered:
                        fallbacks[key] = covered[key]
            _all_changed()

    return undo


BUILT_IN: Final = "dovetail"
"""Location of the fallbacks that come with the dispatcher; these may be covered by a library's."""


def set_formula(name: str, overload: str, formula: Any) -> Undo:
    """Set how to differentiate an operator; return what restores the formula before."""
    with lock:
        op = find_or_throw(name, overload)
        before, op.formula = op.formula, formula
        _changed(op)

    def undo() -> None:
        with lock:
            if op.formula is formula:
                op.formula = before
                _changed(op)

    return undo


def forget_all_routes() -> None:
    """Clear the routes of every operator, because something that all were composed from has changed."""
    with lock:
        _all_changed()


def _operator(name: str, overload: str) -> Operator:
    overloads = operators.setdefault(name, {})
    op = overloads.get(overload)
    if op is None:
        op = overloads[overload] = Operator(name, overload)
    return op


def _move_to_end(op: Operator) -> None:
    """Put `op` last among its overloads: they are tried in the order of definition, not of their first kernel."""
    overloads = operators[op.name]
    del overloads[op.overload]
    overloads[op.overload] = op


def _drop_if_empty(op: Operator) -> None:
    if op.is_empty and find(op.name, op.overload) is op:
        del operators[op.name][op.overload]
        if not operators[op.name]:
            del operators[op.name]


def _changed(op: Operator) -> None:
    op.forget_routes()
    _next_epoch()


def _all_changed() -> None:
    for overloads in operators.values():
        for op in overloads.values():
            op.forget_routes()
    _next_epoch()


def _next_epoch() -> None:
    global epoch
    epoch += 1


def _warn_of_override(op: Operator, old: Kernel, new: Kernel) -> None:
    global _warned_of_override
    if _warned_of_override:
        return
    _warned_of_override = True
    warnings.warn(
        "Overriding a previously registered kernel for the same operator and the same dispatch key: "
        f"{op.qualified_name}, {new.key.name}; previous kernel registered at {old.location}, new kernel registered at "
        f"{new.location}. Further overrides in this process are not reported.",
        UserWarning,
        stacklevel=4,
    )


on_default_dtype_change(forget_all_routes)

"""Prints the operator table: registrations, the kernels computed from them, and invariants that
fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dovetail_kernel import DispatchKey, plugin_manager
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.plugins import LIBRARIES

from ...calls.routes import MAX_ROUTES
from ...table import registry
from ...table.computed_table import compute, formula_kernel
from ...table.kernels import Kernel
from ...table.operator import Operator
from ...table.source_locations import short_place
from ...table.updates.definitions import alias_kind
from ..notebook_trees import InNotebooks, html_of_tree


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a computed table.

    Attributes
    ----------
    key
        A runtime key, or Undefined.
    tag
        The rule that chose the kernel, as in PyTorch: "kernel", "math kernel", "backend fallback",
        ..., "missing".
    kernel
        The kernel in force; None where there is none, or where it is ambiguous.
    """

    key: DispatchKey
    tag: str
    kernel: Kernel | None

    def as_dict(self) -> dict[str, str | None]:
        """Return the row as plain strings; None for what is not there."""
        kernel = self.kernel
        return {
            "key": self.key.name,
            "rule": self.tag,
            "kernel": kernel.name if kernel else None,
            "convention": kernel.convention if kernel else None,
            "source": kernel.source if kernel else None,
            "registered_at": kernel.origin if kernel else None,
            "registered_for": kernel.key.name if kernel else None,
            "distribution": kernel.distribution if kernel else None,
        }

    def __str__(self) -> str:
        if self.kernel is None:
            return f"{self.key.name}: {self.tag.replace(' ', '_')} [{self.tag}]"
        return f"{self.key.name}: {_registered(self.kernel)} [{self.tag}]"


@dataclass(frozen=True, slots=True, repr=False)
class DispatchTable(InNotebooks):
    """The computed table of one operator: a row for every runtime key, lowest priority first;
    ``str`` prints it.

    Attributes
    ----------
    operator
        Qualified name.
    rows
        One `TableRow` per key, missing ones included.
    """

    operator: str
    rows: tuple[TableRow, ...]

    def __getitem__(self, key: DispatchKey | str) -> TableRow:
        """Return the row of `key`.

        Raises
        ------
        KeyError
            If there is no such row: an alias key, or no key at all.
        """
        name = key if isinstance(key, str) else key.name
        for row in self.rows:
            if row.key.name == name:
                return row
        raise KeyError(
            f"{name} is no runtime key.{did_you_mean(name, [row.key.name for row in self.rows])}"
        )

    def __iter__(self) -> Iterator[TableRow]:
        return iter(self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return the table as plain dicts, lists and strings, missing rows included."""
        return {"operator": self.operator, "table": [row.as_dict() for row in self.rows]}

    def as_json(self, indent: int | None = 2) -> str:
        """Return the table as JSON text."""
        import json

        return json.dumps(self.as_dict(), indent=indent)

    def __str__(self) -> str:
        return "".join(f"{row}\n" for row in self.rows if row.tag != "missing")

    def as_text(self) -> str:
        """Return the table with one line for neighbours that have the same kernel by one rule."""
        lines: list[tuple[list[str], str]] = []
        for row in self.rows:
            if row.tag == "missing":
                continue
            rest = str(row).removeprefix(f"{row.key.name}: ")
            if lines and lines[-1][1] == rest:
                lines[-1][0].append(row.key.name)
            else:
                lines.append(([row.key.name], rest))
        return "".join(f"{', '.join(keys)}: {rest}\n" for keys, rest in lines)

    def _repr_html_(self) -> str:
        return html_of_tree(
            f"{self.operator}\n" + "".join(f"├─ {line}\n" for line in self.as_text().splitlines())
        )


def dispatch_table(op: object) -> DispatchTable:
    """Return the computed dispatch table of an operator.

    Parameters
    ----------
    op
        A name such as ``"aten::add.Tensor"``, or an object whose ``str`` or ``name()`` is such a
        name.

    Raises
    ------
    RuntimeError
        If there is no such operator.
    """
    return table_of(existing_operator(op))


def table_of(op: Operator) -> DispatchTable:
    """Return the computed table of `op`."""
    rows = []
    for key in (DispatchKey.Undefined, *(key for key in DispatchKey if key.is_runtime)):
        entry = compute(op, key, registry.fallbacks)
        rows.append(TableRow(key, entry.tag, entry.kernel))
    return DispatchTable(op.qualified_name, tuple(rows))


def existing_operator(op: object) -> Operator:
    """Return the operator that `op` names, defined or not; the installed library of its namespace
    is loaded. Raises RuntimeError if there is none in the table.
    """
    name = (
        op
        if isinstance(op, str)
        else op.name()
        if hasattr(op, "name")
        else str(op).replace(".", "::", 1)
    )
    found = registry.find_qualified(name)
    namespace = name.partition("::")[0]
    if (found is None or not found.is_registered) and plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)
        found = registry.find_qualified(name)
    if found is None or not found.is_registered:
        names = [each.qualified_name for each in registry.all_operators()]
        raise RuntimeError(
            f"operator {name} does not exist.{did_you_mean(name, names)} Define it, or load the "
            "library that does."
        )
    return found


def _dispatch_dump(name: str) -> str:
    """Return what is registered for an operator, one line per kernel; an empty string for an
    unknown one.
    """
    op = registry.find_qualified(name)
    return "" if op is None or not op.is_registered else dump_of(op)


def dump_of(op: Operator) -> str:
    """Return what is registered for `op`, one line per kernel."""
    lines = [f"name: {op.qualified_name}"]
    if op.is_defined:
        lines += [
            f"schema: {op.schema}",
            f"debug: registered at {short_place(op.defined_at or '')}",
            f"alias analysis kind: {alias_kind(op)}",
        ]
    else:
        lines.append("schema: (none)")
    stacks = {key: list(stack) for key, stack in op.kernels.items()}
    if formula := formula_kernel(op):
        stacks[DispatchKey.Autograd] = [*stacks.get(DispatchKey.Autograd, []), formula]
    for key in sorted(stacks, key=_dump_order):
        alias = "[alias]" if key.is_alias else ""
        for position, kernel in enumerate(stacks[key]):
            inactive = f" if {kernel.why}" if kernel.when is not None else ""
            if any([each.when is None for each in stacks[key][:position]]):
                inactive += " (inactive)"
            lines.append(
                f"{key.name}{alias}{inactive}: registered at {short_place(kernel.origin)} :: "
                f"{kernel.name} [ {kernel.convention} ]"
            )
    return "".join(f"{line}\n" for line in lines)


def _dispatch_dump_table(name: str) -> str:
    """Return the computed table of an operator, missing entries left out; an empty string for an
    unknown one.
    """
    op = registry.find_qualified(name)
    return "" if op is None or not op.is_registered else str(table_of(op))


def _dispatch_check_invariants(name: str) -> None:
    """Check that the table is in order for one operator; nothing is checked for an unknown one.

    Raises
    ------
    RuntimeError
        INTERNAL ASSERT FAILED, with what is wrong.
    """
    op = registry.find_qualified(name)
    if op is not None:
        with registry.lock:
            _check(op)


def _dispatch_check_all_invariants() -> None:
    """Check the table of every operator. Raises the errors of `_dispatch_check_invariants`."""
    with registry.lock:
        for op in registry.all_operators():
            _check(op)


def _dispatch_find_dangling_impls() -> list[str]:
    """Return the dump of every operator that has kernels but no definition."""
    return [dump_of(op) for op in registry.all_operators() if op.kernels and not op.is_defined]


def _dispatch_get_all_op_names() -> list[str]:
    """Return the qualified names of all operators in the table."""
    return [op.qualified_name for op in registry.all_operators()]


def _dispatch_get_registrations_for_dispatch_key(dispatch_key: str = "") -> list[str]:
    """Return the qualified names of the operators with a kernel at a key; of all operators without
    a key.
    """
    if not dispatch_key:
        return _dispatch_get_all_op_names()
    key = DispatchKey(dispatch_key)
    return [op.qualified_name for op in registry.all_operators() if op.newest(key) is not None]


def _dump_order(key: DispatchKey) -> tuple[bool, bool, DispatchKey]:
    """Return what dumps are sorted by, as in PyTorch: the keys of backends after all others, the
    aliases last.
    """
    return key.is_alias, key.backend is not None, key


def _registered(kernel: Kernel) -> str:
    what = "fallthrough registered" if kernel.is_fallthrough else "registered"
    return f"{what} at {short_place(kernel.origin)}"


def _check(op: Operator) -> None:
    def expect(condition: bool, what: str) -> None:
        if not condition:
            raise RuntimeError(
                f"INTERNAL ASSERT FAILED: operator {op.qualified_name}: {what}. Please report a "
                "bug."
            )

    expect(registry.find(op.name, op.overload) is op, "it stands in the table under another name")
    expect(not op.is_empty, "it has neither a definition nor kernels, and should be gone")
    for key, stack in op.kernels.items():
        expect(bool(stack), f"its stack of kernels at {key.name} is empty")
        for kernel in stack:
            expect(kernel.key is key, f"a kernel for {kernel.key.name} stands at {key.name}")
    expect(op.is_defined or not op.routes, "it has routes, but no schema")
    expect(len(op.routes) <= MAX_ROUTES, f"it has {len(op.routes)} routes")
    expect(all(map(callable, op.routes.values())), "a route cannot be called")
    if op.variant_of is not None:
        expect(op in op.variant_of.variants, "its functional operator does not know it")

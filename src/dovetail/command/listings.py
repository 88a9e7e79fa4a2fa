"""``dovetail plugins``, ``ops`` and ``coverage``: the plugins that are installed, the operators
that are registered, and which backends support them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail_dispatcher import _C, dispatch_table
from dovetail_kernel import DispatchKey, all_backends, plugin_manager

from .common import AsJson, failures, load_backend, matching, print_json, print_rows

Pattern = Annotated[
    str, typer.Argument(help="A pattern, such as 'aten::add*'. Default: all loaded libraries.")
]

WORDS = {
    "kernel": "kernel",
    "default backend kernel": "composite",
    "math kernel": "composite",
    "missing": "",
    "backend fallback": "fallback",
}
"""The words for the rules of a dispatch table in the list of coverage."""


def plugins(as_json: AsJson = False) -> None:
    """List the installed plugins and their states."""
    fields = ("distribution", "version", "group", "name", "state", "kernels")
    rows = [
        {field: getattr(record, field) for field in fields}
        for record in plugin_manager.list_plugins()
    ]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, fields)


def ops(pattern: Pattern = "*", as_json: AsJson = False) -> None:
    """List the schemas of operators by name."""
    with failures():
        schemas = {name: schema_of(name) for name in matching(pattern)}
    if as_json:
        print_json(schemas)
    else:
        typer.echo("\n".join(schemas.values()))


def coverage(
    pattern: Pattern = "*",
    missing: Annotated[bool, typer.Option(help="Only operators that some backend lacks.")] = False,
    as_json: AsJson = False,
) -> None:
    """List which backends support which operators, with their own kernel or as a composite.

    Backends that cannot be loaded are omitted; dovetail doctor shows the reasons.
    """
    with failures():
        names = matching(pattern)
        keys = {
            backend.name: backend.key_name for backend in all_backends() if load_backend(backend)
        }
        rows = []
        for name in names:
            table = dispatch_table(name)
            tags = {device: table[DispatchKey[key]].tag for device, key in keys.items()}
            if tags.get("meta") == "backend fallback":
                tags["meta"] = "missing"  # the fallback there says what is missing
            rows.append(
                {"operator": name, **{device: WORDS.get(tag, tag) for device, tag in tags.items()}}
            )
    shown = [row for row in rows if not all(row.values())] if missing else rows
    if as_json:
        print_json(shown)
        return
    if shown:
        print_rows(shown, ("operator", *keys))
    else:
        typer.echo(f"no backend that is loaded lacks any of the {len(rows)} operators")
    for device in keys:
        typer.echo(f"{device}: {sum(bool(row[device]) for row in rows)} of {len(rows)} operators")


def schema_of(name: str) -> str:
    """Return the schema of an operator, or the missing part."""
    base, _, overload = name.partition(".")
    try:
        return str(_C._dispatch_find_schema_or_throw(base, overload)._schema)
    except RuntimeError:
        return f"{name}: kernels, but no definition"

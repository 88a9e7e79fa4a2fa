"""Defines operators: one of a library, or the generated table of a whole one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from ...schema import FunctionSchema, parse_schema
from .. import registry
from ..kernels import Kernel
from ..operator import Operator
from ..registrars import Registrar
from .changes import Change, make, take_back
from .redefinition import stale_kernels, take_out

Row: TypeAlias = tuple[
    str, str, str, tuple[str, ...], tuple[str, ...], str, tuple[Any, ...], "str | None", str, int
]
"""Schema text, kind, promotion, promote, refuses, half, tags, functional operator, file and line of
the declaration.
"""


def define(
    schema: FunctionSchema | str,
    location: str,
    owner: list[Change],
    *,
    tags: Sequence[object] = (),
    kind: str = "other",
    promotion: str = "none",
    registrar: Registrar | None = None,
    override: bool = False,
    alias: str = "FROM_SCHEMA",
) -> Operator:
    """Define an operator for `owner`; `schema` carries the namespace.

    A definition by the same code run again replaces the earlier one, and the kernels that it
    registered then. With `override` one by other code is covered, with all that is registered,
    until this one is taken back.

    Raises
    ------
    RuntimeError
        If the same overload is defined already by other code; nothing is changed then.
    TypeError
        If a kernel that was registered before cannot have this schema.
    """
    parsed = parse_schema(schema) if isinstance(schema, str) else schema
    with registry.lock:
        earlier = registry.find(parsed.name, parsed.overload_name)
        stale, is_run_again = (
            ([], False)
            if earlier is None
            else _replaced(earlier, parsed, location, registrar, override)
        )
        op = registry.find_or_add(parsed.name, parsed.overload_name)
        policies = (tuple(tags), kind, promotion)
        try:
            definition = Definition(op, parsed, location, policies, registrar, stale, is_run_again)
            definition.alias_kind = alias
            make(definition, owner)
        except BaseException:
            registry.drop_if_empty(op)
            raise
    return op


def define_many(rows: Sequence[Row], folder: str) -> None:
    """Define a generated table.

    The texts (with namespace) were checked when they were generated, and are parsed when first
    used. The files in the rows are relative to `folder`. An in-place or ``out=`` variant names its
    functional operator (``"aten::add.Tensor"``), which precedes it in the table.

    Raises
    ------
    RuntimeError
        If an operator is already defined; nothing is then defined.
    """
    owner: list[Change] = []
    with registry.lock:
        try:
            make(DefinitionTable(rows, folder), owner)
        except BaseException:
            take_back(owner)
            raise


class Definition(Change):
    """The definition of one operator by a library; the operator knows by it whose it is.

    Attributes
    ----------
    registrar
        The code that made it.
    alias_kind
        What its author said of aliases, for dumps; kernels are held to the schema in any case.
    """

    __slots__ = (
        "_is_run_again",
        "_location",
        "_op",
        "_policies",
        "_schema",
        "_stale",
        "alias_kind",
        "registrar",
    )

    alias_kind: str

    def __init__(
        self,
        op: Operator,
        schema: FunctionSchema,
        location: str,
        policies: tuple[tuple[object, ...], str, str],
        registrar: Registrar | None,
        stale: list[Kernel],
        is_run_again: bool,
    ) -> None:
        self._op = op
        self._schema = schema
        self._location = location
        self._policies = policies
        self.registrar = registrar
        self._stale = stale
        self._is_run_again = is_run_again

    def apply(self) -> None:
        """Define the operator, in place of the definition by the same code, or over another."""
        op = self._op
        with registry.changing([op]):
            if self._is_run_again:
                take_out(op, self._stale)
                op.undefine()
            elif op.is_defined:
                op.cover()
            registry.move_to_end(op)
            op.tags, op.kind, op.promotion = self._policies
            op.define(self._schema, self)
        registry.tell_observers(op.name)

    def place_of(self, op: Operator) -> str:
        """Return ``file:line`` of the definition."""
        return self._location

    def take_out(self) -> None:
        """Undefine the operator, or forget the definition where another one covers it."""
        _take_out_definition(self._op, self)


class DefinitionTable(Change):
    """The definitions of a generated table."""

    __slots__ = ("_defined", "_folder", "_places", "_rows")

    def __init__(self, rows: Sequence[Row], folder: str) -> None:
        self._rows = rows
        self._folder = folder
        self._defined: list[Operator] = []
        self._places: dict[Operator, str] = {}

    def apply(self) -> None:
        """Define every operator of the table."""
        defined, before = self._defined, set(registry.operators)
        for row in self._rows:
            text, kind, promotion, promote, refuses, half, tags, functional, file, line = row
            name, _, overload = text[: text.index("(")].partition(".")
            op = registry.find_or_add(name, overload)
            if op.is_defined:
                raise _defined_twice(text, op, f"{self._folder}/{file}:{line}")
            defined.append(op)
            if op.kernels:  # else nothing was composed of it yet
                op.forget_routes()
            op.kind = kind
            op.promotion = promotion
            op.promote = promote
            op.refuses = refuses
            op.half = half
            op.tags = tags
            op.define(text, self)
            table_of_namespace.setdefault(name.partition("::")[0], self)
            if functional is not None:
                op.variant_of = registry.find_or_throw(*functional.split(".", 1))
                op.variant_of.variants += (op,)
        registry.count_change()
        for name in before & {op.name for op in defined}:
            registry.tell_observers(name)

    def place_of(self, op: Operator) -> str:
        """Return ``file:line`` of the declaration of `op`."""
        if not self._places:
            declared = [f"{self._folder}/{file}:{line}" for *_, file, line in self._rows]
            self._places = dict(zip(self._defined, declared, strict=True))
        return self._places[op]

    def __str__(self) -> str:
        return self._folder

    def take_out(self) -> None:
        """Undefine the operators, the last one first."""
        for namespace in [ns for ns, table in table_of_namespace.items() if table is self]:
            del table_of_namespace[namespace]
        for op in reversed(self._defined):
            _take_out_definition(op, self)


table_of_namespace: Final[dict[str, DefinitionTable]] = {}
"""The generated table that defines the operators of a namespace, and so owns it."""


def _take_out_definition(op: Operator, definition: Definition | DefinitionTable) -> None:
    if op.definition is definition:
        with registry.changing([op]):
            op.undefine()
            if op.variant_of is not None:
                op.variant_of.variants = tuple(v for v in op.variant_of.variants if v is not op)
                op.variant_of = None
            if op.covered:
                op.uncover()
            else:
                op.definition = None
        registry.tell_observers(op.name)
    else:
        beneath = next(iter([each for each in op.covered if each.definition is definition]), None)
        if beneath is not None:
            with registry.changing([op]):
                op.drop_covered(beneath)
    registry.drop_if_empty(op)


def alias_kind(op: Operator) -> str:
    """Return what the author of a definition said of aliases; of a generated table FROM_SCHEMA."""
    return op.definition.alias_kind if isinstance(op.definition, Definition) else "FROM_SCHEMA"


def _registrar_of(op: Operator) -> Registrar | None:
    """Return the code that defined an operator; None for a generated table."""
    return op.definition.registrar if isinstance(op.definition, Definition) else None


def _replaced(
    op: Operator, schema: FunctionSchema, location: str, registrar: Registrar | None, override: bool
) -> tuple[list[Kernel], bool]:
    """Return the kernels that go with an earlier definition, and whether the same code made it."""
    if not op.is_defined:
        return stale_kernels(op, schema, None), False
    if registrar is not None and registrar.replaces(_registrar_of(op)):
        return stale_kernels(op, schema, registrar), True
    _check_may_cover(op, schema, location, override)
    return [], False


def _check_may_cover(op: Operator, schema: FunctionSchema, location: str, override: bool) -> None:
    """Raise an error for a definition that overrides one of other code, unless that may be
    overridden.
    """
    if not override:
        raise _defined_twice(str(schema), op, location)
    if op.variants:
        raise RuntimeError(
            f"{op.qualified_name}, defined at {op.defined_at}, has generated variants and cannot "
            f"be overridden at {location}. Override its kernels: Library.impl."
        )


def _defined_twice(schema: str, op: Operator, location: str) -> RuntimeError:
    return RuntimeError(
        f"Tried to register an operator ({schema}) with the same name and overload name multiple "
        "times. Each overload's schema should only be registered with a single call to def(). "
        f"Duplicate registration: registered at {location}. Original registration: registered at "
        f"{op.defined_at}. Choose another name, destroy the library that defined it first, or give "
        "override=True."
    )

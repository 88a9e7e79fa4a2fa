"""Reads ``native_functions.yaml``: every operator of a library, and the variants derived of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail_dispatcher import FunctionSchema, SchemaError, parse_schema

from ..errors import DeclarationError, Location
from . import policies
from .entries import Entry, read_entries
from .policies import Policies, half_precision, kind_of, read_policies, refused_kinds, refused_outs
from .tags import read_tags, with_automatic_tags
from .variants import SchemaKind, copy_name, derive_copy, derive_variant, schema_kind

PROMOTIONS = ("none", "same", "exact", "operands", "int_to_float", "bool_result", "complex_to_real")
VARIANTS = ("function", "method")
PYTHON_MODULES = ("nn", "linalg", "fft", "special")
COMPOSITE_KEYS = {
    "implicit": "CompositeImplicitAutograd",
    "explicit": "CompositeExplicitAutograd",
    "undefined": "Undefined",
}
_KEYS = {
    "func", "variants", "python_module", "promotion", "promote", "refuses", "half", "out",
    "autogen",
    "composite", "derived_from", "tags", *policies.KEYS,
}  # fmt: skip
_PROMOTED_SCALARS = ("self", "other", "exponent", "min", "max", "x", "n")


@dataclass(frozen=True)
class NativeFunction:
    """One declared or derived overload.

    Attributes
    ----------
    schema
        Parsed schema; its name includes the namespace.
    text
        The schema as written, without namespace.
    variants
        The variants, of ``function`` and ``method``.
    python_module
        Submodule of the public function; ``""`` means the main module.
    policies
        The policy of the shape, and its consequences.
    promotion, promote
        The rule for the dtype of the result, and the promoted arguments.
    refuses
        Kinds of dtypes that the operator does not support.
    refused_outs
        Tensors that an out variant does not write: ``"shared_out"``, ``"partial_out"`` or
        ``"other_out"``.
    half
        Intermediate values that are not rounded to float16 or bfloat16: ``""``, ``"number"`` or
        ``"single"``.
    composite
        ``(dispatch key, function name)`` of a composite kernel, or None.
    derived_from
        Name with overload of the functional operator whose kernel serves this variant, or None.
    tags
        PyTorch's tags, sorted.
    where
        Line of the entry.
    old
        Schemas of its deprecated overloads, whose arguments have another order.
    copy_of
        Name with overload of the view operator whose result this operator copies, or None.
    """

    schema: FunctionSchema
    text: str
    variants: tuple[str, ...]
    python_module: str
    policies: Policies
    promotion: str
    promote: tuple[str, ...]
    refuses: tuple[str, ...]
    refused_outs: tuple[str, ...]
    half: str
    composite: tuple[str, str] | None
    derived_from: str | None
    tags: tuple[str, ...]
    where: Location
    old: tuple[FunctionSchema, ...] = ()
    copy_of: str | None = None

    @property
    def namespace(self) -> str:
        """The namespace, such as ``aten``."""
        return self.schema.name.partition("::")[0]

    @property
    def base_name(self) -> str:
        """The base name, such as ``add``."""
        return self.schema.name.partition("::")[2]

    @property
    def name(self) -> str:
        """Base name with overload, ``add.Tensor``."""
        overload = self.schema.overload_name
        return f"{self.base_name}.{overload}" if overload else self.base_name

    @property
    def identifier(self) -> str:
        """The name as a Python identifier, ``add_Tensor``."""
        return self.name.replace(".", "_")

    @property
    def kind(self) -> str:
        """The shape policy and tags in the operator table."""
        return kind_of(self.policies.shape, self.tags)

    @property
    def is_public(self) -> bool:
        """Whether the function is public."""
        if self.base_name.startswith("_"):
            return False
        derived = self.derived_from is not None and self.schema_kind == "inplace"
        return self.policies.public_inplace if derived else self.policies.public

    @property
    def schema_kind(self) -> SchemaKind:
        """The kind of schema: functional, in-place, out or otherwise mutable."""
        return schema_kind(self.schema)


def read_native_functions(paths: Path | Sequence[Path]) -> list[NativeFunction]:
    """Read the operators that `paths` declare, derived variants after the entry that derives them.

    Parameters
    ----------
    paths
        The YAML file, or the YAML files of the families in order.

    Raises
    ------
    DeclarationError
        For unknown keys, kinds, tags or variants, schemas that do not parse, operators declared
        twice, and variants that cannot be derived. The message has the line and the remedy.
    """
    functions: dict[str, NativeFunction] = {}
    for entry in read_entries(paths, DeclarationError):
        for function in _read(entry):
            known = functions.get(function.name)
            if known is not None:
                raise DeclarationError(
                    function.where,
                    f"operator '{function.name}' is declared twice; first at {known.where}.",
                    "Remove one, or give it another overload name.",
                )
            functions[function.name] = function
    seen: dict[str, NativeFunction] = {}
    for name, function in functions.items():
        seen[name] = function
        if function.derived_from is None:
            continue
        if function.derived_from not in seen:
            raise DeclarationError(
                function.where,
                f"'{function.name}' is derived from '{function.derived_from}', which is not "
                "declared before it.",
                "Name a functional operator that stands above.",
            )
        of = seen[function.derived_from]
        seen[name] = replace(function, policies=of.policies, refused_outs=of.refused_outs)
    return list(seen.values())


def _read(entry: Entry) -> list[NativeFunction]:
    if unknown := [key for key in entry.values if key not in _KEYS]:
        raise DeclarationError(
            entry.lines[unknown[0]],
            f"leftover entries: {', '.join(unknown)} are no keys of a native function.",
            f"Keys are: {', '.join(sorted(_KEYS))}.",
        )
    if "func" not in entry.values:
        raise DeclarationError(
            entry.where,
            "the entry has no 'func'.",
            "Write its schema: 'func: f(Tensor self) -> Tensor'.",
        )
    said_twice = [key for key in policies.KEYS if key in entry.values]
    if "derived_from" in entry.values and said_twice:
        raise DeclarationError(
            entry.lines[said_twice[0]],
            f"the policies are those of {entry.text('derived_from')}.",
            f"Remove {', '.join(said_twice)}.",
        )
    schema, text = read_schema(entry)
    where = entry.lines["func"]
    variants = entry.names("variants") or ("function",)
    module = _one_of(entry, "python_module", ("", *PYTHON_MODULES), "")
    _check_variants(entry, schema, variants, module)
    composite = _composite(entry)
    own = read_policies(entry, schema, composite and composite[0])
    promotion = _promotion(entry, own.shape)
    promote = _promote(entry, schema, promotion)
    function = NativeFunction(
        schema=schema,
        text=text,
        variants=variants,
        python_module=module,
        policies=own,
        promotion=promotion,
        promote=promote,
        refuses=refused_kinds(entry, composite and composite[0]),
        refused_outs=refused_outs(entry, schema, own.shape, promotion, promote),
        half=half_precision(entry, composite and composite[0]),
        composite=composite,
        derived_from=entry.text("derived_from") or None,
        tags=read_tags(entry, schema),
        where=where,
    )
    return [function, *_derived(function, entry)]


def read_schema(entry: Entry) -> tuple[FunctionSchema, str]:
    """Return the schema of an entry, and its text without namespace."""
    text = entry.text("func")
    namespace, separator, rest = text.partition("::")
    if not separator or not namespace.isidentifier():
        namespace, rest = "aten", text
    try:
        return parse_schema(f"{namespace}::{rest}"), rest
    except Exception as problem:
        raise DeclarationError(
            entry.lines["func"],
            f"Invalid function schema: {text}\n{problem}\n",
            "Correct the schema.",
        ) from None


def _one_of(entry: Entry, key: str, allowed: Sequence[str], default: str) -> str:
    value = entry.text(key, default)
    if value not in allowed:
        raise DeclarationError(
            entry.lines[key],
            f"illegal {key} '{value}'.",
            f"It is one of: {', '.join(a for a in allowed if a)}.",
        )
    return value


def _check_variants(
    entry: Entry, schema: FunctionSchema, variants: Sequence[str], module: str
) -> None:
    where = entry.lines.get("variants", entry.where)
    for variant in variants:
        if variant not in VARIANTS:
            raise DeclarationError(
                where,
                f"illegal variant '{variant}'.",
                "It is 'function', 'method' or 'function, method'.",
            )
    if "method" not in variants:
        return
    if schema_kind(schema) == "out":
        raise DeclarationError(
            where,
            "Native functions with out arguments MUST be declared with only function variant.",
            "Remove 'method'.",
        )
    if module:
        raise DeclarationError(
            where, "a python_module excludes the method variant.", "Remove one of them."
        )
    if not any([argument.name == "self" for argument in schema.arguments]):
        raise DeclarationError(
            where, "a method needs an argument 'self'.", "Name it so, or remove 'method'."
        )


def _composite(entry: Entry) -> tuple[str, str] | None:
    text = entry.text("composite")
    if not text:
        return None
    how, _, name = text.partition(".")
    if how not in COMPOSITE_KEYS or not name.isidentifier():
        raise DeclarationError(
            entry.lines["composite"],
            f"illegal composite '{text}'.",
            "Write implicit.<function>, explicit.<function> or undefined.<function>.",
        )
    return COMPOSITE_KEYS[how], name


def _promotion(entry: Entry, shape: str) -> str:
    if shape == "elementwise":
        return _one_of(entry, "promotion", PROMOTIONS, "same")
    for key in ("promotion", "promote"):
        if key in entry.values:
            raise DeclarationError(
                entry.lines[key],
                f"only operands of an elementwise operator have a {key}.",
                f"Remove '{key}', or write shape: elementwise.",
            )
    return "none"


def _promote(entry: Entry, schema: FunctionSchema, promotion: str) -> tuple[str, ...]:
    names = {argument.name for argument in schema.arguments}
    given = entry.names("promote")
    if unknown := [name for name in given if name not in names]:
        raise DeclarationError(
            entry.lines["promote"],
            f"{', '.join(unknown)}: no such argument in {schema}.",
            "Name its arguments.",
        )
    if given or promotion == "none":
        return given
    promoted = []
    for argument in schema.arguments:
        type_name = argument.real_type.schema_str.rstrip("?")
        if type_name == "Tensor" or (type_name == "Scalar" and argument.name in _PROMOTED_SCALARS):
            promoted.append(argument.name)
    return tuple(promoted)


def _derived(function: NativeFunction, entry: Entry) -> Iterator[NativeFunction]:
    """Yield what an entry derives: in-place and out variants, and of a view its copy and that
    one's out variant.
    """
    copied = copy_name(function.schema)
    parents = {function.base_name: function}
    for name in entry.names("autogen"):
        if name == copied:
            yield (copy := _copy(function, entry))
            parents[copy.base_name] = copy
        else:
            yield _derive(parents.get(name.partition(".")[0], function), name, entry)


def _copy(function: NativeFunction, entry: Entry) -> NativeFunction:
    """Return the operator that copies what a view operator shows."""
    try:
        text = derive_copy(function.text, function.schema)
    except ValueError as problem:
        raise DeclarationError(
            entry.lines["autogen"],
            f"'{copy_name(function.schema)}' cannot be derived from {function.text}: {problem}.",
            "Remove it from 'autogen', or declare it as an operator of its own.",
        ) from None
    schema = parse_schema(f"{function.namespace}::{text}")
    copy = replace(
        function,
        schema=schema,
        text=text,
        variants=("function",),
        policies=Policies(),
        composite=None,
        tags=with_automatic_tags({"view_copy"}, schema),
        copy_of=function.name,
    )
    return replace(copy, composite=(COMPOSITE_KEYS["explicit"], copy.identifier))


def _derive(function: NativeFunction, name: str, entry: Entry) -> NativeFunction:
    try:
        text = derive_variant(function.text, function.schema, name)
        schema = parse_schema(f"{function.namespace}::{text}")
    except (ValueError, SchemaError) as problem:
        raise DeclarationError(
            entry.lines["autogen"],
            f"'{name}' cannot be derived from {function.text}: {problem}.",
            "Autogen names are name_ or name_.overload for the in-place variant and name.overload "
            "for out=.",
        ) from None
    inplace = schema_kind(schema) == "inplace"
    composite = None
    if inplace and function.composite is not None:
        composite = function.composite[0], function.composite[1] + "_"
    return NativeFunction(
        schema=schema,
        text=text,
        variants=function.variants if inplace else ("function",),
        python_module=function.python_module if "method" not in function.variants else "",
        policies=function.policies,
        promotion=function.promotion,
        promote=function.promote,
        refuses=function.refuses,
        refused_outs=function.refused_outs,
        half=function.half,
        composite=composite,
        derived_from=function.name,
        tags=with_automatic_tags(
            set(function.tags) - {"core", "pt2_compliant_tag"} | {"generated"}, schema
        ),
        where=function.where,
    )

"""Parses types and their alias annotations."""

from __future__ import annotations

from .class_types import ClassType, custom_classes
from .cursor import Cursor
from .errors import SchemaError
from .function_schema import AliasInfo
from .types import (
    BASIC_TYPES,
    AnyType,
    AwaitType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FutureType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    RRefType,
    StringType,
    SymBoolType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
)

_NONE = NoneType()
_GENERIC: dict[str, type[FutureType | RRefType | AwaitType]] = {
    "Future": FutureType, "RRef": RRefType, "Await": AwaitType
}  # fmt: skip
_SPELLINGS = {
    "integer": "int",
    "string": "str",
    "boolean": "bool",
    "double": "float",
    "number": "Scalar",
    "dtype": "ScalarType",
}
"""Types of the schema language, by the words that other languages have for them."""
_DEEPEST = 64
"""Types nest no deeper: all that walks them may recurse, and their spellings stay short."""
_LONGEST = 256
"""The largest size of a ``T[size]``: a call, or a default, makes that many elements of one."""
_KEYS = (IntType, FloatType, BoolType, ComplexType, StringType, TensorType, DeviceObjType, AnyType)


class TypeParser(Cursor):
    """The rules for types."""

    __slots__ = ()

    def argument_type(self) -> tuple[Type, AliasInfo | None]:
        """Parse a type, or ``T[N]`` or ``T[N]?``: forms with a size stand only in an argument."""
        declared, alias = self.type()
        if self.accept("["):
            size = self.list_size()
            self.expect("]")
            declared, alias = ListType(declared, size), self.alias_of_list(alias)
            if self.accept("?"):
                declared = OptionalType(declared)
        return declared, alias

    def list_size(self) -> int:
        size = self.integer(self.number(), self.index - 1)
        if size > _LONGEST:
            raise self.error(
                f"a list of size {size}: the size of a list is {_LONGEST} at most",
                "Leave the size out: [] takes a list of any length.",
                self.index - 1,
            )
        return size

    def type(self) -> tuple[Type, AliasInfo | None]:
        tokens = self.tokens
        token = tokens[self.index]
        alias: AliasInfo | None = None
        declared = BASIC_TYPES.get(token)
        if declared is not None:
            self.index += 1
            alias = self.alias()
        elif token == "(":
            declared = TupleType(*self.bracketed_types())
        else:
            declared = self.other_type()
            alias = self.alias()
        while True:
            if declared.depth > _DEEPEST:
                raise self.too_deep()
            token = tokens[self.index]
            if token == "[" and tokens[self.index + 1] == "]":
                self.index += 2
                declared, alias = ListType(declared), self.alias_of_list(alias)
            elif token == "?":
                if declared is _NONE:
                    raise self.error("None cannot be optional", "Write NoneType without '?'.")
                self.index += 1
                declared = OptionalType(declared)
            else:
                return declared, alias

    def inner_type(self) -> Type:
        """Parse a type inside of brackets, whose alias means nothing."""
        self.level += 1
        if self.level > _DEEPEST:
            raise self.too_deep()
        fresh_sets = self.fresh_sets
        declared, _ = self.type()
        self.fresh_sets = fresh_sets
        self.level -= 1
        return declared

    def too_deep(self) -> SchemaError:
        return self.error(
            f"types are nested more than {_DEEPEST} deep", "Use Any for what lies deeper."
        )

    def other_type(self) -> Type:
        start = self.index
        if self.accept("None"):
            return NoneType()
        name = self.identifier()
        if name in _GENERIC:
            self.expect("(")
            elem = self.inner_type()
            self.expect(")")
            return _GENERIC[name](elem)
        if name == "Dict":
            self.expect("(")
            key = self.inner_type()
            if not isinstance(key.collapsed, _KEYS) or isinstance(key, SymBoolType):
                raise self.error(
                    f"Cannot create dict for key type '{key.schema_str}', only int, float, "
                    "complex, Tensor, device and string keys are supported",
                    "Use Any for other keys.",
                    start,
                )
            self.expect(",")
            value = self.inner_type()
            self.expect(")")
            return DictType(key, value)
        if name == "Union":
            members = self.bracketed_types()
            try:
                return UnionType(*members)
            except ValueError as reason:
                raise self.error(str(reason), "Write that type by itself.", start) from None
        if name == "__torch__":
            return self.custom_class()
        if not name[0].islower():
            raise self.unknown_type(start)
        self.typevar = start
        names = [name]
        while self.accept("."):
            names.append(self.identifier())
        return VarType(".".join(names))

    def unknown_type(self, at: int) -> SchemaError:
        name = self.tokens[at]
        known = next(iter([each for each in BASIC_TYPES if each.lower() == name.lower()]), None)
        known = known or _SPELLINGS.get(name)
        types = f"Use one of {', '.join(BASIC_TYPES)}, or a type made of them."
        return self.error(
            "unknown type specifier. Common valid schema types include Tensor, SymInt, int, "
            "float, bool, Scalar",
            types if known is None else f"Did you mean '{known}'?",
            at,
        )

    def bracketed_types(self) -> list[Type]:
        self.expect("(")
        elems: list[Type] = []
        if self.tokens[self.index] == ")" and self.tokens[self.index - 2] != "Union":
            self.index += 1
            return elems
        while True:
            elems.append(self.inner_type())
            if not self.accept(","):
                self.expect(")")
                return elems

    def custom_class(self) -> Type:
        for part in ("torch", "classes"):
            self.expect(".")
            if self.tokens[self.index] != part:
                raise self.error(
                    f"Expected {part} namespace but got {self.tokens[self.index]}",
                    "Write a custom class as __torch__.torch.classes.<namespace>.<name>.",
                )
            self.index += 1
        self.expect(".")
        namespace = self.identifier()
        self.expect(".")
        qualified = f"{namespace}.{self.identifier()}"
        if qualified not in custom_classes:
            raise self.error(
                f"Unknown custom class type {qualified}. Please ensure it is registered.",
                f"Call register_custom_class({qualified!r}, YourClass) first.",
                self.index - 3,
            )
        return ClassType(qualified)

    def alias(self) -> AliasInfo | None:
        token = self.tokens[self.index]
        if token == "(":
            return self.alias_sets()
        if token != "!":
            return None
        self.index += 1
        fresh = f"${self.fresh_sets}"
        self.fresh_sets += 1
        return AliasInfo(True, frozenset((fresh,)), frozenset(), None, "!")

    def alias_sets(self) -> AliasInfo:
        self.expect("(")
        before = ["*"] if self.accept("*") else self.set_names(self.identifier())
        is_write = self.accept("!")
        text = "|".join(before) + "!" * is_write
        after = before
        if self.accept("->"):
            after = ["*"] if self.accept("*") else self.set_names(self.identifier())
        self.expect(")")
        before_set, after_set = frozenset(before), frozenset(after)
        if before_set != after_set:
            text += " -> " + "|".join(after)
        return AliasInfo(is_write, before_set, after_set, None, f"({text})")

    def set_names(self, first: str) -> list[str]:
        names = {first: None}
        while self.accept("|"):
            names["*" if self.accept("*") else self.identifier()] = None
        return list(names)

    def alias_of_list(self, contained: AliasInfo | None) -> AliasInfo | None:
        own = self.alias()
        if contained is None:
            return own
        if own is None:
            return AliasInfo(contained.is_write, frozenset(), frozenset(), contained)
        return AliasInfo(own.is_write, own.before_set, own.after_set, contained, own.schema_str)

"""The types of the schema language: immutable, interned objects, so that equal types are the same
object.

``str(t)`` is PyTorch's annotation (``Optional[int]``); ``t.schema_str`` is the spelling in a schema
(``int?``). ``t.collapsed`` is the type a value really has at run time (``ScalarType`` and
``SymInt`` collapse to ``int``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Self, cast


class Type:
    """Base class of schema types. Compare with ``is`` or ``==``: there is one object per type."""

    __slots__ = ("_parameters", "annotation_str", "collapsed", "depth", "schema_str")

    _parameters: tuple[Any, ...]
    depth: int
    """How deep types are nested in it: 1 for one without parts."""
    schema_str: str
    annotation_str: str
    collapsed: Type

    _interned: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def kind(self) -> str:
        """Return the name of the type's class, such as ``'ListType'``."""
        return type(self).__name__

    def __str__(self) -> str:
        return self.annotation_str

    __repr__ = __str__

    def __reduce__(self) -> tuple[Callable[..., Type], tuple[Any, ...]]:
        return type(self), self._parameters

    @classmethod
    def _make(
        cls,
        parameters: tuple[object, ...],
        schema_str: str,
        annotation_str: str,
        collapsed: Type | None,
    ) -> Self:
        self = object.__new__(cls)
        self._parameters = parameters
        self.depth = 1 + max([part.depth for part in parameters if isinstance(part, Type)] or [0])
        self.schema_str = schema_str
        self.annotation_str = annotation_str
        self.collapsed = self if collapsed is None else collapsed
        made: Self = Type._interned.setdefault((cls, *parameters), self)
        return made


class BasicType(Type):
    """A type without parameters; calling its class returns the one instance."""

    __slots__ = ()
    spelling: ClassVar[str]
    annotation: ClassVar[str | None] = None
    collapses_to: ClassVar[type[BasicType] | None] = None

    def __new__(cls) -> Self:
        known: Self | None = Type._interned.get((cls,))
        if known is not None:
            return known
        collapsed = cls.collapses_to() if cls.collapses_to else None
        return cls._make((), cls.spelling, cls.annotation or cls.spelling, collapsed)


class TensorType(BasicType):
    __slots__ = ()
    spelling = "Tensor"


class IntType(BasicType):
    __slots__ = ()
    spelling = "int"


class FloatType(BasicType):
    __slots__ = ()
    spelling = "float"


class BoolType(BasicType):
    __slots__ = ()
    spelling = "bool"


class ComplexType(BasicType):
    __slots__ = ()
    spelling = "complex"


class StringType(BasicType):
    __slots__ = ()
    spelling = "str"


class NumberType(BasicType):
    """``Scalar``: an int, float, complex or bool."""

    __slots__ = ()
    spelling = "Scalar"
    annotation = "number"


class SymIntType(BasicType):
    __slots__ = ()
    spelling = "SymInt"
    annotation = "int"
    collapses_to = IntType


class SymBoolType(BasicType):
    __slots__ = ()
    spelling = "SymBool"
    annotation = "bool"
    collapses_to = BoolType


class ScalarTypeType(BasicType):
    """``ScalarType``: a dtype."""

    __slots__ = ()
    spelling = "ScalarType"
    collapses_to = IntType


class LayoutType(BasicType):
    __slots__ = ()
    spelling = "Layout"
    collapses_to = IntType


class MemoryFormatType(BasicType):
    __slots__ = ()
    spelling = "MemoryFormat"
    collapses_to = IntType


class DeviceObjType(BasicType):
    __slots__ = ()
    spelling = "Device"


class GeneratorType(BasicType):
    __slots__ = ()
    spelling = "Generator"


class QSchemeType(BasicType):
    __slots__ = ()
    spelling = "QScheme"


class QuantizerType(BasicType):
    __slots__ = ()
    spelling = "Quantizer"


class StorageType(BasicType):
    __slots__ = ()
    spelling = "Storage"


class StreamObjType(BasicType):
    __slots__ = ()
    spelling = "Stream"


class CapsuleType(BasicType):
    __slots__ = ()
    spelling = "Capsule"


class AnyType(BasicType):
    __slots__ = ()
    spelling = "Any"


class AnyClassType(BasicType):
    __slots__ = ()
    spelling = "AnyClassType"


class AnyEnumType(BasicType):
    __slots__ = ()
    spelling = "AnyEnumType"


class NoneType(BasicType):
    __slots__ = ()
    spelling = "NoneType"


class VarType(Type):
    """A type variable, such as the ``t`` of ``f(t[] x) -> t``: any type."""

    __slots__ = ()

    def __new__(cls, name: str) -> Self:
        known: Self | None = Type._interned.get((cls, name))
        return known or cls._make((name,), name, name, None)


class OptionalType(Type):
    """``T?``. An optional of an optional is the optional itself."""

    __slots__ = ("elem",)
    elem: Type

    def __new__(cls, elem: Type) -> Self:
        if isinstance(elem, OptionalType):
            return cast(Self, elem)
        known: Self | None = Type._interned.get((cls, elem))
        if known is not None:
            return known
        collapsed = None if elem.collapsed is elem else cls(elem.collapsed)
        made = cls._make(
            (elem,), elem.schema_str + "?", f"Optional[{elem.annotation_str}]", collapsed
        )
        made.elem = elem
        return made


def without_optional(declared: Type) -> Type:
    """Return ``T`` for ``T?``, any other type as it is."""
    return declared.elem if isinstance(declared, OptionalType) else declared


class ListType(Type):
    """``T[]``, or ``T[size]``: a list for which a call may also pass one ``T``, repeated ``size``
    times.
    """

    __slots__ = ("elem", "size")
    elem: Type
    size: int | None

    def __new__(cls, elem: Type, size: int | None = None) -> Self:
        known: Self | None = Type._interned.get((cls, elem, size))
        if known is not None:
            return known
        collapsed = None if elem.collapsed is elem else cls(elem.collapsed, size)
        brackets = "[]" if size is None else f"[{size}]"
        made = cls._make(
            (elem, size), elem.schema_str + brackets, f"List[{elem.annotation_str}]", collapsed
        )
        made.elem = elem
        made.size = size
        return made


def _as_element(elem: Type) -> Type:
    """Return `elem` as a container keeps it."""
    if isinstance(elem, SymBoolType):
        return elem
    if isinstance(elem, OptionalType):
        return OptionalType(_as_element(elem.elem))
    if isinstance(elem, ListType):
        return ListType(_as_element(elem.elem), elem.size)
    return elem.collapsed


class ContainerType(Type):
    """A type with several element types. As in PyTorch, these are the collapsed types, except for
    ``SymBool``.
    """

    __slots__ = ("elems",)
    elems: tuple[Type, ...]
    template: ClassVar[tuple[str, str]]

    def __new__(cls, *elems: Type) -> Self:
        elems = tuple([_as_element(elem) for elem in elems])
        known: Self | None = Type._interned.get((cls, *elems))
        if known is not None:
            return known
        in_schema, in_annotation = cls.template
        schema_str = in_schema.format(", ".join([elem.schema_str for elem in elems]))
        annotation_str = in_annotation.format(
            ", ".join([elem.annotation_str for elem in elems]) or "()"
        )
        made = cls._make(elems, schema_str, annotation_str, None)
        made.elems = elems
        return made


class TupleType(ContainerType):
    __slots__ = ()
    template = ("({})", "Tuple[{}]")


class DictType(ContainerType):
    """``Dict(K, V)``; ``elems`` is ``(K, V)``."""

    __slots__ = ()
    template = ("Dict({})", "Dict[{}]")


class FutureType(ContainerType):
    __slots__ = ()
    template = ("Future({})", "Future[{}]")


class RRefType(ContainerType):
    __slots__ = ()
    template = ("RRef({})", "RRef[{}]")


class AwaitType(ContainerType):
    __slots__ = ()
    template = ("Await({})", "Await[{}]")


class UnionType(ContainerType):
    """``Union(A, B)``, flattened, without duplicates and subtypes of other members, in a fixed
    order. A union of None and one other type is an optional; a union of numbers only is a Scalar.
    """

    __slots__ = ()
    template = ("Union({})", "Union[{}]")

    def __new__(cls, *elems: Type) -> Self:
        members = sorted(_without_narrower(set(_flatten(elems))), key=_union_rank)
        if members == [NumberType()]:
            return cast(Self, members[0])
        if len(members) < 2:
            raise ValueError("a Union needs at least two different types")
        if len(members) == 2 and NoneType() in members:
            return cast(Self, OptionalType(members[0] if members[1] is NoneType() else members[1]))
        return super().__new__(cls, *members)


_UNION_ORDER = (TensorType, TupleType, ListType, DictType, NumberType, FloatType, ComplexType,
                IntType, NoneType,
                StringType, BoolType)  # fmt: skip


def _union_rank(member: Type) -> tuple[int, str]:
    rank = _UNION_ORDER.index(type(member)) if type(member) in _UNION_ORDER else len(_UNION_ORDER)
    return rank, member.schema_str


def _without_narrower(members: set[Type]) -> set[Type]:
    """Leave out what another member includes; all numbers together are a Scalar."""
    if AnyType() in members:
        if NoneType() not in members:
            raise ValueError("a Union with Any is Any: it includes every other type")
        return {AnyType(), NoneType()}
    numbers: set[Type] = {IntType(), FloatType(), ComplexType()}
    if NumberType() in members or numbers <= members:
        return (members - numbers) | {NumberType()}
    return members


def _flatten(elems: tuple[Type, ...]) -> list[Type]:
    members: list[Type] = []
    for elem in elems:
        if isinstance(elem, UnionType):
            members.extend(elem.elems)
        elif isinstance(elem, OptionalType):
            members.extend([*_flatten((elem.elem,)), NoneType()])
        else:
            members.append(elem.collapsed)
    return members


BASIC_TYPES: Final[Mapping[str, Type]] = {
    basic.spelling: basic()
    for basic in (
        TensorType, IntType, FloatType, BoolType, ComplexType, StringType, NumberType, SymIntType,
        SymBoolType,
        ScalarTypeType, LayoutType, MemoryFormatType, DeviceObjType, GeneratorType, QSchemeType,
        QuantizerType,
        StorageType, StreamObjType, CapsuleType, AnyType, AnyClassType, AnyEnumType, NoneType,
    )
} | {"DeviceIndex": IntType()}  # fmt: skip
"""The type of every name that stands for a type by itself. (``None`` is a keyword and is read by
the parser.)
"""

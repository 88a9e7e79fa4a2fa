"""FunctionSchema: a parsed schema, as immutable records of a function, its arguments and their
aliasing.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple, NoReturn

from .formatting import format_argument, format_schema
from .kept_property import kept
from .types import ListType, Type, without_optional


class NoDefault(Enum):
    NO_DEFAULT = "no default"


NO_DEFAULT: Final = NoDefault.NO_DEFAULT


class OperatorName(NamedTuple):
    """The name of one operator overload; ``namespace`` is ``''`` if the text has none."""

    namespace: str
    name: str
    overload_name: str

    def __str__(self) -> str:
        qualified = f"{self.namespace}::{self.name}" if self.namespace else self.name
        return f"{qualified}.{self.overload_name}" if self.overload_name else qualified


class _Frozen:
    """Data that is set by `__init__` and stays."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"cannot assign to field {name!r} of a {type(self).__name__}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete field {name!r} of a {type(self).__name__}")


class AliasInfo(NamedTuple):
    """How an argument or return shares memory: ``Tensor(a! -> b)``.

    Attributes
    ----------
    is_write : bool
        Whether the operator writes to it (``!``).
    before_set, after_set : frozenset of str
        The alias sets it belongs to before and after the call; ``'*'`` is every set.
    contained : AliasInfo or None
        The annotation of the elements of a list.
    """

    is_write: bool
    before_set: frozenset[str]
    after_set: frozenset[str]
    contained: AliasInfo | None = None
    schema_str: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AliasInfo) and self[:4] == other[:4]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:4])


TENSOR, OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST = (
    "Tensor",
    "Tensor?",
    "Tensor[]",
    "Tensor?[]",
)
"""The kinds of arguments that the dispatch keys of a call depend on."""

_TENSOR_LIKE: Final = frozenset((TENSOR, OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST))


@lru_cache(maxsize=1024)
def _without_size(text: str) -> str:
    begin = text.find("[")
    end = text.find("]")
    return text if begin < 0 else text[: begin + 1] + text[end:]


class Argument(_Frozen):
    """One argument, or one return, of a schema.

    Attributes
    ----------
    name : str
        ``''`` for an unnamed return.
    real_type : Type
        The type as declared; `type` is the collapsed one.
    kwarg_only : bool
    alias_info : AliasInfo or None
    kind : str
        The type as it is written in a schema, list sizes left out: ``int[]?`` for ``int[1]?``.
    is_tensor_like : bool
        Whether the dispatch keys of a call depend on it.
    is_write : bool
        Whether it is written to.
    is_out : bool
        Whether it is an output buffer: keyword-only and written to.
    """

    # Whatever plans ask is stored: a plan asks dozens of times.
    __slots__ = (
        "_default",
        "alias_info",
        "is_out",
        "is_tensor_like",
        "is_write",
        "kind",
        "kwarg_only",
        "name",
        "real_type",
    )

    name: str
    real_type: Type
    kwarg_only: bool
    alias_info: AliasInfo | None
    kind: str
    is_tensor_like: bool
    is_write: bool
    is_out: bool
    _default: Any

    def __init__(
        self,
        name: str,
        real_type: Type,
        kwarg_only: bool = False,
        alias_info: AliasInfo | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        put = object.__setattr__
        put(self, "name", name)
        put(self, "real_type", real_type)
        put(self, "kwarg_only", kwarg_only)
        put(self, "alias_info", alias_info)
        put(self, "_default", default)
        kind = _without_size(real_type.schema_str)
        is_write = alias_info is not None and alias_info.is_write
        put(self, "kind", kind)
        put(self, "is_tensor_like", kind in _TENSOR_LIKE)
        put(self, "is_write", is_write)
        put(self, "is_out", kwarg_only and is_write)

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.name, self.real_type, self.kwarg_only, self.alias_info, self._default
        return Argument, given

    def renamed(self, name: str) -> Argument:
        """Return this argument under another name."""
        return Argument(name, self.real_type, self.kwarg_only, self.alias_info, self._default)

    @property
    def type(self) -> Type:
        """The type values have at run time: ``int`` for ``ScalarType`` and ``SymInt``."""
        return self.real_type.collapsed

    @property
    def N(self) -> int | None:
        """The size of ``T[N]`` or ``T[N]?``, else None."""
        listed = without_optional(self.real_type)
        return listed.size if isinstance(listed, ListType) else None

    def has_default_value(self) -> bool:
        return self._default is not NO_DEFAULT

    @property
    def default_value(self) -> Any:
        """The default as written: a tuple for a list, a code for a dtype, a string for a device;
        None without one.
        """
        return None if self._default is NO_DEFAULT else self._default

    def _identity(self) -> tuple[Any, ...]:
        default = self._default
        return self.name, self.type, self.kwarg_only, self.alias_info, type(default), default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Argument) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        return format_argument(self)


class FunctionSchema(_Frozen):
    """A parsed schema. ``str(schema)`` is the schema in canonical spelling and parses back to an
    equal one.

    Attributes
    ----------
    name : str
        Namespace and name, such as ``'aten::add'``.
    overload_name : str
        ``''`` for the default overload.
    arguments, returns : tuple of Argument
    is_vararg, is_varret : bool
        Whether the arguments or returns end in ``...``.
    """

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool
    is_varret: bool

    def __init__(
        self,
        name: str,
        overload_name: str,
        arguments: tuple[Argument, ...],
        returns: tuple[Argument, ...],
        is_vararg: bool = False,
        is_varret: bool = False,
    ) -> None:
        self.__dict__.update(
            name=name,
            overload_name=overload_name,
            arguments=arguments,
            returns=returns,
            is_vararg=is_vararg,
            is_varret=is_varret,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return FunctionSchema, self._identity()  # without what is kept beside the fields

    def with_arguments(self, arguments: tuple[Argument, ...]) -> FunctionSchema:
        """Return this schema with other arguments."""
        return FunctionSchema(
            self.name, self.overload_name, arguments, self.returns, self.is_vararg, self.is_varret
        )

    def _identity(self) -> tuple[Any, ...]:
        return (
            self.name, self.overload_name, self.arguments, self.returns,
            self.is_vararg, self.is_varret,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @kept
    def is_mutable(self) -> bool:
        """Whether some argument is written to."""
        return any([argument.is_write for argument in self.arguments])

    @kept
    def returns_one_tensor(self) -> bool:
        """Whether a call returns a tensor and nothing else."""
        return [each.real_type.schema_str for each in self.returns] == ["Tensor"]

    @kept
    def returns_aliases(self) -> bool:
        """Whether some result is an argument, or shows one."""
        return any([each.alias_info is not None for each in self.returns])

    @kept
    def _positional(self) -> tuple[Argument, ...]:
        """The arguments that may be given by position."""
        return tuple([argument for argument in self.arguments if not argument.kwarg_only])

    @kept
    def _by_name(self) -> dict[str, Argument]:
        """The arguments by their names."""
        return {argument.name: argument for argument in self.arguments}

    def _is_view_op(self) -> bool:
        """Say whether some argument is aliased but not written to."""
        return self.shows_argument

    @kept
    def shows_argument(self) -> bool:
        """Whether it is a view operator."""
        return any([each.alias_info is not None and not each.is_write for each in self.arguments])

    @property
    def operator_name(self) -> OperatorName:
        namespace, _, name = self.name.rpartition("::")
        return OperatorName(namespace, name, self.overload_name)

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Say whether every call that ``old`` accepts means the same under this schema.

        New arguments need defaults; argument types may become wider and return types narrower.
        """
        from .compatibility import is_backward_compatible  # rarely asked

        return is_backward_compatible(self, old)

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Say whether a program written for this schema may be read by one that has ``old``, and if
        not, why.

        New arguments must follow those of ``old``, with defaults that are not lists; the types of
        arguments may become narrower. As in PyTorch, only the number of returns counts.

        Returns
        -------
        tuple
            True and an empty text, or False and the reason.
        """
        from .compatibility import check_forward_compatible  # rarely asked

        return check_forward_compatible(self, old)

    @kept
    def _text(self) -> str:
        return format_schema(self)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


_Missing = NoDefault  # as pickles of 0.1.0 have it

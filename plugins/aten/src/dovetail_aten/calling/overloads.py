"""Chooses among the overloads of a name for calls that the generated functions do not see through
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import CO_VARARGS
from types import NoneType
from typing import Any, NamedTuple

from dovetail_dispatcher import FunctionSchema, Operator
from dovetail_dispatcher.calls import parameter
from dovetail_dispatcher.interception import call_overrides, overriding
from dovetail_dispatcher.schema import is_number, stands_for_number
from dovetail_dispatcher.table import registry
from dovetail_kernel import PYTHON_DTYPES, TensorBase, dtype

from ..templates.arithmetic import ARITHMETIC
from ..templates.choices import Candidate
from ..templates.numpy_names import MEANING
from ..templates.python_function import python_schema
from .old_overloads import OLD_OVERLOADS, old_overload
from .refused_calls import refuse
from .several_outs import several_outs, wrong_out

NUMBERS = frozenset({int, float, bool, complex})

_MEANING = {
    "self": "input",
    **MEANING,
    "split_size_or_sections": "split_size",  # the arguments of PyTorch's function `split`
    "tensor": "input",
}


class Overload(NamedTuple):
    """One overload as a call sees it.

    Attributes
    ----------
    function
        What runs it.
    signature
        Its parameters, for messages.
    names, kinds
        Parameters and their types as schemas spell them, positional ones first.
    positional
        How many parameters are positional.
    required
        How many of the positional ones have no default, or for a keyword-only one without default
        its name.
    out
        The variant that takes ``out=``, or None.
    """

    function: Callable[..., Any]
    signature: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    positional: int
    required: tuple[str, ...]
    out: Callable[..., Any] | None = None

    @property
    def is_variadic(self) -> bool:
        """Whether ints may be given one by one for a list of them: ``x.view(2, 3)``."""
        return bool(self.function.__code__.co_flags & CO_VARARGS)


def _key(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
    """Return the classes of all arguments and the keywords; of lists and tuples with the class of
    the first item, by which `fits` goes.
    """
    if kwargs:
        return (*map(_class, args), *kwargs, *map(_class, kwargs.values()))
    return tuple(map(_class, args))


def _class(value: Any) -> Any:
    cls = value.__class__
    return cls if cls not in _LISTS else (cls, value[0].__class__ if value else None)


def is_decided_by_class(cls: type) -> bool:
    """Return whether the class of an argument says all that a choice by classes asks."""
    return cls in _PLAIN or issubclass(cls, (TensorBase, list, tuple))


_PLAIN = {int, float, bool, complex, str, NoneType, dtype}
"""Classes of which `fits` asks nothing else, as of tensors."""

_LISTS = {list, tuple}

_KEPT = 64
"""Combinations of classes that are remembered for a name: classes may be made in a loop."""


class Overloads:
    """The overloads of one name, in the order in which they are tried.

    Parameters
    ----------
    name
        Qualified name without overload, ``aten::div``.
    functions
        By overload what runs it, and what runs it with ``out=``, or None.
    """

    __slots__ = ("_fits", "_functions", "_known", "_name", "_overloads")

    def __init__(
        self,
        name: str,
        functions: Mapping[str, tuple[Callable[..., object], Callable[..., object] | None]],
    ) -> None:
        self._name = name
        self._functions = functions
        is_arithmetic = name.partition("::")[2].removesuffix("_") in ARITHMETIC
        self._fits = (fits, _fits_loosely, *([_fits_as_number] if is_arithmetic else []))
        self._overloads: list[Overload] | None = None
        # Overloads by the classes of all arguments and the keywords, where these alone decide.
        self._known: dict[tuple[Any, ...], Callable[..., Any]] = {}

    @property
    def candidates(self) -> list[Candidate]:
        """The overloads, as the text of the function that chooses among them is made of them."""
        return [
            Candidate(registry.find_or_throw(self._name, overload).schema, function.__name__)
            for overload, (function, _) in self._functions.items()
        ]

    @property
    def schemas(self) -> list[tuple[FunctionSchema, bool]]:
        """The schemas of the overloads, each with whether it takes ``out=`` too."""
        return [
            (registry.find_or_throw(self._name, overload).schema, out is not None)
            for overload, (_, out) in self._functions.items()
        ]

    @property
    def public_name(self) -> str:
        """The name without its namespace."""
        return self._name.partition("::")[2]

    def choose(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """Call the first overload whose parameters the arguments fit. Raises TypeError if there is
        none; the text lists them.
        """
        key = _key(args, kwargs)
        known = self._known.get(key)
        if known is not None:
            return known(*args, **kwargs)
        out = kwargs.get("out")
        overloads = self._overloads
        if overloads is None:
            overloads = self._overloads = self._read()
        for fit in self._fits:
            for overload in overloads:
                bound = _bind(overload, args, kwargs, fit)
                if bound is None or (out is not None and overload.out is None):
                    continue
                if out is None:
                    if fit is fits and bound.keys() == kwargs.keys():
                        self._remember(key, overload.function)
                    return overload.function(*args, **bound)
                outs = self._outs(overload, out)
                assert overload.out is not None
                if fit is fits and bound.keys() | outs.keys() == kwargs.keys():
                    self._remember(key, overload.out)
                return overload.out(*args, **bound, **outs)
        return self._overridden(overloads, args, kwargs)

    def known(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Callable[..., Any] | None:
        """Return the function that is remembered for the classes of these arguments, or None."""
        return self._known.get(_key(args, kwargs))

    def _remember(self, key: tuple[Any, ...], function: Callable[..., Any]) -> None:
        """Keep what runs an overload for arguments of these classes, where they and the keywords
        among them alone decide.
        """
        if len(self._known) < _KEPT and all(map(self._is_decided, key)):
            self._known[key] = function

    def _is_decided(self, each: Any) -> bool:
        """Return whether an entry of a key says all that `fits` asks of an argument: of a tensor in
        the place of an int it asks for the dimensions.
        """
        if each.__class__ is not tuple:
            return each.__class__ is str or each in _PLAIN or issubclass(each, TensorBase)
        _, item = each
        if item is None or not issubclass(item, TensorBase):
            return item is int
        kinds = [kind for overload in self._overloads or () for kind in overload.kinds]
        return not any([kind.startswith(("int[", "SymInt[")) for kind in kinds])

    def _outs(self, overload: Overload, out: object) -> dict[str, Any]:
        """Return the tensors to write by their names: the last parameters of the function for them.
        Raises TypeError if `out` is not as many tensors as there are results.
        """
        code = overload.out.__code__  # type: ignore[union-attr]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        names = names[len(overload.names) :]
        public = self.public_name
        if len(names) > 1:
            return several_outs(public, names, out)
        if not fits(out, "Tensor"):
            raise wrong_out(public, "Tensor", out)
        return {names[0]: out}

    def _overridden(
        self, overloads: Sequence[Overload], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Any:
        """Run a call that no overload fits as one of old, or let an overriding argument decide it;
        raise TypeError if there is none.
        """
        name = self.public_name
        first: Any = overloads[0].function
        function = first.__globals__[name]
        if name in OLD_OVERLOADS:
            return old_overload(function, args, kwargs)
        _, overloaded = overriding(args, kwargs)
        if not overloaded:
            refuse(name, [overload.signature for overload in overloads], args, kwargs)
        return call_overrides(function, overloaded, args, kwargs)

    def _read(self) -> list[Overload]:
        """Return the overloads as their schemas say."""
        return [
            _overload(registry.find_or_throw(self._name, overload), *functions)
            for overload, functions in self._functions.items()
        ]


def _overload(
    op: Operator, function: Callable[..., object], out: Callable[..., object] | None
) -> Overload:
    schema = python_schema(op.schema)
    text = str(schema)
    return Overload(
        function=_entry(function),
        signature=text[text.index("(") : text.rindex(" ->")],
        names=tuple([parameter(a) for a in schema.arguments]),
        kinds=tuple([a.real_type.schema_str for a in schema.arguments]),
        positional=sum([not a.kwarg_only for a in schema.arguments]),
        required=tuple([parameter(a) for a in schema.arguments if not a.has_default_value()]),
        out=None if out is None else _entry(out),
    )


def _entry(function: Any) -> Any:
    """Return what stands under the name of a generated function: perhaps its compiled entry."""
    return function.__globals__[function.__name__]


def _bind(
    overload: Overload,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    fit: Callable[..., bool],
) -> dict[str, Any] | None:
    """Return the keyword arguments under the overload's own names, or None if one of the call's
    does not `fit`.
    """
    names, kinds = overload.names, overload.kinds
    if len(args) > 1 and fit is not fits and overload.is_variadic and all(map(_is_index, args[1:])):
        args = (args[0], args[1:])
    if len(args) > overload.positional:
        return None
    for value, kind in zip(args, kinds, strict=False):
        if not fit(value, kind):
            return None
    given = set(names[: len(args)])
    bound = {}
    for keyword, value in kwargs.items():
        if keyword == "out":
            continue
        if keyword not in names:
            keyword = _MEANING.get(keyword, keyword)
        if keyword not in names or keyword in given or not fit(value, kinds[names.index(keyword)]):
            return None
        given.add(keyword)
        bound[keyword] = value
    return bound if given.issuperset(overload.required) else None


def fits(value: Any, kind: str) -> bool:
    """Return whether `value` may stand where a schema says `kind`."""
    if kind.endswith("?"):
        return value is None or fits(value, kind[:-1])
    match kind:
        case "Tensor":
            return isinstance(value, TensorBase) or hasattr(value, "__torch_function__")
        case "Scalar":
            return is_number(value)
        case "int" | "SymInt":
            return isinstance(value, int) or (
                hasattr(value, "__index__") and not isinstance(value, TensorBase)
            )
        case "float":
            return isinstance(value, int | float)
        case "bool":
            return isinstance(value, bool)
        case "str":
            return isinstance(value, str)
        case "ScalarType":
            return isinstance(value, dtype) or (value.__class__ is type and value in PYTHON_DTYPES)
        case "Device":
            return isinstance(value, str) or type(value).__name__ == "Device"
        case "Storage":
            return type(value).__name__ in ("UntypedStorage", "TypedStorage")
        case "int[]" | "SymInt[]":
            # A tensor of one number may stand for an int, one of several may not.
            return isinstance(value, tuple | list) and not (
                value and isinstance(value[0], TensorBase) and value[0].ndim
            )
    if kind.endswith("[]"):
        return isinstance(value, tuple | list) and (not value or fits(value[0], kind[:-2]))
    if kind.startswith(("int[", "SymInt[")):
        return isinstance(value, tuple | list | int)
    return True


def _fits_loosely(value: object, kind: str) -> bool:
    """Return what `fits` does, with tensors that stand for numbers."""
    if fits(value, kind):
        return True
    if kind.startswith(("int", "SymInt")) and not kind.endswith("[]"):  # `int`, `int[1]?`
        return _is_index(value)
    return kind in ("Scalar", "Scalar?") and stands_for_number(value)


def _is_index(value: Any) -> bool:
    """Return whether a value stands for an int: one, or a tensor of no dimensions."""
    if stands_for_number(value):
        return not value.dtype.is_floating_point and not value.dtype.is_complex
    return fits(value, "int")


def _fits_as_number(value: object, kind: str) -> bool:
    """Return what `_fits_loosely` does, with numbers that stand for tensors, as in arithmetic."""
    return _fits_loosely(value, kind) or (kind == "Tensor" and is_number(value))

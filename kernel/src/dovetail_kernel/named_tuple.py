"""NamedTuple: classes like those of `typing.NamedTuple`, made in a tenth of the time. That of
`typing` compiles each annotation, and a constructor for each class; it took a fifteenth of the time
of an import.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from inspect import Signature
    from typing import NamedTuple
else:
    _FIELD: Final = type(namedtuple("_Field", "field").field)

    class _Maker(type):
        """Makes subclasses of `tuple` of class statements."""

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            names = tuple(namespace.get("__annotations__", ()))
            defaults = {each: namespace[each] for each in names if each in namespace}
            if names[len(names) - len(defaults) :] != tuple(defaults):
                raise TypeError(f"{name}: a field without a default follows one with a default.")
            made = {**_METHODS, **namespace, "_fields": names, "_field_defaults": defaults}
            made |= {each: _FIELD(place, f"Field {place}") for place, each in enumerate(names)}
            return type(name, (tuple,), {**made, "__match_args__": names, "__slots__": ()})

    class NamedTuple(metaclass=_Maker):
        """A tuple whose items have names: a subclass declares them, with types and defaults."""

    def _new(cls: type[Any], /, *values: object, **named: object) -> object:
        if not named and len(values) == len(cls._fields):
            return tuple.__new__(cls, values)
        defaults = cls._field_defaults
        rest = cls._fields[len(values) :]
        try:
            made = [*values, *[named.pop(n) if n in named else defaults[n] for n in rest]]
        except KeyError as missing:
            raise _misfit(cls, f"{missing.args[0]} is missing") from None
        if named:
            raise _misfit(cls, f"{', '.join(named)}: unknown, or given twice")
        if len(values) > len(cls._fields):
            raise _misfit(cls, f"{len(values)} were given")
        return tuple.__new__(cls, made)

    def _misfit(cls: type[Any], problem: str) -> TypeError:
        return TypeError(f"{cls.__name__}() takes the fields {', '.join(cls._fields)}: {problem}.")

    def _items(self: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(self)

    def _make(cls: type[Any], iterable: Iterable[object]) -> object:
        return cls(*iterable)

    def _replace(self: tuple[object, ...], /, **changes: object) -> object:
        if unknown := changes.keys() - {*self._fields}:
            raise ValueError(f"Got unexpected field names: {sorted(unknown)}")
        return type(self)(**(self._asdict() | changes))

    def _asdict(self: tuple[object, ...]) -> dict[str, object]:
        return dict(zip(self._fields, self, strict=True))

    def _repr(self: tuple[object, ...]) -> str:
        fields = ", ".join([f"{name}={value!r}" for name, value in self._asdict().items()])
        return f"{type(self).__name__}({fields})"

    class _OfFields:
        """The signature of a class, made when it is asked for."""

        def __get__(self, instance: object, cls: type[Any]) -> Signature:
            from inspect import Parameter, Signature

            kind, missing = Parameter.POSITIONAL_OR_KEYWORD, Parameter.empty
            return Signature(
                [
                    Parameter(
                        name,
                        kind,
                        default=cls._field_defaults.get(name, missing),
                        annotation=cls.__annotations__[name],
                    )
                    for name in cls._fields
                ]
            )

    _METHODS: Final = {
        "__getnewargs__": _items,
        "__new__": _new,
        "__repr__": _repr,
        "__signature__": _OfFields(),
        "_asdict": _asdict,
        "_make": classmethod(_make),
        "_replace": _replace,
    }

__all__ = ["NamedTuple"]

"""Signatures of functions that call operators, as `inspect.signature` and editors show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

from ..missing import MISSING
from ..schema import Argument, FunctionSchema, default_of
from .templates.arguments import parameter


class LateSignature(Signature):
    """A signature that is made when a program asks for it, since most are never needed.

    Parameters
    ----------
    make
        Returns the signature.
    args
        What `make` is called with.
    """

    __slots__ = ("_args", "_make")

    def __init__(self, make: Callable[..., Signature], *args: object) -> None:
        self._make, self._args = make, args

    def _made(self) -> Signature:
        return self._make(*self._args)

    @property
    def parameters(self) -> MappingProxyType[str, Parameter]:
        """The parameters by their names."""
        return self._made().parameters

    @property
    def return_annotation(self) -> Any:
        """The annotation of the result."""
        return self._made().return_annotation

    def replace(self, **changes: Any) -> Signature:  # type: ignore[override]  # no late one
        """Return a plain signature with `changes`."""
        return self._made().replace(**changes)

    __replace__ = replace  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return self._made().__reduce__()


class OwnDocstring:
    """The ``__doc__`` of a class whose instances each have their own.

    Parameters
    ----------
    text
        The docstring of the class.
    of_instance
        Returns that of an instance.
    """

    def __init__(self, text: str | None, of_instance: Callable[[Any], str]) -> None:
        self._text, self._of_instance = text, of_instance

    def __get__(self, instance: object, owner: type) -> str | None:
        return self._text if instance is None else self._of_instance(instance)


def parameters_of(schema: FunctionSchema) -> list[Parameter]:
    """Return the parameters of a function with the arguments of a schema.

    An argument named like a Python keyword, such as ``from``, is positional-only.
    """
    kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    shown = [
        Parameter(parameter(each), kinds[each.kwarg_only], default=_default(each))
        for each in schema.arguments
    ]
    unspeakable = [iskeyword(each.name) for each in schema.arguments]
    count = len(unspeakable) - unspeakable[::-1].index(True) if any(unspeakable) else 0
    return [each.replace(kind=each.POSITIONAL_ONLY) for each in shown[:count]] + shown[count:]


def _default(argument: Argument) -> Any:
    if not argument.has_default_value():
        return Parameter.empty
    value = default_of(argument)
    return tuple(value) if isinstance(value, list) else value


def signature_as_called(function: Callable[..., object], schema: FunctionSchema) -> Signature:
    """Return the signature of the function of an operator, with its annotations, if it is called as
    the schema says, else that of the schema.
    """
    called = parameters_of(schema)
    try:
        own = signature(function)
    except (TypeError, ValueError):  # not every function has one
        return Signature(called)
    plain = [each.replace(annotation=Parameter.empty) for each in own.parameters.values()]
    return own if plain == called else Signature(called)


def signature_of(
    schemas: Sequence[FunctionSchema],
    form_of: Callable[[FunctionSchema], list[Parameter]] = parameters_of,
) -> Signature:
    """Return a signature that accepts the calls of any of several schemas.

    Positions follow the schema with the most positional arguments. Arguments of other schemas are
    keyword-only. An argument that a schema lacks is optional. Its default is that of a schema, else
    None if its type allows None, else ``...``.

    Parameters
    ----------
    form_of
        Returns the parameters of a schema.
    """
    forms = [form_of(each) for each in schemas]
    if len(forms) == 1:
        return Signature(forms[0])
    optional = {parameter(a) for s in schemas for a in s.arguments if a.kind.endswith("?")}

    def default(name: str, *, is_needed: bool = True) -> Any:
        """Return what a parameter is by default; empty if all forms need it."""
        own = [each.default for form in forms for each in form if each.name == name]
        found = [each for each in own if each is not Parameter.empty]
        if not found and is_needed and len(own) == len(forms):
            return Parameter.empty
        return [*found, None if name in optional else MISSING][0]

    longest = max(forms, key=lambda form: len(_positional(form)))
    parameters: list[Parameter] = []
    for each in _positional(longest):
        if each.kind is not each.VAR_POSITIONAL:  # behind a default Python wants defaults
            is_needed = not any([before.default is not before.empty for before in parameters])
            each = each.replace(default=default(each.name, is_needed=is_needed))
        parameters.append(each)
    names = dict.fromkeys([each.name for form in forms for each in form])
    for name in sorted(names.keys() - {each.name for each in parameters}, key=[*names].index):
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default(name)))
    return Signature(sorted(parameters, key=lambda each: (each.kind, each.name == "out")))


def _positional(form: Sequence[Parameter]) -> list[Parameter]:
    return [each for each in form if each.kind < each.KEYWORD_ONLY]

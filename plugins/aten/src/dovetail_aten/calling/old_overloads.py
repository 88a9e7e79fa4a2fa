"""Deprecated overloads: signatures with another order of arguments, which PyTorch still accepts
with a warning.

``add(x, 2, y)`` is ``add(x, y, alpha=2)``. The functions end here when they get more positional
arguments than their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dovetail_dispatcher.interception import call_overrides, overriding
from dovetail_dispatcher.missing import MISSING
from dovetail_dispatcher.schema import is_number
from dovetail_kernel import TensorBase, warn_user_once

from .numpy_calls import defaults_of
from .refused_calls import refuse


class OldOverloads(NamedTuple):
    """The deprecated overloads of one function.

    Attributes
    ----------
    signatures
        Their parameters, ``(Tensor input, Number alpha, Tensor other)``.
    current
        The parameters of the overloads to use instead.
    takes_numbers
        Whether Python numbers may stand for the tensors.
    """

    signatures: tuple[str, ...]
    current: tuple[str, ...]
    takes_numbers: bool = False


OLD_OVERLOADS: Final[dict[str, OldOverloads]] = {}
"""Those of every function that has some, by its name."""


def old_overload(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Any:
    """Run a call that has the arguments of a deprecated overload, and warn once.

    A function and the method of its name are one object, so that either's order of the arguments
    fits: ``addmm(2, x, a, b)`` and ``x.addmm(2, a, b)``. Raises TypeError if the arguments fit
    none; the text lists the overloads that are not deprecated.
    """
    defaults = defaults_of(function)
    args = [value for value in args if value is not MISSING]
    given = {
        name: value
        for name, value in kwargs.items()
        if name not in defaults or value is not defaults[name]
    }
    modes, overloaded = overriding(args, given)
    if modes or overloaded:
        return call_overrides(function, overloaded, tuple(args), given)
    known = OLD_OVERLOADS[function.__name__]
    for signature in known.signatures:
        for parameters in list(_orders(signature)):
            if given.keys() <= _keywords(signature) and _fit(parameters, args, known.takes_numbers):
                _warn(function.__name__, signature, known.current)
                return function(**_named(parameters, args), **given)
    refuse(function.__name__, known.current, args, given)


def _orders(signature: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the positional parameters of a signature as types and names: of the function, and of
    the method, whose ``self`` comes first.
    """
    positional = signature[1:-1].partition(", *, ")[0]
    kinds = [part.rpartition(" ")[::2] for part in positional.split(", ")]
    yield kinds
    if kinds[0][1] != "input":
        yield sorted(kinds, key=lambda kind: kind[1] != "input")


def _keywords(signature: str) -> set[str]:
    """Return the names of the parameters that are given by keyword."""
    keywords = signature[1:-1].partition(", *, ")[2]
    return {part.split()[1] for part in keywords.split(", ")} if keywords else set()


def _fit(
    parameters: Sequence[tuple[str, str]], args: Sequence[object], takes_numbers: bool
) -> bool:
    return len(parameters) == len(args) and all(
        [
            _is_number(value)
            if kind == "Number"
            else isinstance(value, TensorBase) or (takes_numbers and is_number(value))
            for (kind, _), value in zip(parameters, args, strict=True)
        ]
    )


def _named(parameters: Sequence[tuple[str, str]], args: Sequence[object]) -> dict[str, Any]:
    """Return the arguments by name, the numbers as numbers."""
    given: dict[str, Any] = {name: v for (_, name), v in zip(parameters, args, strict=True)}
    for kind, name in parameters:
        if kind == "Number" and isinstance(given[name], TensorBase):
            given[name] = given[name].item()
    return given


def _is_number(value: object) -> bool:
    """Return whether `value` may stand for a number: so may a tensor without dimensions."""
    if isinstance(value, TensorBase):
        return not value.shape and not value.requires_grad
    return is_number(value)


def _warn(name: str, signature: str, current: Sequence[str]) -> None:
    """Issue PyTorch's warning, for the first such call of a process."""
    if name.endswith("_"):  # these are methods alone
        signature, *current = [each.replace("Tensor input, ", "") for each in (signature, *current)]
    instead = "".join([f"\n\t{name}{each}" for each in current])
    warn_user_once(
        f"This overload of {name} is deprecated:\n\t{name}{signature}\n"
        f"Consider using one of the following signatures instead:{instead}",
        site="deprecated overload",
    )

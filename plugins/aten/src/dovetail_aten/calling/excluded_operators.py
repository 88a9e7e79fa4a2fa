"""What stands in place of the operators that a selective build leaves out: functions that say,
when they are called, what to add to its list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Final, NamedTuple

from dovetail_dispatcher.table import registry

_SHOWN: Final = 8
"""How many names of a list a message shows."""


class Build(NamedTuple):
    """A selective build.

    Attributes
    ----------
    package
        Name of the package folder that was generated.
    source
        Name of the list.
    namespaces
        The namespaces of its operators, separated by spaces, if it has no derivatives.
    listed
        The names on the list, separated by spaces.
    """

    package: str
    source: str
    namespaces: str
    listed: str


def leave_out(build: Build, operators: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """Note the operators and derivatives that `build` leaves out, and return the functions in the
    place of the operators'.

    Parameters
    ----------
    build
        What the messages speak of.
    operators
        The names of the functions of each, separated by spaces, by its qualified name.
    """
    for namespace in build.namespaces.split():
        registry.without_derivatives[namespace] = (
            f"This selective build of {build.package} has no derivatives. Generate it again "
            f"without --no-autograd: dovetail codegen {build.package} --ops {build.source}"
        )
    functions = {}
    for qualified, names in operators.items():
        registry.left_out[qualified] = message = _message(build, qualified)
        for name in names.split():
            functions[name] = _replacement(name, message)
    return functions


def _message(build: Build, qualified: str) -> str:
    name = qualified.removeprefix("aten::")
    names = build.listed.split()
    shown = ", ".join(names[:_SHOWN]) or "nothing"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    option = " --no-autograd" if build.namespaces else ""
    return (
        f"{qualified} was left out of this selective build of {build.package}, which has what "
        f"{build.source} lists ({shown}{more}) and what these need. Add '- {name}' to "
        f"{build.source} and generate it again: dovetail codegen {build.package} --ops "
        f"{build.source}{option}"
    )


def _replacement(name: str, message: str) -> Callable[..., Any]:
    # A property of tensors may be made of it. Where classes override functions, its code is
    # exchanged for one that asks the first argument: so there is one, and no closure.
    names = {"__name__": __name__, "message": message}
    return FunctionType(_left_out.__code__, names, name, _left_out.__defaults__)


def is_left_out(function: Callable[..., Any]) -> bool:
    """Return whether `function` stands in place of an operator that the build leaves out."""
    return getattr(function, "__code__", None) is _left_out.__code__


message = "this operator was left out"  # each function has a namespace with its own


def _left_out(self: Any = None, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(message)

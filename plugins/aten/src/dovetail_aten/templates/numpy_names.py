"""Text of NumPy's names for arguments, by which functions take them too: ``axis`` for ``dim``.

Python binds a keyword to a parameter of that very name, so these are parameters of the function,
behind its own and behind a slot for what was given by position beyond those::

    def unsqueeze(input=MISSING, dim=MISSING, surplus=MISSING, axis=None):
        if surplus is not MISSING or axis is not None:
            return numpy_call(unsqueeze, {"input": input, "dim": dim}, surplus, {"axis": axis})

All may be given by position as far as Python knows, keyword-only ones of the schema too: a function
with keyword-only parameters is slower to call. The slot comes first, and refuses such a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dovetail_dispatcher.calls import parameter
from dovetail_dispatcher.schema import FunctionSchema

NUMPY_NAMES: Final = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "x1", "a"),
    "other": ("x2",),
}
"""The names that NumPy has for an argument."""

MEANING: Final = {name: own for own, names in NUMPY_NAMES.items() for name in names}
"""What NumPy's names mean."""

SURPLUS: Final = "surplus"
"""The slot for an argument beyond those that may be given by position."""


def numpy_names(schema: FunctionSchema) -> dict[str, str]:
    """Return NumPy's names for the arguments of a function that are not its own names already, and
    what each is by default: None where None would mean nothing else, which is faster to test.
    """
    arguments = {parameter(argument): argument for argument in schema.arguments}
    return {
        name: "MISSING" if argument.default_value is not None else "None"
        for own, argument in arguments.items()
        for name in NUMPY_NAMES.get(own, ())
        if name not in arguments
    }


def numpy_lines(
    schema: FunctionSchema, name: str, numpy: Mapping[str, str], *, takes_out: bool, takes_old: bool
) -> list[str]:
    """Return the lines that leave a call with NumPy's names, or with too many arguments, to
    `numpy_call`.
    """
    given = [parameter(a) for a in schema.arguments] + ["out"] * takes_out
    tests = [f"{each} is not {default}" for each, default in numpy.items()]
    if not takes_old:
        tests.insert(0, f"{SURPLUS} is not MISSING")
    surplus = "MISSING" if takes_old else SURPLUS
    passed = [called(schema, name), by_name(given), surplus, by_name(numpy)]
    return [f"if {' or '.join(tests)}:", f"    return numpy_call({', '.join(passed)})"]


def called(schema: FunctionSchema, name: str) -> str:
    """Return the text of a function in its own body, where a parameter may have its name."""
    return f'globals()["{name}"]' if name in map(parameter, schema.arguments) else name


def by_name(names: Iterable[str]) -> str:
    """Return the text of a dict of variables by their names."""
    items = ", ".join([f'"{name}": {name}' for name in names])
    return f"{{{items}}}"

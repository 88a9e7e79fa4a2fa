"""What the templates need to know of a schema argument: how it is checked, keyed and unwrapped."""

from __future__ import annotations

import keyword
import re
from typing import Final

from ...schema.function_schema import Argument

INT_LISTS = ("int[]", "SymInt[]")

_OBJECTS = ("ScalarType", "Layout", "MemoryFormat", "Device")
"""Types whose schemas write a default as a code or a string, while kernels receive an object."""

CLASSES: dict[str, tuple[str, ...]] = {
    "int": ("int",),
    "SymInt": ("int",),
    "DeviceIndex": ("int",),
    "float": ("float",),
    "bool": ("bool",),
    "SymBool": ("bool",),
    "str": ("str",),
    "complex": ("complex",),
    "Scalar": ("int", "float"),
    "ScalarType": ("DType",),
    "MemoryFormat": ("MemoryFormat",),
    "Device": ("Device",),
    "Layout": ("Layout",),
}


ENTRY_NAMES: Final = frozenset(
    (
        "DType",
        "Device",
        "Layout",
        "MISSING",
        "MemoryFormat",
        "SCALAR_BITS",
        "are_ints",
        "bits",
        "cls",
        "each",
        "extra",
        "miss",
        "route",
        "state",
        "unknown",
    )
)
"""What entries call their own things."""

_ENTRY_FORMS = re.compile(r"\w+_(default|named|op|routes)")
"""Names made of other names."""


def parameter(argument: Argument) -> str:
    """Return the name of an argument in an entry: that of the schema, with an underscore appended
    if it is reserved.
    """
    name = argument.name
    taken = keyword.iskeyword(name) or name in ENTRY_NAMES or _ENTRY_FORMS.fullmatch(name)
    return name + "_" if taken else name


def local(argument: Argument) -> str:
    """Return the name under which an entry hands an argument to a route: lists of ints get one of
    their own, since an overriding class or mode gets what was given, an int or a list.
    """
    name = parameter(argument)
    return f"{name}_ints" if argument.kind.removesuffix("?") in INT_LISTS else name


def class_test(argument: Argument) -> list[str]:
    """Return the conditions under which an entry leaves the fast path because of this argument's
    class, as text.

    An empty list means that any value may pass, because the signature of a tensor is its own test.
    """
    name, kind = local(argument), argument.kind
    if argument.is_tensor_like:
        return []
    optional = kind.endswith("?")
    base = kind.removesuffix("?")
    guard = f"{name} is not None and " if optional else ""
    if classes := CLASSES.get(base):
        return [guard + " and ".join(f"{name}.__class__ is not {cls}" for cls in classes)]
    if base in INT_LISTS:
        return [f"{guard}not are_ints({name})"]
    if optional:
        return [f"{name} is not None"]
    return (
        ["True"]
        if not argument.has_default_value()
        else [f"{name} is not {default_text(argument)}"]
    )


def default_text(argument: Argument) -> str:
    """Return the default of an argument as source text; names that cannot be written become
    ``<name>_default``.
    """
    value = argument.default_value
    if value is not None and argument.kind.removesuffix("?") in _OBJECTS:
        return f"{argument.name}_default"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return repr(value)
    if isinstance(value, tuple) and argument.kind.removesuffix("?") in INT_LISTS:
        return repr(value)
    return f"{argument.name}_default"


def are_ints(value: object) -> bool:
    """Return whether `value` is a tuple of nothing but ints: the one form of an ``int[]`` on the
    fast path.
    """
    if not isinstance(value, tuple):
        return False
    for item in value:  # noqa: SIM110 - a generator costs more than all else
        if item.__class__ is not int:
            return False
    return True

"""What the templates need to know of a schema argument: how it is checked, keyed and unwrapped."""

from __future__ import annotations

import keyword
import re
from typing import Final

from ...schema import Argument

TENSOR, OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST = (
    "Tensor",
    "Tensor?",
    "Tensor[]",
    "Tensor?[]",
)

INT_LISTS = ("int[]", "SymInt[]")

_OBJECTS = ("ScalarType", "Layout", "MemoryFormat", "Device")
"""Types whose schemas write a default as a code or a string, while kernels receive an object."""

_CLASSES: dict[str, tuple[str, ...]] = {
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
}


ENTRY_NAMES: Final = frozenset(
    "DType MISSING SCALAR_BITS are_ints cls each extra key miss route state unknown".split()  # noqa: SIM905
)
"""What entries call their own things."""

ROUTE_NAMES: Final = frozenset(
    """
    Array BACKEND BASE CONTEXT DIFFERENTIABLE DTYPE GRAD KEYS NORMAL NO_GRAD Node OP OPERATOR
    OVERLOAD QUIET SIGNATURE Tensor VIEW VersionCounter WRITTEN WritableCounter ZERO_DIM
    ZERO_DIM_SIGNATURE args array arrays attach_list before below below_autograd bump_version
    call_error cast check_aliases check_inference_write check_inplace check_overlap checked
    composite computed computed_native copy_before_write counter current_version dtype_bits dtype_of
    each edge_of edges_of enter_fake error extras fn gradient_edge helper into into_any
    is_column_major kernel kwargs leaf_edge leave_fake lift make_tensor mark_unknown mark_view
    mark_views native_dtypes next_sequence_nr node number numbers on_backend outer plain promote
    quiet rebase_history record recorded recording_extras refuse_gradient refuse_out remember
    reset_error_state result save_input save_result save_result_tensor set_error_state set_state
    setup_context share_storage state state_before storage stripped tensor_of_number unmark wrap
    write_into write_out wrong_identity
    """.split()  # noqa: SIM905
)
"""What routes call their own things."""

_ENTRY_FORMS = re.compile(r"\w+_(default|named|op|routes)")
_ROUTE_FORMS = re.compile(r"(array|result)\d+|\w+_(array|edge|overwritten)")
"""Names made with numbers, and of other names."""


def parameter(argument: Argument) -> str:
    """Return the name of an argument in an entry: the schema's, with an underscore behind a name
    that is taken.
    """
    name = argument.name
    taken = keyword.iskeyword(name) or name in ENTRY_NAMES or _ENTRY_FORMS.fullmatch(name)
    return name + "_" if taken else name


def route_parameter(argument: Argument) -> str:
    """Return the name of an argument in a route: the schema's, with an underscore behind a name
    that is taken.
    """
    name = argument.name
    taken = keyword.iskeyword(name) or name in ROUTE_NAMES or _ROUTE_FORMS.fullmatch(name)
    return name + "_" if taken else name


def spelling(argument: Argument) -> str:
    """Return the argument's type as it is written in a schema, list sizes left out: ``int[]?`` for
    ``int[1]?``.
    """
    text = argument.real_type.schema_str
    begin = text.find("[")
    end = text.find("]")
    return text if begin < 0 else text[: begin + 1] + text[end:]


def is_tensor_like(argument: Argument) -> bool:
    """Return whether the dispatch keys of a call depend on this argument."""
    return spelling(argument) in (TENSOR, OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST)


def class_test(argument: Argument) -> list[str]:
    """Return the conditions under which an entry leaves the fast path because of this argument's
    class, as text.

    An empty list means that any value may pass, because the signature of a tensor is its own test.
    """
    name, kind = parameter(argument), spelling(argument)
    if is_tensor_like(argument):
        return []
    optional = kind.endswith("?")
    base = kind.removesuffix("?")
    guard = f"{name} is not None and " if optional else ""
    if classes := _CLASSES.get(base):
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
    if value is not None and spelling(argument).removesuffix("?") in _OBJECTS:
        return f"{argument.name}_default"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return repr(value)
    if isinstance(value, tuple) and spelling(argument).removesuffix("?") in INT_LISTS:
        return repr(value)
    return f"{argument.name}_default"


def array_expression(argument: Argument) -> str:
    """Return the text that turns an argument of a route into what an array kernel takes."""
    name, kind = route_parameter(argument), spelling(argument)
    match kind:
        case "Tensor":
            return f"{name}.array"
        case "Tensor?":
            return f"(None if {name} is None else {name}.array)"
        case "Tensor[]":
            return f"[t.array for t in {name}]"
        case "Tensor?[]":
            return f"[None if t is None else t.array for t in {name}]"
        case "ScalarType":
            return f"native_dtypes[{name}]"
        case "ScalarType?":
            return f"(None if {name} is None else native_dtypes[{name}])"
    return name


def are_ints(value: object) -> bool:
    """Return whether `value` is a tuple of nothing but ints: the one form of an ``int[]`` on the
    fast path.
    """
    if not isinstance(value, tuple):
        return False
    return all(item.__class__ is int for item in value)

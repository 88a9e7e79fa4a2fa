"""Source text of entries and routes, from plain Python template functions.

An *entry* is the function behind one operator overload: it checks the classes of the arguments,
makes the call's key and looks up the route. A *route* is the composed callable that a call really
runs; it takes every argument of the schema positionally. Both are specialised per operator, as text
that can be read, and compiled once.
"""

from .array_route import array_route, quiet_lines
from .entry import entry_source, name_source
from .source import RouteText, compile_source
from .tensor_route import (
    below_autograd_route,
    boxed_route,
    counting_route,
    custom_route,
    fake_route,
    opaque_route,
    tensor_route,
    wrapped_route,
)

__all__ = [
    "RouteText",
    "array_route",
    "below_autograd_route",
    "boxed_route",
    "compile_source",
    "counting_route",
    "custom_route",
    "entry_source",
    "fake_route",
    "name_source",
    "opaque_route",
    "quiet_lines",
    "tensor_route",
    "wrapped_route",
]

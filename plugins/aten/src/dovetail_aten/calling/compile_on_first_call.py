"""Gives the generated functions their operators, and the short ones their bodies at
the first call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final
from weakref import WeakSet

from dovetail_dispatcher.calls.entry_support import entry_bindings
from dovetail_dispatcher.calls.templates.entry import symbol
from dovetail_dispatcher.compilation import compile_source
from dovetail_dispatcher.table import registry

from ..templates.numpy_names import SURPLUS
from ..templates.python_function import PythonFunction, result_type
from .return_types import names_results


def operator(name: str, overload: str) -> tuple[Any, dict[int, Any]]:
    """Return an operator and its routes; the library's registrations come first."""
    found = registry.find_or_throw(name, overload)
    return found, found.routes


_completed: Final[WeakSet[FunctionType]] = WeakSet()


def complete(
    function: FunctionType,
    name: str,
    overload: str,
    out: str | None = None,
    outs: Sequence[str] = (),
) -> FunctionType:
    """Give a short generated function the body that its template says, and return it.

    The function stays the same object, so that methods, imports and tables that hold it run the
    real body from then on, without a call more.

    Parameters
    ----------
    function
        What is generated as one line, with the parameters of the real body.
    name, overload
        Its operator.
    out, outs
        The function to go to when ``out=`` is given, and the tensors that it writes, where that is
        not ``out`` alone.
    """
    if function in _completed:  # by a property, which has the short body for good: `getter`
        return function
    op = registry.find_or_throw(name, overload)
    bindings = entry_bindings(op)
    if result_type(op.schema):
        bindings[f"{symbol(op.schema)}_named"] = names_results(op)
    called, names = function.__name__, function.__code__.co_varnames
    text = PythonFunction(
        op.schema,
        op.promote,
        called,
        out=out,
        outs=outs,
        is_operator=called.endswith("_operator"),
        takes_old=sum([re.fullmatch(r"old\d", name) is not None for name in names]),
        takes_numpy=bool({SURPLUS, "old1", "named"}.intersection(names)),
    ).source()
    function.__globals__.update(bindings)
    function.__code__ = compile_source(text, function.__name__, bindings).__code__
    _completed.add(function)
    return function

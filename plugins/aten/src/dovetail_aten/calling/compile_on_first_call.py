"""Gives the generated functions, each of one line, their bodies at the first call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final
from weakref import WeakSet

from dovetail_dispatcher.calls import COMMON, entry_bindings, with_short_traceback
from dovetail_dispatcher.compilation import compile_source, exchange_code
from dovetail_dispatcher.missing import MISSING
from dovetail_dispatcher.schema import default_of
from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase

from ..templates.choices import choice_source, operator_choice_source
from ..templates.numpy_names import SURPLUS
from ..templates.python_function import PythonFunction
from .numpy_calls import numpy_call
from .old_overloads import old_overload
from .operands import operate
from .overloads import NUMBERS, Overloads
from .return_types import names_results
from .several_outs import several_outs

__all__ = ["MISSING", "complete", "complete_choice", "default"]

_BINDINGS: Final[dict[str, Any]] = {
    **COMMON,
    "NUMBERS": NUMBERS,
    "TensorBase": TensorBase,
    "numpy_call": numpy_call,
    "old_overload": old_overload,
    "operate": operate,
    "several_outs": several_outs,
}
"""What bodies refer to, beside their operators and other functions."""

_completed: Final[WeakSet[FunctionType]] = WeakSet()


def default(name: str, overload: str, position: int) -> Any:
    """Return the default of an argument that cannot be written as text."""
    return default_of(registry.find_or_throw(name, overload).schema.arguments[position])


def complete(
    function: FunctionType, operator: str, out: str | None = None, outs: Sequence[str] = ()
) -> FunctionType:
    """Give a generated function the body that its template says, and return it.

    The function stays the same object, so that methods, imports and tables that hold it run the
    real body from then on, without a call more.

    Parameters
    ----------
    function
        What is generated as one line, with the parameters of the real body.
    operator
        The name of its operator, ``"aten::add.Tensor"``.
    out, outs
        The function to go to when ``out=`` is given, and the tensors that it writes, where that is
        not ``out`` alone.
    """
    if function in _completed:  # by a property, which has the short body for good: `getter`
        return function
    name, _, overload = operator.partition(".")
    op = registry.find_or_throw(name, overload)
    called, names = function.__name__, function.__code__.co_varnames
    body = PythonFunction(
        op.schema,
        op.promote,
        called,
        out=out,
        outs=outs,
        is_operator=called.endswith("_operator"),
        takes_old=sum([re.fullmatch(r"old\d", name) is not None for name in names]),
        takes_numpy=bool({SURPLUS, "old1", "named"}.intersection(names)),
    )
    bindings = entry_bindings(op)
    if body.naming:
        bindings[body.naming] = names_results(op)
    return _with_body(function, body.source(), bindings)


def complete_choice(function: FunctionType, overloads: Overloads) -> FunctionType:
    """Give a generated function that chooses among overloads its body, and return it.

    Parameters
    ----------
    function
        What is generated as one line: the function of a name, or a binary operator.
    overloads
        The overloads of the name, which the namespace of the function has too.
    """
    if function in _completed:
        return function
    called, name = function.__name__, overloads.public_name
    if called.endswith("_operator"):
        text = operator_choice_source(called, name, overloads.candidates)
    else:
        text = choice_source(called, f"_{name}_overloads", overloads.candidates)
    return _with_body(function, text, {})


def _with_body(
    function: FunctionType, text: str, bindings: dict[str, Callable[..., object]]
) -> FunctionType:
    function.__globals__.update(_BINDINGS | bindings)
    text = with_short_traceback(text)
    exchange_code(function, compile_source(text, function.__name__, bindings).__code__)
    _completed.add(function)
    return function

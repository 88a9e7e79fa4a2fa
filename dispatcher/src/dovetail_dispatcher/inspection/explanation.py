"""`explain`: says which kernels a call would run, and why, without running them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, overload

from dovetail_kernel import dispatch_state, plugin_manager, state
from dovetail_kernel.plugins import LIBRARIES

from ..calls.entry_support import bound_call, call_key
from ..calls.overload_resolution import resolve_overload
from ..calls.overloads import OpOverload, OpOverloadPacket
from ..calls.plans.composition import Composition, call_keys, compose_whole
from ..calls.printer import printed
from ..registration.custom_op_definition import CustomOpDef
from ..table import registry
from ..table.operator import Operator
from .argument_keys import ArgumentKeys, describe_arguments
from .decisions import Decision, decide
from .explanation_text import function_lines, operator_lines
from .inner_calls import InnerCall, InnerCalls, inner_calls
from .notebook_trees import InNotebooks
from .queries.dumps import existing_operator
from .traces.kernel_trace import launched_kernels


class _Printed:
    """What prints as a tree, and is given as data too."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain dicts, tuples and strings."""
        return asdict(self)  # type: ignore[call-overload, no-any-return] # its classes are dataclasses

    def as_json(self, indent: int | None = 2) -> str:
        """Return the explanation as JSON text."""
        import json

        return json.dumps(self.as_dict(), indent=indent)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(_Printed, InNotebooks, Decision):
    """Which kernels a call would run, and why. ``str`` prints a tree, ``as_text(route=True)`` the
    composed callable below it; `as_dict` and `as_json` return the same as data.

    Attributes
    ----------
    arguments
        The tensors of the call and their keys.
    route
        Source text of the composed callable; empty if there is none.
    error
        What the call would raise for want of a kernel; None if it would not.
    calls
        What a composite calls, in order, as a tree.
    unknown
        Why that cannot be told, or not to the end; None where it can.
    launches
        Names of the kernels that an array kernel hands to the device, in order; None where they are
        not known.
    """

    arguments: tuple[ArgumentKeys, ...]
    route: str
    error: str | None
    calls: tuple[InnerCall, ...] = ()
    unknown: str | None = None
    launches: tuple[str, ...] | None = None

    def as_text(self, *, route: bool = False) -> str:
        """Return the tree as plain text.

        Parameters
        ----------
        route
            With the source text of the composed callable. Default: False.
        """
        return "\n".join(operator_lines(self, route=route))

    def __str__(self) -> str:
        return self.as_text()


@dataclass(frozen=True, slots=True, repr=False)
class FunctionExplanation(_Printed, InNotebooks):
    """Which operators the call of a function would come down to, and their kernels.

    Attributes
    ----------
    function
        Its module and name.
    source
        ``file:line`` of it; empty where it is not Python.
    calls
        The operator calls, in order, as a tree.
    unknown
        Why that cannot be told, or not to the end; None where it can.
    """

    function: str
    source: str
    calls: tuple[InnerCall, ...]
    unknown: str | None

    @property
    def records_graph(self) -> bool:
        """Whether a graph is recorded for backward."""
        return any([inner.decision.records_graph for call in self.calls for inner in call.walk()])

    def __str__(self) -> str:
        return "\n".join(function_lines(self))


@overload
def explain(
    op: OpOverload | OpOverloadPacket | CustomOpDef | str, /, *args: Any, **kwargs: Any
) -> Explanation: ...


@overload
def explain(op: object, /, *args: Any, **kwargs: Any) -> Explanation | FunctionExplanation: ...


def explain(op: object, /, *args: Any, **kwargs: Any) -> Explanation | FunctionExplanation:
    """Explain which kernels a call would run, and why, without running them.

    Composites and functions are called on the meta device, on tensors without data, to find the
    operators that they call. Only the arguments are replaced by such tensors: a call on a tensor
    that a function captures, or creates on another device, runs its kernel. On CUDA, an array
    kernel runs once, on copies of the arguments, to find the kernels that it launches.

    Parameters
    ----------
    op
        An operator: ``ops.aten.add``, ``ops.aten.add.Tensor``, a `CustomOpDef`, or a name,
        ``"aten::add.Tensor"``, ``"aten::add"``. Or a function or method, which runs without data.
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Explanation
        For an operator.
    FunctionExplanation
        For another function: the operators that it calls.

    Raises
    ------
    RuntimeError
        If the operator does not exist, or the arguments do not match its schema.
    TypeError
        If `op` is neither an operator, a name nor a function.
    """
    if callable(op) and not isinstance(op, CustomOpDef | OpOverload | OpOverloadPacket):
        return explain_function(op, args, kwargs)
    operator = _operator_of(op, args, kwargs)
    values = bound_call(operator, args, kwargs)
    key = call_key(operator, values)
    now = dispatch_state(state())
    decision = decide(operator, key, now, values=values)
    route, error = "", None
    try:
        route = printed(compose_whole(Composition(operator, call_keys(key, now), key, now))).source
    except (NotImplementedError, RuntimeError) as reason:
        error = f"{type(reason).__name__}: {reason}"
    inner = InnerCalls((), None)
    if decision.is_composite and error is None:
        inner = _inside(inner_calls(operator.handle, args, kwargs), decision)
    known = {field.name: getattr(decision, field.name) for field in fields(decision)}
    known["records_graph"] |= any(
        [each.decision.records_graph for call in inner.calls for each in call.walk()]
    )
    return Explanation(
        **known,
        arguments=describe_arguments(operator, values),
        route=route,
        error=error,
        calls=inner.calls,
        unknown=inner.unknown,
        launches=launched_kernels(operator, decision, args, kwargs) if error is None else None,
    )


def explain_function(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    *,
    named: object = None,
) -> FunctionExplanation:
    """Explain the call of a function that is not an operator.

    Parameters
    ----------
    named
        The function whose name and place are shown. Default: the function itself.
    """
    shown = function if named is None else named
    name = getattr(shown, "__qualname__", type(shown).__qualname__)
    module = getattr(shown, "__module__", None)
    code = getattr(shown, "__code__", None)
    inner = inner_calls(function, args, kwargs)
    return FunctionExplanation(
        f"{module}.{name}" if module else name,
        f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "",
        inner.calls,
        inner.unknown,
    )


def _inside(found: InnerCalls, decision: Decision) -> InnerCalls:
    """Return what is inside the call that `found` begins with, which `decision` is about."""
    outer = next(
        iter([call for call in found.calls if call.decision.operator == decision.operator]), None
    )
    if outer is None:
        return InnerCalls((), found.unknown)
    return InnerCalls(outer.calls, outer.unknown or found.unknown)


def _operator_of(op: object, args: tuple[object, ...], kwargs: dict[str, object]) -> Operator:
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, OpOverload):
        return op._operator
    if isinstance(op, OpOverloadPacket):
        return resolve_overload(op._qualified_op_name, op._operators, args, kwargs)
    if not isinstance(op, str):
        raise TypeError(
            f"explain() takes an operator, its name or a function, not {type(op).__name__}. Give "
            "one, and then the arguments of the call."
        )
    return _named(op, args, kwargs)


def _named(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Operator:
    """Return the operator of a name; of one without overload the overload that the arguments
    fit.
    """
    namespace = name.partition("::")[0]
    if name not in registry.operators and plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)
    packet = registry.operators.get(name)
    if packet is not None and (len(packet) > 1 or "" not in packet):
        defined = [op for op in packet.values() if op.is_defined]
        return resolve_overload(name, defined, args, kwargs)
    found = existing_operator(name)
    if not found.is_defined:
        registry.find_or_throw(found.name, found.overload)
    return found

"""Plans of routes that call a tensor kernel: hand over the arguments as PyTorch does, check what
comes back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from dovetail_kernel import DispatchKeySet

from ...schema import Argument, FunctionSchema, default_of
from ...schema.function_schema import OPTIONAL_TENSOR, TENSOR
from ...table.kernel_results import KernelResults
from ...table.kernels import Kernel
from ...table.operator import Operator
from ...table.tags import Tag
from ..arrays.alias_checks import check_aliases, written_results, wrong_identity
from ..fake_context import FakeImplCtx
from ..plan import CallFunction, RoutePlan, Step, Value, argument_value
from ..steps.tensor_kernels import (
    BumpVersion,
    CallForWrapped,
    CallTensorKernel,
    CallWithoutDefaults,
    CheckAliases,
    CheckIdentity,
    CheckMeta,
    CheckReturns,
    CheckTensor,
    WithFakeContext,
)

_RESULT: Final = Value("result")


def tensor_plan(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RoutePlan:
    """Return the plan that calls `kernel` with tensors; `keys` is what a ``with_keyset`` kernel
    receives.
    """
    first = (("KEYS", keys),) if kernel.with_keyset else ()
    checks = _checks(op, kernel)
    arguments = op.schema.arguments
    if not takes_all_arguments(kernel, op.schema):
        return _plan(op, _call_without_defaults(op, kernel, first), *checks)
    positional = _values([a for a in arguments if not a.kwarg_only])
    keywords = tuple([(a.name, argument_value(a)) for a in arguments if a.kwarg_only])
    if not checks and not first and not keywords:
        return _plan(op, CallFunction(kernel.fn, positional, _RESULT))
    return _plan(op, CallTensorKernel(kernel.fn, first, positional, keywords, _RESULT), *checks)


def boxed_plan(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RoutePlan:
    """Return the plan that calls a backend fallback: it takes the operator, then the arguments."""
    given = (("KEYS", keys),) if kernel.with_keyset else ()
    first = (*given, ("OP", op.handle))
    return _plan(op, _call_without_defaults(op, kernel, first), *_checks(op, kernel))


def wrapped_plan(op: Operator, kernel: Kernel, autograd: Kernel | None = None) -> RoutePlan:
    """Return the plan that calls the fallback of wrapped tensors. It decides whether `autograd`, a
    kernel for the Autograd key that a library has registered, is called on them.
    """
    arguments = op.schema.arguments
    positional = _values([a for a in arguments if not a.kwarg_only])
    keywords = tuple([(a.name, argument_value(a)) for a in arguments if a.kwarg_only])
    call = kernel.fn
    if autograd is not None:
        call = partial(call, autograd=_without_defaults(op, autograd))
    checks = [] if autograd is None else _checks(op, autograd)
    return _plan(op, CallForWrapped(call, op.handle, positional, keywords, _RESULT), *checks)


def _without_defaults(op: Operator, kernel: Kernel) -> Callable[..., Any]:
    """Return a function of all arguments that calls `kernel` without those that equal their
    default.
    """
    strip = default_stripper(op.schema)

    def call(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        given, named = strip(*args, *kwargs.values())
        return kernel.fn(*given, **named)

    return call


def custom_plan(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RoutePlan:
    """Return the plan of a `custom_op`: a tensor kernel whose results are checked for memory shared
    with arguments.
    """
    plan = tensor_plan(op, kernel, keys)
    schema = op.schema
    if Tag.inplace in op.tags or Tag.out in op.tags:
        return plan
    if schema._is_view_op() or not any([each.is_tensor_like for each in schema.returns]):
        return plan
    tensors = [a for a in schema.arguments if a.is_tensor_like]
    is_one_tensor = [each.kind for each in schema.returns] == [TENSOR] and all(
        [a.kind in (TENSOR, OPTIONAL_TENSOR) for a in tensors]
    )
    check = partial(check_aliases, op, kernel)
    return plan.ending_with(CheckAliases(_RESULT, _values(tensors), check, is_one_tensor))


def fake_plan(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RoutePlan:
    """Return the plan of a fake kernel: a tensor kernel that may ask for its context with
    `get_ctx`.
    """
    plan = tensor_plan(op, kernel, keys)
    called = WithFakeContext(plan.steps, FakeImplCtx(op, kernel))
    if not any([each.is_tensor_like for each in op.schema.returns]):
        return plan.replaced(steps=(called,))
    return plan.replaced(steps=(called, CheckMeta(_RESULT, KernelResults(op, kernel).check_meta)))


def counting_plan(below: RoutePlan) -> RoutePlan:
    """Return `below` with the versions of the written arguments counted up before anything else."""
    written = [a for a in below.op.schema.arguments if a.is_write and a.is_tensor_like]
    return below.beginning_with(*[BumpVersion(argument_value(a), a.kind) for a in written])


def _plan(op: Operator, *steps: Step) -> RoutePlan:
    return RoutePlan(op, steps, (_RESULT,))


def _values(arguments: list[Argument]) -> tuple[Value, ...]:
    return tuple([argument_value(a) for a in arguments])


def _call_without_defaults(
    op: Operator, kernel: Kernel, first: tuple[tuple[str, object], ...]
) -> CallWithoutDefaults:
    arguments = _values(list(op.schema.arguments))
    return CallWithoutDefaults(kernel.fn, first, default_stripper(op.schema), arguments, _RESULT)


def _checks(op: Operator, kernel: Kernel) -> list[Step]:
    """Return the steps that check what a kernel returned; none, if it returns by the schema."""
    if kernel.returns_by_schema:
        return []
    results, returns = KernelResults(op, kernel), op.schema.returns
    checks: list[Step]
    if [each.kind for each in returns] == [TENSOR]:
        checks = [CheckTensor(_RESULT, results.tensor)]
    else:
        checks = [CheckReturns(_RESULT, results.by_schema)]
    if written := written_results(op):
        pairs = tuple([(number, argument_value(a)) for number, a in written])
        wrong = partial(wrong_identity, op, kernel)
        checks.append(CheckIdentity(_RESULT, pairs, len(returns) == 1, wrong))
    return checks


# -- which arguments a kernel is given -------------------------------------------------------------


def takes_all_arguments(kernel: Kernel, schema: FunctionSchema) -> bool:
    """Return whether a kernel may simply be given every argument, because its own defaults equal
    the schema's, or it was written for the schema.

    Otherwise it must be called as PyTorch calls it, with the arguments that equal their default
    left out, so that its own defaults win.
    """
    try:
        parameters = inspect.signature(kernel.fn).parameters
    except (TypeError, ValueError):
        return False
    names = list(parameters)
    if any([p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()]):
        # It hands on what it is given, by the schema's order and names.
        hands_on = kernel.is_our_own or getattr(kernel.fn, "hands_on", False)
        return hands_on or not any([a.has_default_value() for a in schema.arguments])
    positional = [a for a in schema.arguments if not a.kwarg_only]
    offset = 1 if kernel.with_keyset else 0
    if len(names) < offset + len(schema.arguments):
        return False
    for position, argument in enumerate(positional, offset):
        own = parameters[names[position]]
        if own.kind is own.KEYWORD_ONLY:
            return False
        if not kernel.is_our_own and not _same_default(own, argument):
            return False
    return all(
        [
            a.name in parameters and (kernel.is_our_own or _same_default(parameters[a.name], a))
            for a in schema.arguments
            if a.kwarg_only
        ]
    )


def _same_default(own: inspect.Parameter, argument: Argument) -> bool:
    return (
        own.default is own.empty
        or not argument.has_default_value()
        or equals_default(argument, own.default)
    )


def strip_defaults(schema: FunctionSchema, *values: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return a call's arguments without those equal to their default: trailing positional, and
    keyword-only ones.
    """
    return _known_stripper(schema)(*values)


def default_stripper(schema: FunctionSchema) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """Return the function that does so with the arguments of one schema."""
    arguments = schema.arguments
    defaults = [
        (a.default_value, default_of(a)) if a.has_default_value() else (_NONE, _NONE)
        for a in arguments
    ]
    count = sum([not a.kwarg_only for a in arguments])
    keywords = [(n, a.name, *defaults[n]) for n, a in enumerate(arguments) if a.kwarg_only]

    required = max([n for n, pair in enumerate(defaults[:count], 1) if pair[0] is _NONE], default=0)

    def strip_defaults(*values: Any) -> tuple[list[Any], dict[str, Any]]:
        given = list(values[:count])
        while len(given) > required:
            written, received = defaults[len(given) - 1]
            value = given[-1]
            if not (value is written or _same(value, written) or _same(value, received)):
                break
            given.pop()
        named = {}
        for number, name, written, received in keywords:
            value = values[number]
            if not (value is written or _same(value, written) or _same(value, received)):
                named[name] = value
        return given, named

    return strip_defaults


_known_stripper = lru_cache(maxsize=256)(default_stripper)

_NONE: Final = object()
"""Stands for the default of an argument without one: no value is the same."""


def equals_default(argument: Argument, value: object) -> bool:
    """Return whether `value` is the default of an argument, as written in the schema or as a kernel
    receives it.
    """
    if not argument.has_default_value():
        return False
    return _same(value, argument.default_value) or _same(value, default_of(argument))


def _same(value: object, default: object) -> bool:
    if value is default:
        return True
    if default is _NONE:
        return False
    if isinstance(value, list | tuple):
        return isinstance(default, list | tuple) and tuple(value) == tuple(default)
    return type(value) is type(default) and bool(value == default)

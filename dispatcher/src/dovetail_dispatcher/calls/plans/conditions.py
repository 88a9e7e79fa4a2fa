"""Plans of calls that kernels with conditions may take.

A kernel with a condition stands before the kernel that the table has in force for a backend. The
condition is asked first of all, before a graph is recorded: a call that it is false for runs the
steps that it would run without the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dovetail_kernel import (
    DispatchKey,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    full_after,
)
from dovetail_kernel.signature import PYTHON_SCALAR

from ...table import registry
from ...table.computed_table import compute, conditioned, highest
from ...table.kernels import ARRAY, Kernel
from ..missing_kernels import load_missing_kernels
from ..plan import CallFunction, Operand, RoutePlan, Value, argument_value
from ..printer import build
from ..steps.arguments import NativeDtype
from ..steps.conditions import IfCondition
from ..templates.entry import numbers_allowed
from .schema_facts import facts_of

if TYPE_CHECKING:
    from .composition import Composition

    Compose = Callable[[Composition, DispatchKey | None], RoutePlan]

_RESULT = Value("result")


def conditioned_kernels(composition: Composition, chosen: DispatchKey | None) -> tuple[Kernel, ...]:
    """Return the kernels with conditions that a call is offered to, in order."""
    op, keys = composition.op, composition.keys
    while True:
        if chosen is None:
            chosen, entry = highest(op, keys, registry.fallbacks)
        else:
            entry = compute(op, chosen, registry.fallbacks)
        if chosen.functionality == "Dense":
            return conditioned(op, chosen)
        match "" if entry.kernel is None else entry.kernel.convention:
            case "formula" | "autograd fallback":
                below = after_autograd_keyset
            case "count writes":
                below = after_ADInplaceOrView_keyset
            case "passed on":
                below = full_after(chosen)
            case _ if entry.tag == "math kernel" and may_replace_composite(composition):
                below = after_autograd_keyset
            case _:
                return ()
        keys, chosen = keys & below, None


def may_replace_composite(composition: Composition) -> bool:
    """Return whether a kernel of a backend may stand for a composite that has no derivative of its
    own: where nothing is recorded, and no view is made.
    """
    return not composition.records and not composition.op.schema.shows_argument


def asking_plan(
    composition: Composition,
    chosen: DispatchKey | None,
    kernels: Sequence[Kernel],
    compose: Compose,
) -> RoutePlan:
    """Return the plan of a call that asks the conditions of `kernels` first, in order.

    Parameters
    ----------
    composition, chosen
        The call, as for `compose`.
    compose
        Returns the plan of the call without conditions, or through the kernel
        ``composition.through``.
    """
    base = None
    try:
        plan = base = compose(composition, chosen)
    except RuntimeError:
        plan = _raising(composition, chosen, compose)
    for kernel in reversed(kernels):
        try:
            taken = compose(composition.replaced(through=kernel), chosen)
        except RuntimeError:
            if base is not None:
                raise
            continue  # no kernel takes arguments of these classes and dtypes
        plan = ask(composition, kernel, taken, plan)
    return plan


def ask(
    composition: Composition, kernel: Kernel, taken: RoutePlan, otherwise: RoutePlan
) -> RoutePlan:
    """Return the plan that asks the condition of `kernel`, then goes one of two ways.

    The predicate gets what the kernel gets: tensors, or for an array kernel the arrays of the
    tensors, before they are promoted; a Python number stays one.
    """
    op, key = composition.op, composition.key
    assert kernel.when is not None
    arguments = [a for a in op.schema.arguments if kernel.convention != ARRAY or not a.is_out]
    given: dict[str, Operand] = {a.name: argument_value(a) for a in arguments}
    if kernel.convention == ARRAY:
        facts = facts_of(op.schema)
        given |= facts.given
        if kernel.key.backend is not None:
            dtypes = kernel.key.backend.arrays.asked_dtypes
            for each in facts.dtypes:
                given[each.name] = NativeDtype(
                    argument_value(each), dtypes, each.kind.endswith("?")
                )
        if key & PYTHON_SCALAR and numbers_allowed(op.schema, op.promote):
            number = [a for a in facts.tensors if a.name in op.promote][1]
            given[number.name] = argument_value(number)
    step = IfCondition(
        kernel.when,
        tuple([given[a.name] for a in arguments if not a.kwarg_only]),
        tuple([(a.name, given[a.name]) for a in arguments if a.kwarg_only]),
        taken,
        build,
        otherwise.results,
        otherwise.steps,
    )
    return RoutePlan(op, (step,), otherwise.results)


def condition_of(composition: Composition, kernel: Kernel) -> Callable[..., bool]:
    """Return the condition of `kernel` as a function of all arguments of a call."""

    def answer(truth: bool) -> RoutePlan:
        return RoutePlan(composition.op, (CallFunction(lambda *_: truth, (), _RESULT),), (_RESULT,))

    return build(ask(composition, kernel, answer(True), answer(False)))


def _raising(composition: Composition, chosen: DispatchKey | None, compose: Compose) -> RoutePlan:
    """Return the plan of a call that raises what composing it does."""

    def refuse(*args: Any) -> Any:
        load_missing_kernels(composition.op, composition.key)
        return build(compose(composition, chosen))(*args)

    arguments = tuple([argument_value(each) for each in composition.op.schema.arguments])
    return RoutePlan(composition.op, (CallFunction(refuse, arguments, _RESULT),), (_RESULT,))

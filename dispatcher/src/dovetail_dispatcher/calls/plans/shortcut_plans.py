"""Plans of calls that may take the shortcut of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import DispatchKeySet, backend_key, backends_of_signature
from dovetail_kernel.keys import PYTHON_DISPATCH, PYTHON_KEYS
from dovetail_kernel.signature import WRAPPED_BIT

from ...schema import default_of
from ...table import registry
from ...table.shortcuts import Constant, Shortcut
from ..plan import RoutePlan, argument_value
from ..printer import build
from ..steps.shortcuts import ConstantOperand, TakeShortcut

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...table.operator import Operator
    from .composition import Composition

    Compose = Callable[[Operator, DispatchKeySet | None], RoutePlan]


def shortcut_plan(
    composition: Composition, shortcut: Shortcut, plan: RoutePlan, compose: Compose
) -> RoutePlan:
    """Return `plan` with the shortcut of its kernel before it, where no mode, transform or trace
    sees the calls that the kernel makes.

    Parameters
    ----------
    compose
        Returns the plan of the same call of an operator, at some keys; None: at those of the call.
    """
    op, key, now = composition.op, composition.key, composition.state
    backends = backends_of_signature(key)
    is_seen = now.traced or now.transformed or now.function_modes
    if is_seen or key & (PYTHON_DISPATCH | WRAPPED_BIT) or len(backends) != 1:
        return plan
    (backend,) = backends
    if composition.keys & PYTHON_KEYS or not backend.is_device or len(plan.results) != 1:
        return plan
    arguments = {each.name: argument_value(each) for each in op.schema.arguments}
    given = shortcut.given
    taken: RoutePlan | None = None
    try:
        if shortcut.operator == "":
            given = tuple(arguments)
            taken = compose(op, DispatchKeySet(backend_key("Dense", backend)))
        elif shortcut.operator is not None:
            name, _, overload = shortcut.operator.partition(".")
            other = registry.find(name, overload)
            if other is None:  # a selective build leaves operators out
                return plan
            if op not in other.callers:
                other.callers += (op,)
            taken = compose(other, None)
    except RuntimeError:  # no kernel takes it: if the call needs one, the kernel above says so
        return plan
    defaults = [(arguments[a.name], default_of(a)) for a in op.schema.arguments]
    return RoutePlan(
        op,
        (
            TakeShortcut(
                arguments[op.schema.arguments[0].name],
                tuple([each for each in defaults if each[0].name in shortcut.defaults]),
                backend.arrays.is_contiguous if shortcut.is_contiguous else None,
                shortcut.other_ndim,
                tuple([(arguments[name], count) for name, count in shortcut.ndims]),
                taken,
                build,
                tuple(
                    [
                        ConstantOperand(each.value)
                        if isinstance(each, Constant)
                        else arguments[each]
                        for each in given
                    ]
                ),
                plan.results[0],
                plan.steps,
            ),
        ),
        plan.results,
    )

"""Routes: from a call's key to the callable that the call runs.

On a miss the resolver derives the public DispatchKeySet (PyTorch's: always with Autograd), asks the
dispatch table for the kernel of the highest key, and composes a route through it and whatever lies
below. Routes exist per call key and only while nothing that they were made from changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail_kernel import DispatchKeySet, DispatchState, dispatch_state, state
from dovetail_kernel.signature import OVERRIDES

from ..compiled_code import load_compiled_code
from ..sockets import TRACE_LAYER
from ..table import registry
from ..table.operator import Operator
from . import plans
from .missing_kernels import load_missing_kernels

MAX_ROUTES: Final = 1024
"""An operator with more routes than this starts anew: keys are few in practice, and memory must
stay bounded.
"""


def route_of(op: Operator, key: int) -> Callable[..., Any]:
    """Return the route of `op` for a call with `key` in the present state, composing it if there is
    none.
    """
    route = op.routes.get(key)
    return route if route is not None else _new_route(op, key, None)


def redispatch_route(op: Operator, keys: DispatchKeySet, key: int) -> Callable[..., Any]:
    """Return the route of `op` that begins at exactly `keys`: no included or excluded keys, no
    fallthrough masking.
    """
    route = op.redispatch_routes.get(keys, {}).get(key)
    return route if route is not None else _new_route(op, key, keys)


def _new_route(op: Operator, key: int, keys: DispatchKeySet | None) -> Callable[..., Any]:
    """Return a route that is composed, with the kernels that a plugin offers if there are none."""
    load_compiled_code()  # before the lock of the table is taken, as all plugins
    try:
        return _kept_route(op, key, keys)
    except NotImplementedError:
        if not load_missing_kernels(op, key):
            raise
        return _kept_route(op, key, keys)


def _kept_route(op: Operator, key: int, keys: DispatchKeySet | None) -> Callable[..., Any]:
    with registry.lock:
        routes = op.routes if keys is None else op.redispatch_routes.setdefault(keys, {})
        route = routes.get(key)
        if route is None:
            if keys is None:  # tensors that override functions were asked before
                route = _composed(op, key & ~OVERRIDES, dispatch_state(state()), None)
            else:
                route = _composed(op, key, dispatch_state(), keys)
            if len(routes) >= MAX_ROUTES:
                routes.clear()
            routes[key] = route
    return route


def _composed(
    op: Operator, key: int, now: DispatchState, keys: DispatchKeySet | None
) -> Callable[..., Any]:
    """Return the route of a call, or of a redispatch to `keys`; recorded, if the task is traced."""
    if keys is None:
        plan = partial(
            plans.compose_whole, plans.Composition(op, plans.call_keys(key, now), key, now)
        )
    else:
        redispatch = plans.Composition(op, keys, key & ~OVERRIDES, now)
        plan = partial(plans.compose_whole, redispatch, keys.highestPriorityTypeId())
    if now.traced:
        return plans.build(TRACE_LAYER.plug(plan, op, key, now, keys))
    return plans.build(plan())

"""Composing routes: from a call's key to the callable that the call runs.

On a miss the resolver derives the public DispatchKeySet (PyTorch's: always with Autograd), asks the
dispatch table for the kernel of the highest key, and composes a route through it and whatever lies
below. Routes exist per call key and only while nothing that they were made from changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from dovetail_kernel import (
    Backend,
    DispatchKey,
    DispatchKeySet,
    DispatchState,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    backend_key,
    backends_of_signature,
    dispatch_state,
    plugin_manager,
    state,
)
from dovetail_kernel.keys.interception import PYTHON_DISPATCH
from dovetail_kernel.plugins.entries import KERNELS
from dovetail_kernel.types.signature import GRAD, NO_GRAD, NORMAL, OVERRIDES

from ..interception.mode_stacks import PYTHON_KEYS
from ..table import registry
from ..table.computed_table import compute, highest, without_fallthrough
from ..table.derivative_formula import PythonFormula
from ..table.kernels import ARRAY, BOXED, FALLTHROUGH, FORMULA, TENSOR, Kernel
from ..table.operator import Operator
from .dispatch_errors import ambiguous_error, missing_kernel_error
from .templates import (
    RouteText,
    array_route,
    below_autograd_route,
    boxed_route,
    counting_route,
    custom_route,
    fake_route,
    tensor_route,
    wrapped_route,
)

MAX_ROUTES: Final = 1024
"""An operator with more routes than this starts anew: keys are few in practice, and memory must
stay bounded.
"""

AUTOGRAD_FALLBACK: Final = "autograd fallback"
"""Convention of the fallback at the Autograd keys: nothing is known of how to differentiate the
operator.
"""


@dataclass(frozen=True, slots=True)
class Composition:
    """What a route is being composed for.

    Attributes
    ----------
    op
        The operator.
    keys
        The dispatch keys of the call from here down.
    key
        The call key: the or-ed signatures of the arguments and the state.
    state
        The dispatch state.
    """

    op: Operator
    keys: DispatchKeySet
    key: int
    state: DispatchState

    def below(self, keys: DispatchKeySet) -> Composition:
        """Return the same call restricted to the keys in `keys`."""
        return Composition(self.op, self.keys & keys, self.key, self.state)

    @property
    def records(self) -> bool:
        """Whether a graph is recorded: an argument may require grad, and grad mode is on."""
        return bool(self.key & GRAD) and not self.key & NO_GRAD

    @property
    def views(self) -> bool:
        """Whether the results are to know whose views they are: not those of inference tensors."""
        return self.op.schema._is_view_op() and DispatchKey.ADInplaceOrView in self.keys


AutogradLayer = Callable[[Composition, Kernel], RouteText]
ViewLayer = Callable[[RouteText, Operator, int], None]
_autograd_layer: AutogradLayer | None = None
FusionLayer = Callable[[Composition, Kernel], "RouteText | None"]
_view_layer: ViewLayer | None = None
_fusion_layer: FusionLayer | None = None


def set_autograd_layer(
    layer: AutogradLayer, view_layer: ViewLayer, fusion_layer: FusionLayer | None = None
) -> None:
    """Install what composes the derived Autograd kernels and the Autograd fallback, where a graph
    is recorded.

    Parameters
    ----------
    layer
        Composes the route of a call.
    view_layer
        Lets a route of a call that autograd is excluded from, in inference mode, note whose views
        its results are.
    fusion_layer
        Composes the route of a composite that is recorded as one call, or returns None.
    """
    global _autograd_layer, _view_layer, _fusion_layer
    with registry.lock:
        _fusion_layer = fusion_layer
        _autograd_layer = layer
        _view_layer = view_layer
        registry.forget_all_routes()


def route_of(op: Operator, key: int) -> Callable[..., Any]:
    """Return the route of `op` for a call with `key` in the present state, composing it if there is
    none.
    """
    route = op.routes.get(key)
    if route is not None:
        return route
    try:
        return _new_route(op, key)
    except NotImplementedError:
        if not _load_kernels(op, key):
            raise
        return _new_route(op, key)


def _new_route(op: Operator, key: int) -> Callable[..., Any]:
    with registry.lock:
        route = op.routes.get(key)
        if route is None:
            if len(op.routes) >= MAX_ROUTES:
                op.routes.clear()
            route = op.routes[key] = compose_call(op, key)
    return route


def _load_kernels(op: Operator, key: int) -> bool:
    """Load what plugins offer as kernels of the operator's namespace on the backends of a call
    without kernel.

    This must not hold the lock of the table: plugins that are being loaded by another thread wait
    for it.
    """
    loaded = [
        plugin_manager.load_kernels(op.namespace, each.name)
        for each in backends_of_signature(key)
        if plugin_manager.provides(KERNELS, f"{op.namespace}.{each.name}")
    ]
    return any(loaded)


def redispatch_route(op: Operator, keys: DispatchKeySet, key: int) -> Callable[..., Any]:
    """Return the route of `op` that begins at exactly `keys`: no included or excluded keys, no
    fallthrough masking.
    """
    routes = op.redispatch_routes.get(keys, {})
    cached = routes.get(key)
    if cached is not None:
        return cached
    with registry.lock:
        routes = op.redispatch_routes.setdefault(keys, routes)
        now = dispatch_state()
        route = (
            _traced(op, key, now, keys) if now.traced else _compose_redispatch(keys, op, key, now)
        )
        if len(routes) >= MAX_ROUTES:
            routes.clear()
        routes[key] = route
    return route


def compose_call(op: Operator, key: int) -> Callable[..., Any]:
    """Return a new route of `op` for a call with `key` in the present state.

    Whoever overrides functions has had a say by now, so overriding tensors are tensors like others.
    """
    now = dispatch_state(state())
    key &= ~OVERRIDES
    return _traced(op, key, now) if now.traced else _compose_call(op, key, now)


def _compose_call(op: Operator, key: int, now: DispatchState) -> Callable[..., Any]:
    return compose(Composition(op, call_keys(key, now), key, now)).build()


def _compose_redispatch(
    keys: DispatchKeySet, op: Operator, key: int, now: DispatchState
) -> Callable[..., Any]:
    chosen = keys.highestPriorityTypeId()
    entry = compute(op, chosen, registry.fallbacks)
    if entry.kernel is not None and entry.kernel.is_fallthrough:
        raise RuntimeError(
            "fallthrough_kernel was executed but it should have been short-circuited: "
            f"{op.qualified_name} was "
            f"redispatched to {keys}, whose highest key {chosen.name} falls through. Take that "
            "key out of the set."
        )
    return compose(Composition(op, keys, key & ~OVERRIDES, now), chosen).build()


def _traced(
    op: Operator, key: int, now: DispatchState, keys: DispatchKeySet | None = None
) -> Callable[..., Any]:
    """Return the route of a call, or of a redispatch to `keys`, that is recorded by the trace of
    this task.
    """
    from ..inspection.tracing import traced_route

    compose_route = _compose_call if keys is None else partial(_compose_redispatch, keys)
    return traced_route(partial(compose_route, op, key, now), op, key, now, keys)


def compose(composition: Composition, chosen: DispatchKey | None = None) -> RouteText:
    """Return the text of the route for a composition, through the kernel of its highest key."""
    op = composition.op
    fallbacks = registry.fallbacks
    if chosen is None:
        chosen, entry = highest(op, composition.keys, fallbacks)
    else:
        entry = compute(op, chosen, fallbacks)
    kernel = entry.kernel
    if kernel is None:
        if entry.tag.startswith("ambiguous"):
            raise ambiguous_error(op)
        raise missing_kernel_error(op, chosen, fallbacks)
    return compose_through(composition, chosen, kernel)


def compose_through(composition: Composition, chosen: DispatchKey, kernel: Kernel) -> RouteText:
    """Return the text of the route for a composition through `kernel`, which stands at the key
    `chosen`.
    """
    op = composition.op
    fallbacks = registry.fallbacks
    match kernel.convention:
        case "array":
            inference = composition.state.inference
            text = array_route(
                op, kernel, _backend_of(composition, chosen), composition.key, inference=inference
            )
            if inference and composition.views and _view_layer is not None:
                _view_layer(text, op, composition.key)
            return text
        case "tensor":
            fused = fused_route(composition, kernel)
            if fused is not None:
                return fused
            return tensor_route(op, kernel, without_fallthrough(op, composition.keys, fallbacks))
        case "fake":
            return fake_route(op, kernel, without_fallthrough(op, composition.keys, fallbacks))
        case "custom":
            return custom_route(op, kernel, without_fallthrough(op, composition.keys, fallbacks))
        case "count writes":
            return counting_route(op, compose(composition.below(after_ADInplaceOrView_keyset)))
        case "boxed":
            return boxed_route(op, kernel, without_fallthrough(op, composition.keys, fallbacks))
        case "wrapped":
            return wrapped_route(op, kernel)
        case "formula" if (
            composition.records and isinstance(op.formula, PythonFormula) and not op.schema.returns
        ):
            return below_autograd_route(compose(composition.below(after_autograd_keyset)))
        case "formula" | "autograd fallback":
            if _autograd_layer is not None and (composition.records or composition.views):
                return _autograd_layer(composition, kernel)
            return compose(composition.below(after_autograd_keyset))
    raise AssertionError(f"unknown kernel convention {kernel.convention}")


def fused_route(composition: Composition, kernel: Kernel) -> RouteText | None:
    """Return the route of a composite that is computed and recorded as one call; None if this call
    is not.
    """
    if composition.op.fusion is None or _fusion_layer is None or not composition.records:
        return None
    return _fusion_layer(composition, kernel)


def call_keys(key: int, now: DispatchState) -> DispatchKeySet:
    """Return the dispatch keys of a call: ``(keys of the arguments | included) - excluded``."""
    return (argument_keys(key) | now.included) - now.excluded


def argument_keys(signature: int) -> DispatchKeySet:
    """Return the dispatch keys of a tensor, or of several whose signatures are or-ed."""
    keys = DispatchKeySet()
    for backend in backends_of_signature(signature):
        keys = keys | _keys_of_backend(backend, bool(signature & NORMAL))
    return keys | PYTHON_KEYS if signature & PYTHON_DISPATCH else keys


def _keys_of_backend(backend: Backend, normal: bool) -> DispatchKeySet:
    keys = DispatchKeySet.of(backend_key("Dense", backend))
    if autocast := DispatchKey.__members__.get(f"Autocast{backend.key_name}"):
        keys = keys.add(autocast)
    if normal:
        keys = keys.add(DispatchKey.ADInplaceOrView).add(
            backend_key("AutogradFunctionality", backend)
        )
    return keys


def _backend_of(composition: Composition, chosen: DispatchKey) -> Backend:
    """Return the backend whose arrays an array kernel gets: that of its key, or of the highest
    argument.
    """
    backend = chosen.backend or backends_of_signature(composition.key)[-1]
    assert isinstance(backend, Backend)
    return backend


__all__ = [
    "ARRAY",
    "AUTOGRAD_FALLBACK",
    "BOXED",
    "FALLTHROUGH",
    "FORMULA",
    "TENSOR",
    "Composition",
    "argument_keys",
    "call_keys",
    "compose",
    "compose_call",
    "compose_through",
    "fused_route",
    "redispatch_route",
    "route_of",
    "set_autograd_layer",
]

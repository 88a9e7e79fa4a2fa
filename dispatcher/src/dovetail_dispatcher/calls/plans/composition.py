"""Composing the plan of a call: the kernel of its highest key, and the layers above and below.

Each layer takes a plan and returns one. Those of autograd fill sockets.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Final

from dovetail_kernel import (
    Backend,
    DispatchKey,
    DispatchKeySet,
    DispatchState,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    backend_key,
    backends_of_signature,
    full_after,
)
from dovetail_kernel.keys import AUTOGRAD_KEYS, PYTHON_DISPATCH, PYTHON_KEYS
from dovetail_kernel.signature import GRAD, NO_GRAD, NORMAL, WRAPPED_BIT

from ...record import Record
from ...schema.function_schema import TENSOR, TENSOR_LIST
from ...sockets import AUTOGRAD_LAYERS, GUARD_LAYER
from ...table import registry
from ...table.computed_table import compute, highest, without_fallthrough
from ...table.kernels import FALLTHROUGH, WRAPPED, Kernel
from ...table.operator import Operator
from ...table.shortcuts import shortcuts_of
from ..dispatch_errors import ambiguous_error, fallthrough_error, missing_kernel_error
from ..plan import RoutePlan
from ..steps.results import MarkInside
from .array_plans import array_plan
from .conditions import asking_plan, conditioned_kernels
from .shortcut_plans import shortcut_plan
from .tensor_plans import (
    boxed_plan,
    counting_plan,
    custom_plan,
    fake_plan,
    tensor_plan,
    wrapped_plan,
)

_AUTOGRAD: Final = DispatchKey.Autograd


class Composition(Record):
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
    notes_views
        Whether it is noted below whose views the results are; None: if ADInplaceOrView is among the
        keys.
    through
        The kernel with a condition that the call goes through; None: that of the table.
    """

    op: Operator
    keys: DispatchKeySet
    key: int
    state: DispatchState
    notes_views: bool | None = None
    through: Kernel | None = None

    def below(self, keys: DispatchKeySet, **changes: bool) -> Composition:
        """Return the same call restricted to the keys in `keys`, with other fields replaced."""
        return self.replaced(keys=self.keys & keys, **changes)

    @property
    def records(self) -> bool:
        """Whether a graph is recorded: an argument may require grad, and grad mode is on."""
        return bool(self.key & GRAD) and not self.key & NO_GRAD

    @property
    def views(self) -> bool:
        """Whether the results are to know whose views they are: not those of inference tensors,
        and not below ADInplaceOrView.
        """
        if not self.key & NORMAL or not self.op.schema.shows_argument:
            return False
        notes = self.notes_views
        return DispatchKey.ADInplaceOrView in self.keys if notes is None else notes


# -- layers ----------------------------------------------------------------------------------------


def compose_whole(composition: Composition, chosen: DispatchKey | None = None) -> RoutePlan:
    """Return the plan of a call as it is made: what `compose` does, after the conditions of kernels
    are asked; guarded inside of a transform.
    """
    asked: tuple[Kernel, ...] = ()
    for op in (composition.op, composition.op.variant_of):  # no call: each miss comes here
        for stack in () if op is None else op.kernels.values():
            if stack[0].when is not None:
                asked = conditioned_kernels(composition, chosen)
    if asked:
        plan = asking_plan(composition, chosen, asked, compose)
    else:
        plan = compose(composition, chosen)
    if composition.state.transformed:
        return GUARD_LAYER.plug(composition.op, plan)
    return plan


def compose(composition: Composition, chosen: DispatchKey | None = None) -> RoutePlan:
    """Return the plan of a call through the kernel of its highest key, or of the key `chosen`."""
    op = composition.op
    fallbacks = registry.fallbacks
    if chosen is None:
        chosen, entry = highest(op, composition.keys, fallbacks)
    else:
        entry = compute(op, chosen, fallbacks)
    kernel = entry.kernel
    if composition.through is not None:
        if chosen is composition.through.key:
            return compose_through(composition, chosen, composition.through)
        if entry.tag == "math kernel":
            return compose(composition.below(after_autograd_keyset))
    if kernel is None:
        if entry.tag.startswith("ambiguous"):
            raise ambiguous_error(op)
        raise missing_kernel_error(op, chosen, fallbacks)
    if kernel.convention is FALLTHROUGH:
        raise fallthrough_error(op, composition.keys, chosen)
    return compose_through(composition, chosen, kernel)


def compose_through(composition: Composition, chosen: DispatchKey, kernel: Kernel) -> RoutePlan:
    """Return the plan of a call through `kernel`, which stands at the key `chosen`."""
    op = composition.op
    match kernel.convention:
        case "array":
            return _marked(composition, _through_arrays(composition, chosen, kernel))
        case "tensor":
            fused = fused_plan(composition, kernel)
            if fused is not None:
                return _marked(composition, fused)
            wrapped = _fallback_above(composition, chosen, kernel)
            if wrapped is not None:
                return wrapped_plan(op, wrapped, kernel)
            plan = tensor_plan(op, kernel, _passed(composition, kernel))
            for shortcut in reversed(shortcuts_of(kernel.fn)):
                same_call = partial(_same_call, composition)
                plan = shortcut_plan(composition, shortcut, plan, same_call)
            return plan
        case "fake":
            return fake_plan(op, kernel, _passed(composition, kernel))
        case "custom":
            return custom_plan(op, kernel, _passed(composition, kernel))
        case "boxed":
            plan = boxed_plan(op, kernel, _passed(composition, kernel))
            # What a mode returns is a view where Autograd, which is left out, would say so: not if
            # it falls through. What stands in the place of Autograd returns what it returns.
            if composition.views and chosen in after_ADInplaceOrView_keyset:
                keys = argument_keys(composition.key) & AUTOGRAD_KEYS
                if without_fallthrough(op, keys, registry.fallbacks) != keys:
                    return plan
                return AUTOGRAD_LAYERS.plug.note_views(composition, plan)
            return plan
        case "wrapped":
            return wrapped_plan(op, kernel)
        case "count writes":
            return counting_plan(compose(composition.below(after_ADInplaceOrView_keyset)))
        case "passed on":
            noted = composition.views
            return compose(composition.below(full_after(chosen), notes_views=noted))
        case "formula" | "autograd fallback":
            return _through_autograd(composition, kernel)
    raise AssertionError(f"unknown kernel convention {kernel.convention}")


def _fallback_above(composition: Composition, chosen: DispatchKey, kernel: Kernel) -> Kernel | None:
    """Return the fallback of wrapped tensors where `kernel` is one that a library has for their
    Autograd key; None for any other call.
    """
    if not composition.key & WRAPPED_BIT or kernel.with_keyset:
        return None
    if chosen.functionality != "AutogradFunctionality" or kernel.key not in (_AUTOGRAD, chosen):
        return None
    below = composition.keys & after_autograd_keyset
    fallback = highest(composition.op, below, registry.fallbacks)[1].kernel
    return fallback if fallback is not None and fallback.convention == WRAPPED else None


def _through_arrays(composition: Composition, chosen: DispatchKey, kernel: Kernel) -> RoutePlan:
    inference = composition.state.inference
    # The arrays are those of the backend of the key, or of the highest argument.
    backend = chosen.backend or backends_of_signature(composition.key)[-1]
    assert isinstance(backend, Backend)
    plan = array_plan(composition.op, kernel, backend, composition.key, inference=inference)
    return AUTOGRAD_LAYERS.plug.note_views(composition, plan) if composition.views else plan


def _marked(composition: Composition, plan: RoutePlan) -> RoutePlan:
    """Return the plan of a call that makes tensors of arrays; inside of a transform, with a mark on
    those whose memory is new.
    """
    if not composition.state.transformed:
        return plan
    returns = composition.op.schema.returns
    kinds = [each.kind for each in returns]
    if kinds == [TENSOR_LIST] and returns[0].alias_info is None:
        return plan.ending_with(MarkInside(plan.results, is_list=True))
    new = [
        result
        for result, each, kind in zip(plan.results, returns, kinds, strict=False)
        if kind == TENSOR and each.alias_info is None
    ]
    return plan.ending_with(MarkInside(tuple(new))) if new else plan


def _through_autograd(composition: Composition, kernel: Kernel) -> RoutePlan:
    below = compose(composition.below(after_autograd_keyset, notes_views=False))
    if composition.records or composition.views:
        return AUTOGRAD_LAYERS.plug.record(composition, kernel, below)
    return below


def _same_call(composition: Composition, op: Operator, keys: DispatchKeySet | None) -> RoutePlan:
    """Return the plan of a call of `op` with the key and state of another call."""
    key, now = composition.key, composition.state
    if keys is None:
        return compose_whole(Composition(op, call_keys(key, now), key, now))
    return compose_whole(Composition(op, keys, key, now), keys.highestPriorityTypeId())


def fused_plan(composition: Composition, kernel: Kernel) -> RoutePlan | None:
    """Return the plan of a composite that is computed, and recorded, as one call; None if this call
    is not.
    """
    if composition.op.fusion is None:
        return None
    return AUTOGRAD_LAYERS.plug.fuse(composition, kernel)


# -- keys ------------------------------------------------------------------------------------------


def call_keys(key: int, now: DispatchState) -> DispatchKeySet:
    """Return the dispatch keys of a call: ``(keys of the arguments | included) - excluded``.

    Modes and classes, and the device that a call names, are not asked of a call on wrapped tensors,
    but of the physical calls that it makes.
    """
    keys = (argument_keys(key) | now.included) - now.excluded
    return keys - _OF_PHYSICAL_CALLS if key & WRAPPED_BIT else keys


_OF_PHYSICAL_CALLS: Final = PYTHON_KEYS | DispatchKeySet.of(DispatchKey.BackendSelect)


def argument_keys(signature: int) -> DispatchKeySet:
    """Return the dispatch keys of a tensor, or of several whose signatures are or-ed."""
    return _keys_of_backends(
        backends_of_signature(signature),
        bool(signature & NORMAL),
        bool(signature & PYTHON_DISPATCH),
    )


@lru_cache(maxsize=256)
def _keys_of_backends(backends: tuple[Backend, ...], normal: bool, python: bool) -> DispatchKeySet:
    keys = DispatchKeySet()
    for backend in backends:
        keys = keys | _keys_of_backend(backend, normal)
    return keys | PYTHON_KEYS if python else keys


def _keys_of_backend(backend: Backend, normal: bool) -> DispatchKeySet:
    keys = DispatchKeySet.of(backend_key("Dense", backend))
    if autocast := DispatchKey.__members__.get(f"Autocast{backend.key_name}"):
        keys = keys.add(autocast)
    if normal:
        keys = keys.add(DispatchKey.ADInplaceOrView).add(
            backend_key("AutogradFunctionality", backend)
        )
    return keys


def _passed(composition: Composition, kernel: Kernel) -> DispatchKeySet:
    """Return the keys that a kernel is given, if it is a ``with_keyset`` kernel."""
    if not kernel.with_keyset:
        return composition.keys
    return without_fallthrough(composition.op, composition.keys, registry.fallbacks)

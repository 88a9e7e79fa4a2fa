"""Random operators inside of a vmap, those without batched arguments too: kernels at
FuncTorchVmapMode.

The key is in force inside of every `VmapLevel`. A call with batched arguments goes on to the
interpreter, whose rule does as `randomness` says; one without them would not come there, and is
given to the rule from here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from threading import Lock
from typing import Any

from dovetail_dispatcher import Kernel, Operator, transaction
from dovetail_dispatcher.registration import load_batching_rules
from dovetail_dispatcher.sockets import RANDOM_STATES
from dovetail_dispatcher.table import TENSOR, add_kernel, registry
from dovetail_kernel import DispatchKey, renewed_after_fork, set_state, state
from dovetail_kernel.signature import WRAPPED_BIT

from ...graph.engine_ops import operator
from ..wrapped.levels import active_levels
from ..wrapped.wrapped_calls import present, tensors_in
from .batch_interpreter import VmapLevel, outside_vmap_mode

_lock = renewed_after_fork(Lock())
_installed = False


@cache
def install() -> None:
    """Register the kernels, once."""
    global _installed
    with _lock, transaction():
        if _installed:
            return  # another thread was faster
        for op in list(registry.all_operators()):
            if op.namespace == "aten" and op.kind == "random" and op.variant_of is None:
                kernel = Kernel(_Call(op), DispatchKey.FuncTorchVmapMode, TENSOR, f"{__file__}:1")
                add_kernel(op.name, op.overload, kernel, [])
        _installed = True


class _Call:
    """The kernel of one operator."""

    def __init__(self, op: Operator) -> None:
        self._op = op

    @property
    def __signature__(self) -> inspect.Signature:
        # Parameters without defaults of their own: the route hands over every argument.
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [inspect.Parameter(a.name, kinds[a.kwarg_only]) for a in self._op.schema.arguments]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        level = [each for each in active_levels() if isinstance(each, VmapLevel)][-1]
        op = self._op.handle
        is_batched = any(
            [
                tensor._signature & WRAPPED_BIT and tensor.array.level.depth >= level.depth
                for tensor in tensors_in(args, kwargs)
            ]
        )
        rule = self._op.batching_rule
        if is_batched or rule is None:
            if not is_batched and level.info.randomness == "different" and args[2] and args[1] > 0:
                # dropout is made of an operator that writes: it needs a batch to write into
                tensor = args[0]
                args = (level.wrap(_repeated(tensor, level.info.batch_size)), *args[1:])
            before = state()
            try:
                set_state(outside_vmap_mode(before))
                return op(*args, **kwargs)
            finally:
                set_state(before)
        run = partial(rule.function, level.info, [None] * len(args), *args, **kwargs)
        outputs, out_dims = level.run_outside(run)
        return present(op, args, kwargs, level.batched(outputs, out_dims))


def _repeated(tensor: Any, size: int) -> Any:
    return operator("expand", "default")(
        operator("unsqueeze", "default")(tensor, 0), (size, *tensor.array.shape)
    )


def repeated() -> Callable[[], None]:
    """Return what makes the random generators draw again what they draw from now on."""
    load_batching_rules()  # with which the savers come
    restore = [save() for save in RANDOM_STATES.plugs]

    def restart() -> None:
        for each in restore:
            each()

    return restart

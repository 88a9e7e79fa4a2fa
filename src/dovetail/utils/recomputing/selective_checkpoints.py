"""Selective checkpoints: a policy chooses the operator results to save."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from dovetail_aten import Tensor
from dovetail_dispatcher import TorchDispatchMode, ops

from .._pytree import tree_map


class CheckpointPolicy(Enum):
    """What a checkpoint does with the result of an operator: save it, recompute it, or save it in
    host memory. ``MUST`` and ``PREFER`` are equivalent here.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED: Final = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
_ON_THE_CPU: Final = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)

SAC_IGNORED_OPS: Final = {ops.aten.detach.default}
"""Operators that no policy is asked about."""


class SelectiveCheckpointContext:
    """Information about a call, for a policy.

    Attributes
    ----------
    is_recompute
        Always False: the policy is called in the first call, and the second call follows its
        decision.
    op_output
        The result.
    """

    def __init__(self, *, is_recompute: bool, op_output: object = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., "CheckpointPolicy | bool"]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[object], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Return the two contexts of a checkpoint that saves the results of some operators.

    Pass a function that calls this as `context_fn` to `checkpoint`, with ``use_reentrant=False``::

        context_fn = partial(create_selective_checkpoint_contexts, [dovetail.ops.aten.mm.default])

    Parameters
    ----------
    policy_fn_or_list
        ``policy(context, operator, *args, **kwargs)`` returns a `CheckpointPolicy`, or a bool:
        whether to save the result. A list of operators means: save the results of these.
    allow_cache_entry_mutation
        Allow a saved result to be modified before backward. Default: this is an error.

    Raises
    ------
    TypeError
        If `policy_fn_or_list` is neither.
    ValueError
        If the list contains anything but operator overloads.
    RuntimeError
        In backward, if a saved result was modified, or if backward runs a second time.
    """
    if isinstance(policy_fn_or_list, list):
        policy: Policy = _keeping(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept), _GivingBack(kept, allow_cache_entry_mutation)


def _keeping(operators: Sequence[object]) -> Policy:
    for each in operators:
        if not hasattr(each, "_schema"):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {each} of type "
                f"{type(each)}. You may need to pass one with its overload, such as "
                "ops.aten.mm.default."
            )
    wanted = set(operators)
    return lambda context, operator, *args, **kwargs: operator in wanted


class _Keeping(TorchDispatchMode):
    """The first time: the policy is asked, and results are kept in the order of the calls."""

    def __init__(self, policy: Policy, kept: dict[object, list[object]]) -> None:
        super().__init__()
        self._policy = policy
        self._kept = kept

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return result
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        wanted = self._policy(context, func, *args, **kwargs)
        if wanted is False or wanted in _RECOMPUTED:
            self._kept[func].append(_AGAIN)
            return result
        if wanted is not True and not isinstance(wanted, CheckpointPolicy):
            raise TypeError(
                f"The policy of {func} has to be a CheckpointPolicy or a bool, but got {wanted!r}"
            )
        if func._schema.is_mutable:
            raise RuntimeError(
                f"{func} writes to an argument, which the second time has to do as well: its "
                "policy has to be PREFER_RECOMPUTE"
            )
        on_the_cpu = wanted in _ON_THE_CPU
        self._kept[func].append(tree_map(lambda value: _Kept(value, on_the_cpu), result))
        return result


class _GivingBack(TorchDispatchMode):
    """The second time: what was kept is not computed again."""

    def __init__(self, kept: dict[object, list[object]], may_be_written: bool) -> None:
        super().__init__()
        self._kept = kept
        self._may_be_written = may_be_written

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        if not self._kept[func]:
            raise RuntimeError(
                f"{func} ran more often than the first time. Trying to backward an extra time? You "
                "are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        kept = self._kept[func].pop(0)
        if kept is _AGAIN:
            return func(*args, **kwargs)
        return tree_map(self._opened, kept)

    def _opened(self, kept: _Kept) -> Any:
        if kept.was_written and not self._may_be_written:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. Write to a "
                "copy of it, or pass allow_cache_entry_mutation=True"
            )
        return kept.opened()


_AGAIN: Final = object()
"""In place of a result that is computed again."""


class _Kept:
    """A result, and its version when it was kept."""

    def __init__(self, value: Any, on_the_cpu: bool) -> None:
        self._device: Any = None
        self._value = value
        if isinstance(value, Tensor):
            self._device = value.device
            self._value = value.detach()
            self._value = self._value.cpu() if on_the_cpu else self._value
            self._version = self._value._version

    @property
    def was_written(self) -> bool:
        """Whether something has written to the memory since."""
        return self._device is not None and self._value._version != self._version

    def opened(self) -> Any:
        """Return the result, on its device."""
        return self._value if self._device is None else self._value.to(self._device)

"""Selective checkpoints: a policy says which results of operators a checkpoint keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from dovetail_aten import Tensor
from dovetail_dispatcher import TorchDispatchMode, ops

from ._pytree import tree_map

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]


class CheckpointPolicy(Enum):
    """What a checkpoint does with the result of an operator. ``MUST`` and ``PREFER`` are the same
    here; a result that is to go to the memory of the cpu is refused.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVED: Final = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_RECOMPUTED: Final = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)

SAC_IGNORED_OPS: Final = {ops.aten.detach.default}
"""Operators that no policy is asked about."""


class SelectiveCheckpointContext:
    """What a policy is told of a call.

    Attributes
    ----------
    is_recompute
        Whether the call is that of the second time.
    op_output
        The result, where it is there already; else None.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., "CheckpointPolicy | bool"]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Return the two contexts of a checkpoint that keeps the results of some operators.

    Give a function that calls this as `context_fn` to `checkpoint`, without reentrance::

        context_fn = partial(create_selective_checkpoint_contexts, [dovetail.ops.aten.mm.default])

    Parameters
    ----------
    policy_fn_or_list
        ``policy(context, operator, *args, **kwargs)`` returns a `CheckpointPolicy`, or a bool:
        whether the result is kept. A list of operators stands for: the results of these.
    allow_cache_entry_mutation
        Give back a result that was written to since. Default: that is an error.

    Raises
    ------
    TypeError
        If `policy_fn_or_list` is neither, or its list has something else than overloads of
        operators.
    """
    if isinstance(policy_fn_or_list, list):
        policy: Policy = _keeping(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept), _GivingBack(policy, kept, allow_cache_entry_mutation)


def _keeping(operators: list[Any]) -> Policy:
    for each in operators:
        if not hasattr(each, "_schema"):
            raise TypeError(
                f"Expected op in `op_list` to be an OpOverload but got: {each} of type "
                f"{type(each)}. You may need to pass one with its overload, such as "
                "ops.aten.mm.default."
            )
    wanted = set(operators)

    def policy(context: SelectiveCheckpointContext, operator: Any, *args: Any, **kwargs: Any) -> Any:
        saved = operator in wanted
        return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def _is_kept(policy: Policy, context: SelectiveCheckpointContext, call: tuple[Any, ...]) -> bool:
    operator, args, kwargs = call
    wanted = policy(context, operator, *args, **kwargs)
    if isinstance(wanted, bool):
        return wanted
    if wanted in _SAVED:
        return True
    if wanted in _RECOMPUTED:
        return False
    raise RuntimeError(
        f"{wanted} is not in Dovetail: the policy of {operator} has to be one of "
        f"{', '.join(each.name for each in (*_SAVED, *_RECOMPUTED))}"
    )


class _Keeping(TorchDispatchMode):
    """The first time: results are kept in the order of the calls."""

    def __init__(self, policy: Policy, kept: dict[Any, list[Any]]) -> None:
        super().__init__()
        self._policy = policy
        self._kept = kept

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        if _is_kept(self._policy, context, (func, args, kwargs)):
            _refuse_writes(func)
            self._kept[func].append(tree_map(_Kept, result))
        return result


class _GivingBack(TorchDispatchMode):
    """The second time: what was kept is not computed again."""

    def __init__(self, policy: Policy, kept: dict[Any, list[Any]], may_be_written: bool) -> None:
        super().__init__()
        self._policy = policy
        self._kept = kept
        self._may_be_written = may_be_written

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        context = SelectiveCheckpointContext(is_recompute=True)
        if not _is_kept(self._policy, context, (func, args, kwargs)):
            return func(*args, **kwargs)
        if not self._kept[func]:
            raise RuntimeError(
                f"{func} encountered during backward, but not found in storage: the policy gave "
                "another answer the first time, or backward ran twice. Let the policy depend on "
                "the operator and its arguments alone."
            )
        return tree_map(self._opened, self._kept[func].pop(0))

    def _opened(self, kept: _Kept) -> Any:
        if kept.was_written and not self._may_be_written:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. Write to a "
                "copy of it, or pass allow_cache_entry_mutation=True"
            )
        return kept.value


class _Kept:
    """A result, and its version when it was kept."""

    def __init__(self, value: Any) -> None:
        self.value = value.detach() if isinstance(value, Tensor) else value
        self._version = value._version if isinstance(value, Tensor) else 0

    @property
    def was_written(self) -> bool:
        """Whether something has written to the memory since."""
        return isinstance(self.value, Tensor) and self.value._version != self._version


def _refuse_writes(operator: Any) -> None:
    if operator._schema.is_mutable:
        raise RuntimeError(
            f"{operator} writes to an argument, which the second time has to do as well: its policy "
            "has to be PREFER_RECOMPUTE"
        )

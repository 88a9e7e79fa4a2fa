"""Hooks around the steps of an optimizer, and around saving and loading its state."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self, TypeAlias, TypeVar, cast

from ..nn.modules.module.hooks import RemovableHandle, add_hook

Hooks: TypeAlias = OrderedDict[int, Callable[..., Any]]
Step = TypeVar("Step", bound=Callable[..., Any])

_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before ``step`` of every optimizer; the hook may
    return ``(new_args, new_kwargs)``. The optimizer is the first of `args`.
    """
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after ``step`` of every optimizer."""
    return add_hook(_global_post_hooks, hook)


def with_hooks(func: Step) -> Step:
    """Wrap the ``step`` of a class so that hooks run around it, and schedulers can count the
    calls.
    """

    @functools.wraps(func)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        self._opt_called = True
        hooks = (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _global_pre_hooks
            or _global_post_hooks
        )
        if not hooks or self._in_step:
            return func(*args, **kwargs)
        for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "a step pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}. "
                        f"Return both, as {func.__qualname__} takes them."
                    )
                args, kwargs = changed
        # A subclass's step may call its base class's, around which the hooks do not run again.
        self._in_step = True
        try:
            result = func(*args, **kwargs)
        finally:
            self._in_step = False
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    hooked._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    return cast(Step, hooked)


def with_count(optimizer: OptimizerHooks, step: Step) -> Step:
    """Wrap a ``step`` function set on one optimizer so that schedulers can count its calls."""

    @functools.wraps(step)
    def counted(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return step(*args, **kwargs)

    counted._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    return cast(Step, counted)


class OptimizerHooks:
    """The part of `Optimizer` that manages hooks."""

    OptimizerPreHook: TypeAlias = Callable[..., Any]
    OptimizerPostHook: TypeAlias = Callable[..., None]
    profile_hook_step = staticmethod(with_hooks)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # Not in __init__: an optimizer around another one often sets its attributes alone.
        self = super().__new__(cls)
        self._prepare()
        return self

    def _patch_step_function(self) -> None:
        """Let hooks run around ``step`` of this class, if they don't: optimizers around others call
        it instead of ``Optimizer.__init__``.
        """
        kind: Any = type(self)
        if not getattr(kind.step, "_wrapped_by_lr_sched", False):
            kind.step = with_hooks(kind.step)

    def _prepare(self) -> None:
        """Set what is neither copied nor pickled."""
        self._opt_called = False
        self._in_step = False
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before ``step``; the hook returns None or
        ``(new_args, new_kwargs)``. The optimizer is the first of `args`.
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after ``step``."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict` collects the state."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; the hook may change the dict in
        place or return another one.
        """
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` with a shallow copy before loading; the hook may
        return another dict.
        """
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

"""Hooks of modules: their handles and tables, the global ones, and the call of a module that has
any.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dovetail_kernel import warn_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .module_class import Module

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_ids = count()
_GLOBAL = "as a global Module hook"


class Hook(NamedTuple):
    """A registered function and how it wants to be called."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False
    with_module: bool = False
    may_replace: bool = False


HookTable = OrderedDict[int, Hook]


class RemovableHandle:
    """Removes one hook; also a context manager that removes it on exit.

    Parameters
    ----------
    hooks : OrderedDict
        The table of hooks, by ``handle.id``.

    Attributes
    ----------
    hooks_dict_ref : weakref.ref
        The table.
    """

    def __init__(self, hooks: OrderedDict[int, object]) -> None:
        self.id = next(_ids)
        while self.id in hooks:  # which another process has filled
            self.id = next(_ids)
        self.hooks_dict_ref = weakref.ref(hooks)

    def __getstate__(self) -> tuple[OrderedDict[int, Any] | None, int]:
        return self.hooks_dict_ref(), self.id

    def __setstate__(self, state: tuple[OrderedDict[int, object] | None, int]) -> None:
        hooks, self.id = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)

    def remove(self) -> None:
        """Remove the hook; calling this twice is allowed."""
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class ModuleHooks:
    """The hook tables of one module, or the global ones."""

    def __init__(self) -> None:
        self.forward_pre: HookTable = OrderedDict()
        self.forward: HookTable = OrderedDict()
        self.full_backward_pre: HookTable = OrderedDict()
        self.full_backward: HookTable = OrderedDict()
        self.backward: HookTable = OrderedDict()
        self.state_dict_pre: HookTable = OrderedDict()
        self.state_dict_post: HookTable = OrderedDict()
        self.load_state_dict_pre: HookTable = OrderedDict()
        self.load_state_dict_post: HookTable = OrderedDict()


_global_parameter_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_buffer_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

_REGISTRATION_HOOKS: Final = {
    "parameter": _global_parameter_registration_hooks,
    "buffer": _global_buffer_registration_hooks,
    "module": _global_module_registration_hooks,
}
"""Hooks by kind, in tables that libraries read by PyTorch's names."""

# Empty until the first global hook is registered, so that a call without hooks tests one list.
GLOBAL_HOOKS: list[ModuleHooks] = []


def add_hook(table: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Put ``hook`` at the end (``prepend``: at the front) of ``table``."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def add_backward_hook(
    hooks: ModuleHooks, hook: Hook, *, full: bool, prepend: bool = False, where: str
) -> RemovableHandle:
    """Add a backward hook to `hooks`, which may have hooks of one kind only: full ones, or those
    of old on the last node.

    Raises
    ------
    RuntimeError
        If there are some of the other kind.
    """
    own, others = hooks.full_backward, hooks.backward
    if not full:
        own, others = others, own
    if others:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks "
            f"{where}. Please use only one of them."
        )
    return add_hook(own, hook, prepend)


def global_hooks() -> ModuleHooks:
    """Return the hooks of all modules."""
    if not GLOBAL_HOOKS:
        GLOBAL_HOOKS.append(ModuleHooks())
    return GLOBAL_HOOKS[0]


def register_module_forward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    Parameters
    ----------
    hook : callable
        Returns None, or new positional arguments (one value, or a tuple of all).

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_hook(global_hooks().forward_pre, Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., object], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module, before its own forward
    hooks.

    Parameters
    ----------
    hook : callable
        Returns None, or a new output.
    with_kwargs : bool, default False
        Call ``hook(module, args, kwargs, output)``.
    always_call : bool, default False
        Call the hook even if forward raised (``output`` is then None).

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_hook(global_hooks().forward, Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when the gradients of any module's outputs are known.

    Parameters
    ----------
    hook : callable
        Returns None, or new gradients of the outputs.

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_hook(global_hooks().full_backward_pre, Hook(hook))


def register_module_full_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradients of any module's inputs are
    known.

    Parameters
    ----------
    hook : callable
        Returns None, or new gradients of the inputs.

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_backward_hook(global_hooks(), Hook(hook), full=True, where=_GLOBAL)


def register_module_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the last node of any module.

    Deprecated: see `Module.register_backward_hook`.

    Parameters
    ----------
    hook : callable
        Returns None, or new gradients of the node's inputs.

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.

    Raises
    ------
    RuntimeError
        If there are global full backward hooks.
    """
    return add_backward_hook(global_hooks(), Hook(hook), full=False, where=_GLOBAL)


def register_module_parameter_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever any module gets a parameter.

    Parameters
    ----------
    hook : callable
        Returns None, or the parameter to register instead.

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever any module gets a buffer.

    Parameters
    ----------
    hook : callable
        Returns None, or the buffer to register instead.

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever any module gets a submodule.

    Parameters
    ----------
    hook : callable
        Returns None, or the submodule to register instead.

    Returns
    -------
    RemovableHandle
        Handle whose ``remove()`` removes the hook.
    """
    return add_hook(_global_module_registration_hooks, hook)


def apply_registration_hooks(kind: str, module: Module, name: str, value: object) -> Any:
    """Offer ``value``, about to be registered on ``module``, to the global registration hooks of
    one kind.
    """
    for hook in tuple(_REGISTRATION_HOOKS[kind].values()):
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _collect(module: Module, kind: str) -> Iterator[tuple[int, Hook]]:
    """Yield the global hooks of one kind, then the module's own; a snapshot, since hooks may remove
    themselves.
    """
    tables: list[HookTable] = [getattr(hooks, kind) for hooks in GLOBAL_HOOKS]
    if module._hooks is not None:
        tables.append(getattr(module._hooks, kind))
    return chain.from_iterable(tuple(table.items()) for table in tables)


def call_with_hooks(module: Module, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
    """Run ``module.forward`` between its hooks and the global ones."""
    finished: set[int] = set()
    try:
        return _run(module, args, kwargs, finished)
    except Exception:
        _call_after_failure(module, args, kwargs, finished)
        raise


def _run(
    module: Module, args: tuple[object, ...], kwargs: Mapping[str, object], finished: set[int]
) -> Any:
    for _, hook in _collect(module, "forward_pre"):
        if hook.with_kwargs:
            changed = hook.function(module, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}. Return both, or register the hook without "
                        "with_kwargs=True."
                    )
                args, kwargs = changed
        else:
            changed = hook.function(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)

    backward = tuple(hook.function for _, hook in _collect(module, "full_backward"))
    backward_pre = tuple(hook.function for _, hook in _collect(module, "full_backward_pre"))
    boundary = None
    if backward or backward_pre:
        from .backward_hooks import BackwardBoundary

        boundary = BackwardBoundary(module, backward, backward_pre)
        args = boundary.enter(args)

    result = module.forward(*args, **kwargs)

    for key, hook in _collect(module, "forward"):
        finished.add(key)
        changed = (
            hook.function(module, args, kwargs, result)
            if hook.with_kwargs
            else hook.function(module, args, result)
        )
        if changed is not None:
            result = changed

    if boundary is not None:
        result = boundary.leave(result)
    if behind := [hook.function for _, hook in _collect(module, "backward")]:
        from .node_hooks import hook_last_node

        hook_last_node(module, behind, args, result)
    return result


def _call_after_failure(
    module: Module, args: tuple[object, ...], kwargs: Mapping[str, object], finished: set[int]
) -> None:
    """Call the ``always_call`` forward hooks that have not run, without hiding the error under
    way.
    """
    for key, hook in _collect(module, "forward"):
        if not hook.always_call or key in finished:
            continue
        try:
            if hook.with_kwargs:
                hook.function(module, args, kwargs, None)
            else:
                hook.function(module, args, None)
        except Exception as error:
            warn_user(
                "module forward hook with ``always_call=True`` raised an exception that was "
                "silenced as another "
                f"error was raised in forward: {error}"
            )

"""Methods that register hooks of a module, and its tables of hooks under PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Protocol

from .hooks import Hook, HookTable, ModuleHooks, RemovableHandle, add_backward_hook, add_hook
from .state import State

_ON_ONE = "on a single Module"


class _Owner(Protocol):
    """A module, or what has the global hooks."""

    def _own_hooks(self) -> ModuleHooks: ...


class HookView(MutableMapping[int, Callable[..., Any]]):
    """The functions of a table of hooks by their ids; changes change the table.

    Parameters
    ----------
    table : OrderedDict
        The table.
    """

    def __init__(self, table: HookTable) -> None:
        self._table = table

    def __getitem__(self, key: int) -> Callable[..., Any]:
        return self._table[key].function

    def __setitem__(self, key: int, function: Callable[..., object]) -> None:
        old = self._table.get(key)
        self._table[key] = Hook(function) if old is None else old._replace(function=function)

    def __delitem__(self, key: int) -> None:
        del self._table[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return repr(OrderedDict(self))


def _property_of_functions(find: Callable[[_Owner], HookTable], what: str) -> property:
    def read(self: _Owner) -> HookView:
        return HookView(find(self))

    def write(self: _Owner, functions: Any) -> None:
        table = find(self)
        kept = {key: table.get(key, Hook(function)) for key, function in functions.items()}
        table.clear()
        table.update(kept)

    def delete(self: _Owner) -> None:
        find(self).clear()

    return property(read, write, delete, doc=f"The functions of {what}, by their ids.")


def table_of_functions(kind: str) -> property:
    """Return a property that is the view of a table, and takes other hooks for it."""
    return _property_of_functions(
        lambda self: getattr(self._own_hooks(), kind), f"its hooks ``{kind}``"
    )


def table_of_flags(kind: str, flag: str) -> property:
    """Return a property that is which hooks of a table were registered with a flag."""

    def read(self: _Owner) -> dict[int, bool]:
        table: HookTable = getattr(self._own_hooks(), kind)
        return {key: True for key, hook in table.items() if getattr(hook, flag)}

    return property(read, doc=f"Which of its hooks ``{kind}`` were registered with ``{flag}``.")


def _backward_table(self: _Owner) -> HookTable:
    hooks = self._own_hooks()
    table: HookTable = hooks.backward or hooks.full_backward
    return table


backward_hooks = _property_of_functions(
    _backward_table, "its backward hooks, of one kind at a time"
)


def are_full_backward_hooks(self: _Owner) -> bool | None:
    """Return whether the backward hooks are full ones; None if there are none."""
    hooks = self._own_hooks()
    return True if hooks.full_backward else False if hooks.backward else None


def set_full_backward_hooks(self: _Owner, value: bool | None) -> None:
    """Let hooks of either kind be registered from now on, with None; there has to be none.

    Raises
    ------
    AttributeError
        For any other value than the present one: the hooks that are registered say of which kind
        they are.
    """
    present = are_full_backward_hooks(self)
    if value is not present:
        raise AttributeError(
            f"the backward hooks that are registered make this {present}, not {value}. Remove "
            "them, or register hooks of the other kind."
        )


class HookRegistration(State):
    """The methods of `Module` that register hooks."""

    _forward_hooks = table_of_functions("forward")
    _forward_pre_hooks = table_of_functions("forward_pre")
    _backward_pre_hooks = table_of_functions("full_backward_pre")
    _state_dict_hooks = table_of_functions("state_dict_post")
    _state_dict_pre_hooks = table_of_functions("state_dict_pre")
    _load_state_dict_pre_hooks = table_of_functions("load_state_dict_pre")
    _load_state_dict_post_hooks = table_of_functions("load_state_dict_post")
    _forward_hooks_with_kwargs = table_of_flags("forward", "with_kwargs")
    _forward_hooks_always_called = table_of_flags("forward", "always_call")
    _forward_pre_hooks_with_kwargs = table_of_flags("forward_pre", "with_kwargs")

    _backward_hooks = backward_hooks
    _is_full_backward_hook = property(are_full_backward_hooks)

    def register_forward_pre_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward.

        Parameters
        ----------
        hook : callable
            Returns None, or new positional arguments (one value, or a tuple of all).
        prepend : bool, default False
            Run the hook before the hooks registered so far.
        with_kwargs : bool, default False
            Call ``hook(module, args, kwargs)``, which returns None or ``(new_args, new_kwargs)``.

        Returns
        -------
        RemovableHandle
            Handle whose ``remove()`` removes the hook.
        """
        return add_hook(self._own_hooks().forward_pre, Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., object],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward.

        Parameters
        ----------
        hook : callable
            Returns None, or a new output.
        prepend : bool, default False
            Run the hook before the hooks registered so far.
        with_kwargs : bool, default False
            Call ``hook(module, args, kwargs, output)``.
        always_call : bool, default False
            Call the hook even if forward raised (``output`` is then None).

        Returns
        -------
        RemovableHandle
            Handle whose ``remove()`` removes the hook.
        """
        return add_hook(self._own_hooks().forward, Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known.

        The hook returns None, or new gradients of the outputs, with which backward continues.
        """
        return add_hook(self._own_hooks().full_backward_pre, Hook(hook), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are
        known.

        The hook returns None, or new gradients of the inputs. If no input requires grad,
        ``grad_input`` is all None. With such a hook, inputs and outputs of the module may not be
        modified in place.
        """
        return add_backward_hook(
            self._own_hooks(), Hook(hook), full=True, prepend=prepend, where=_ON_ONE
        )

    def register_backward_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the node that created the output.

        Deprecated: the hook gets the gradients of that node, which are the module's only if the
        module is a single operator. Use `register_full_backward_hook`; a module cannot have both.
        """
        return add_backward_hook(self._own_hooks(), Hook(hook), full=False, where=_ON_ONE)

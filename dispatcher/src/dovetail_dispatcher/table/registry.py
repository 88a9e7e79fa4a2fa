"""The operator table: what is registered now, and nothing derived from it but the routes, which
every change clears.

Writers hold the lock, and clear routes under it before they change anything; a route is composed
and stored under it too, so no stale route can be stored after a change, nor be left by a change
that is interrupted. A cached call takes no lock. The table depends only on what is live, never on
the order in which it came.

Here are the table and the ways to look it up. What changes it stands in `definitions`,
`kernel_registration`, `backend_fallbacks` and `rule_registration`, as `changes` that can be
reverted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Final

from dovetail_kernel import DispatchKey
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.fork_locks import held_over_fork
from dovetail_kernel.sockets import DEFAULT_DTYPE

from .kernels import Kernel
from .operator import Operator

lock: Final = held_over_fork(RLock(), level=2)
operators: Final[dict[str, dict[str, Operator]]] = {}
"""Operators by qualified name, then by overload, in order of definition."""
fallbacks: Final[dict[DispatchKey, Kernel]] = {}
left_out: Final[dict[str, str]] = {}
"""Operators that a selective build of their library leaves out, by qualified name, and the message
that says so.
"""
without_derivatives: Final[dict[str, str]] = {}
"""Namespaces of libraries that were built without derivatives, and what to do about it."""
epoch = 0
"""Counts changes; what was derived from the table outside it compares this number."""

definition_observers: Final[list[Callable[[str], None]]] = []
"""Called, under the lock, with every name of which an overload was defined or taken back."""


# -- looking up ------------------------------------------------------------------------------------


def find(name: str, overload: str = "") -> Operator | None:
    """Return the operator in the table, defined or not, or None."""
    return operators.get(name, {}).get(overload)


def find_qualified(qualified: str) -> Operator | None:
    """Return the operator called ``ns::name`` or ``ns::name.overload``, or None."""
    name, _, overload = qualified.partition(".")
    return find(name, "" if overload == "default" else overload)


def find_or_throw(name: str, overload: str = "") -> Operator:
    """Return a defined operator. Raises RuntimeError if there is none; the text says what is there.
    A NotImplementedError, which is one, for an operator that a selective build leaves out.
    """
    op = find(name, overload)
    if op is not None and op.is_defined:
        return op
    qualified = f"{name}.{overload}" if overload else name
    if op is not None:
        raise RuntimeError(
            f"Could not find schema for {qualified}. but we found an implementation; did you "
            "forget to def() the operator? Kernels registered at: "
            f"{', '.join(k.origin for stack in op.kernels.values() for k in stack)}. Define it: "
            "Library.define(...)."
        )
    if name in left_out:
        raise NotImplementedError(left_out[name])
    raise RuntimeError(
        f"Could not find schema for {qualified}.{did_you_mean(name, operators)} Load the library "
        "that defines it, or define it: Library.define(...)."
    )


def is_defined(name: str) -> bool:
    """Return whether there is a definition of any overload of `name`."""
    return any([op.is_defined for op in list(operators.get(name, {}).values())])


def defines_in(namespace: str) -> bool:
    """Return whether there is a definition in `namespace`."""
    prefix = f"{namespace}::"
    return any([is_defined(name) for name in list(operators) if name.startswith(prefix)])


def all_operators() -> list[Operator]:
    """Return every operator of the table, by name then in order of definition."""
    return [op for overloads in list(operators.values()) for op in list(overloads.values())]


# -- for changes, which hold the lock --------------------------------------------------------------


class changing:
    """Change `ops` in a block: their routes are gone before, and the epoch is another one after."""

    __slots__ = ("_ops",)

    def __init__(self, ops: Iterable[Operator]) -> None:
        self._ops = ops

    def __enter__(self) -> None:
        for op in self._ops:
            op.forget_routes()

    def __exit__(self, *_: object) -> None:
        count_change()


def tell_observers(name: str) -> None:
    """Tell the observers that the overloads of `name` are others."""
    for observer in definition_observers:
        observer(name)


def count_change() -> None:
    """Let what was derived from the table outside it know that the table has changed."""
    global epoch
    epoch += 1


def forget_all_routes() -> None:
    """Clear the routes of every operator, after a change that affects all of them."""
    with lock:
        for op in all_operators():
            if op.routes or op.redispatch_routes:
                op.forget_routes()
        count_change()


def find_or_add(name: str, overload: str) -> Operator:
    """Return the operator in the table; a new one, without definition, if there was none."""
    overloads = operators.setdefault(name, {})
    op = overloads.get(overload)
    if op is None:
        op = overloads[overload] = Operator(name, overload)
    return op


def move_to_end(op: Operator) -> None:
    """Put `op` last among its overloads: they are tried in the order of definition, not of their
    first kernel.
    """
    overloads = operators[op.name]
    del overloads[op.overload]
    overloads[op.overload] = op


def drop_if_empty(op: Operator) -> None:
    """Drop an operator that nothing is registered for."""
    if op.is_empty and find(op.name, op.overload) is op:
        del operators[op.name][op.overload]
        if not operators[op.name]:
            del operators[op.name]


DEFAULT_DTYPE.add(lambda _dtype: forget_all_routes())

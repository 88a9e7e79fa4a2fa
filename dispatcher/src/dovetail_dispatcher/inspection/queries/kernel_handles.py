"""`get_kernel`: returns the kernel that an operator has at a key now, to be called later whatever
is registered by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import DispatchKey, DispatchKeySet, dispatch_state

from ...calls.entry_support import bound_call, call_key
from ...calls.overloads import OpOverload
from ...calls.plans.composition import Composition, compose_through
from ...calls.printer import build
from ...table import registry
from ...table.computed_table import compute
from ...table.kernels import Kernel
from ...table.operator import Operator
from .dumps import existing_operator
from .table_queries import runtime_key


class SafeKernelFunction:
    """A kernel as it was in the table when `get_kernel` returned it. It stays callable when another
    takes its place.
    """

    def __init__(self, op: Operator, key: DispatchKey, kernel: Kernel) -> None:
        self._op = op
        self._key = key
        self._kernel = kernel
        self._routes: dict[tuple[DispatchKeySet, int], Callable[..., Any]] = {}
        self._epoch = -1

    @property
    def op_handle(self) -> OpOverload:
        """The operator that the kernel is of."""
        handle: OpOverload = self._op.handle
        return handle

    def call_boxed(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel.

        Parameters
        ----------
        keys
            What a kernel registered with ``with_keyset`` receives, and what the keys below are
            taken from.
        args, kwargs
            The arguments of the operator, cast as in a call of it.

        Raises
        ------
        RuntimeError
            If the arguments do not fit the schema.
        """
        values = bound_call(self._op, args, kwargs)
        key = call_key(self._op, values)
        with registry.lock:
            if self._epoch != registry.epoch:
                self._routes.clear()
                self._epoch = registry.epoch
            route = self._routes.get((keys, key))
            if route is None:
                composition = Composition(self._op, keys, key, dispatch_state())
                route = build(compose_through(composition, self._key, self._kernel))
                self._routes[keys, key] = route
        return route(*values)

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='registered at {self._kernel.origin}')"


def get_kernel(op: str | OpOverload, dispatch_key: str | DispatchKey) -> SafeKernelFunction:
    """Return the kernel that a call of `op` uses at a key: its own, a composite, or a fallback.

    Parameters
    ----------
    op
        ``"mylib::f"``, ``"mylib::f.overload"``, or an `OpOverload`.
    dispatch_key
        A runtime key or its name, such as "CPU".

    Raises
    ------
    ValueError
        If `op` is of another type, or no key has that name.
    RuntimeError
        If there is no such operator, the key is an alias, or there is no kernel for it.
    """
    if not isinstance(op, str | OpOverload):
        raise ValueError(
            f"get_kernel({op}): got unexpected type for op: {type(op)}. Give a name like "
            "'mylib::sin' or an OpOverload like ops.mylib.sin.default."
        )
    try:
        runtime_key(dispatch_key)
    except RuntimeError as reason:
        if "could not parse" not in str(reason):
            raise
        raise ValueError(f"Invalid dispatch key: {dispatch_key}. {reason}") from None
    return kernel_handle(op if isinstance(op, str) else op.name(), dispatch_key)


def kernel_handle(qualified: str, dispatch_key: str | DispatchKey) -> SafeKernelFunction:
    """Return the kernel that a call of the operator `qualified` finds at a runtime key. Raises
    RuntimeError if there is no such operator or key, the key is an alias, or there is no kernel for
    it.
    """
    key = runtime_key(dispatch_key)
    operator = existing_operator(qualified)
    with registry.lock:
        kernel = compute(operator, key, registry.fallbacks).kernel
    if kernel is None or kernel.is_fallthrough:
        raise RuntimeError(
            f"no kernel for {key.name} for {qualified}. It has kernels at: "
            f"{', '.join(k.name for k in operator.kernels) or 'no key'}. Register one: "
            "Library.impl."
        )
    return SafeKernelFunction(operator, key, kernel)

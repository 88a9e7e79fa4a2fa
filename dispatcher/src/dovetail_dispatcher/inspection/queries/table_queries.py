"""Answers queries about the operator table: which kernels there are, and whether a key has one."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    parse_dispatch_key,
    plugin_manager,
)
from dovetail_kernel.devices import installed_device_types

from ...calls.overloads import OpOverload
from ...calls.plans.composition import argument_keys
from ...table import registry
from ...table.computed_table import backends_of_autograd_other, compute, formula_kernel
from ...table.kernels import Kernel
from ...table.operator import Operator
from .dumps import existing_operator

Key = DispatchKey | str


def _dispatch_has_kernel(name: str) -> bool:
    """Return whether anything is registered for an operator: a kernel, or its definition."""
    op = registry.find_qualified(name)
    return op is not None and op.is_registered


def _dispatch_has_kernel_for_dispatch_key(name: str, dispatch_key: Key) -> bool:
    """Return whether a kernel is registered at exactly this key, which may be an alias.

    Raises
    ------
    RuntimeError
        If there is no such operator or key.
    """
    return has_kernel(existing_operator(name), _key(dispatch_key))


def _dispatch_has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Return whether a kernel is registered at one of these keys; raises for an unknown
    operator.
    """
    op = existing_operator(name)
    return any([has_kernel(op, _key(key)) for key in keys])


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, dispatch_key: Key) -> bool:
    """Return whether a call whose highest key is this one finds a kernel, its own or another's.

    Raises
    ------
    RuntimeError
        If there is no such operator or key, or it is an alias: these have no entry in the table.
    """
    op = existing_operator(name)
    return compute(op, runtime_key(dispatch_key), registry.fallbacks).tag != "missing"


def _dispatch_kernel_for_dispatch_key_is_fallthrough(name: str, dispatch_key: Key) -> bool:
    """Return whether the kernel that is registered at exactly this key is a fallthrough.

    Raises
    ------
    RuntimeError
        If there is no such operator or key, or no kernel is registered there.
    """
    op, key = existing_operator(name), _key(dispatch_key)
    kernel = registered_kernel(op, key)
    if kernel is None:
        raise RuntimeError(
            f"no kernel for {key.name} on {op.qualified_name}. Which keys calls pass over, those "
            "without a kernel of their own included, is what `explain` says."
        )
    return kernel.is_fallthrough


def _dispatch_has_backend_fallback(dispatch_key: Key) -> bool:
    """Return whether there is a backend fallback at a key."""
    return _key(dispatch_key) in registry.fallbacks


def _dispatch_find_schema_or_throw(name: str, overload_name: str = "") -> OpOverload:
    """Return the handle of a defined operator: it has ``schema()``, ``debug()`` and
    ``redispatch_boxed``.

    Raises
    ------
    RuntimeError
        If there is no such operator.
    """
    handle: OpOverload = registry.find_or_throw(name, overload_name).handle
    return handle


def _dispatch_call_boxed(handle: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Call the operator behind a handle."""
    return handle(*args, **kwargs)


def _dispatch_keys(tensor: TensorBase) -> DispatchKeySet:
    """Return the dispatch keys of a tensor."""
    return argument_keys(tensor._signature)


def _dispatch_autogradother_backends() -> DispatchKeySet:
    """Return the backend keys whose Autograd key is AutogradOther."""
    return DispatchKeySet.of(*backends_of_autograd_other())


def has_kernel(op: Operator, key: DispatchKey) -> bool:
    """Return whether a kernel, or a formula that stands for one, is registered at exactly `key`."""
    return registered_kernel(op, key) is not None


def registered_kernel(op: Operator, key: DispatchKey) -> Kernel | None:
    """Return the kernel in force at exactly `key`, or that which a formula stands for."""
    return op.newest(key) or (formula_kernel(op) if key is DispatchKey.Autograd else None)


def _key(key: Key) -> DispatchKey:
    """Return a key. Its backend is loaded, because its kernels are registered then."""
    parsed = parse_dispatch_key(key) if isinstance(key, str) else key
    asked = parsed.backend
    if (
        asked is not None
        and not asked.is_attached
        and asked.name in installed_device_types()
        and plugin_manager.describe_backend(asked.name).is_available() is None
    ):
        plugin_manager.load_backend(asked.name)
    return parsed


def runtime_key(key: Key) -> DispatchKey:
    parsed = _key(key)
    if parsed.is_alias:
        raise RuntimeError(
            f"Alias keys do not have runtime kernel registrations. {parsed.name} stands for "
            "several keys: ask for one "
            "of them, or for the registration with _dispatch_has_kernel_for_dispatch_key."
        )
    return parsed

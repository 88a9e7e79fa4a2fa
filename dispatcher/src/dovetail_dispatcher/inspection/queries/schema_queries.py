"""Answers queries about schemas and kernels by name, as PyTorch's ``_C`` does."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    parse_dispatch_key,
    plugin_manager,
)
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.plugins import LIBRARIES

from ...calls.plans.composition import argument_keys
from ...interception.local_keys import (
    _dispatch_tls_is_dispatch_key_included,
    _dispatch_tls_set_dispatch_key_included,
)
from ...schema import FunctionSchema
from ...table import registry
from ...table.computed_table import backends_of_autograd, backends_of_autograd_other
from .dumps import _dispatch_get_registrations_for_dispatch_key
from .kernel_handles import SafeKernelFunction, kernel_handle


def _dispatch_get_computed_kernel_for_dispatch_key(
    name: str, dispatch_key: DispatchKey | str
) -> SafeKernelFunction:
    """Return the kernel that a call of an operator finds at a runtime key.

    Raises
    ------
    RuntimeError
        If there is no such operator or key, the key is an alias, or there is no kernel for it.
    """
    return kernel_handle(name, dispatch_key)


def _dispatch_get_backend_keyset_from_autograd(key: DispatchKey) -> DispatchKeySet:
    """Return the backend keys whose Autograd key is `key`; an empty set for any other key."""
    if key is DispatchKey.AutogradOther:
        return DispatchKeySet.of(*backends_of_autograd_other())
    return DispatchKeySet.of(*backends_of_autograd(key))


def _dispatch_print_registrations_for_dispatch_key(dispatch_key: str = "") -> None:
    """Print the names of the operators with a kernel at a key; of all operators without a key."""
    if dispatch_key:
        parse_dispatch_key(dispatch_key)
    for name in _dispatch_get_registrations_for_dispatch_key(dispatch_key):
        print(name)


def _dispatch_key_set(tensor: TensorBase) -> str:
    """Return the printed dispatch keys of a tensor."""
    return repr(argument_keys(tensor._signature))


def _meta_in_tls_dispatch_include() -> bool:
    """Return whether calls of this task go to the meta device."""
    return _dispatch_tls_is_dispatch_key_included("Meta")


def _set_meta_in_tls_dispatch_include(meta_in_tls: bool) -> None:
    """Have calls of this task go to the meta device, or no more."""
    _dispatch_tls_set_dispatch_key_included("Meta", meta_in_tls)


def _jit_get_schemas_for_operator(name: str) -> list[FunctionSchema]:
    """Return the schemas of all overloads of ``"namespace::name"``; none for an unknown one.

    Raises
    ------
    RuntimeError
        For a name without namespace.
    """
    namespace, separator, _ = name.partition("::")
    if not separator:
        raise RuntimeError(
            "all symbols must have a namespace, <namespace>::<string>, but found: "
            f"{name}. Write aten::{name}, say."
        )
    _load(namespace)
    return [op.schema for op in registry.all_operators() if op.name == name and op.is_defined]


def _get_schema(name: str, overload_name: str) -> FunctionSchema:
    """Return the schema of an overload.

    Raises
    ------
    RuntimeError
        If there is no such schema.
    """
    schemas = _jit_get_schemas_for_operator(name)
    found = next(iter([s for s in schemas if s.overload_name == overload_name]), None)
    if found is None:
        names = [each.overload_name for each in schemas]
        raise RuntimeError(
            f"Found no matching schema for {name}, overload {overload_name!r}."
            f"{did_you_mean(overload_name, names)} It has: {', '.join(map(repr, names)) or 'none'}."
        )
    return found


def _jit_get_all_schemas() -> list[FunctionSchema]:
    """Return the schemas of all operators that are loaded."""
    return [op.schema for op in registry.all_operators() if op.is_defined]


def _load(namespace: str) -> Any:
    """Load the installed library of a namespace, if there is one."""
    if plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)

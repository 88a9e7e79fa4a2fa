"""`register_backend`: a backend out of an array namespace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dovetail_dispatcher import Library, transaction
from dovetail_dispatcher.table import add_helpers
from dovetail_kernel import Backend, backend, has_backend, plugin_manager
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.plugins import BACKENDS

from ..kernel_support import Define, KernelTable, array_kernel_table, register_array_kernels
from ..kernel_support.complete_namespace import complete
from .cpu_fallback import use_cpu_fallback
from .namespace_arrays import NamespaceArrays

_libraries: list[Library] = []
"""Keeps the registrations alive."""


def register_backend(
    name: str,
    namespace: Any,
    arrays: type[NamespaceArrays] = NamespaceArrays,
    *,
    kernels: Sequence[Define] = (),
    families: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    cpu_fallback: bool = False,
) -> Backend:
    """Register a device type for the arrays of `namespace`: the base library then runs on them.

    A plugin calls this when it is loaded (``BackendSpec(name, load)``); a script can call it at any
    time. The backend gets its own dispatch keys (``NAME``, ``AutogradNAME``), its tensors have the
    device ``name:0``, and every operator of the base library gets an array kernel at the key
    ``NAME``.

    Parameters
    ----------
    name
        The device type: lower-case letters, digits and underscores.
    namespace
        A module, or any object, with NumPy's names. Operators whose kernel needs a missing function
        are omitted.
    arrays
        Differences from NumPy's arrays: a subclass of `NamespaceArrays`, instantiated with `name`
        and `namespace`.
    kernels
        Functions ``define(xp, kernel, capabilities)`` that run after the generic ones; their
        kernels replace the generic kernels.
    families
        Classes derived from families of generic kernels, to replace them: ``{"reductions.Scans":
        "package.module.FastScans"}``. Each is imported on the first use of one of its kernels.
    without
        Names of operators, such as ``"sort"`` or ``"add.Tensor"``, to leave without a kernel.
    cpu_fallback
        Whether operators without a kernel run on the cpu, on copies, with a warning; see
        `use_cpu_fallback`.

    Returns
    -------
    Backend
        The registered backend; use ``Library("aten", "IMPL", backend.key_name)`` to add kernels.

    Raises
    ------
    RuntimeError
        For an invalid or already registered device type.
    NotImplementedError
        If `arrays` lacks a method, and `namespace` lacks the function for its default.
    ValueError
        For an unknown operator in `without` or an unknown family in `families`.
    """
    if has_backend(name) and backend(name).is_attached:
        raise RuntimeError(
            f"device type {name!r} is registered already, with arrays of "
            f"{', '.join(each.__qualname__ for each in backend(name).arrays.array_types)}. Choose "
            "another name."
        )
    loading = plugin_manager.loading()
    if (loading is None or loading.name != name) and plugin_manager.provides(BACKENDS, name):
        raise RuntimeError(
            f"device type {name!r} is provided by an installed plugin, which is loaded when the "
            "device is first used. "
            "Choose another name."
        )
    side = arrays(name, namespace)
    table = array_kernel_table(complete(namespace, name), side, kernels, families, side.compiled)
    for operator in without:
        _leave_out(operator, table)
    made = backend(name, create=True)
    # In a transaction of its own: like the arrays, the kernels stay, also if the caller fails
    # afterwards.
    with transaction():
        library = Library("aten", "IMPL", made.key_name)
        library._is_proven = True  # by `dovetail conformance`
        register_array_kernels(library, table)
        if cpu_fallback:
            use_cpu_fallback(name)
    add_helpers(made, table.helpers)
    made.attach(side)
    _libraries.append(library)
    plugin_manager.mark_in_use(BACKENDS, name)
    return made


def _leave_out(operator: str, table: KernelTable) -> None:
    """Take an operator, or all overloads of a base name, out of a table."""
    named = [each for each in table.kernels if operator in (each, each.partition(".")[0])]
    if not named:
        raise ValueError(
            "without: the base library has no array kernel "
            f"{operator!r}.{did_you_mean(operator, table.kernels)} "
            "Give names as in native_functions.yaml."
        )
    for each in named:
        del table.kernels[each]

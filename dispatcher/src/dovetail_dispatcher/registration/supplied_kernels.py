"""Array kernels whose functions are supplied when they are first looked at, so that the modules
that define them are not imported before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from dovetail_kernel import DispatchKey
from dovetail_kernel.plugins import PluginEntry

from ..table.kernels import ARRAY, Kernel
from ..table.registrars import Registrar
from ..table.updates.kernel_registration import add_kernels
from .library import Library

_FUNCTIONS: Final = ("fn", "fast_path", "out_function", "general_out_function")
_NOT_SUPPLIED: Any = None


class KernelFunctions(Protocol):
    """The functions of an array kernel: see `Kernel`."""

    @property
    def fn(self) -> Callable[..., Any]: ...

    @property
    def fast_path(self) -> Callable[..., Any] | None: ...

    @property
    def out_function(self) -> Callable[..., Any] | None: ...

    @property
    def general_out_function(self) -> Callable[..., Any] | None: ...


class SuppliedKernel(Kernel):
    """An array kernel that asks for its functions once, when one is first looked at.

    Parameters
    ----------
    supply
        Returns the functions.
    key, location, plugin, registrar, is_proven
        As for `Kernel`.
    """

    __slots__ = ("_supply",)

    def __init__(
        self,
        supply: Callable[[], KernelFunctions],
        key: DispatchKey,
        location: str | Callable[[], str],
        *,
        plugin: PluginEntry | None = None,
        registrar: Registrar | None = None,
        is_proven: bool = False,
    ) -> None:
        super().__init__(
            _NOT_SUPPLIED,
            key,
            ARRAY,
            location,
            plugin=plugin,
            registrar=registrar,
            is_proven=is_proven,
        )
        self._supply = supply
        for name in _FUNCTIONS:
            delattr(self, name)

    def __getattr__(self, name: str) -> Any:
        """Return a function that has not been looked at: its place is empty until then."""
        if name not in _FUNCTIONS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        functions = self._supply()
        for each in _FUNCTIONS:
            setattr(self, each, getattr(functions, each))
        return getattr(functions, name)


def supply_array_kernels(
    library: Library, key: DispatchKey, supplies: Mapping[str, Callable[[], KernelFunctions]]
) -> None:
    """Register array kernels on a library, like `Library.array_impl`, with functions that are known
    to match the schemas, and that are loaded when first used.

    Parameters
    ----------
    library
        The library that registers the kernels.
    key
        The dispatch key of the kernels.
    supplies
        The callables that return the functions, by operator, such as ``"add.Tensor"``.
    """
    rows = []
    for op_name, supply in supplies.items():
        base, _, overload = op_name.partition(".")
        kernel = SuppliedKernel(
            supply,
            key,
            library.location,
            plugin=library._plugin,
            registrar=library._registrar,
            is_proven=library._is_proven,
        )
        rows.append((f"{library.ns}::{base}", overload, kernel))
    add_kernels(rows, library._changes)

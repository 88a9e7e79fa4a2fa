"""Kernels of overlays: array kernels over those that come with a backend, to which they hand on the
calls that they are not better at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail_kernel import Backend, DispatchKey, backend_key

from ..table import registry
from ..table.kernel_namespace import cover_helper
from ..table.kernels import ARRAY, Kernel
from ..table.updates.kernel_registration import cover_kernel
from .library import Library
from .supplied_kernels import KernelFunctions, SuppliedKernel

Function = Callable[..., Any]


class OverlayKernel(SuppliedKernel):
    """An array kernel that stands over another one.

    Parameters
    ----------
    make
        Makes the functions, from the kernel beneath; called when one is first looked at.
    covered
        The kernel beneath.
    computes
        The function that computes what it does not hand on, for people.
    when
        Which calls these are, in words.
    key, location, **options
        As for `SuppliedKernel`.
    """

    __slots__ = ("_computes", "covered")

    def __init__(
        self,
        make: Callable[[Kernel], KernelFunctions],
        covered: Kernel,
        computes: Function,
        when: str,
        key: DispatchKey,
        location: str,
        **options: Any,
    ) -> None:
        super().__init__(partial(make, covered), key, location, **options)
        self.covered = covered
        self.why = when
        self._computes = computes

    @property
    def _named_function(self) -> Any:
        return self._computes


def cover(
    library: Library,
    op_name: str,
    make: Callable[[Kernel], KernelFunctions],
    *,
    backend: Backend,
    computes: Function,
    when: str,
) -> bool:
    """Put an array kernel over the one that a backend comes with.

    Parameters
    ----------
    library
        Whose kernel it is; with the library, or the plugin that it belongs to, it goes.
    op_name
        The operator, such as ``"add.Tensor"``.
    make
        Returns the functions, given the kernel beneath, to which they hand on what they do not
        compute; called when the operator is first called.
    backend
        Whose kernel it stands over.
    computes
        The function that computes what it does not hand on: `explain` shows it.
    when
        Which calls these are, for `explain`.

    Returns
    -------
    bool
        False if there is none, or one that does not come with Dovetail, which is left in force.
    """
    base, _, overload = op_name.partition(".")
    key = backend_key("Dense", backend)
    with registry.lock:
        op = registry.find(f"{library.ns}::{base}", overload)
        covered = None if op is None else op.newest(key)
        if op is None or covered is None or covered.convention != ARRAY or not covered.is_our_own:
            return False
        kernel = OverlayKernel(
            make,
            covered,
            computes,
            when,
            key,
            library.location,
            plugin=library._plugin,
            registrar=library._registrar,
            is_proven=library._is_proven,
        )
        cover_kernel(op, kernel, library._changes)
        return True


def cover_helper_of_bodies(
    library: Library, name: str, make: Callable[[Function], Function], *, backend: Backend
) -> None:
    """Put a function over the one that derivative bodies and fused calls know as ``k.name``.

    Parameters
    ----------
    library, backend
        As for `cover`.
    make
        Returns the function, given the one beneath; called when `name` is first looked up.
    """
    cover_helper(backend, name, make, library._changes)


__all__ = ["OverlayKernel", "cover", "cover_helper_of_bodies"]

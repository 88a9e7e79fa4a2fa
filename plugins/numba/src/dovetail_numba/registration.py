"""Puts the kernels over those of the cpu."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, Final

from dovetail_aten.kernel_support import Function
from dovetail_aten.kernel_support.table import ArrayKernel
from dovetail_dispatcher import Library
from dovetail_dispatcher.registration.overlay_kernels import cover, cover_helper_of_bodies
from dovetail_dispatcher.table import registry
from dovetail_kernel import backend, plugin_manager

from .kernels.covering import COVERS, Cover, Parameters, chooser, writer

VARIABLE: Final = "DOVETAIL_NUMBA_LEAST"
"""Says from how many elements on all loops compute, in place of what was measured for each."""

MODULES: Final = (
    "activations",
    "arithmetic",
    "indexing",
    "losses",
    "normalization",
    "recurrence",
    "rows",
    "windows",
)
"""The modules of `kernels` that have some."""


def all_covers() -> list[Cover]:
    """Return all kernels of the overlay."""
    for module in MODULES:
        import_module(f"{__package__}.kernels.{module}")
    return COVERS


def register() -> Library:
    """Put all kernels in force; with the library they go."""
    covers = all_covers()
    plugin_manager.load_backend("cpu")
    cpu = backend("cpu")
    library = Library("aten", "IMPL")
    library._is_proven = True  # the tests of the base library run with these kernels
    for each in map(_from_wanted_size, covers):
        if each.is_helper:
            cover_helper_of_bodies(library, each.name, partial(_helper, each), backend=cpu)
        else:
            make = partial(_kernel, each)
            cover(library, each.name, make, backend=cpu, computes=each.large, when=each.when)
    return library


def _from_wanted_size(each: Cover) -> Cover:
    """Return a kernel with the least size that `VARIABLE` says; of nothing there is nothing to
    compute.
    """
    wanted = os.environ.get(VARIABLE)
    return each if wanted is None else each._replace(least=max(1, int(wanted)))


def _kernel(each: Cover, below: Any) -> ArrayKernel:
    """Return the functions of a kernel over the one beneath."""
    arguments = registry.find_or_throw(*_split(each.name)).schema.arguments
    positional = tuple([a.name for a in arguments if not a.kwarg_only])
    keywords = tuple([a.name for a in arguments if a.kwarg_only])
    defaults = {a.name: a.default_value for a in arguments if a.has_default_value()}
    every = Parameters(positional, keywords, defaults)
    tensors = Parameters(tuple([a.name for a in arguments if "Tensor" in a.real_type.schema_str]))
    counted = positional[each.counted]
    kernel = _as_quiet(chooser(each, below.fn, every, counted), below.fn)
    fast = None
    into, general_into = below.out_function, below.general_out_function
    if below.fast_path is not None:
        fast = chooser(each, below.fast_path, tensors, counted, below.fn)
        fast = _as_quiet(fast, below.fast_path)
    if each.writes:
        into = _as_quiet(writer(each, below, tensors, counted), below.out_function or below.fn)
        general_into = writer(each, below, every, counted)
    return ArrayKernel(kernel, fast, into, general_into)


def _as_quiet(function: Function, below: Function) -> Function:
    """Say of a function that it never warns where the one beneath does not: its route is then as
    short.
    """
    if not backend("cpu").arrays.may_warn(below):
        setattr(function, "never_warns", True)  # noqa: B010  (a function's type knows no attributes)
    return function


def _helper(each: Cover, below: Any) -> Any:
    """Return a helper over the one beneath, whose parameters it has."""
    parameters = Parameters(tuple(signature(below).parameters))
    return chooser(each, below, parameters, parameters.positional[each.counted])


def _split(name: str) -> tuple[str, str]:
    base, _, overload = name.partition(".")
    return f"aten::{base}", overload


__all__ = ["all_covers", "register"]

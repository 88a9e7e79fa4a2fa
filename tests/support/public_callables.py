"""The functions, classes and methods that users call."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import dovetail

MODULES = [
    "",
    *("amp", "autograd", "backends", "distributions", "fft", "func", "library", "linalg", "nn"),
    *("autograd.forward_ad", "autograd.functional", "autograd.graph", "fx", "jit", "masked"),
    *("nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "special"),
    *("overrides", "profiler", "signal.windows", "sparse", "utils.checkpoint"),
    *("testing", "utils", "utils.data", "utils._python_dispatch"),
]


def public(module: str) -> dict[str, Any]:
    """Return the callables of a module by name; of `Tensor`, those that do not begin with _."""
    if module == "Tensor":
        names = [name for name in dir(dovetail.Tensor) if not name.startswith("_")]
        found = {name: inspect.getattr_static(dovetail.Tensor, name) for name in names}
        return {name: value for name, value in found.items() if inspect.isfunction(value)}
    holder = import_module(f"dovetail.{module}".rstrip("."))
    found = {name: getattr(holder, name) for name in holder.__all__}
    return {
        name: value
        for name, value in found.items()
        if callable(value) and not isinstance(value, dovetail.dtype)
    }


def generated() -> Iterator[tuple[str, Any]]:
    """Iterate over the public functions that are generated, by their names."""
    for module in [*MODULES, "Tensor"]:
        for name, value in public(module).items():
            names = getattr(value, "__globals__", {})
            if names.get("__name__", "").startswith("dovetail_aten._generated.functions"):
                yield f"{module}.{name}".lstrip("."), value

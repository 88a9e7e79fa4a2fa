"""Compares the names of both libraries' core classes and modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

MODULES: Final = (
    *("_C", "_C._functions", "_C._autograd", "autograd", "autograd.forward_ad"),
    *("autograd.function", "autograd.grad_mode", "autograd.graph", "nn.parameter"),
    *("optim.optimizer", "storage", "utils.data", "utils.data.dataloader"),
    *("utils.data.dataset", "utils.data.sampler", "utils.hooks"),
)
CLASSES: Final = (
    *("Tensor", "UntypedStorage", "TypedStorage", "Size", "dtype", "device", "layout"),
    *("memory_format", "Generator", "finfo", "iinfo", "Stream", "Event", "autograd.Function"),
    *("autograd.function.FunctionCtx", "autograd.graph.Node", "nn.Module", "nn.Parameter"),
    *("optim.Optimizer", "utils.data.DataLoader", "utils.hooks.RemovableHandle"),
)


def place(library: ModuleType, path: str) -> Any:
    """Return the object at a dotted path of a library, its modules imported."""
    found: Any = library
    for position, name in enumerate(path.split("."), start=1):
        try:
            found = getattr(found, name)
        except AttributeError:
            parts = path.split(".")[:position]
            found = importlib.import_module(".".join([library.__name__, *parts]))
    return found


def absent(theirs: Any, ours: Any) -> Iterator[str]:
    """Yield the names that `theirs` has and `ours` lacks, but no standard modules."""
    for name in dir(theirs):
        value = getattr(theirs, name, None)
        if isinstance(value, ModuleType) and not value.__name__.startswith("torch."):
            continue
        owner = getattr(value, "__module__", None) or "builtins"
        standard = str(owner).partition(".")[0] in sys.stdlib_module_names - {"builtins"}
        if not (standard or hasattr(ours, name)):
            yield name

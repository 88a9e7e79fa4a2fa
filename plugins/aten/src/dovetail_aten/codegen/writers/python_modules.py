"""Writes ``nn.py`` and the like: the functions of the operators that have a ``python_module``.

`special_zeta` of the module `special` is `zeta` there, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..overload_sets import overload_sets
from ..readers.native_functions import NativeFunction
from .text import HEADER, Lines, bracketed


def write_python_modules(functions: Sequence[NativeFunction]) -> dict[str, str]:
    """Return the texts of the modules by file name."""
    names: dict[str, list[str]] = {}
    for overloads in overload_sets(functions):
        if overloads.module and any([overload.is_public for overload in overloads.overloads]):
            names.setdefault(overloads.module, []).append(overloads.name)
    return {f"{module}.py": _module(module, own) for module, own in names.items()}


def _module(module: str, names: Sequence[str]) -> str:
    public = {name: name.removeprefix(f"{module}_") for name in names}
    imported = [name if name == own else f"{name} as {own}" for name, own in public.items()]
    lines = Lines()
    lines.add(HEADER, f'"""The functions that are public in `{module}` and not at the top."""', "")
    lines.add(*bracketed("from .functions import (", imported, ")"), "")
    lines.add(*bracketed("__all__ = [", [f'"{name}"' for name in public.values()], "]"))
    return lines.text()

"""PyTorch's classes of compiled functions and modules, which are base classes of `trace`
results.
"""

from __future__ import annotations

from typing import Any

from ..nn import Module
from .refusals import no_graph


class ScriptModule(Module):
    """The class of traced modules. A module of a derived class runs unchanged."""


class RecursiveScriptModule(ScriptModule):
    """The class of recursively compiled modules; it has no instances."""


class ScriptFunction:
    """The class of functions traced by `trace`.

    Raises
    ------
    NotImplementedError
        When the class itself is called.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> ScriptFunction:
        if cls is ScriptFunction:
            no_graph("ScriptFunction")
        return super().__new__(cls)


class CompilationUnit:
    """The class of compiled source texts; it has no instances.

    Raises
    ------
    NotImplementedError
        When the class is called.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        no_graph("CompilationUnit")

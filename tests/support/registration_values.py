"""Classes, values and texts of registration programs that are the same for both libraries."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# -- classes ---------------------------------------------------------------------------------------


def mode_class(side: Any, base: Any) -> Any:
    class Mode(base):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            shown = text_of(args) if func.namespace == side.ns else ""
            side.log.append(f"mode {func} {shown}")
            return func(*args, **(kwargs or {}))

    return Mode


def wrapper_class(side: Any, base: Any) -> Any:
    class Wrapper(base):  # type: ignore[misc]
        __torch_function__ = side.C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            shown = text_of(args) if func.namespace == side.ns else ""
            side.log.append(f"wrapper {func} {shown}")
            return 5

    return Wrapper


BROKEN = "reports a bug in itself"
"""What comes of a step that PyTorch asks to report as a bug of its own."""

# -- texts -----------------------------------------------------------------------------------------


def first_tensor(lib: Any, args: Any) -> Any:
    for each in args:
        if isinstance(each, lib.Tensor):
            return each
        if isinstance(each, list | tuple) and (found := first_tensor(lib, each)) is not None:
            return found
    return None


def text_of(value: Any) -> str:
    """Return arguments in a few characters."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, dict):
        return " ".join(f"{name}={text_of(each)}" for name, each in value.items())
    return "T" if hasattr(value, "requires_grad") else repr(value)


def node_name(node: Any) -> str:
    if node is None:
        return "leaf"
    name = re.sub(r"programs\d+", "NS", node.name().rpartition(":")[2])
    return {"NotImplementedNode": "WarnNotImplemented"}.get(name, name)


def outcome_of(run: Callable[[], Any]) -> str:
    try:
        result = run()
    except Exception as error:
        if "INTERNAL ASSERT FAILED" in str(error):
            return BROKEN
        # A type of Dovetail's own counts as that of Python which it is.
        return (
            f"raises {next(c for c in type(error).__mro__ if c.__module__ == 'builtins').__name__}"
        )
    return "" if result is None or callable(result) else str(result)

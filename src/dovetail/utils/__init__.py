"""What does not belong to tensors or operators themselves, as ``torch.utils``; all of it loads when first asked for."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from . import checkpoint, dlpack, hooks
    from .drawing import GraphDrawing, draw_graph
    from .gradient_questions import GradExplanation, explain_grad

_SUBMODULES = ("checkpoint", "dlpack", "hooks")
_MODULE_OF = {
    "GradExplanation": "gradient_questions",
    "GraphDrawing": "drawing",
    "draw_graph": "drawing",
    "explain_grad": "gradient_questions",
}

__all__ = ["GradExplanation", "GraphDrawing", "checkpoint", "dlpack", "draw_graph", "explain_grad", "hooks"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> _typing.Any:
        from importlib import import_module

        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        return value

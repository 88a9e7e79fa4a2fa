"""``dovetail.utils``: looking at graphs and gradients."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from .drawing import GraphDrawing, draw_graph
    from .gradient_questions import GradExplanation, explain_grad

_MODULE_OF = {
    "GradExplanation": "gradient_questions",
    "GraphDrawing": "drawing",
    "draw_graph": "drawing",
    "explain_grad": "gradient_questions",
}

__all__ = ["GradExplanation", "GraphDrawing", "draw_graph", "explain_grad"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> _typing.Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        return value

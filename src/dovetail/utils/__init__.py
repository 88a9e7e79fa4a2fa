"""Checkpointing, exchange and hooks, as ``torch.utils``, and the drawings and explanations of
`inspection`; all of it loads when first asked for.

May import `autograd`, `nn`, `inspection`, `random` and the packages below.
"""

import typing as _typing

from ..names.missing import names_of as _names_of

if _typing.TYPE_CHECKING:
    from ..inspection.drawing import GraphDrawing, draw_graph
    from ..inspection.gradient_explanation import GradExplanation, explain_grad
    from ..inspection.tensor_drawing import TensorDrawing, draw_tensor
    from . import benchmark, checkpoint, data, dlpack, hooks
    from .swapping import swap_tensors

_SUBMODULES = (
    "_foreach_utils",
    "_python_dispatch",
    "_pytree",
    "benchmark",
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "module_tracker",
    "serialization",
    "tensorboard",
    "weak",
)
_MODULE_OF = {
    "GradExplanation": "dovetail.inspection.gradient_explanation",
    "GraphDrawing": "dovetail.inspection.drawing",
    "TensorDrawing": "dovetail.inspection.tensor_drawing",
    "draw_graph": "dovetail.inspection.drawing",
    "draw_tensor": "dovetail.inspection.tensor_drawing",
    "explain_grad": "dovetail.inspection.gradient_explanation",
    "swap_tensors": "dovetail.utils.swapping",
}

__all__ = [
    "GradExplanation",
    "GraphDrawing",
    "TensorDrawing",
    "benchmark",
    "checkpoint",
    "data",
    "dlpack",
    "draw_graph",
    "draw_tensor",
    "explain_grad",
    "hooks",
    "swap_tensors",
]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, _SUBMODULES, _MODULE_OF)

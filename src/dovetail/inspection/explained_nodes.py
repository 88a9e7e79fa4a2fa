"""Nodes in an explanation of gradients: name, location, ranges of saved values, and remedy."""

from __future__ import annotations

import os
from pathlib import Path

import dovetail_aten
import dovetail_autograd
import dovetail_dispatcher
import dovetail_kernel
from dovetail_aten import Tensor
from dovetail_autograd import Node, saved_values
from dovetail_dispatcher import short_place

REMEDIES = {
    "Relu": "Every input was negative or zero: smaller learning "
    "rate, another initialization, or leaky_relu.",
    "Threshold": "Every input was below the threshold.",
    "Sigmoid": "It is saturated: smaller inputs, or a loss that takes logits.",
    "Tanh": "It is saturated: smaller inputs.",
    "Mul": "The other factor is zero everywhere.",
    "Round": "Its derivative is zero everywhere: pass gradients "
    "straight through with x + (x.round() - x).detach().",
    "Floor": "Its derivative is zero everywhere.",
    "Ceil": "Its derivative is zero everywhere.",
    "Sign": "Its derivative is zero everywhere.",
    "Clamp": "Every input was outside the limits.",
    "Sqrt": "Its derivative is infinite at 0: add a small number under the root.",
    "Log": "Its derivative is infinite at 0: clamp its input away from 0, or use log_softmax.",
    "Div": "The divisor is zero somewhere: add a small number, "
    "or choose with where() before dividing.",
    "Pow": "A power below 1 has an infinite derivative at 0, one of 0 has derivative 0.",
    "LinalgVectorNorm": "The norm has no derivative at 0: add a small number.",
    "Where": "A nan in the branch not taken counts: 0 times nan is "
    "nan. Choose the input before the operator.",
}
"""What to do, by the name of the node without ``Backward0``."""


def base_name(node: Node) -> str:
    """Return the name of a node without ``Backward0``."""
    return node.name().partition("Backward")[0]


def name_of(node: Node | None) -> str:
    """Return the name of a node, "nothing" without one."""
    return "nothing" if node is None else node.name()


def recorded_at(node: Node | None) -> str:
    """Return `` (recorded at file:line)`` if anomaly mode noted it; ``node.metadata`` would create
    the entry.
    """
    noted = None if node is None or node._node_hooks is None else node._node_hooks.metadata
    stack = (noted or {}).get("traceback_", ())
    for entry in reversed(stack):
        file, _, rest = entry.strip().removeprefix('File "').partition('", line ')
        if not file.startswith(("<dovetail ", *_OURS)):
            return f" (recorded at {short_place(file + ':' + rest.partition(',')[0])})"
    return ""


_OURS = tuple(
    f"{folder}{os.sep}"
    for folder in (
        Path(__file__).parents[1],
        *(
            Path(package.__file__ or "").parent
            for package in (dovetail_aten, dovetail_autograd, dovetail_dispatcher, dovetail_kernel)
        ),
    )
)
"""Folders whose frames are not what a user means by "where"."""


def how_to_find_lines(node: Node) -> str:
    """Return a hint how to find the source line of a node; empty if the line is known."""
    return (
        ""
        if recorded_at(node)
        else "Run the forward in dovetail.autograd.detect_anomaly() to get its line."
    )


def ranges(node: Node) -> str:
    """Return the ranges of the tensors that `node` saved."""
    told = []
    for name, value, _ in saved_values(node):
        if isinstance(value, Tensor) and value.numel() and value.dtype.is_floating_point:
            plain = value.detach()
            told.append(f"{name} between {plain.min().item():.4g} and {plain.max().item():.4g}")
    return f" (saved {', '.join(told)})" if told else ""


def is_not_finite(value: object) -> bool:
    """Return whether a value is a tensor with an element that is nan or infinite."""
    if not isinstance(value, Tensor) or not (
        value.dtype.is_floating_point or value.dtype.is_complex
    ):
        return False
    return not bool(value.detach().isfinite().all())

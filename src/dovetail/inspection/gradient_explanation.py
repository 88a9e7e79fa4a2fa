"""`explain_grad`: the reason why a gradient is None, zero, nan or infinite, and a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import AccumulateGrad, Node, saved_values
from dovetail_dispatcher import CallSpan, InNotebooks, Trace, short_place

from .explained_nodes import (
    REMEDIES,
    base_name,
    how_to_find_lines,
    is_not_finite,
    name_of,
    ranges,
    recorded_at,
)
from .gradient_replay import Replay, replay, state_of
from .graph_reading import describe, names_of, walk

_COLUMNS = 100
_MOST_NAMED = 8


@dataclass(frozen=True)
class Reason:
    """One finding.

    Attributes
    ----------
    finding
        What is the case.
    remedy
        What to do; empty if nothing is wrong.
    """

    finding: str
    remedy: str = ""


@dataclass(frozen=True, repr=False)
class GradExplanation(InNotebooks):
    """Explanation of a gradient; ``str`` returns it as text.

    Attributes
    ----------
    tensor
        A short description of the tensor.
    gradient
        "none", "zero", "nan", "infinite" or "ordinary".
    reasons
        The findings, the most likely cause first.
    """

    tensor: str
    gradient: str
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        lines = [f"{self.tensor}: its gradient is {_IN_WORDS[self.gradient]}."]
        for reason in self.reasons:
            lines += wrap(reason.finding, _COLUMNS, initial_indent="  • ", subsequent_indent="    ")
            lines += wrap(
                reason.remedy, _COLUMNS, initial_indent="    → ", subsequent_indent="      "
            )
        return "\n".join(lines)


_IN_WORDS = {
    "none": "None",
    "zero": "zero everywhere",
    "nan": "nan",
    "infinite": "infinite",
    "ordinary": "neither None nor zero, and finite",
}


def explain_grad(
    tensor: Tensor,
    output: Tensor | None = None,
    params: object | None = None,
    trace: Trace | None = None,
) -> GradExplanation:
    """Explain why ``tensor.grad`` is None, zero, nan or infinite.

    Parameters
    ----------
    tensor
        The tensor whose gradient is in question.
    output
        The tensor on which backward is called. If passed, the graph is searched for a path to
        `tensor`, and for a gradient that is zero or not finite, backward is replayed to find the
        node that caused it. This needs the saved values: call it before ``backward()``, or after
        ``backward(retain_graph=True)``. No ``.grad`` is changed, but tensor hooks run.
    params
        Names for leaves, as for `draw_graph`.
    trace
        A `dovetail.tracing` of the forward run: calls that got tensors with gradients and returned
        tensors without are reported with their source lines.

    Returns
    -------
    GradExplanation

    Raises
    ------
    TypeError
        If `tensor` is not a tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "explain_grad() explains gradients of tensors, but was given a "
            f"{type(tensor).__name__}."
        )
    names = names_of(params)
    described = f"{names.get(id(tensor), 'tensor')} {describe(tensor)}"
    gradient = _gradient(tensor)
    if gradient is None:
        return GradExplanation(described, "none", tuple(_why_none(tensor, output, names, trace)))
    kind = state_of([gradient])
    return GradExplanation(described, kind, tuple(_why(kind, tensor, output, names)))


def _gradient(tensor: Tensor) -> Any:
    if not tensor.is_leaf and not tensor.retains_grad:
        return None  # and asking for it would warn
    return tensor.grad


# -- None ------------------------------------------------------------------------------------------


def _why_none(
    tensor: Tensor, output: Tensor | None, names: dict[int, str], trace: Trace | None
) -> Iterable[Reason]:
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        yield Reason(
            f"Its dtype is {tensor.dtype}: only floating point and complex tensors have gradients.",
            "Convert it before it is used: x = x.float().requires_grad_().",
        )
        return
    if not tensor.requires_grad:
        yield from _why_not_required(tensor, trace)
        return
    if not tensor.is_leaf and not tensor.retains_grad:
        node = tensor.grad_fn
        yield Reason(
            f"It is not a leaf: {name_of(node)}{recorded_at(node)} made it, and only leaves keep "
            "their gradients.",
            "Call tensor.retain_grad() before backward(), or use dovetail.autograd.grad(output, "
            "tensor).",
        )
        if output is None or (
            output.requires_grad and _node_of(tensor, walk([output.grad_fn])) is not None
        ):
            return
    if output is None:
        yield Reason(
            "Either no backward ran since it was made or zero_grad() was called, or no path leads "
            "to it.",
            "Call explain_grad(tensor, output) with what backward() was called on to find out.",
        )
        return
    yield from _why_not_reached(tensor, output, names, trace)


def _why_not_required(tensor: Tensor, trace: Trace | None) -> Iterable[Reason]:
    if tensor.is_inference():
        yield Reason(
            "It was made in inference mode.",
            "Make it outside, or clone it there and require grad of that.",
        )
    else:
        yield Reason(
            "It does not require grad: it is a constant, or was made in no_grad(), by detach() or "
            ".data, or by an "
            "operator without derivative.",
            "Call requires_grad_() on it before it is used; or compute it in grad mode, without "
            "detach().",
        )
    yield from _cuts(trace)


def _cuts(trace: Trace | None) -> Iterable[Reason]:
    """Name the calls of a trace that took something with a gradient and returned floating point
    without.
    """
    for call in trace.calls() if trace is not None else ():
        took = [a.value for a in call.arguments if a.value.endswith("requires grad")]
        gave = [
            r
            for r in call.results
            if r.startswith(("float", "bfloat", "complex")) and "requires grad" not in r
        ]
        if took and gave and len(gave) == len(call.results) and _is_outermost(call):
            yield Reason(
                f"{call.name} at {short_place(call.called_at or '')} took {took[0]} and returned "
                f"{gave[0]}: no "
                "gradient passes through that call.",
                "Leave it out, or move it out of no_grad(), if gradients are to pass.",
            )


def _is_outermost(call: CallSpan) -> bool:
    return call.called_at is not None


def _why_not_reached(
    tensor: Tensor, output: Tensor, names: dict[int, str], trace: Trace | None
) -> Iterable[Reason]:
    if not output.requires_grad:
        yield Reason(
            "The output does not require grad, so it has no graph: something between was "
            "detached, integer, or "
            "computed in no_grad().",
            "Compute it in grad mode; a trace of the forward run shows where the graph ends: "
            "explain_grad(..., "
            "trace=t).",
        )
        yield from _cuts(trace)
        return
    nodes = walk([output.grad_fn])
    target = _node_of(tensor, nodes)
    if output is not tensor and target is None:
        leaves = [
            names.get(id(n.variable), describe(n.variable))
            for n in nodes
            if isinstance(n, AccumulateGrad)
        ]
        listed = ", ".join(leaves[:_MOST_NAMED]) + (
            f" and {len(leaves) - _MOST_NAMED} more" if len(leaves) > _MOST_NAMED else ""
        )
        yield Reason(
            f"No path leads from the output to it. The graph of {len(nodes)} nodes reaches "
            f"{listed or 'no leaf'}.",
            "Use this very tensor in the computation: not a copy, .data, detach() or NumPy array "
            "of it, and not before "
            "requires_grad_() was called.",
        )
        yield from _cuts(trace)
        return
    if any([value.state == "freed" for node in nodes for value in saved_values(node)]):
        yield Reason(
            "A backward ran through this graph, which freed it, but its gradient was not kept: "
            "zero_grad() came later, "
            "it was autograd.grad(), which returns gradients, or backward(inputs=...) without "
            "this tensor.",
            "Read .grad before zero_grad(); run the forward again for another backward.",
        )
        return
    yield Reason(
        "A path leads from the output to it, but no backward has run through this graph, or "
        "zero_grad() came later.",
        "Call output.backward().",
    )


def _node_of(tensor: Tensor, nodes: Iterable[Node]) -> Node | None:
    """Return the node among `nodes` at which the gradient of `tensor` arrives."""
    if not tensor.is_leaf:
        made_by = tensor.grad_fn
        found = [node for node in nodes if node is made_by]
    else:
        found = [n for n in nodes if isinstance(n, AccumulateGrad) and n.variable is tensor]
    return found[0] if found else None


# -- zero, nan, infinite ---------------------------------------------------------------------------


def _why(
    kind: str, tensor: Tensor, output: Tensor | None, names: dict[int, str]
) -> Iterable[Reason]:
    if kind == "ordinary":
        return
    if output is None:
        yield Reason(
            "The gradient alone does not tell which node made it so.",
            "Call explain_grad(tensor, output) before backward(), or after "
            "backward(retain_graph=True): it replays the "
            "backward and names the node.",
        )
        return
    if not output.requires_grad or _node_of(tensor, walk([output.grad_fn])) is None:
        yield Reason(
            "The output has no path to it: its gradient comes from another backward.",
            "Give that one's output.",
        )
        return
    try:
        found = replay(tensor, output)
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        yield Reason(
            "The graph was freed by backward, so it cannot be replayed.",
            "Run the forward again and ask before backward(), or use backward(retain_graph=True).",
        )
        return
    yield from _why_not_finite(kind, output, found) if kind != "zero" else _why_zero(found)


def _why_not_finite(kind: str, output: Tensor, found: Replay) -> Iterable[Reason]:
    if found.kind not in ("nan", "infinite"):
        yield Reason(
            f"The replay gives a gradient that is {_IN_WORDS[found.kind]}: what is not finite was "
            "added by an earlier "
            "backward.",
            "Call zero_grad() before every backward.",
        )
        return
    broken = state_of([output.detach()])
    if broken in ("nan", "infinite"):
        yield Reason(f"The output itself is {broken} already: look at the forward run first.")
    for node in reversed(found.nodes):  # in the order of the forward run
        bad = [v.name for v in saved_values(node) if is_not_finite(v.value)]
        if bad:
            yield Reason(
                f"In forward, {name_of(node)}{recorded_at(node)} is the first to have saved "
                "something not finite: "
                f"{', '.join(bad)}.",
                how_to_find_lines(node),
            )
            break
    for step in found.steps:
        if step.made in ("nan", "infinite"):
            yield Reason(
                f"In backward, {name_of(step.node)}{recorded_at(step.node)} got finite gradients "
                "and returned "
                f"{step.made} ones{ranges(step.node)}.",
                REMEDIES.get(base_name(step.node), how_to_find_lines(step.node)),
            )
            return


def _why_zero(found: Replay) -> Iterable[Reason]:
    if found.kind != "zero":
        yield Reason(
            f"The replay gives a gradient that is {_IN_WORDS[found.kind]}: "
            "zero_grad(set_to_none=False) came after "
            "backward.",
            "Read .grad before zero_grad().",
        )
        return
    makers = [step for step in found.steps if step.made == "zero"]
    for step in makers[:_MOST_NAMED]:
        yield Reason(
            f"{name_of(step.node)}{recorded_at(step.node)} got a gradient that is not zero and "
            "returned zeros"
            f"{ranges(step.node)}.",
            REMEDIES.get(
                base_name(step.node), "Its derivative is zero here: look at what it was given."
            ),
        )
    if not makers:
        yield Reason(
            "No node on the way returned nothing but zeros: contributions along several paths "
            "cancel."
        )

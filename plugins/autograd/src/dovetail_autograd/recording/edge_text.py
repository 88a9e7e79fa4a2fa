"""Text that recording routes have in common: asking an argument for its gradient edge, and calling
below Autograd.
"""

from __future__ import annotations

from dovetail_dispatcher.calls.templates import RouteText
from dovetail_dispatcher.calls.templates.arguments import route_parameter as parameter
from dovetail_dispatcher.calls.templates.arguments import spelling
from dovetail_dispatcher.schema import Argument
from dovetail_kernel.keys.state import below_ad_inplace_or_view, set_state, state
from dovetail_kernel.types.signature import PYTHON_SCALAR, VIEW


def edge_lines(argument: Argument, key: int, *, is_only: bool, is_given: bool = False) -> list[str]:
    """Return the lines that leave the edge of `argument`, or the edges of a list, in
    ``<name>_edge``.

    Parameters
    ----------
    key
        The key of the calls that the route is for.
    is_only
        The argument is the one tensor of the call, so that a call that is recorded says that it
        requires grad.
    is_given
        An optional argument is known not to be None. Default: False.
    """
    name, kind = parameter(argument), spelling(argument)
    if "[" in kind:
        return [f"{name}_edge = edges_of({name})"]
    if (kind == "Tensor?" and not is_given) or key & PYTHON_SCALAR:
        return [f"{name}_edge = edge_of({name})"]
    if key & VIEW:
        return [
            f"fn = {name}._grad_fn",
            f"if {name}._signature & VIEW and (fn is None or {name}._counter.value != "
            f"{name}._meta.view.attr_version):",
            f"    {name}_edge = gradient_edge({name})",
            f"elif fn is not None: {name}_edge = fn, {name}.output_nr",
            f"elif {name}._signature & GRAD: {name}_edge = leaf_edge({name})",
            f"else: {name}_edge = None",
        ]
    if is_only:
        return [
            f"fn = {name}._grad_fn",
            f"{name}_edge = leaf_edge({name}) if fn is None else (fn, {name}.output_nr)",
        ]
    return [
        f"fn = {name}._grad_fn",
        f"if fn is not None: {name}_edge = fn, {name}.output_nr",
        f"elif {name}._signature & GRAD: {name}_edge = leaf_edge({name})",
        f"else: {name}_edge = None",
    ]


def run_below_autograd(text: RouteText) -> None:
    """Let the calls that an opaque kernel makes go below Autograd: its own formula stands for
    them.
    """
    text.bindings.update(state=state, set_state=set_state, below_autograd=below_ad_inplace_or_view)
    text.lines[:] = [
        "state_before = state()",
        "set_state(below_autograd(state_before))",
        "try:",
        *[f"    {line}" for line in text.lines],
        "finally:",
        "    set_state(state_before)",
    ]

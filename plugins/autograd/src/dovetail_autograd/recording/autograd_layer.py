"""The Autograd functionality: layers that take the plan of a call below Autograd and return one
that records.

Which one depends on what is known of the operator's derivative: a formula, which `derived_plan`
records; a function of the user, `registered_plan`; or nothing, `unknown_plan`.
"""

from __future__ import annotations

from dovetail_dispatcher import Kernel
from dovetail_dispatcher.calls import Composition, RoutePlan
from dovetail_dispatcher.sockets import AUTOGRAD_LAYERS
from dovetail_dispatcher.table import FORMULA, Formula, PythonFormula, registry

from .derived_recording import derived_plan
from .fused_recording import fused_plan
from .registered_derivative import registered_plan
from .unknown_derivative import unknown_plan
from .write_steps import guarding_writes, marking_views


def autograd_layer(composition: Composition, kernel: Kernel, below: RoutePlan) -> RoutePlan:
    """Return the plan of a call through the derived Autograd kernel or the Autograd fallback."""
    op = composition.op
    formula = op.derivative if kernel.convention == FORMULA else None
    if formula is None:
        return unknown_plan(below) if composition.records else below
    if isinstance(formula, PythonFormula):
        return registered_plan(composition, formula, below) if composition.records else below
    if not _is_differentiable(formula):
        return guarding_writes(below) if composition.records else below
    if composition.records:
        return derived_plan(composition, formula, below)
    if op.schema._is_view_op() and not composition.state.inference:
        return marking_views(below, composition)
    return below


def view_layer(composition: Composition, below: RoutePlan) -> RoutePlan:
    """Return the plan of a call in inference mode that notes whose views its results are; detach()
    makes none.
    """
    formula = composition.op.formula
    if isinstance(formula, Formula) and not _is_differentiable(formula):
        return below
    return marking_views(below, composition)


class Layers:
    """What the dispatcher composes the routes of recorded calls with."""

    record = staticmethod(autograd_layer)
    note_views = staticmethod(view_layer)
    fuse = staticmethod(fused_plan)


def install() -> None:
    """Make calls record from now on."""
    with registry.lock:
        AUTOGRAD_LAYERS.fill(Layers())
        registry.forget_all_routes()


def _is_differentiable(formula: Formula) -> bool:
    flags = formula.output_differentiability
    return flags is None or any(flags)

"""The Autograd functionality: layers that take the plan of a call below Autograd and return one
that records.

Which one depends on what is known of the operator's derivative: a formula, which `derived_plan`
records; a function of the user, `registered_plan`; or nothing, `unknown_plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_dispatcher.sockets import AUTOGRAD_LAYERS
from dovetail_dispatcher.table import FORMULA, Formula, PythonFormula, registry

from .. import recording  # its modules are imported with the first call that is recorded

if TYPE_CHECKING:
    from dovetail_dispatcher import Kernel
    from dovetail_dispatcher.calls import Composition, RoutePlan


def autograd_layer(composition: Composition, kernel: Kernel, below: RoutePlan) -> RoutePlan:
    """Return the plan of a call through the derived Autograd kernel or the Autograd fallback."""
    op = composition.op
    formula = op.derivative if kernel.convention == FORMULA else None
    if formula is None:
        return recording.unknown_plan(below) if composition.records else below
    if isinstance(formula, PythonFormula):
        return (
            recording.registered_plan(composition, formula, below) if composition.records else below
        )
    if not _is_differentiable(formula):
        return recording.guarding_writes(below) if composition.records else below
    if composition.records:
        return recording.derived_plan(composition, formula, below)
    if op.schema._is_view_op() and not composition.state.inference:
        return recording.marking_views(below, composition)
    return below


def view_layer(composition: Composition, below: RoutePlan) -> RoutePlan:
    """Return the plan of a call in inference mode that notes whose views its results are; detach()
    makes none.
    """
    formula = composition.op.formula
    if isinstance(formula, Formula) and not _is_differentiable(formula):
        return below
    return recording.marking_views(below, composition)


class Layers:
    """What the dispatcher composes the routes of recorded calls with."""

    record = staticmethod(autograd_layer)
    note_views = staticmethod(view_layer)

    @staticmethod
    def fuse(composition: Composition, kernel: Kernel) -> RoutePlan | None:
        """Return the plan of a composite that is recorded as one call; None if this one is not."""
        return recording.fused_plan(composition, kernel)


def install() -> None:
    """Make calls record from now on."""
    with registry.lock:
        AUTOGRAD_LAYERS.fill(Layers())
        registry.forget_all_routes()


def _is_differentiable(formula: Formula) -> bool:
    flags = formula.output_differentiability
    return flags is None or any(flags)

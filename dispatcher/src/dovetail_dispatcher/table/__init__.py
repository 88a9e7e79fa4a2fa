"""The operator table: what is registered for each operator now, the changes that register it and
can be reverted, and the dispatch table computed from it.

May import `schema`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

from .batching_rule import BatchingRule
from .derivative_formula import Formula, Forward, PythonFormula, Saved
from .fusion import INNER, Always, Arguments, Fusion
from .kernel_namespace import KernelNamespace, add_helpers
from .kernel_results import KernelResults
from .kernels import ARRAY, FORMULA, TENSOR, WRAPPED
from .registry import forget_all_routes
from .updates.backend_fallbacks import BUILT_IN, add_built_in_fallbacks
from .updates.changes import Change
from .updates.definitions import define_many
from .updates.kernel_registration import add_kernel, add_kernels

if TYPE_CHECKING:
    from .formula_module import FormulaOfModule
    from .source_locations import place_of_definition
    from .updates.rule_registration import set_batching_rule, set_derivative_formulas, set_fusions

__all__ = [
    "ARRAY",
    "BUILT_IN",
    "FORMULA",
    "INNER",
    "TENSOR",
    "WRAPPED",
    "Always",
    "Arguments",
    "BatchingRule",
    "Change",
    "Formula",
    "FormulaOfModule",
    "Forward",
    "Fusion",
    "KernelNamespace",
    "KernelResults",
    "PythonFormula",
    "Saved",
    "add_built_in_fallbacks",
    "add_helpers",
    "add_kernel",
    "add_kernels",
    "define_many",
    "forget_all_routes",
    "place_of_definition",
    "set_batching_rule",
    "set_derivative_formulas",
    "set_fusions",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "formula_module": ("FormulaOfModule",),
        "source_locations": ("place_of_definition",),
        "updates.rule_registration": (
            "set_batching_rule",
            "set_derivative_formulas",
            "set_fusions",
        ),
    },
)

"""Results of the base operators on the meta device: shapes, strides and dtypes by rule, as kernels
at key Meta.

Which rule is an operator's follows from its declaration: `_generated.policies`.
"""

from __future__ import annotations

from importlib import import_module

from dovetail_dispatcher import Kernel
from dovetail_dispatcher.table import ARRAY, TENSOR, add_kernel, place_of_definition, registry
from dovetail_kernel import DispatchKey

from .._generated.policies import DATA_DEPENDENT, META
from . import copies
from .result_formats import in_result_format
from .rules import made_for

__all__ = ["DATA_DEPENDENT", "register"]


def register() -> None:
    """Register the rules for every operator of the base library."""
    for module, name, results, operators in META:
        function = getattr(import_module(module), name)
        convention = TENSOR if function is copies.copy else ARRAY
        for operator in operators.split():
            base, _, overload = operator.partition(".")
            op = registry.find_or_throw(f"aten::{base}", overload)
            rule = in_result_format(operator, made_for(op, function, results))
            place = place_of_definition(op)
            kernel = Kernel(rule, DispatchKey.Meta, convention, place, is_proven=True)
            add_kernel(op.name, overload, kernel, [])

"""Results of the base operators on the meta device: shapes, strides and dtypes by rule, as array
kernels at key Meta.

Pointwise operators follow from their kind and promotion in the operator table; each other family
has a module of rules.
"""

from __future__ import annotations

from dovetail_dispatcher import Kernel, Operator
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.kernels import ARRAY
from dovetail_kernel import DispatchKey

from . import copies, creation, indexing, matmul, nn, reductions, views
from .pointwise import EXPLICIT, pointwise_rule
from .table import Rule

__all__ = ["DATA_DEPENDENT", "register", "rules"]

DATA_DEPENDENT = ("aten::nonzero", "aten::masked_select", "aten::equal")
"""Operators whose result cannot be told from shapes: on the meta device there is no kernel for
them.
"""


def rules() -> dict[str, Rule]:
    """Return the rules that are written out, by name with overload, without namespace."""
    found: dict[str, Rule] = {}
    for module in (copies, creation, indexing, matmul, nn, reductions, views):
        found.update(module.rule.rules)
    return {**found, **EXPLICIT.rules}


def rule_of(op: Operator, known: dict[str, Rule]) -> Rule | None:
    """Return the rule of an operator, or None where it is made of others, or has none."""
    name = f"{op.base_name}.{op.overload}" if op.overload else op.base_name
    if op.newest(DispatchKey.CompositeImplicitAutograd):
        return None
    if name in known:
        return known[name]
    composite = op.newest(DispatchKey.CompositeExplicitAutograd)
    return pointwise_rule(op) if op.kind == "pointwise" and not composite else None


def register() -> None:
    """Register the rules for every operator of the base library."""
    known = rules()
    for op in registry.all_operators():
        if (
            op.namespace == "aten"
            and op.variant_of is None
            and (rule := rule_of(op, known)) is not None
        ):
            registry.add_kernel(
                op.name, op.overload, Kernel(rule, DispatchKey.Meta, ARRAY, f"{__file__}:1"), []
            )
    copies.register_copy()

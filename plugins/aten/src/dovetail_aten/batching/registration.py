"""How the base operators work on a batch of samples: one rule per operator, made from its kind
where that says it all.

Imported when the first `vmap` runs. An operator without a rule is a composite, which decomposes by
itself, or falls back to one call per sample.
"""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import Operator
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.batching import BatchingRule, random_state_savers

from .._generated import functions as F
from ..backend.generator import save_default_generators
from ..meta.rules import Rules
from . import (
    creation,
    data_dependent,
    indexing,
    joining,
    matmul,
    nn,
    pointwise,
    randomness,
    reductions,
    views,
)
from .table import Rule, logical_shape

__all__ = ["register", "rule_of", "rules"]

LOCATION = f"{__file__}:1"

_ALONG = ("cumsum", "cumprod", "sort", "topk", "_softmax", "_log_softmax")
"""Operators that go along one dimension and keep it."""
_RANDOM_FACTORIES = ("rand", "randn", "randint", "randint.low")
_RANDOM_IN_PLACE = ("uniform_", "normal_", "bernoulli_.float")


def rules() -> dict[str, Rule]:
    """Return the rules that are written out, by name with overload, without namespace."""
    found: dict[str, Rule] = {}
    for module in (
        creation,
        data_dependent,
        indexing,
        joining,
        matmul,
        nn,
        pointwise,
        randomness,
        reductions,
        views,
    ):
        table: Rules = module.rule
        found.update(table.rules)
    return found


def rule_of(op: Operator, known: dict[str, Rule]) -> Rule | None:
    """Return the rule of an operator, or None where it is made of others, or has none."""
    name = f"{op.base_name}.{op.overload}" if op.overload else op.base_name
    if any(a.is_out for a in op.schema.arguments):
        return None
    if name in known:
        return known[name]
    if name in _RANDOM_FACTORIES:
        return randomness.factory(op)
    if name in _RANDOM_IN_PLACE:
        return randomness.in_place(op)
    functional = op.variant_of
    if functional is not None and functional.kind != "pointwise":
        own = rule_of(functional, known)
        return None if own is None else _in_place(own)
    if name in _ALONG:
        return reductions.along(op)
    if op.kind == "pointwise" and all(
        a.real_type.schema_str in _ELEMENTWISE for a in op.schema.arguments
    ):
        return pointwise.pointwise(op)
    if (
        op.kind == "reduction"
        and any(a.name == "dim" for a in op.schema.arguments)
        and op.base_name != "norm"
    ):
        return reductions.reduction(op)
    return None


_ELEMENTWISE = frozenset(
    {"Tensor", "Tensor?", "Scalar", "Scalar?", "float", "float?", "bool", "int", "str", "str?"}
)


def _in_place(functional: Rule) -> Rule:
    """Return the rule that writes what the functional operator gives into its first argument."""

    def apply(info: Any, in_dims: Any, self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        made, out_dim = functional(info, in_dims, self, *args, **kwargs)
        wanted, given = logical_shape(self, 0), logical_shape(made, out_dim)
        if wanted != given:
            raise RuntimeError(
                f"output with shape {list(wanted)} doesn't match the broadcast shape {list(given)}"
            )
        return F.copy_(self, made), 0

    return apply


def register() -> None:
    """Put a rule in the operator table for every base operator that has one."""
    random_state_savers.append(save_default_generators)
    known = rules()
    for op in registry.all_operators():
        if op.namespace == "aten" and (rule := rule_of(op, known)) is not None:
            registry.set_batching_rule(
                op.name, op.overload, BatchingRule(rule, True, op.kind == "random", LOCATION)
            )

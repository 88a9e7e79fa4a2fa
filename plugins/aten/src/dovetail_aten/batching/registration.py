"""Registers the batching rules of the base operators, one per operator.

Which rule is an operator's follows from its declaration: `_generated.policies`. Imported when the
first `vmap` runs. An operator without a rule is a composite, which decomposes by itself, or takes
no tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_dispatcher.sockets import RANDOM_STATES
from dovetail_dispatcher.table import BatchingRule, Formula, registry, set_batching_rule
from dovetail_kernel import TensorBase, is_grad_enabled

from .._generated import functions as F
from .._generated.policies import BATCHING
from ..backend.generator import save_default_generators
from ..meta.rules import made_for, makes_rules
from ..typing import Batch, Dims
from .table import Rule, logical_shape


def register() -> None:
    """Put a rule in the operator table for every base operator that has one."""
    RANDOM_STATES.add(save_default_generators)
    for module, name, operators in BATCHING:
        function = getattr(import_module(module), name)
        for operator in operators.split():
            base, _, overload = operator.partition(".")
            op = registry.find_or_throw(f"aten::{base}", overload)
            rule: Rule | None = made_for(op, function)
            if rule is not None:
                _set(op, rule)
                for variant in op.variants:
                    if not any([argument.is_out for argument in variant.schema.arguments]):
                        _set(variant, _of_variant(variant, function, rule))


def _set(op: Operator, rule: Rule) -> None:
    batching_rule = BatchingRule(rule, True, op.kind == "random", op.defined_at or "")
    set_batching_rule(op.name, op.overload, batching_rule, [])


def _of_variant(variant: Operator, function: Callable[..., object], functional: Rule) -> Rule:
    """Return the rule of an in-place variant: its own, of an elementwise operator, or one that
    writes what the functional operator gives.
    """
    if variant.kind == "pointwise" and makes_rules(function):
        return made_for(variant, function)
    return _in_place(functional, _saves_what_it_writes(variant))


def _saves_what_it_writes(variant: Operator) -> bool:
    formula, written = variant.derivative, variant.schema.arguments[0].name
    return isinstance(formula, Formula) and any(
        [each.kind == "input" and each.name == written for each in formula.saved]
    )


def _in_place(functional: Rule, saves_written: bool) -> Rule:
    """Return the rule that writes what the functional operator gives into its first argument.

    Where that is saved for a backward, a copy is: it is about to be written.
    """

    def apply(info: Batch, in_dims: Dims, self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        read = self
        if saves_written and is_grad_enabled() and _requires_grad(self, *args):
            read = F.clone(self)
        made, out_dim = functional(info, in_dims, read, *args, **kwargs)
        wanted, given = logical_shape(self, 0), logical_shape(made, out_dim)
        if wanted != given:
            raise RuntimeError(
                f"output with shape {list(wanted)} doesn't match the broadcast shape {list(given)}"
            )
        return F.copy_(self, made), 0

    return apply


def _requires_grad(*values: Any) -> bool:
    return any([isinstance(each, TensorBase) and each.requires_grad for each in values])

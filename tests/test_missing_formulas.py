"""What has no derivative says so: an operator has a formula, is made of those that have, or raises,
never zeros.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
from operator_samples import operators, samples

import dovetail
from dovetail_aten._generated import derivatives, policies
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula

STEPS = {
    "ceil",
    "floor",
    "round",
    "sign",
    "trunc",
    "div.Tensor_mode",
    "div.Scalar_mode",
    "sgn",
    "angle",
    *[
        f"{name}_.{overload}"
        for name in ("eq", "ge", "gt", "le", "lt", "ne")
        for overload in ("Tensor", "Scalar")
    ],
    "bernoulli",
    "bernoulli_.float",
    "fill_.Scalar",
    "fill_.Tensor",
    "normal_",
    "uniform_",
    "zero_",
    "copy_",
    "hardtanh_backward",
    "leaky_relu_backward",
    "nll_loss_backward",
    "threshold_backward",
}
"""Operators whose derivative is zero wherever there is one, or that overwrite; of gradients, that
of a step.
"""

CUT = {"argmax", "argmin", "detach", "multinomial", "view.dtype"}
"""Operators that are declared to give constants though their shape and dtypes do not say so."""

NUMBERED = {
    name
    for _, rule, results, names in policies.META
    if rule == "factory" or results in (("bool",), ("int64",))
    for name in names.split()
}
"""Operators whose results are bools, numbers of elements, or made from a shape."""


def gives_constants(name: str) -> bool:
    """Say whether the declaration of an operator makes its results constants: bools, numbers,
    places, or what depends on shapes alone.
    """
    op = named(name)
    return (
        name in CUT
        or op.promotion == "bool_result"
        or op.base_name.startswith("bitwise_")
        or name in NUMBERED
        or op.qualified_name in policies.DATA_DEPENDENT
    )


FORMULAS = [
    formula
    for family in derivatives.OPERATORS
    for formula in import_module(f"{derivatives.__name__}.{family}").FORMULAS
]


def named(name: str) -> Any:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload)


def test_a_formula_of_zeros_is_that_of_a_step() -> None:
    zeros = {
        formula.operator.removeprefix("aten::")
        for formula in FORMULAS
        if formula.tensors is not None and "zeros_like(grad)" in inspect.getsource(formula.tensors)
    }
    assert zeros
    assert zeros - STEPS == set()


CONSTANT = {
    formula.operator.removeprefix("aten::")
    for formula in FORMULAS
    if formula.output_differentiability is not None and not any(formula.output_differentiability)
}


def test_what_is_declared_constant_is_a_bool_a_place_or_made_from_a_shape() -> None:
    assert [name for name in CONSTANT if not gives_constants(name)] == []


def leaves_of(op: Any, arguments: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """Return the arguments of a sample with its float tensors as leaves, the keywords, and the
    leaves.

    Those that must not require grad are as they were.
    """
    refused = getattr(op.derivative, "refused", ())
    keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
    made, leaves = [], []

    def leaf(value: Any) -> Any:
        if isinstance(value, list):
            return [leaf(each) for each in value]
        if isinstance(value, dovetail.Tensor) and (value.is_floating_point() or value.is_complex()):
            value = value.detach().clone().requires_grad_()
            leaves.append(value)
        return value

    positional = zip(op.schema.arguments, arguments[:-1] if keywords else arguments, strict=False)
    made = [value if argument.name in refused else leaf(value) for argument, value in positional]
    return made, keywords, leaves


def functional() -> list[str]:
    """Return the operators that write to no argument and are not declared constant."""
    return [
        name
        for name in operators()
        if name not in CONSTANT and not any(a.is_write for a in named(name).schema.arguments)
    ]


@pytest.mark.parametrize("name", functional())
def test_a_differentiable_result_has_a_formula_or_raises_in_backward(name: str) -> None:
    op = named(name)
    formula = op.derivative
    operator = getattr(getattr(dovetail.ops.aten, op.base_name), op.overload or "default")
    for arguments in samples(name):
        args, keywords, leaves = leaves_of(op, arguments)
        if not leaves:
            continue
        result = operator(*args, **keywords)
        results = list(result) if isinstance(result, tuple | list) else [result]
        flags = formula.output_differentiability if isinstance(formula, Formula) else None
        for position, each in enumerate(results):
            if not isinstance(each, dovetail.Tensor) or not (
                each.is_floating_point() or each.is_complex()
            ):
                continue
            if flags is not None and not flags[min(position, len(flags) - 1)]:
                continue
            if formula is not None and not any(
                leaf_is_input(op, formula, args, leaf) for leaf in leaves
            ):
                continue
            assert each.requires_grad, f"result {position} is a constant"
            if formula is None:
                with pytest.raises(
                    RuntimeError, match=r"no autograd formula was registered|not implemented"
                ):
                    dovetail.autograd.grad(
                        each, leaves, dovetail.ones_like(each), allow_unused=True
                    )


def leaf_is_input(op: Any, formula: Any, args: list[Any], leaf: Any) -> bool:
    """Say whether a leaf is an argument that the formula differentiates."""
    names = [a.name for a in op.schema.arguments]
    for name, value in zip(names, args, strict=False):
        values = value if isinstance(value, list) else [value]
        if name in formula.inputs and any(each is leaf for each in values):
            return True
    return False


REFUSED = {
    "binary_cross_entropy_with_logits": {"weight", "pos_weight"},
    "log_sigmoid_backward": {"buffer"},
    "native_layer_norm_backward": {"mean", "rstd"},
    "nll_loss_backward": {"weight", "total_weight"},
    "nll_loss_forward": {"weight"},
}
"""Arguments of floating point without a formula."""


def test_what_has_no_formula_must_not_require_grad() -> None:
    refused = {f.operator.removeprefix("aten::"): set(f.refused) for f in FORMULAS if f.refused}
    assert refused == REFUSED


def test_a_weight_that_requires_grad_is_refused_where_nobody_knows_its_gradient() -> None:
    x, target, weight = (
        dovetail.rand(2, 3),
        dovetail.rand(2, 3),
        dovetail.rand(3, requires_grad=True),
    )
    function = dovetail.nn.functional.binary_cross_entropy_with_logits
    with pytest.raises(
        RuntimeError,
        match=r"'binary_cross_entropy_with_logits' is not "
        r"differentiable with respect to "
        r"argument 'weight'.*Give weight.detach\(\)",
    ):
        function(x, target, weight)
    with dovetail.no_grad():
        without = function(x, target, weight)
    assert without.equal(function(x, target, weight.detach()))


def test_a_result_that_has_no_gradient_is_saved_without_one() -> None:
    x = dovetail.rand(2, 3, requires_grad=True)
    losses = dovetail.nn.functional.nll_loss(x, dovetail.tensor([0, 2]))
    (grad,) = dovetail.autograd.grad(losses, x, create_graph=True)
    assert not losses.grad_fn._saved_total_weight.requires_grad
    (second,) = dovetail.autograd.grad(grad.sum(), x, materialize_grads=True)
    assert second.tolist() == [[0.0] * 3] * 2

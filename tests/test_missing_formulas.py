"""What has no derivative says so: an operator has a formula, is made of those that have, or raises,
never zeros.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from importlib import import_module
from typing import Any

import pytest

import dovetail
from dovetail.testing import OpInfo, SampleInput, op_infos
from dovetail_aten._generated import derivatives, policies
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula

STEPS = {
    *[f"logical_{name}_" for name in ("and", "not", "or", "xor")],
    "ceil",
    "floor",
    "round",
    "sign",
    "trunc",
    "div.Tensor_mode",
    "div.Scalar_mode",
    "copysign.Tensor",
    "nextafter",
    "round.decimals",
    "sgn",
    "angle",
    *[
        f"{name}_.{overload}"
        for name in ("eq", "ge", "gt", "le", "lt", "ne")
        for overload in ("Tensor", "Scalar")
    ],
    "bernoulli",
    "bernoulli_.float",
    "bernoulli.p",
    "bernoulli_.Tensor",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "normal.Tensor_float",
    "normal.float_Tensor",
    "normal.Tensor_Tensor",
    "poisson",
    "random_",
    "random_.from",
    "random_.to",
    "fill_.Scalar",
    "fill_.Tensor",
    "normal_",
    "uniform_",
    "zero_",
    "copy_",
    "hardshrink_backward",
    "hardsigmoid_backward",
    "hardtanh_backward",
    "leaky_relu_backward",
    "nll_loss2d_backward",
    "nll_loss_backward",
    "softshrink_backward",
    "threshold_backward",
    *("fill.Scalar", "fill.Tensor"),
}
"""Operators whose derivative is zero wherever there is one, or that overwrite; of gradients, that
of a step.
"""

CUT = {
    *("argmax", "argmin", "detach", "gcd", "lcm", "multinomial", "view.dtype"),
    *("detach_copy", "new_empty_strided", "view_copy.dtype"),
    *("all.dims", "any.dims", "histc", "nonzero_static"),
    "_slopes_of_rrelu",
    *("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor"),
    *("searchsorted.Tensor", "searchsorted.Scalar"),
}
"""Operators that are declared to give constants though their shape and dtypes do not say so."""

NUMBERED = {
    name
    for _, rule, results, names in policies.META
    if rule == "factory" or results in (("bool",), ("int64",))
    for name in names.split()
}
"""Operators whose results are bools, numbers of elements, or made from a shape."""


def named(name: str) -> Any:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload)


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


INFOS = op_infos("aten")


def test_what_is_declared_constant_has_no_derivative_in_its_samples() -> None:
    constant = {info.name[6:] for info in INFOS if not info.supports_autograd}
    assert CONSTANT - constant == set()


@pytest.mark.parametrize(
    "info",
    [info for info in INFOS if info.supports_autograd],
    ids=lambda info: info.name.partition("::")[2],
)
def test_a_differentiable_result_has_a_formula_or_raises_in_backward(info: OpInfo) -> None:
    """That of operators without derivative is the check "constants"."""
    formula = info.operator.derivative
    refused = getattr(formula, "refused", ())
    is_in_place = any(argument.is_write for argument in info.operator.schema.arguments)
    dtype = dovetail.float64 if dovetail.float64 in info.dtypes else dovetail.complex128
    for sample in info.sample_inputs(dovetail.get_default_device(), dtype, True):
        leaves = [leaf for leaf in sample.tensors() if leaf.requires_grad]
        differentiated = [
            leaf
            for leaf in leaves
            if not isinstance(formula, Formula) or is_input(info, sample, leaf)
        ]
        assert not any(is_argument(info, sample, leaf, refused) for leaf in leaves)
        if not differentiated:
            continue
        given = sample.transform(lambda tensor: tensor * 1) if is_in_place else sample
        result = info.op(*given.arguments, **given.kwargs)
        results = list(result) if isinstance(result, tuple | list) else [result]
        flags = formula.output_differentiability if isinstance(formula, Formula) else None
        for position, each in enumerate(results):
            if each is None or not (each.is_floating_point() or each.is_complex()):
                continue
            if (info.operator.base_name, position) in CONSTANT_RESULTS:
                continue
            if flags is None or flags[min(position, len(flags) - 1)]:
                assert each.requires_grad, f"result {position} of {sample} is a constant"


CONSTANT_RESULTS = {
    *(("linalg_lu", 0), ("svd", 0), ("svd", 2), ("vander", 0)),
    *[
        (name, position)
        for name in (
            "_batch_norm_no_update",
            "_batch_norm_with_update",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit_no_training",
            "native_batch_norm",
        )
        for position in (1, 2, 3)
    ],
}
"""Results of composites that are constant: where rows are put, vectors that were not asked for, no
columns at all, and statistics that are saved for backward.
"""


def is_argument(info: OpInfo, sample: SampleInput, leaf: Any, names: Collection[str]) -> bool:
    """Say whether a leaf is, or is in, an argument of one of some names."""
    arguments = [argument.name for argument in info.operator.schema.arguments]
    given = [*zip(arguments, sample.arguments, strict=False), *sample.kwargs.items()]
    return any(
        name in names
        and any(each is leaf for each in (value if isinstance(value, list) else [value]))
        for name, value in given
    )


def is_input(info: OpInfo, sample: SampleInput, leaf: Any) -> bool:
    """Say whether a leaf is in an argument that the formula differentiates."""
    return is_argument(info, sample, leaf, info.operator.derivative.inputs)


REFUSED = {
    "_native_batch_norm_legit_functional": {"running_mean", "running_var"},
    "binary_cross_entropy": {"weight"},
    "binary_cross_entropy_with_logits": {"weight", "pos_weight"},
    "linalg_pinv.atol_rtol_tensor": {"atol", "rtol"},
    "log_sigmoid_backward": {"buffer"},
    "multi_margin_loss": {"weight"},
    "native_batch_norm_backward": {"running_mean", "running_var", "save_invstd", "save_mean"},
    "native_group_norm_backward": {"mean", "rstd"},
    "native_layer_norm_backward": {"mean", "rstd"},
    "nll_loss2d_backward": {"weight", "total_weight"},
    "nll_loss2d_forward": {"weight"},
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

"""Formulas, evaluated with PyTorch's own operators as `k`, give its gradients, once and twice.

The gradients of every operator are compared on its samples: `test_op_infos_against_torch.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dovetail.testing import op_infos
from dovetail_aten._generated import derivatives
from dovetail_dispatcher.schema import FunctionSchema, parse_schema

Sample = tuple[tuple[Any, ...], dict[str, Any]]


def samples(torch: Any) -> dict[str, list[Sample]]:
    """Return (args, kwargs) of calls by operator; floating-point tensors are the inputs to
    differentiate.
    """
    torch.manual_seed(0)

    def rand(*sizes: int) -> Any:
        return (
            torch.rand(*sizes, dtype=torch.float64) * 1.6 + 0.2
            if sizes
            else torch.rand(1, dtype=torch.float64)[0]
        )

    def randn(*sizes: int) -> Any:
        return (
            torch.randn(*sizes, dtype=torch.float64)
            if sizes
            else torch.randn(1, dtype=torch.float64)[0]
        )

    def unit(*sizes: int) -> Any:
        return torch.rand(*sizes, dtype=torch.float64) * 1.6 - 0.8

    def cplx(*sizes: int) -> Any:
        return torch.randn(*sizes, dtype=torch.complex128)

    def ints(high: int, *sizes: int) -> Any:
        return torch.randint(0, high, sizes)

    def call(*args: Any, **kwargs: Any) -> Sample:
        return args, kwargs

    table: dict[str, list[Sample]] = {}

    def add(names: str, *calls: Callable[[], Sample]) -> None:
        for name in names.split():
            table[name] = [make() for make in calls]

    x = torch.tensor
    f64 = torch.float64
    add("abs neg sgn exp", lambda: call(randn(2, 3)), lambda: call(cplx(3)))
    add(
        "sin cos tan sinh cosh tanh asinh atan sigmoid expm1 exp2 "
        "erf erfc floor ceil round trunc frac sign angle"
        " relu silu log_sigmoid_forward clone "
        "alias nan_to_num _conj_physical",
        lambda: call(randn(2, 3)),
    )
    table["log_sigmoid_forward"] = [call(randn(2, 3))]
    table["angle"].append(call(cplx(3)))
    table["_conj_physical"].append(call(cplx(3)))
    add("asin acos atanh", lambda: call(unit(2, 3)))
    add("acosh", lambda: call(rand(2, 3) + 1.1))
    add("sqrt rsqrt log log2 log10 log1p reciprocal", lambda: call(rand(2, 3)))
    add(
        "add.Tensor sub.Tensor rsub.Tensor",
        lambda: call(randn(2, 3), randn(2, 3)),
        lambda: call(randn(3), randn(3), alpha=2.5),
    )
    add("add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar", lambda: call(randn(2, 3), 2.5))
    add(
        "mul.Tensor div.Tensor atan2 maximum minimum hypot logaddexp",
        lambda: call(rand(2, 3), rand(2, 3)),
    )
    table["mul.Tensor"] += [call(cplx(3), cplx(3))]
    table["div.Tensor"] += [call(cplx(3), cplx(3))]
    table["maximum"] += [call(x([1.0, 2.0, 3.0], dtype=f64), x([1.0, 3.0, 2.0], dtype=f64))]
    table["minimum"] += [call(x([1.0, 2.0, 3.0], dtype=f64), x([1.0, 3.0, 2.0], dtype=f64))]
    modes = [None, "floor", "trunc"]
    table["div.Tensor_mode"] = [call(rand(3), rand(3), rounding_mode=mode) for mode in modes]
    table["div.Scalar_mode"] = [call(rand(3), 0.7, rounding_mode=mode) for mode in modes]
    add("remainder.Tensor fmod.Tensor", lambda: call(randn(5), rand(5)))
    add("remainder.Scalar fmod.Scalar", lambda: call(randn(5), 0.7))
    add("xlogy.Tensor", lambda: call(x([0.0, 1.0, 2.0], dtype=f64), x([0.5, 0.5, 3.0], dtype=f64)))
    table["pow.Tensor_Scalar"] = [call(rand(3), e) for e in (0, 1, 2, 3, -1.5, 0.5)]
    add(
        "pow.Tensor_Tensor",
        lambda: call(rand(3), randn(3)),
        lambda: call(x([0.0, 0.0, 2.0], dtype=f64), x([0.0, 2.0, 0.0], dtype=f64)),
    )
    table["pow.Scalar"] = [call(2.5, randn(3)), call(0, rand(3))]
    table["clamp"] = [
        call(randn(6), -0.5, 0.5),
        call(x([-1.0, 0.0, 1.0], dtype=f64), -1, 1),
        call(randn(6), None, 0.1),
    ]
    table["clamp.Tensor"] = [
        call(randn(6), randn(6) - 0.5, randn(6) + 0.5),
        call(randn(6), None, randn(6)),
    ]
    add("clamp_min clamp_max", lambda: call(randn(6), 0.1))
    add("clamp_min.Tensor clamp_max.Tensor", lambda: call(randn(6), randn(6)))
    table["where.self"] = [call(randn(6) > 0, randn(6), randn(6))]
    table["lerp.Scalar"] = [call(randn(3), randn(3), 0.3)]
    table["lerp.Tensor"] = [call(randn(3), randn(3), rand(3))]
    add(
        "addcmul addcdiv",
        lambda: call(randn(3), randn(3), rand(3)),
        lambda: call(randn(3), randn(3), rand(3), value=2.5),
    )
    table["masked_fill.Scalar"] = [call(randn(2, 3), randn(2, 3) > 0, 1.5)]
    table["masked_fill.Tensor"] = [call(randn(2, 3), randn(2, 3) > 0, randn())]
    add("sum mean prod max min", lambda: call(randn(2, 3)), lambda: call(randn()))
    table["prod"] += [call(x([2.0, 0.0, 3.0], dtype=f64)), call(x([0.0, 0.0, 3.0], dtype=f64))]
    table["max"] += [call(x([1.0, 3.0, 3.0], dtype=f64))]
    table["min"] += [call(x([1.0, 1.0, 3.0], dtype=f64))]
    reduced = [((1,), False), ((0, 2), True), ((-1, 0), False), ((), False)]
    for name in ("sum.dim_IntList", "mean.dim", "logsumexp", "amax", "amin"):
        table[name] = [
            call(randn(2, 3, 4), dims, keep)
            for dims, keep in reduced[: 3 if name == "logsumexp" else 4]
        ]
    table["amax"] += [call(x([[1.0, 1.0], [2.0, 1.0]], dtype=f64), (1,), False)]
    add("prod.dim_int", lambda: call(randn(2, 3, 4), 1), lambda: call(randn(2, 3), -1, True))
    add("max.dim min.dim", lambda: call(randn(2, 3, 4), 1), lambda: call(randn(2, 3), -1, True))
    add(
        "var.correction std.correction",
        lambda: call(randn(2, 3, 4)),
        lambda: call(randn(2, 3, 4), (1, 2), correction=0, keepdim=True),
        lambda: call(randn(2, 3, 4), (0,), correction=1),
    )
    table["std.correction"] += [call(torch.ones(3, dtype=f64))]
    orders = [2, 1, 0, 3, 1.5, 0.5, float("inf"), float("-inf")]
    table["linalg_vector_norm"] = [call(randn(2, 3), order, (1,), False) for order in orders]
    table["linalg_vector_norm"] += [
        call(randn(2, 3)),
        call(torch.zeros(3, dtype=f64), 2),
        call(torch.zeros(3, dtype=f64), 1),
    ]
    table["norm.Scalar"] = [call(randn(2, 3), p) for p in (2, 1, 3, float("inf"))] + [
        call(torch.zeros(3, dtype=f64))
    ]
    table["norm.ScalarOpt_dim"] = [
        call(randn(2, 3), p, (0,), keep) for p in (2, None, 3) for keep in (True, False)
    ]
    add("cumsum cumprod", lambda: call(randn(2, 3), 1), lambda: call(randn(4), 0))
    table["cumprod"] += [
        call(x([2.0, 0.0, 3.0, 4.0], dtype=f64), 0),
        call(x([0.0, 5.0, 0.0, 4.0], dtype=f64), 0),
    ]
    table["sort"] = [call(randn(2, 3)), call(randn(2, 3), 0, True)]
    table["topk"] = [call(randn(2, 5), 2)]
    table["mm"] = [call(randn(2, 3), randn(3, 4)), call(cplx(2, 3), cplx(3, 2))]
    table["bmm"] = [call(randn(2, 3, 4), randn(2, 4, 2)), call(cplx(2, 3, 4), cplx(2, 4, 2))]
    table["mv"] = [call(randn(2, 3), randn(3)), call(cplx(2, 3), cplx(3))]
    add("dot vdot", lambda: call(randn(3), randn(3)), lambda: call(cplx(3), cplx(3)))
    table["addmm"] = [
        call(randn(2, 4), randn(2, 3), randn(3, 4)),
        call(randn(2, 4), randn(2, 3), randn(3, 4), beta=0.5, alpha=2.0),
    ]
    table["addmv"] = [call(randn(2), randn(2, 3), randn(3), beta=0.5, alpha=2.0)]
    table["addbmm"] = [call(randn(3, 2), randn(2, 3, 4), randn(2, 4, 2), beta=0.5, alpha=2.0)]
    table["baddbmm"] = [call(randn(2, 3, 2), randn(2, 3, 4), randn(2, 4, 2), beta=0.5, alpha=2.0)]
    table["view"] = [call(randn(2, 6), (3, 4))]
    table["_unsafe_view"] = [call(randn(2, 6), (3, 4))]
    table["permute"] = [call(randn(2, 3, 4), (2, 0, 1)), call(randn(2, 3, 4), (-1, 0, 1))]
    table["transpose.int"] = [call(randn(2, 3, 4), 0, -1)]
    table["t"] = [call(randn(2, 3)), call(randn(3))]
    table["select.int"] = [call(randn(2, 3, 4), 1, -1)]
    table["slice.Tensor"] = [
        call(randn(5, 4), 0, 1, 4, 2),
        call(randn(5, 4), 1, -3),
        call(randn(5), 0, 4, 2),
    ]
    table["unsqueeze"] = [call(randn(2, 3), 1), call(randn(2, 3), -1)]
    table["squeeze"] = [call(randn(1, 3, 1))]
    table["squeeze.dim"] = [call(randn(1, 3, 1), -1), call(randn(2, 3), 0)]
    table["squeeze.dims"] = [call(randn(1, 3, 1), (0, 2))]
    table["unbind.int"] = [call(randn(2, 3)), call(randn(2, 3), 1)]
    table["split.Tensor"] = [call(randn(5, 3), 2), call(randn(2, 6), 2, 1)]
    table["split_with_sizes"] = [call(randn(5, 3), [2, 3])]
    table["diagonal"] = [call(randn(3, 4)), call(randn(2, 3, 4), 1, 0, 2)]
    table["as_strided"] = [call(randn(3, 4), (2, 2), (4, 1), 1), call(randn(6), (3, 2), (1, 2), 0)]
    table["view_as_real"] = [call(cplx(3))]
    table["view_as_complex"] = [call(randn(3, 2))]
    table["flip"] = [call(randn(2, 3), (0, 1))]
    table["roll"] = [call(randn(2, 3), (1, 2), (0, 1)), call(randn(5), (2,))]
    table["repeat"] = [call(randn(2, 3), (2, 1, 2)), call(randn(3), (0,))]
    add("tril triu", lambda: call(randn(3, 4)), lambda: call(randn(3, 4), 1))
    table["diag_embed"] = [call(randn(2, 3)), call(randn(2, 3), 1, 0, 2)]
    table["constant_pad_nd"] = [call(randn(2, 3), (1, 2)), call(randn(3, 4), (1, -1, 0, 2), 3.0)]
    table["index.Tensor"] = [
        call(randn(4, 3), [ints(4, 5)]),
        call(randn(4, 3), [None, ints(3, 2)]),
        call(randn(4, 3), [ints(4, 5), ints(3, 5)]),
    ]
    table["index_put"] = [
        call(randn(4, 3), [x([0, 2])], randn(2, 3)),
        call(randn(4, 3), [x([0, 0])], randn(3), True),
    ]
    table["index_select"] = [call(randn(4, 3), 0, ints(4, 5)), call(randn(4, 3), 1, ints(3, 2))]
    table["index_add"] = [
        call(randn(4, 3), 0, ints(4, 2), randn(2, 3)),
        call(randn(4, 3), 0, ints(4, 2), randn(2, 3), alpha=2.0),
    ]
    table["gather"] = [call(randn(4, 3), 0, ints(4, 2, 3))]
    table["scatter.src"] = [call(randn(4, 3), 0, x([[0, 1, 2], [3, 2, 1]]), randn(2, 3))]
    table["scatter.value"] = [call(randn(4, 3), 0, ints(4, 2, 3), 1.5)]
    table["scatter_add"] = [call(randn(4, 3), 0, ints(4, 2, 3), randn(2, 3))]
    table["masked_select"] = [call(randn(2, 3), randn(2, 3) > 0), call(randn(3), randn(2, 3) > 0)]
    table["take"] = [call(randn(2, 3), ints(6, 2, 4))]
    table["leaky_relu"] = [call(randn(6), 0.1)]
    table["elu"] = [call(randn(6)), call(randn(6), 1.5, 2.0, 0.5)]
    table["gelu"] = [call(randn(6)), call(randn(6), approximate="tanh")]
    table["softplus"] = [call(randn(6)), call(randn(6) * 5, 2, 3)]
    table["hardtanh"] = [call(randn(6))]
    table["threshold"] = [call(randn(6), 0.1, 5.0)]
    table["_prelu_kernel"] = [call(randn(2, 3), randn(2, 3))]
    add(
        "_softmax _log_softmax",
        lambda: call(randn(2, 3), 1, False),
        lambda: call(randn(2, 3), 0, False),
    )
    for reduction in (0, 1, 2):
        target, weight = ints(3, 4), rand(3).detach()
        table.setdefault("nll_loss_forward", []).append(
            call(randn(4, 3), target, None, reduction, -100)
        )
        table["nll_loss_forward"].append(
            call(randn(4, 3), target, ("constant", weight), reduction, 1)
        )
        table.setdefault("mse_loss", []).append(call(randn(2, 3), randn(2, 3), reduction))
        table.setdefault("smooth_l1_loss", []).append(
            call(randn(2, 3), randn(2, 3), reduction, 0.7)
        )
        table.setdefault("binary_cross_entropy_with_logits", []).append(
            call(randn(2, 3), rand(2, 3) / 2, None, None, reduction)
        )
        constants = ("constant", rand(2, 3)), ("constant", rand(3))
        table["binary_cross_entropy_with_logits"].append(
            call(randn(2, 3), rand(2, 3) / 2, *constants, reduction)
        )
        table.setdefault("nll_loss_backward", []).append(
            call(
                randn(4) if reduction == 0 else randn(),
                randn(4, 3),
                target,
                None,
                reduction,
                -100,
                ("constant", x(4.0, dtype=f64)),
            )
        )
        grad = randn(2, 3) if reduction == 0 else randn()
        table.setdefault("mse_loss_backward", []).append(
            call(grad, randn(2, 3), randn(2, 3), reduction)
        )
        table.setdefault("smooth_l1_loss_backward", []).append(
            call(grad, randn(2, 3), randn(2, 3), reduction, 0.7)
        )
    table["embedding"] = [call(randn(5, 3), ints(5, 2, 4)), call(randn(5, 3), ints(5, 4), 1)]
    table["native_layer_norm"] = [
        call(randn(2, 3, 4), (4,), randn(4), randn(4), 1e-5),
        call(randn(2, 3, 4), (3, 4), None, None, 1e-5),
    ]
    table["native_layer_norm_backward"] = []
    for shape, weight in (((4,), randn(4)), ((3, 4), randn(3, 4)), ((4,), None)):
        data = randn(2, 3, 4)
        _, mean, rstd = torch.native_layer_norm(data, shape, None, None, 1e-5)
        constant = [("constant", mean), ("constant", rstd)]
        bias = None if weight is None else ("constant", torch.zeros_like(weight))
        table["native_layer_norm_backward"].append(
            call(
                randn(2, 3, 4),
                data,
                shape,
                *constant,
                weight,
                bias,
                [True, weight is not None, weight is not None],
            )
        )
    table["native_dropout_backward"] = [call(randn(6), randn(6) > 0, 2.0)]
    table["threshold_backward"] = [call(randn(6), randn(6), 0.1)]
    table["gelu_backward"] = [
        call(randn(6), randn(6)),
        call(randn(6), randn(6), approximate="tanh"),
    ]
    table["elu_backward"] = [call(randn(6), 1.5, 2.0, 0.5, False, randn(6))]
    table["leaky_relu_backward"] = [call(randn(6), randn(6), 0.1, False)]
    table["softplus_backward"] = [call(randn(6), randn(6) * 5, 2, 3)]
    table["hardtanh_backward"] = [call(randn(6), randn(6), -1, 1)]
    add("sigmoid_backward tanh_backward", lambda: call(randn(6), rand(6)))
    table["_prelu_kernel_backward"] = [call(randn(2, 3), randn(2, 3), randn(2, 3))]
    add(
        "_softmax_backward_data _log_softmax_backward_data",
        lambda: call(randn(2, 3), randn(2, 3), 1, f64),
    )
    table["embedding_dense_backward"] = [call(randn(2, 4, 3), ints(5, 2, 4), 5, 1, False)]
    table["select_backward"] = [call(randn(2, 4), (2, 3, 4), 1, 2)]
    table["slice_backward"] = [call(randn(2, 4), (5, 4), 0, 1, 4, 2)]
    table["diagonal_backward"] = [call(randn(3), (3, 4), 0, 0, 1)]
    return table


FAMILIES = [import_module(f"{derivatives.__name__}.{family}") for family in derivatives.OPERATORS]
FORMULAS = {
    formula.operator.removeprefix("aten::"): formula
    for family in FAMILIES
    for formula in family.FORMULAS
    if formula.inputs
}
SAMPLES = samples(torch)


@pytest.fixture(autouse=True)
def _operators_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for family in FAMILIES:
        monkeypatch.setattr(family, "k", torch.ops.aten)


def is_functional(name: str) -> bool:
    return not name.partition(".")[0].endswith("_") or name.startswith("__")


def test_every_functional_formula_has_a_sample() -> None:
    """One here, or those of its operator, whose gradients are compared as a whole."""
    functional = {name for name in FORMULAS if is_functional(name)}
    described = {info.name.partition("::")[2] for info in op_infos("aten")}
    assert functional - set(SAMPLES) - described == set()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_formula_gives_the_gradients_of_torch(name: str) -> None:
    formula = FORMULAS[name]
    base, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")
    schema = parse_schema(str(operator._schema))
    for args, kwargs in SAMPLES[name]:
        bound = bind(schema, args, kwargs)
        variables = {
            n: leaf(v) for n, v in bound.items() if n in formula.inputs and is_differentiable(v)
        }
        bound = {
            n: variables.get(n, v[1] if isinstance(v, tuple) and v and v[0] == "constant" else v)
            for n, v in bound.items()
        }
        compare(formula, operator, schema, bound, variables)


def compare(
    formula: Any,
    operator: Any,
    schema: FunctionSchema,
    bound: dict[str, Any],
    variables: dict[str, Any],
) -> None:
    positional = [bound[a.name] for a in schema.arguments if not a.kwarg_only]
    keywords = {a.name: bound[a.name] for a in schema.arguments if a.kwarg_only}
    results = operator(*positional, **keywords)
    outputs = list(results) if isinstance(results, (tuple, list)) else [results]
    differentiable = [o for o in outputs if o is not None and o.requires_grad]
    grads = [torch.randn_like(o).requires_grad_() for o in differentiable]
    assert type(differentiable[0].grad_fn).__name__ in (formula.name, "DifferentiableGraphBackward")
    expected = torch.autograd.grad(
        differentiable, list(variables.values()), grads, create_graph=True, allow_unused=True
    )
    node = fake_node(formula, bound, outputs, schema, variables)
    by_output = iter(grads)
    all_grads = [next(by_output) if o is not None and o.requires_grad else None for o in outputs]
    actual = dict(zip(formula.inputs, formula.tensors(node, *all_grads), strict=True))
    pairs = [
        (settled(actual[n], v), settled(e, v))
        for (n, v), e in zip(variables.items(), expected, strict=True)
    ]
    for (ours, theirs), variable in zip(pairs, variables, strict=True):
        torch.testing.assert_close(
            ours, theirs, equal_nan=True, msg=lambda m, v=variable: f"{formula.operator}: {v}: {m}"
        )
    if formula.operator == "aten::silu":  # PyTorch has no derivative of silu_backward
        return
    # PyTorch has NaN for powers of 0, and takes the exponent 0 for a constant.
    if formula.operator in ("aten::pow.Scalar", "aten::pow.Tensor_Tensor") and bool(
        torch.as_tensor(positional[0] == 0).any()
    ):
        return
    compare_second(
        [p[0] for p in pairs], [p[1] for p in pairs], [*grads, *variables.values()], formula
    )


def compare_second(ours: list[Any], theirs: list[Any], inputs: list[Any], formula: Any) -> None:
    weights = [torch.randn_like(gradient) for gradient in theirs]
    second = []
    for gradients in (ours, theirs):
        known = [(g, w) for g, w in zip(gradients, weights, strict=True) if g.requires_grad]
        if not known:
            return
        tensors, factors = zip(*known, strict=True)
        second.append(
            torch.autograd.grad(tensors, inputs, factors, allow_unused=True, retain_graph=True)
        )
    for a, b, variable in zip(*second, inputs, strict=True):
        torch.testing.assert_close(
            settled(a, variable),
            settled(b, variable),
            equal_nan=True,
            msg=lambda m: f"{formula.operator} twice: {m}",
        )


def settled(gradient: Any, variable: Any) -> Any:
    """Return the gradient as the engine would pass it on: summed to the shape of its variable, real
    if that is.
    """
    if gradient is None:
        return torch.zeros_like(variable)
    gradient = (
        gradient.sum_to_size(variable.shape) if gradient.shape != variable.shape else gradient
    )
    return gradient if variable.is_complex() or not gradient.is_complex() else gradient.real


def is_differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def leaf(value: Any) -> Any:
    return value.detach().clone().requires_grad_()


def bind(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = {a.name: a.default_value for a in schema.arguments}
    bound.update(zip([a.name for a in schema.arguments], args, strict=False))
    return bound | kwargs


def fake_node(
    formula: Any,
    bound: dict[str, Any],
    outputs: list[Any],
    schema: FunctionSchema,
    variables: dict[str, Any],
) -> Any:
    node = SimpleNamespace(
        next_edges=tuple([("node", 0) if name in variables else None for name in formula.inputs])
    )
    scope = bound | {
        "result": outputs[0],
        "is_column_major": lambda matrix: matrix.stride() == (1, matrix.shape[0]),
    }
    for saved in formula.saved:
        if saved.kind == "result":
            value = outputs[saved.output]
        elif saved.expression:
            expression = saved.expression.replace(".array.size", ".numel()").replace(".array.", ".")
            value = eval(expression.replace(".array)", ")"), {}, scope)
        else:
            value = bound[saved.name]
        setattr(node, f"_{saved.name}", value)
        setattr(node, f"unpack_{saved.name}", lambda value=value: value)
    return node

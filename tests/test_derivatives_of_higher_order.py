"""Derivatives up to the third order, in every order of forward and backward mode, are those of what
is computed: of normalizations by elementary operators, of power series at singular points.

PyTorch is wrong at some of them: a normalization's third derivative takes its mean for a constant,
`sinc` has NaN for its second one at 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail import Tensor, nn
from dovetail.func import grad, jvp, vmap

F = nn.functional
EPS = 0.1
DOUBLE = dovetail.float64

Operator = Callable[..., Any]


def draw(*shape: int) -> Any:
    return dovetail.randn(*shape, dtype=DOUBLE)


# -- normalizations --------------------------------------------------------------------------------


def normalized(x: Any, *dims: int) -> Any:
    centered = x - x.mean(dims, keepdim=True)
    return centered / ((centered * centered).mean(dims, keepdim=True) + EPS) ** 0.5


def of_channels(x: Any) -> Any:
    return x.reshape(1, -1, 1)


MEAN, VARIANCE = [0.1, -0.2, 0.3, 0.0], [0.5, 1.5, 1.0, 2.0]


def in_evaluation(x: Any, w: Any, b: Any) -> Any:
    mean, variance = dovetail.tensor([MEAN, VARIANCE], dtype=DOUBLE)
    return F.batch_norm(x, mean, variance, w, b, False, 0.1, EPS)


def in_evaluation_by_hand(x: Any, w: Any, b: Any) -> Any:
    mean, variance = dovetail.tensor([MEAN, VARIANCE], dtype=DOUBLE)
    scaled = (x - of_channels(mean)) / (of_channels(variance) + EPS) ** 0.5
    return scaled * of_channels(w) + of_channels(b)


NORMALIZATIONS: dict[str, tuple[Operator, Operator]] = {
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x.mT, (4,), w, b, EPS),
        lambda x, w, b: normalized(x.mT, -1) * w + b,
    ),
    "layer_norm of two dimensions": (
        lambda x, w, b: F.layer_norm(x, (4, 2), w[:, None] * b[:2], None, EPS),
        lambda x, w, b: normalized(x, -2, -1) * (w[:, None] * b[:2]),
    ),
    "layer_norm without weight": (
        lambda x, w, b: F.layer_norm(x.mT, (4,), None, None, EPS) * w + b,
        lambda x, w, b: normalized(x.mT, -1) * w + b,
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b, EPS),
        lambda x, w, b: (
            normalized(x.reshape(2, 2, 4), -1).reshape(2, 4, 2) * of_channels(w) + of_channels(b)
        ),
    ),
    "group_norm without weight": (
        lambda x, w, b: F.group_norm(x, 2, None, None, EPS) * of_channels(w),
        lambda x, w, b: normalized(x.reshape(2, 2, 4), -1).reshape(2, 4, 2) * of_channels(w),
    ),
    "instance_norm": (
        lambda x, w, b: F.instance_norm(x, None, None, w, b, True, 0.1, EPS),
        lambda x, w, b: normalized(x, -1) * of_channels(w) + of_channels(b),
    ),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, EPS),
        lambda x, w, b: normalized(x, 0, 2) * of_channels(w) + of_channels(b),
    ),
    "batch_norm in evaluation": (in_evaluation, in_evaluation_by_hand),
    "rms_norm": (
        lambda x, w, b: F.rms_norm(x.mT, (4,), w, EPS) + b,
        lambda x, w, b: x.mT / ((x.mT * x.mT).mean(-1, keepdim=True) + EPS) ** 0.5 * w + b,
    ),
}

Direction = tuple[Any, ...]


def forwards(function: Operator, direction: Direction) -> Operator:
    return lambda *at: jvp(function, at, direction)[1]


def backwards(function: Operator, direction: Direction) -> Operator:
    def along(*at: Any) -> Any:
        found = grad(function, argnums=tuple(range(len(at))))(*at)
        return sum([(one * other).sum() for one, other in zip(found, direction, strict=True)])

    return along


def mapped(derive: Callable[[Operator, Direction], Operator]) -> Any:
    def derived(function: Operator, direction: Direction) -> Operator:
        def along(*at: Any) -> Any:
            zero = dovetail.zeros(2, dtype=DOUBLE)
            return vmap(lambda move: derive(function, direction)(*[x + move for x in at]))(zero)[1]

        return along

    return derived


STEPS = {
    "jvp": forwards,
    "grad": backwards,
    "vmap of jvp": mapped(forwards),
    "vmap of grad": mapped(backwards),
}

NESTINGS = [
    *itertools.chain.from_iterable(
        [itertools.product(list(STEPS)[:2], repeat=order) for order in (1, 3)]
    ),
    *itertools.product(STEPS, repeat=2),
]


def squared(operator: Operator, weights: Any) -> Operator:
    return lambda *at: (operator(*at) ** 2 * weights).sum()


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_derivatives_of_a_normalization_are_those_of_elementary_operators(name: str) -> None:
    dovetail.manual_seed(7)
    at = draw(2, 4, 2), draw(4), draw(4)
    directions = [(draw(2, 4, 2), draw(4), draw(4)) for _ in range(3)]
    weights = draw(*NORMALIZATIONS[name][1](*at).shape)
    for nesting in NESTINGS:
        found = []
        for operator in NORMALIZATIONS[name]:
            function = squared(operator, weights)
            for step, direction in zip(nesting, directions, strict=False):
                function = STEPS[step](function, direction)
            found.append(float(function(*at)))
        assert found[0] == pytest.approx(found[1], rel=1e-7, abs=1e-7), nesting


# -- functions of one number -----------------------------------------------------------------------


def by_series(term: Callable[[int], float]) -> Callable[[float, int], float]:
    """Return the derivatives of the sum of ``term(n) x^n`` as a function of x and the order."""

    def derivative(x: float, order: int) -> float:
        return math.fsum(
            [term(n) * math.perm(n, order) * x ** (n - order) for n in range(order, 80)]
        )

    return derivative


def sinc_term(n: int) -> float:
    return 0.0 if n % 2 else (-1) ** (n // 2) * math.pi**n / math.factorial(n + 1)


def bessel_term(n: int) -> float:
    half = n // 2
    return 1 / (2**n * math.factorial(half) * math.factorial(half + 1)) if n % 2 else 0.0


SINGULAR: dict[str, tuple[Operator, Callable[[float, int], float], list[float]]] = {
    "sinc": (
        dovetail.sinc,
        by_series(sinc_term),
        [0.0, 1e-9, 1e-4, 0.1, 0.1499, 0.1501, -0.2, 1.0, 1.3],
    ),
    "i1": (
        dovetail.special.i1,
        by_series(bessel_term),
        [0.0, 1e-9, 1e-4, 0.3, 0.4999, 0.5001, -0.7, 2.0],
    ),
    "copysign at 0": (lambda x: dovetail.copysign(x, -1.0), lambda x, n: 0.0, [0.0]),
    "xlogy of the number 0": (lambda x: dovetail.xlogy(0, x), lambda x, n: 0.0, [0.0, 1.5, -1.0]),
    "xlog1py of the number 0": (
        lambda x: dovetail.special.xlog1py(0, x),
        lambda x, n: 0.0,
        [-1.0, 1.5, -2.0],
    ),
    "pow of the number 0": (lambda x: dovetail.pow(0.0, x), lambda x, n: 0.0, [0.0, 0.5, 1.0, 2.0]),
    "pow of a tensor of 0": (
        lambda x: dovetail.pow(dovetail.tensor(0.0, dtype=DOUBLE), x),
        lambda x, n: 0.0,
        [0.0, 0.5, 1.0, 2.0],
    ),
    "pow by a tensor of 0": (
        lambda x: dovetail.pow(x, dovetail.tensor(0.0, dtype=DOUBLE)),
        lambda x, n: 0.0,
        [0.0, 2.0],
    ),
    "pow by a tensor of 2": (
        lambda x: dovetail.pow(x, dovetail.tensor(2.0, dtype=DOUBLE)),
        lambda x, n: [2 * x, 2.0, 0.0][n - 1],
        [0.0, 2.0, -1.0],
    ),
    "cumprod with two zeros": (
        lambda x: dovetail.stack([2 + x, x, x * 0 + 3, x * x, 4 + x * 0]).cumprod(0).sum(),
        lambda x, n: [9.0, 8.0, 180.0][n - 1],
        [0.0],
    ),
    "prod with three zeros": (
        lambda x: dovetail.stack([x, 2 * x, x, x * 0 + 3]).prod(),
        lambda x, n: [0.0, 0.0, 36.0][n - 1],
        [0.0],
    ),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_derivatives_at_singular_points_are_those_of_the_power_series(name: str) -> None:
    operator, derivative, points = SINGULAR[name]
    for point, order in itertools.product(points, (1, 2, 3)):
        for nesting in itertools.product((forwards, backwards), repeat=order):
            x = dovetail.tensor(point, dtype=DOUBLE)
            function = operator
            for step in nesting:
                function = step(function, (dovetail.ones((), dtype=DOUBLE),))
            expected = derivative(point, order)
            assert float(function(x)) == pytest.approx(expected, rel=1e-9, abs=1e-9), (
                point,
                nesting,
            )


def test_the_derivative_of_a_power_by_base_and_exponent_is_right_at_exponent_0() -> None:
    at = dovetail.tensor([2.0, 0.0], dtype=DOUBLE)
    found = dovetail.func.hessian(lambda p: dovetail.pow(p[0], p[1]))(at)
    assert found.flatten().tolist() == pytest.approx([0.0, 0.5, 0.5, math.log(2) ** 2])


@pytest.mark.parametrize("zeros", [[0], [0, 1], [0, 1, 2], [2, 3]])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_products_at_places_do_not_divide_by_zeros(
    zeros: list[int], order: int
) -> None:
    values = [2.0, 3.0, 4.0, 5.0]
    for place in zeros:
        values[place] = 0.0
    x = dovetail.tensor(values, dtype=dovetail.float64)
    index = dovetail.tensor([0, 0, 0, 1])

    def scattered(x: Tensor) -> Tensor:
        start = dovetail.tensor([0.5, 3.0], dtype=x.dtype)
        return start.scatter_reduce(0, index, x * 2, "prod")

    def segments(x: Tensor) -> Tensor:
        products = dovetail.segment_reduce(
            x * 2, "prod", lengths=dovetail.tensor([3, 1]), initial=1
        )
        return products * dovetail.tensor([0.5, 3.0], dtype=x.dtype)

    def written(x: Tensor) -> Tensor:
        return dovetail.stack([4 * x[0] * x[1] * x[2], 6 * x[3]])

    def derived(function: Callable[[Tensor], Tensor]) -> Tensor:
        for _ in range(order):
            function = dovetail.func.jacrev(function)
        return function(x)

    expected = derived(written)
    for function in (scattered, segments):
        dovetail.testing.assert_close(derived(function), expected)


OF_LOGARITHMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "xlogy": lambda x, t: dovetail.xlogy(t, t) - t * x,
    "xlog1py": lambda x, t: dovetail.special.xlog1py(t, t - 1) - t * x,
    "kl_div": lambda x, t: nn.functional.kl_div(x, t, reduction="none"),
}


@pytest.mark.parametrize("name", OF_LOGARITHMS)
def test_mixed_derivatives_of_t_log_t_are_finite_at_zero(name: str) -> None:
    """``t (log(t) - x)`` has no slope by t at 0; but its slope by x has one."""
    loss, weights = OF_LOGARITHMS[name], dovetail.tensor([0.3, 0.7, -0.2], dtype=dovetail.float64)

    def total(x: Tensor, t: Tensor) -> Tensor:
        made = loss(x, t)
        return (weights * made + 0.25 * made**2).sum()

    x = dovetail.tensor([1.0, 0.0, 0.5], dtype=dovetail.float64)
    t = dovetail.tensor([1.0, 0.0, 0.5], dtype=dovetail.float64)
    # Of l = t (log(t) - x), whose slope by t is s = log(t) + 1 - x.
    slope = dovetail.where(t > 0, t.clamp(min=1e-9).log() + 1 - x, 0)
    by_both = -(weights + loss(x, t) / 2) - t * slope / 2
    for first, second in ((0, 1), (1, 0)):
        found = dovetail.func.jacrev(grad(total, first), second)(x, t)
        dovetail.testing.assert_close(found, by_both.diag())
    hessian = dovetail.func.jacrev(grad(lambda z: total(z[0], z[1])))(dovetail.stack([x, t]))
    dovetail.testing.assert_close(hessian[0, :, 1], by_both.diag())
    dovetail.testing.assert_close(hessian[1, :, 0], by_both.diag())
    third = dovetail.func.jacrev(dovetail.func.jacrev(grad(total, 0), 1), 0)(x, t)
    dovetail.testing.assert_close(third.sum((1, 2)), t)


PRODUCTS = {
    "scatter_reduce": lambda x, y: x.scatter_reduce(0, PLACES, y, "prod"),
    "scatter_reduce of places alone": lambda x, y: x.scatter_reduce(
        0, PLACES, y, "prod", include_self=False
    ),
    "index_reduce": lambda x, y: x.index_reduce(0, PLACES, y, "prod"),
}
PLACES = dovetail.tensor([0, 1, 0])


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("case", PRODUCTS)
def test_products_of_complex_numbers_at_places_have_derivatives(case: str) -> None:
    function = PRODUCTS[case]
    for zeros in (0, 1, 2):
        factors = [2.0 + 1j, 3.0 - 1j, 1.0 + 2j]
        factors[:zeros] = [0j] * zeros
        factors[1], factors[2] = factors[2], factors[1]  # both zeros go to one place
        y = dovetail.tensor(factors, dtype=dovetail.complex128, requires_grad=True)
        x = dovetail.tensor([1.0 - 1j, 2.0, 1j], dtype=dovetail.complex128, requires_grad=True)
        assert dovetail.autograd.gradcheck(function, (x, y), check_forward_ad=True)
        assert dovetail.autograd.gradgradcheck(function, (x, y))

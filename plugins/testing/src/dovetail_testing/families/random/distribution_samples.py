"""Samples of operators that draw numbers from distributions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import float32, float64, int64

from ..makers import (
    BROADCAST,
    FLOATING,
    INEXACT,
    REAL,
    REAL_NUMBERS,
    Samples,
    op_info,
    refusals,
    refused,
    smooth,
)

info = partial(op_info, family="random", is_random=True)


def kept(*rows: tuple[object, ...]) -> Samples:
    """Return samples of a tensor to write to, with each of some arguments."""
    return lambda make: [
        SampleInput(make(shape), *row) for shape in ((2, 3), (), (0, 3)) for row in rows
    ]


def scales(make: TensorMaker, *shape: int) -> Any:
    """Return a tensor of standard deviations or probabilities, which are real."""
    dtype = make.dtype.to_real() if make.dtype.is_complex else make.dtype
    return make(shape, dtype=dtype, low=0.1, high=0.9)


def bad(*args: Any) -> Callable[[TensorMaker], SampleInput]:
    return lambda make: SampleInput(make(2), *args)


SINGLE_AND_DOUBLE = frozenset({float32, float64})


def gradient_of_gamma(alpha: Any, drawn: object) -> Any:
    """Return how quantiles of the gamma distribution move with its shape, by SciPy's quantiles."""
    special, h = import_module("scipy.special"), 1e-4
    share = special.gammainc(alpha, drawn)
    up, down = (special.gammaincinv(each, share) for each in (alpha + h, alpha - h))
    return (up - down) / (2 * h)


def gradient_of_beta(drawn: Any, alpha: Any, total: Any) -> Any:
    """Return how quantiles of the beta distribution move with its first parameter."""
    special, other, h = import_module("scipy.special"), total - alpha, 1e-4
    share = special.betainc(alpha, other, drawn)
    up, down = (special.betaincinv(each, other, share) for each in (alpha + h, alpha - h))
    return (up - down) / (2 * h) / (1 - drawn)


OP_INFOS = [
    info(
        "cauchy_",
        kept((), (1.0, 2.0)),
        None,
        FLOATING,
        errors=refused(bad(0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    ),
    info(
        "exponential_",
        kept((), (2.5,)),
        None,
        FLOATING,
        errors=refused(
            bad(0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"
        ),
    ),
    info(
        "geometric_",
        kept((0.25,), (0.9,)),
        None,
        REAL_NUMBERS,
        errors=refused(
            bad(-1), RuntimeError, r"geometric_ expects p to be in \(0, 1\), but got p=-1"
        ),
    ),
    info(
        "log_normal_",
        kept((), (0.0, 0.5)),
        None,
        FLOATING,
        errors=refused(bad(0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    ),
    info("random_", kept(()), None, REAL),
    info(
        "random_.to",
        kept((2,)),
        None,
        REAL,
        errors=refused(bad(0), RuntimeError, "random_ expects 'from' to be less than 'to'"),
    ),
    info(
        "random_.from",
        kept((0, 2), (0, None)),
        None,
        REAL,
        errors=refused(bad(5, 2), RuntimeError, "random_ expects 'from' to be less than 'to'"),
    ),
    info(
        "bernoulli_.Tensor",
        lambda make: [
            SampleInput(make(shape), make(other, dtype=float32, low=0.1, high=0.5))
            for shape, other in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((), ()))
        ],
        None,
        REAL,
        errors=refusals(
            (
                lambda make: SampleInput(make(2), make.values([2.0, 0.5])),
                RuntimeError,
                "Expected p_in >= 0 && p_in <= 1 to be true",
            ),
            (
                lambda make: SampleInput(make(2), make(3, low=0.0, high=1.0)),
                RuntimeError,
                "must match",
            ),
        ),
    ),
    info(
        "bernoulli.p",
        smooth(0.25),
        None,
        REAL,
        errors=refused(bad(1.5), RuntimeError, r"expects p to be in \[0, 1\], but got p=1.5"),
    ),
    info(
        "normal.Tensor_float",
        smooth(0.5),
        None,
        INEXACT,
        errors=refused(bad(-1.0), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    ),
    info(
        "normal.float_Tensor",
        lambda make: [SampleInput(0.5, make(shape)) for shape in ((2, 3), (), (0, 3))],
        None,
        FLOATING,
        domain=(0.1, 1),
        errors=refused(
            lambda make: SampleInput(0.0, make.values([-1.0])),
            RuntimeError,
            "normal expects all elements of std >= 0.0",
        ),
    ),
    info(
        "normal.Tensor_Tensor",
        lambda make: [
            SampleInput(make(shape), scales(make, *other))
            for shape, other in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2,)), ((), ()))
        ],
        None,
        INEXACT,
    ),
    info(
        "normal.float_float",
        lambda make: [
            SampleInput(0.0, 2.0, shape, dtype=make.dtype, device=make.device)
            for shape in ((2, 3), (), (0, 3))
        ],
        None,
        INEXACT,
        supports_autograd=False,
    ),
    info(
        "poisson",
        smooth(),
        None,
        FLOATING,
        domain=(0, 4),
        errors=refused(
            lambda make: SampleInput(make.values([-1.0])), RuntimeError, "invalid Poisson rate"
        ),
    ),
    info(
        "binomial",
        lambda make: [
            SampleInput(make(shape, low=0.0, high=9.0), scales(make, *other))
            for shape, other in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), ()))
        ],
        None,
        SINGLE_AND_DOUBLE,
        supports_autograd=False,  # as in PyTorch: nothing says how counts change with chances
        errors=refused(
            lambda make: SampleInput(make(2), make(2, dtype=float64)),
            RuntimeError,
            "Found dtype Double but expected Float",
        ),
    ),
    info(
        "_standard_gamma",
        smooth(),
        None,
        SINGLE_AND_DOUBLE,
        domain=(0.5, 4),
        errors=refused(
            lambda make: SampleInput(make(2, dtype=int64)), NotImplementedError, '"gamma_cpu" not'
        ),
    ),
    info(
        "_sample_dirichlet",
        lambda make: [SampleInput(make(shape)) for shape in ((2, 3), (3,), (0, 3))],
        None,
        SINGLE_AND_DOUBLE,
        domain=(0.5, 4),
        errors=refused(
            lambda make: SampleInput(make(2, dtype=int64)), NotImplementedError, '"dirichlet" not'
        ),
    ),
    op_info(
        "_standard_gamma_grad",
        lambda make: [SampleInput(make(one), make(other)) for one, other in BROADCAST],
        gradient_of_gamma,
        SINGLE_AND_DOUBLE,
        family="random",
        domain=(0.5, 4),
        supports_autograd=False,
    ),
    op_info(
        "_dirichlet_grad",
        lambda make: [
            SampleInput(make(one, high=0.9), make(other), make(other, low=5, high=6))
            for one, other in BROADCAST
        ],
        gradient_of_beta,
        SINGLE_AND_DOUBLE,
        family="random",
        domain=(0.1, 4),
        supports_autograd=False,
    ),
    info("_slopes_of_rrelu", smooth(0.25, 0.5), None, FLOATING, supports_autograd=False),
]

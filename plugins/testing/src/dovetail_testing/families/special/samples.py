"""Samples of the special functions. The references are SciPy's, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import OpInfo, SampleInput, TensorMaker, all_types
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype

from ..makers import (
    ALL,
    BROADCAST,
    FLOATING,
    REAL,
    REAL_NUMBERS,
    Samples,
    binary,
    dim_out_of_range,
    gradients_of,
    is_inexact,
    mismatch,
    op_info,
    refused,
    smooth,
    specials,
    unary,
    with_each,
)

info = partial(op_info, family="special")

UNHALVED = all_types() | {bool_}
"""The dtypes of functions that are not computed in half precision."""

POSITIVE = (0.3, 2.1)


def scipy(name: str) -> Callable[..., Any]:
    """Return a reference that calls a function of `scipy.special`, imported when it is used."""

    def reference(*args: Any) -> Any:
        return getattr(import_module("scipy.special"), name)(*args)

    return reference


wrong_type = refused(
    lambda make: SampleInput("x"), RuntimeError, r"Expected a value of type 'Tensor' for argument"
)


# -- one operand -----------------------------------------------------------------------------------


def lgamma(x: np.ndarray) -> Any:
    return np.where(np.isneginf(x), np.inf, scipy("gammaln")(x))


ONE: list[tuple[str, Any, frozenset[dtype], tuple[float, float] | None]] = [
    ("lgamma", lgamma, REAL, POSITIVE),
    ("special_gammaln", lgamma, REAL, POSITIVE),
    ("digamma", scipy("psi"), REAL, POSITIVE),
    ("special_digamma", scipy("psi"), REAL, POSITIVE),
    ("special_psi", scipy("psi"), REAL, POSITIVE),
    ("erfinv", scipy("erfinv"), REAL, (-0.8, 0.8)),
    ("special_erfinv", scipy("erfinv"), REAL, (-0.8, 0.8)),
    ("special_erf", scipy("erf"), REAL, None),
    ("special_erfc", scipy("erfc"), REAL, None),
    ("special_erfcx", scipy("erfcx"), UNHALVED, None),
    ("special_ndtr", scipy("ndtr"), REAL, None),
    ("special_ndtri", scipy("ndtri"), UNHALVED, (0.1, 0.9)),
    ("special_log_ndtr", scipy("log_ndtr"), UNHALVED, None),
    ("special_entr", scipy("entr"), REAL, POSITIVE),
    ("i0", scipy("i0"), REAL, None),
    ("special_i0", scipy("i0"), REAL, None),
    ("special_i0e", scipy("i0e"), REAL, None),
    ("special_i1", scipy("i1"), REAL, None),
    ("special_i1e", scipy("i1e"), REAL, None),
    ("special_expit", lambda x: 1 / (1 + np.exp(-x)), ALL, None),
    ("special_exp2", np.exp2, ALL, None),
    ("special_expm1", np.expm1, ALL, None),
    ("special_log1p", np.log1p, ALL, POSITIVE),
    ("sinc", np.sinc, ALL, (0.1, 2.3)),
    ("special_sinc", np.sinc, ALL, (0.1, 2.3)),
]
"""Operators of one tensor: name, reference, dtypes, and where values lie."""

BESSEL: list[tuple[str, Any]] = [
    ("bessel_j0", scipy("j0")),
    ("bessel_j1", scipy("j1")),
    ("bessel_y0", scipy("y0")),
    ("bessel_y1", scipy("y1")),
    ("modified_bessel_i0", scipy("i0")),
    ("modified_bessel_i1", scipy("i1")),
    ("modified_bessel_k0", scipy("k0")),
    ("modified_bessel_k1", scipy("k1")),
    ("scaled_modified_bessel_k0", scipy("k0e")),
    ("scaled_modified_bessel_k1", scipy("k1e")),
    ("spherical_bessel_j0", lambda x: np.where(np.isinf(x), 0, np.sinc(x / np.pi))),
    ("airy_ai", lambda x: scipy("airy")(x)[0]),
]


def logit(x: Any, eps: Any = None) -> Any:
    return scipy("logit")(x if eps is None else np.clip(x, eps, 1 - eps))


def logit_backward(grad: np.ndarray, x: np.ndarray, eps: Any = None) -> Any:
    low, high = (0, 1) if eps is None else (eps, 1 - eps)
    beyond = np.nan if eps is None else 0
    return np.where((x < low) | (x > high), beyond, grad / (x * (1 - x)))


def clamped(make: TensorMaker) -> Iterator[SampleInput]:
    for eps in (None, 0.2):
        for sample in (smooth() if make.requires_grad else unary())(make):
            yield SampleInput(sample.input, eps)


def inside(make: TensorMaker) -> Iterator[SampleInput]:
    for eps in (None, 0.2):
        yield from smooth(eps)(make)


def orders(make: TensorMaker) -> Iterator[SampleInput]:
    for n in (0, 1, 2, 5):
        for shape in ((2, 3), (), (0, 3)):
            # At zero and below, whole numbers are poles.
            yield SampleInput(n, make(shape) if is_inexact(make) else make(shape, low=1, high=5))


def in_place_orders(make: TensorMaker) -> Iterator[SampleInput]:
    for sample in orders(make):
        yield SampleInput(sample.args[0], sample.input)


def polygamma(n: int, x: np.ndarray) -> Any:
    if n == 0:
        return scipy("psi")(x)
    zeta = np.where(np.isposinf(x), 0, scipy("zeta")(n + 1.0, x))
    return (-1) ** (n + 1) * math.factorial(n) * zeta


def multigammaln(x: np.ndarray, p: int) -> Any:
    constant = p * (p - 1) / 4 * math.log(math.pi)
    return constant + sum(lgamma(x - i / 2) for i in range(p))


def rounded(x: np.ndarray, decimals: int = 0) -> Any:
    return np.rint(x * 10**decimals) / 10**decimals


no_order = refused(
    lambda make: SampleInput(-1, make(2)), RuntimeError, "polygamma.* does not support negative n"
)
no_dimension = refused(
    lambda make: SampleInput(make(2), 0), RuntimeError, "p has to be greater than or equal to 1"
)

ONE_OPERAND = [
    *[
        info(n, unary(), ref, dtypes, domain=domain, errors=wrong_type)
        for n, ref, dtypes, domain in ONE
    ],
    *[
        info(
            f"special_{n}",
            unary(),
            ref,
            UNHALVED,
            domain=POSITIVE,
            errors=wrong_type,
            supports_autograd=False,
        )
        for n, ref in BESSEL
    ],
    info("logit", clamped, logit, REAL, domain=(0.25, 0.75)),
    info("special_logit", clamped, logit, REAL, domain=(0.25, 0.75)),
    info("logit_backward", gradients_of(inside), logit_backward, FLOATING, domain=(0.25, 0.75)),
    info("polygamma", orders, polygamma, REAL, domain=POSITIVE, errors=no_order),
    info("polygamma_", in_place_orders, lambda x, n: polygamma(n, x), FLOATING, domain=POSITIVE),
    info("special_polygamma", orders, polygamma, REAL, domain=POSITIVE, errors=no_order),
    *[
        info(
            name,
            with_each(1, 3),
            multigammaln,
            REAL_NUMBERS,
            domain=(1.3, 3.0),
            errors=no_dimension,
        )
        for name in ("mvlgamma", "special_multigammaln")
    ],
    info("special_round", unary(), rounded, FLOATING),
]


# -- two operands ----------------------------------------------------------------------------------


def xlog1py(x: np.ndarray, y: np.ndarray) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y))


def xlogy(x: np.ndarray, y: np.ndarray) -> Any:
    return np.where((np.asarray(x) == 0) & ~np.isnan(y), 0, x * np.log(y))


def numbers_first(*numbers: float) -> Samples:
    """Return a number, and tensors of several shapes."""
    return lambda make: [
        SampleInput(number, make(shape)) for number in numbers for shape in ((2, 3), (), (0, 3))
    ]


def above_one(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left, low=1.5, high=4), make(right, low=0.5, high=3))


def gamma_pairs(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        # The derivative with respect to the first is not known.
        first = make(left, low=0.5, high=3)
        yield SampleInput(first.detach(), make(right, low=0.5, high=3))
    for tensor in specials(make):
        known = tensor[1:]  # of NaN PyTorch gives numbers
        yield SampleInput(known, known.reshape(-1, 1))


def zeta_pairs(make: TensorMaker) -> Iterator[SampleInput]:
    for sample in above_one(make):
        first, second = sample.arguments
        yield SampleInput(first.detach(), second)


def with_overloads(
    name: str,
    samples: Samples,
    ref: Callable[..., object],
    dtypes: frozenset[dtype],
    *,
    names: tuple[str, str] = ("self_scalar", "other_scalar"),
    number: float = 2,
    special: bool = True,
    number_differentiable: bool = True,
    **expected: Any,
) -> list[OpInfo]:
    """Return an operator of two tensors, and its overloads of one and a number."""
    with_number = with_each(number) if special else smooth(number)
    last = {} if number_differentiable else {"supports_autograd": False}
    return [
        info(name, samples, ref, dtypes, errors=mismatch(), **expected),
        info(f"{name}.{names[0]}", numbers_first(number), ref, dtypes, **expected),
        info(f"{name}.{names[1]}", with_number, ref, dtypes, **(expected | last)),
    ]


TWO_OPERANDS = [
    info("igamma", gamma_pairs, scipy("gammainc"), FLOATING, errors=mismatch()),
    info("igammac", gamma_pairs, scipy("gammaincc"), FLOATING, errors=mismatch()),
    info("special_gammainc", gamma_pairs, scipy("gammainc"), FLOATING, errors=mismatch()),
    info("special_gammaincc", gamma_pairs, scipy("gammaincc"), FLOATING, errors=mismatch()),
    *with_overloads("special_xlog1py", binary(), xlog1py, REAL, domain=POSITIVE),
    *with_overloads("special_xlogy", binary(), xlogy, REAL, domain=POSITIVE),
    *with_overloads(
        "special_zeta",
        zeta_pairs,
        scipy("zeta"),
        UNHALVED,
        domain=POSITIVE,
        number_differentiable=False,
    ),
]


# -- polynomials -----------------------------------------------------------------------------------


def of_degrees(evaluate: str, shift: bool = False) -> Callable[..., Any]:
    """Return the reference of polynomials of whole degrees: zero below zero."""

    def reference(x: np.ndarray, n: np.ndarray | int) -> Any:
        degree = np.trunc(np.asarray(n, float)).astype(int)
        place = np.asarray(x, float) * (2 if shift else 1) - (1 if shift else 0)
        return np.where(degree < 0, 0, scipy(evaluate)(np.maximum(degree, 0), place))

    return reference


def jacobi(alpha: float, shift: bool = False) -> Callable[..., Any]:
    """Return the reference of Chebyshev's third or fourth kind, which are Jacobi polynomials."""

    def reference(x: np.ndarray, n: int) -> Any:
        degree = np.trunc(np.asarray(n, float)).astype(int)
        place = np.asarray(x, float) * (2 if shift else 1) - (1 if shift else 0)
        own = np.maximum(degree, 0)
        # A Jacobi polynomial has another factor: that of the third kind is 1 at 1.
        scale = scipy("eval_jacobi")(own, -0.5, 0.5, 1.0)
        return np.where(degree < 0, 0, scipy("eval_jacobi")(own, alpha, -alpha, place) / scale)

    return reference


POLYNOMIALS: list[tuple[str, Callable[..., Any]]] = [
    ("chebyshev_polynomial_t", of_degrees("eval_chebyt")),
    ("chebyshev_polynomial_u", of_degrees("eval_chebyu")),
    ("chebyshev_polynomial_v", jacobi(-0.5)),
    ("chebyshev_polynomial_w", jacobi(0.5)),
    ("shifted_chebyshev_polynomial_t", of_degrees("eval_sh_chebyt")),
    ("shifted_chebyshev_polynomial_u", of_degrees("eval_sh_chebyu")),
    ("shifted_chebyshev_polynomial_v", jacobi(-0.5, shift=True)),
    ("shifted_chebyshev_polynomial_w", jacobi(0.5, shift=True)),
    ("hermite_polynomial_h", of_degrees("eval_hermite")),
    ("hermite_polynomial_he", of_degrees("eval_hermitenorm")),
    ("laguerre_polynomial_l", of_degrees("eval_laguerre")),
    ("legendre_polynomial_p", of_degrees("eval_legendre")),
]


def degrees(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left), make(right, low=-1, high=7))
    if is_inexact(make):
        yield SampleInput(make.values([-1.0, 0.0, 1.0]), make.values([[0.0], [3.0], [8.0]]))


ORTHOGONAL = [
    each
    for name, ref in POLYNOMIALS
    for each in with_overloads(
        f"special_{name}",
        degrees,
        ref,
        UNHALVED,
        names=("x_scalar", "n_scalar"),
        number=3,
        special=False,
        supports_autograd=False,
    )
]


# -- along a dimension -----------------------------------------------------------------------------


def softmax(x: np.ndarray, dim: int, dtype: Any = None) -> Any:
    return import_module("scipy.special").softmax(x, dim)


def log_softmax(x: np.ndarray, dim: int, dtype: Any = None) -> Any:
    return import_module("scipy.special").log_softmax(x, dim)


def logsumexp(x: np.ndarray, dim: object, keepdim: bool = False) -> Any:
    return import_module("scipy.special").logsumexp(x, dim, keepdims=keepdim)


def along(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim in (((2, 3), 1), ((2, 3), 0), ((3,), -1), ((2, 1, 3), 1)):
        yield SampleInput(make(shape), dim)


ALONG = [
    info("special_softmax", along, softmax, FLOATING, errors=dim_out_of_range(5)),
    info("special_log_softmax", along, log_softmax, FLOATING, errors=dim_out_of_range(5)),
    info("special_logsumexp", along, logsumexp, ALL, errors=dim_out_of_range(5)),
]

OP_INFOS = [*ONE_OPERAND, *TWO_OPERANDS, *ORTHOGONAL, *ALONG]

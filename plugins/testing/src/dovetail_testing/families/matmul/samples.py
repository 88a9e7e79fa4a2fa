"""Samples of matrix products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import int8, int32

from ..makers import ALL, NUMBERS, Samples, op_info, refusals, refused

info = partial(op_info, family="matmul")

SIZES = ({"b": 2, "i": 2, "j": 3, "k": 4}, {"b": 1, "i": 3, "j": 1, "k": 2})
SMALL = ({"b": 2, "i": 1, "j": 2, "k": 2},)
"""Sizes that are differentiated twice in a short time."""

EMPTY = (
    {"b": 0, "i": 2, "j": 3, "k": 2},
    {"b": 2, "i": 2, "j": 0, "k": 2},
    {"b": 2, "i": 0, "j": 1, "k": 2},
)


def products(*terms: str, options: tuple[Mapping[str, object], ...] = ({},)) -> Samples:
    """Return operands whose shapes are spelt by letters: ``products("ij", "jk")`` are matrices."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options:
            several = SMALL if make.requires_grad else SIZES
            for sizes in (*several, *EMPTY) if keywords == options[0] else several:
                shapes = [[sizes[letter] for letter in term] for term in terms]
                yield SampleInput(*[make(shape) for shape in shapes], **keywords)

    return samples


def added(added: str, *terms: str) -> Samples:
    """Return operands of a product and what is added to it: of its shape, or broadcast to it."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        options: tuple[dict[str, Any], ...] = ({}, {"beta": 2, "alpha": 3}, {"beta": 0})
        for term in (added, added[-1:]):
            yield from products(term, *terms, options=options if term == added else ({},))(make)

    return samples


def scaled(function: Any) -> Any:
    """Return the reference of a product that is scaled and added to something."""

    def reference(x: np.ndarray, left: Any, right: Any, beta: Scalar = 1, alpha: Scalar = 1) -> Any:
        found = function(left, right)
        return alpha * found + (beta * x if beta else 0 * x)

    return reference


def any_products(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in (
        ((3,), (3,)),
        ((2, 3), (3, 2)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3,)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
    ):
        yield SampleInput(make(left), make(right))


def layers(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2, 3), (3,), (2, 2, 3), (0, 3)):
        yield SampleInput(make(shape), make(2, 3), make(2))
        yield SampleInput(make(shape), make(2, 3))


def linear(x: Any, weight: Any, bias: np.ndarray | None = None) -> Any:
    return x @ weight.T if bias is None else x @ weight.T + bias


def equations(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput("ij,jk->ik", [make(2, 3), make(3, 2)])
    yield SampleInput("bij,bjk->bik", [make(2, 2, 3), make(2, 3, 2)])
    yield SampleInput("i,j->ij", [make(2), make(3)])
    yield SampleInput("ij->ji", [make(2, 3)])
    yield SampleInput("ii->i", [make(3, 3)])
    yield SampleInput("...i,i->...", [make(2, 2, 3), make(3)])
    yield SampleInput("ij,jk,kl->il", [make(2, 3), make(3, 2), make(2, 2)])


def wrong(*shapes: tuple[int, ...], text: str) -> Any:
    return refused(lambda make: SampleInput(*[make(shape) for shape in shapes]), RuntimeError, text)


def pairs_of_vectors(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2,), (), (2, 1), (0,)):
        yield SampleInput(make(*shape, 3), make(*shape, 4), make(5, 3, 4), make(5))
    yield SampleInput(make(2, 3), make(2, 4), make(5, 3, 4))


def bilinear(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> Any:
    made = np.einsum("...i,kij,...j->...k", x, weight, y)
    return made if bias is None else made + bias


OP_INFOS = [
    info(
        "bilinear",
        pairs_of_vectors,
        bilinear,
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), make(3, 4), make(5, 3, 4)),
                RuntimeError,
                r"bilinear\(\): input batch dimensions do not match at dim 0: got 2 and 3",
            ),
            (
                lambda make: SampleInput(make(2, 3), make(2, 4), make(5, 3, 3)),
                RuntimeError,
                r"bilinear\(\): input2 size does not match weight size",
            ),
        ),
    ),
    info(
        "mm",
        products("ij", "jk"),
        np.matmul,
        NUMBERS,
        errors=wrong(
            (2, 3), (2, 3), text=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"
        ),
    ),
    info(
        "_int_mm",
        products("ij", "jk"),
        lambda x, y: np.matmul(x.astype(np.int32), y.astype(np.int32)),
        frozenset({int8}),
        supports_autograd=False,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), make(3, 4).to(int32)),
                RuntimeError,
                "int_mm_out_cpu: Expected mat2 dtype to be int8",
            )
        ),
    ),
    info(
        "bmm",
        products("bij", "bjk"),
        np.matmul,
        NUMBERS,
        errors=wrong((2, 3), (3, 2), text="must be a 3D tensor"),
    ),
    info(
        "mv",
        products("ij", "j"),
        np.matmul,
        NUMBERS,
        errors=wrong((2, 3), (2,), text="size mismatch"),
    ),
    info(
        "dot",
        products("i", "i"),
        np.dot,
        NUMBERS,
        errors=wrong((2,), (3,), text="inconsistent tensor size"),
    ),
    info(
        "vdot",
        products("i", "i"),
        np.vdot,
        NUMBERS,
        errors=wrong((2,), (3,), text="inconsistent tensor size"),
    ),
    info(
        "inner",
        lambda make: [
            SampleInput(make(left), make(right))
            for left, right in (((3,), (3,)), ((2, 3), (4, 3)), ((), (2, 3)), ((2, 2, 3), (3,)))
        ],
        np.inner,
        NUMBERS,
    ),
    info(
        "outer",
        products("i", "j"),
        np.outer,
        ALL,
        errors=wrong(
            (2, 3), (2,), text="outer: Expected 1-D arguments self and vec2, but got 2D and 1D"
        ),
    ),
    info(
        "ger",
        products("i", "j"),
        np.outer,
        ALL,
        errors=wrong(
            (2, 3), (2,), text="outer: Expected 1-D arguments self and vec2, but got 2D and 1D"
        ),
    ),
    info(
        "addmm",
        added("ik", "ij", "jk"),
        scaled(np.matmul),
        NUMBERS,
        errors=wrong((2, 2), (2, 3), (2, 3), text="cannot be multiplied"),
    ),
    info(
        "_sparse_addmm",
        added("ik", "ij", "jk"),
        scaled(np.matmul),
        NUMBERS,
        errors=wrong((2, 2), (2, 3), (2, 3), text="cannot be multiplied"),
    ),
    info("addmv", added("i", "ij", "j"), scaled(np.matmul), NUMBERS),
    info("addbmm", added("ik", "bij", "bjk"), scaled(lambda x, y: (x @ y).sum(0)), NUMBERS),
    info("baddbmm", added("bik", "bij", "bjk"), scaled(np.matmul), NUMBERS),
    info(
        "matmul",
        any_products,
        np.matmul,
        NUMBERS,
        errors=wrong((2, 3), (2, 3), text="cannot be multiplied"),
    ),
    info("linear", layers, linear, NUMBERS),
    info(
        "einsum",
        equations,
        lambda equation, tensors: np.einsum(equation, *tensors),
        NUMBERS,
        errors=refused(
            lambda make: SampleInput("ij->k", [make(2, 3)]), RuntimeError, "output subscript k"
        ),
    ),
]

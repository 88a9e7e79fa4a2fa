"""Matrices for samples: regular, definite, triangular or of several shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from dovetail_aten import Tensor
from dovetail_dispatcher.testing import (
    SampleInput,
    Skip,
    TensorMaker,
    complex_types,
    floating_and_complex_types_and,
)

from ..makers import Errors, Samples, is_inexact, refusals

LAPACK: Final = floating_and_complex_types_and()
"""The dtypes that LAPACK computes in."""

BATCHES: Final = ((), (2,), (0,), (2, 1))
SIZES: Final = ((3, 3), (4, 2), (2, 4), (0, 0), (0, 2), (2, 0))

GRADIENTS: Final = (
    "gradients",
    "gradgrad",
    "forward_ad",
    "array_gradients",
    "layout_gradients",
    "meta_gradients",
    "batched_gradients",
    "vmap_gradients",
    "vmap_of_gradients",
)
SMALL: Final = ((2, 2), (3, 2), (2, 3))
"""Shapes that are differentiated twice in a short time."""

PHASES: Final = tuple(
    [Skip(check, "the phases of vectors are arbitrary", complex_types()) for check in GRADIENTS]
)
"""Where vectors are differentiated that a phase is free in: tests of their own do it."""
ONE_TRIANGLE: Final = tuple(
    [
        Skip(check, "gradients go to both triangles, of which one is read")
        for check in ("gradients", "gradgrad", "forward_ad")
    ]
)
"""Functions of Hermitian matrices: tests of their own differentiate them."""
SINGULAR: Final = (Skip("layouts", "an expanded matrix is singular"),)


def leaf(make: TensorMaker, x: Tensor) -> Any:
    """Return a tensor that was computed as one that is given: it requires grad where all do."""
    made = x.detach().clone()
    return made.requires_grad_() if make.requires_grad and is_inexact(make) else made


def generic(make: TensorMaker, *shape: int) -> Any:
    """Return matrices of full rank, whose values follow no pattern."""
    x = make(shape, requires_grad=False)
    return leaf(make, x + 0.7 * x * x if is_inexact(make) else x)


def sized(make: TensorMaker, n: int | None) -> int:
    """Return the size of a square matrix: small where it is differentiated twice."""
    return (2 if make.requires_grad else 3) if n is None else n


def regular(make: TensorMaker, *batch: int, n: int | None = None) -> Any:
    """Return square matrices that are far from singular, with different singular values."""
    n = sized(make, n)
    x = make((*batch, n, n), requires_grad=False)
    if not is_inexact(make) or not n:
        return leaf(make, x)
    steps = make.values((np.diag(2.0 * np.arange(n) + 6.0)).tolist())
    return leaf(make, x + steps)


def definite(make: TensorMaker, *batch: int, n: int | None = None) -> Any:
    """Return symmetric or Hermitian positive-definite matrices."""
    x = regular(make, *batch, n=n).detach()
    return leaf(make, x @ x.mH if is_inexact(make) else x)


def triangular(make: TensorMaker, *batch: int, n: int | None = None, upper: bool = False) -> Any:
    """Return triangular matrices that are far from singular."""
    x = regular(make, *batch, n=n).detach()
    x = x.triu() if upper else x.tril()
    if make.dtype.is_complex:  # as LAPACK has them: with a real diagonal
        x = x - (x.diagonal(0, -2, -1).imag * 1j).to(x.dtype).diag_embed()
    return leaf(make, x)


def squares(
    maker: Callable[..., Any] = regular, *options: dict[str, Any], batches: Any = BATCHES
) -> Samples:
    """Return samples of square matrices, and each of some keyword arguments."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options or ({},):
            for batch in batches[:1] if make.requires_grad else batches:
                yield SampleInput(maker(make, *batch), **keywords)
        if not make.requires_grad and (not options or options[0] == {}):
            yield SampleInput(maker(make, n=0))
            yield SampleInput(maker(make, n=1))

    return samples


def rectangles(*options: dict[str, Any]) -> Samples:
    """Return samples of matrices of all shapes, and each of some keyword arguments."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options or ({},):
            for shape in SMALL if make.requires_grad else SIZES:
                yield SampleInput(generic(make, *shape), **keywords)
            if not make.requires_grad:
                yield SampleInput(generic(make, 2, 3, 2), **keywords)

    return samples


def no_square(name: str, *args: Any, kind: type[Exception] = RuntimeError) -> Errors:
    """Return a matrix that is not square, and a vector."""
    return refusals(
        (
            lambda make: SampleInput(make(2, 3), *args),
            kind,
            f"{name}: A must be batches of square matrices, but they are 2 by 3 matrices",
        ),
        (
            lambda make: SampleInput(make(3), *args),
            kind,
            f"{name}: The input tensor A must have at least 2 dimensions",
        ),
    )


def no_matrix(name: str) -> Errors:
    """Return a vector."""
    return refusals(
        (
            lambda make: SampleInput(make(3)),
            RuntimeError,
            f"{name}: The input tensor .* must have at least 2 dimensions",
        )
    )

"""Samples of quantiles, and of differences, derivatives and integrals along a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import float32, float64, uint8

from ..makers import ALL, NUMBERS, Samples, op_info, refusals

info = partial(op_info, family="statistics")

PRECISE = frozenset({float32, float64})


# -- quantiles -------------------------------------------------------------------------------------


def quantiles(*given: Any) -> Samples:
    """Return samples ``(x, q, dim, keepdim, interpolation=)`` for each `q`."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for q in given:
            for shape, dim, keepdim in (
                ((4, 3), None, False),
                ((4, 3), 0, True),
                ((2, 1, 5), -1, False),
                ((4, 3), None, True),
                ((), 0, False),
            ):
                yield SampleInput(make(shape), _q(make, q), dim, keepdim)
            for interpolation in ("lower", "higher", "nearest", "midpoint"):
                yield SampleInput(make(5), _q(make, q), 0, interpolation=interpolation)
        if make.dtype.is_floating_point and not make.requires_grad:
            rows = [[np.nan, 1.0, 0.5], [3.0, 1.0, 5.0], [np.nan] * 3]
            sample = SampleInput(make.values(rows), _q(make, given[0]), 1)
            yield sample.with_metadata(name="special values")

    return samples


def _q(make: TensorMaker, q: object) -> Any:
    return q if isinstance(q, float) else make.values(q)


def quantile_of(function: Any) -> Any:
    def reference(
        x: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        dim = None if not x.ndim else dim
        return function(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return reference


BAD_QUANTILES = refusals(
    (
        lambda make: SampleInput(make(3), make.values([1.5])),
        RuntimeError,
        r"quantile\(\) q values must be in the range \[0, 1\]",
    ),
    (
        lambda make: SampleInput(make(3), make.values([[0.5]])),
        RuntimeError,
        r"quantile\(\) q must be a scalar or 1D tensor",
    ),
    (
        lambda make: SampleInput(make(3), make.values(0.5, float64)),
        RuntimeError,
        r"quantile\(\) q tensor must be same dtype as the input tensor",
    ),
    (
        lambda make: SampleInput(make(0, 3), make.values(0.5)),
        RuntimeError,
        r"quantile\(\) input tensor must be non-empty",
    ),
)
BAD_NUMBERS = refusals(
    (
        lambda make: SampleInput(make(3), 1.5),
        RuntimeError,
        r"quantile\(\) q must be in the range \[0, 1\] but got 1.5",
    ),
    (
        lambda make: SampleInput(make(3), 0.5, interpolation="cubic"),
        RuntimeError,
        r"quantile\(\) interpolation must be one of linear, lower, higher, midpoint or nearest",
    ),
)
QUANTILES = [
    row
    for name, function in (("quantile", np.quantile), ("nanquantile", np.nanquantile))
    for row in (
        info(name, quantiles(0, [0.25, 0.5]), quantile_of(function), PRECISE, errors=BAD_QUANTILES),
        info(f"{name}.scalar", quantiles(0.3), quantile_of(function), PRECISE, errors=BAD_NUMBERS),
    )
]


# -- differences and derivatives -------------------------------------------------------------------


def differences(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, args in (((4,), ()), ((3, 4), (2,)), ((3, 4), (1, 0)), ((2, 3), (5, 1))):
        yield SampleInput(make(shape), *args)
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(2, 3), 1, -1, make(2, 1), make(2, 2))
    yield SampleInput(make(2, 3), 1, 0, None, make(1, 3))
    yield SampleInput(make(0, 3), 1, 1)


def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    parts = [each for each in (prepend, x, append) if each is not None]
    rows = np.concatenate(parts, dim) if n else x
    return np.diff(rows, min(n, rows.shape[dim]), dim)


def slopes(*options: dict[str, Any]) -> Samples:
    """Return samples with each of some keyword arguments."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options:
            for edge_order in (1, 2):
                given = {k: v(make) if callable(v) else v for k, v in keywords.items()}
                yield SampleInput(make(3, 4), edge_order=edge_order, **given)

    return samples


def gradient(x: Any, *, spacing: Any = None, dim: Any = None, edge_order: Any = 1) -> Any:
    """Return NumPy's gradient."""
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    steps = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    return [
        np.gradient(x, 1 if step is None else step, axis=each, edge_order=edge_order)
        for each, step in zip(dims, steps, strict=True)
    ]


def coordinates(*dims: int) -> Any:
    """Return what makes the coordinates of samples of the sizes."""

    def made(make: TensorMaker) -> list[Any]:
        return [make.values(np.cumsum(np.arange(1, size + 1) % 3 + 1)) for size in dims]

    return made


SPACINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "tensorarrayint": ({"spacing": coordinates(3, 4)}, {"spacing": coordinates(4), "dim": 1}),
    "tensorarray": ({"spacing": coordinates(4, 3), "dim": (1, 0)},),
    "scalarint": ({}, {"spacing": 2}, {"spacing": 0.5, "dim": 1}),
    "scalararray": ({"spacing": 2, "dim": (1, 0)}, {"spacing": 0.5, "dim": (1,)}),
    "array": ({"dim": (0, 1)}, {"dim": (-1,)}),
    "scalarrayint": ({"spacing": [2, 3]}, {"spacing": [0.5], "dim": 1}),
    "scalarrayarray": ({"spacing": [2, 0.5], "dim": (1, 0)}, {"spacing": [2], "dim": (0,)}),
}
BAD_SLOPES = refusals(
    (
        lambda make: SampleInput(make(3, 3), dim=(0,), edge_order=3),
        RuntimeError,
        "torch.gradient only supports edge_order=1 and edge_order=2",
    ),
    (
        lambda make: SampleInput(make(1, 3), dim=(0,)),
        RuntimeError,
        "torch.gradient expected each dimension size to be at least edge_order",
    ),
)
SLOPES = [
    info(
        f"gradient.{overload}",
        slopes(*options),
        gradient,
        NUMBERS - {uint8},
        errors=BAD_SLOPES if overload == "array" else None,
    )
    for overload, options in SPACINGS.items()
]


# -- integrals -------------------------------------------------------------------------------------


def with_coordinates(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(4), make(4))
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(2, 3), make(2), dim=0)
    yield SampleInput(make(2, 3), make(2, 3), dim=1)
    yield SampleInput(make(2, 3, 2), make(3, 2), dim=-2)
    yield SampleInput(make(1), make(1))


def with_steps(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(4))
    yield SampleInput(make(2, 3), dx=0.5)
    yield SampleInput(make(2, 3), dx=2.0, dim=0)
    yield SampleInput(make(1))


def cumulative(y: np.ndarray, x: np.ndarray | None = None, dx: float = 1.0, dim: int = -1) -> Any:
    """Return the integrals up to each sample, as sums of areas."""
    width: Any = dx
    if x is not None:
        x = x.reshape([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)]) if x.ndim == 1 else x
        width = np.diff(x, axis=dim)
    size = y.shape[dim]
    both = y.take(np.arange(1, size), dim) + y.take(np.arange(size - 1), dim)
    return np.cumsum(both * width / 2, axis=dim)


def integral(y: np.ndarray, x: np.ndarray | None = None, dx: float = 1.0, dim: int = -1) -> Any:
    return np.trapezoid(y, x, dx, dim)


BAD_COORDINATES = refusals(
    (
        lambda make: SampleInput(make(2, 3), make(2)),
        RuntimeError,
        "There must be one `x` value for each sample point",
    ),
    (
        lambda make: SampleInput(make(()), make(2)),
        IndexError,
        "Dimension specified as -1 but tensor has no dimensions",
    ),
)
WRAPS = Skip("reference", "differences of coordinates without sign wrap", frozenset({uint8}))

INTEGRALS = [
    row
    for name, reference in (
        ("trapezoid", integral),
        ("trapz", integral),
        ("cumulative_trapezoid", cumulative),
    )
    for row in (
        info(
            f"{name}.x",
            with_coordinates,
            reference,
            NUMBERS,
            errors=BAD_COORDINATES,
            skips=(WRAPS,),
        ),
        info(f"{name}.dx", with_steps, reference, NUMBERS),
    )
]

OP_INFOS = [
    *QUANTILES,
    info(
        "diff",
        differences,
        diff,
        ALL,
        errors=refusals(
            (
                lambda make: SampleInput(make(3), -1),
                RuntimeError,
                "order must be non-negative but got -1",
            ),
            (
                lambda make: SampleInput(make(())),
                RuntimeError,
                "diff expects input to be at least one-dimensional",
            ),
        ),
    ),
    *SLOPES,
    *INTEGRALS,
]

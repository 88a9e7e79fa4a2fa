"""Compositions of operators give the values and gradients of the CPU, whatever the chunks.

`DOVETAIL_PROGRAMS=5000` runs more of them, `DOVETAIL_FIRST_PROGRAM=1000` begins at another seed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest

import dovetail
from dovetail import linalg

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "120"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))
CHUNK = 20


def square(x: Any) -> Any:
    """Return matrices of three rows and columns, or what is too small for these as it is."""
    return x[..., :3, :3]


def regular(x: Any) -> Any:
    """Return matrices that can be inverted."""
    return square(x) + 5 * dovetail.eye(3, device=x.device, dtype=x.dtype)


def definite(x: Any) -> Any:
    """Return symmetric matrices with positive eigenvalues."""
    return square(x) @ square(x).mT + dovetail.eye(3, device=x.device, dtype=x.dtype)


STEPS: dict[str, Callable[[Any, int], Any]] = {
    # Order
    "sort": lambda x, dim: x.sort(dim).values,
    "places in order": lambda x, dim: x.sort(dim, descending=True).indices.to(x.dtype),
    "argsort": lambda x, dim: x.argsort(dim, stable=True).to(x.dtype),
    "topk": lambda x, dim: x.topk(min(2, x.shape[dim]), dim).values,
    "kthvalue": lambda x, dim: x.kthvalue(1, dim).values,
    "median": lambda x, dim: x.median(dim).values,
    "mode": lambda x, dim: (x * 2).round().mode(dim).values,
    "quantile": lambda x, dim: x.quantile(0.3, dim),
    "unique": lambda x, dim: dovetail.unique((x * 3).round()),
    "searchsorted": lambda x, dim: dovetail.searchsorted(x.flatten().sort().values, x).to(x.dtype),
    "histc": lambda x, dim: x.histc(4, -2, 2),
    # Scans
    "cummax": lambda x, dim: x.cummax(dim).values,
    "cumsum": lambda x, dim: x.cumsum(dim),
    "cumprod": lambda x, dim: x.cumprod(dim),
    "logcumsumexp": lambda x, dim: x.logcumsumexp(dim),
    "diff": lambda x, dim: x.diff(dim=dim),
    # Matrices
    "inv": lambda x, dim: linalg.inv(regular(x)),
    "det": lambda x, dim: linalg.det(square(x)).reshape(-1),
    "slogdet": lambda x, dim: linalg.slogdet(square(x)).logabsdet.reshape(-1),
    "cholesky": lambda x, dim: linalg.cholesky(definite(x)),
    "qr": lambda x, dim: linalg.qr(regular(x))[1].abs(),
    "svdvals": lambda x, dim: linalg.svdvals(square(x)),
    "eigvalsh": lambda x, dim: linalg.eigvalsh(square(x) + square(x).mT),
    "solve": lambda x, dim: linalg.solve(regular(x), square(x)),
    "lstsq": lambda x, dim: linalg.lstsq(regular(x), square(x)).solution,
    "lu_factor": lambda x, dim: linalg.lu_factor(square(x)).LU,
    "pinv": lambda x, dim: linalg.pinv(regular(x)),
    "matrix_exp": lambda x, dim: linalg.matrix_exp(square(x) * 0.3),
    "matrix_power": lambda x, dim: linalg.matrix_power(square(x), 3),
    "cross": lambda x, dim: linalg.cross(square(x), square(x).flip(-1)),
    "products": lambda x, dim: dovetail.einsum("...ij,...kj->...ik", x, x),
    "norm": lambda x, dim: linalg.norm(x, dim=dim, keepdim=True),
    # Places
    "gather": lambda x, dim: x.gather(dim, x.argsort(dim)),
    "scatter_add": lambda x, dim: x.scatter_add(dim, x.argsort(dim), x),
    "take_along_dim": lambda x, dim: x.take_along_dim(x.argmax(dim, keepdim=True), dim),
    "nonzero": lambda x, dim: (x > 0).nonzero().to(x.dtype),
    "a mask": lambda x, dim: x[x > 0],
    "where": lambda x, dim: dovetail.where(x > 0, x, -x),
    # Shapes
    "tril": lambda x, dim: x.tril(),
    "transpose": lambda x, dim: x.transpose(0, dim),
    "flip": lambda x, dim: x.flip(dim),
    "roll": lambda x, dim: x.roll(1, dim),
    "unfold": lambda x, dim: x.unfold(dim, min(2, x.shape[dim]), 1),
    "cat": lambda x, dim: dovetail.cat([x, x * 2], dim),
    "sum": lambda x, dim: x.sum(dim, keepdim=True),
    "tanh": lambda x, dim: x.tanh(),
}


def outcome(x: Any, steps: list[tuple[str, float]]) -> list[Any]:
    """Return what steps make of a tensor and the gradient of its squares; or the class of the
    error.
    """
    leaf = x.requires_grad_()
    try:
        for name, place in steps:
            if not x.numel() or not x.ndim:
                break
            x = STEPS[name](x, int(place * x.ndim))
        if not x.requires_grad:
            return [x.cpu().numpy()]
        x.square().sum().backward()
        return [x.detach().cpu().numpy(), leaf.grad.cpu().numpy()]
    except Exception as error:
        return [type(error)]


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_a_program_gives_what_it_gives_on_the_cpu(first: int) -> None:
    compared = 0
    for seed in range(first, min(first + CHUNK, FIRST + PROGRAMS)):
        rng = random.Random(seed)
        steps = [(rng.choice([*STEPS]), rng.random()) for _ in range(rng.randint(1, 4))]
        shape = tuple([rng.randint(3, 6) for _ in range(rng.randint(2, 3))])
        chunks = tuple([rng.choice([1, 2, 3, -1]) for _ in shape])
        array = np.random.default_rng(seed).standard_normal(shape)
        expected = outcome(dovetail.tensor(array), steps)
        lazy = dovetail.dask.from_dask(da.from_array(array, chunks=chunks))
        found = outcome(lazy, steps)
        about = f"program {seed}: {steps} of {shape} in chunks {chunks}"
        assert len(found) == len(expected), about
        for ours, theirs in zip(found, expected, strict=True):
            if isinstance(theirs, type):
                assert ours is theirs, about
                continue
            assert not isinstance(ours, type), f"{about}: {ours}"
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), about
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=about)
            compared += 1
    assert compared

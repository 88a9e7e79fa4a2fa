"""Fourier transforms, sorted and flipped tensors, complex numbers and LAPACK's matrices lie in
memory as PyTorch's do, on the CPU and on the meta device, for operands in random orders, with gaps,
and expanded.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

pytestmark = pytest.mark.cpu_only(reason="other libraries of arrays lay results out otherwise")

CALLS: dict[str, Callable[[Any, Any, list[int]], Any]] = {
    "fftn": lambda lib, x, dims: lib.fft.fftn(lib.complex(x, x), dim=dims),
    "fftn of real numbers": lambda lib, x, dims: lib.fft.fftn(x + x, dim=dims),
    "rfftn": lambda lib, x, dims: lib.fft.rfftn(x, dim=dims),
    "ihfftn": lambda lib, x, dims: lib.fft.ihfftn(x, dim=dims),
    "irfftn": lambda lib, x, dims: lib.fft.irfftn(lib.fft.rfftn(x, dim=dims), dim=dims),
    "fft": lambda lib, x, dims: lib.fft.fft(x, dim=dims[0]),
    "hfft": lambda lib, x, dims: lib.fft.hfft(lib.complex(x, x), 5, dim=dims[0]),
    "sort": lambda lib, x, dims: lib.sort(x, dims[0]),
    "stable sort": lambda lib, x, dims: lib.sort(x, dim=dims[0], stable=True, descending=True),
    "topk": lambda lib, x, dims: lib.topk(x, 1, dims[0]),
    "flip": lambda lib, x, dims: lib.flip(x, dims),
    "complex": lambda lib, x, dims: lib.complex(x, x),
    "unravel_index": lambda lib, x, dims: lib.unravel_index((x + x).long(), (2, 3)),
    "qr": lambda lib, x, dims: lib.linalg.qr(lib.atleast_2d(x)),
    "svd": lambda lib, x, dims: lib.linalg.svd(lib.atleast_2d(x)),
    "lu": lambda lib, x, dims: lib.linalg.lu(lib.atleast_2d(x)),
    "adjoint lu_solve": lambda lib, x, dims: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(_square(lib, x)), _square(lib, x), adjoint=True
    ),
    "right lu_solve": lambda lib, x, dims: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(_square(lib, x)), _square(lib, x), left=False
    ),
    "ormqr": lambda lib, x, dims: lib.ormqr(
        _square(lib, x), _square(lib, x)[..., 0], _square(lib, x)
    ),
    "householder_product": lambda lib, x, dims: lib.linalg.householder_product(
        _square(lib, x), _square(lib, x)[..., 0]
    ),
}


def _square(lib: Any, x: Any) -> Any:
    return x.unsqueeze(-1) * 0.1 + lib.eye(x.shape[-1], device=x.device)


def _geometry(r: random.Random) -> tuple[list[int], list[int]]:
    """Return a random shape, and strides of a random order, with gaps or expanded at times."""
    shape = [r.choice([2, 2, 3, 4]) for _ in range(r.randint(2, 4))]
    strides, step = [0] * len(shape), 1
    for dim in r.sample(range(len(shape)), len(shape)):
        strides[dim] = step
        step *= shape[dim] + (r.random() < 0.1)
    return shape, [0 if r.random() < 0.1 else stride for stride in strides]


def _strides(made: Any) -> list[list[int]]:
    results = [made] if hasattr(made, "stride") else list(made)
    return [
        [step for n, step in zip(each.shape, each.stride(), strict=True) if n > 1]
        for each in results
    ]


@pytest.mark.parametrize("name", CALLS)
def test_results_lie_in_memory_as_those_of_torch(name: str) -> None:
    call = CALLS[name]
    for seed in range(40):
        r = random.Random(seed)
        shape, strides = _geometry(r)
        dims = r.sample(range(len(shape)), r.randint(1, len(shape)))
        given = f"{shape}, {strides}, {dims}"
        expected = _strides(call(torch, torch.rand(800).as_strided(shape, strides), dims))
        x = dovetail.rand(800, device="cpu").as_strided(shape, strides)
        assert _strides(call(dovetail, x, dims)) == expected, given
        meta = dovetail.empty(800, device="meta").as_strided(shape, strides)
        assert _strides(call(dovetail, meta, dims)) == expected, f"meta: {given}"

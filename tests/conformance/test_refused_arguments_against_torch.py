"""Arguments that PyTorch refuses are refused here with the same type of error and words, and leave
their operands as they were; autocast reaches composites where it does in PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

REFUSED = (
    *["L.ops.aten.pad(L.ones(5), [], 'reflect')", "L.ops.aten.pad(L.ones(5), [1, 1], 'circular')"],
    *["L.ops.aten.pad(L.ones(2, 5), [1, 1, 1, 1], 'replicate')"],
    "L.empty(2, memory_format=L.preserve_format)",
    "L.ops.aten.empty([2], memory_format=L.preserve_format, device='meta')",
    "L.ops.aten.linalg_vector_norm(L.ones(2, dtype=L.complex64), dtype=L.float32)",
    "L.ops.aten.linalg_vector_norm(L.ones(2), dtype=L.complex64)",
    "L.ops.aten.linalg_vector_norm(L.ones(2), dtype=L.int64)",
    "L.ops.aten.linalg_vector_norm(L.ones(2), dtype=L.float16)",
    "L.ops.aten.linalg_vector_norm(L.ones(2, dtype=L.int64), dtype=L.float32)",
    "L.isclose(L.ones(1), L.ones(1), float('nan'))",
    "L.isclose(L.ones(1), L.ones(1), 0.5, float('nan'))",
    "L.isclose(L.ones(1), L.ones(1), -1.0)",
    "L.allclose(L.ones(1), L.ones(1), 0.5, -1.0)",
    "L.cumprod(L.ones(2), 0, dtype=L.bool)",
    "L.cumsum(L.ones(2), 0, dtype=L.bool)",
    "L.ops.aten.binary_cross_entropy_with_logits(L.ones(2, 3), L.ones(4, 3))",
    "L.ops.aten.binary_cross_entropy_with_logits(L.ones(4, 3), L.ones(4, 3), L.ones(2, 3))",
)
WIDER_BOUNDS = (
    "x.clamp_(L.tensor([1.5, 2.5]))",
    "x.clamp_(L.tensor([1.5, 2.5]), L.tensor([1, 2]))",
    "x.clamp_(max=L.tensor([1.5, 2.5]))",
    "x.clip_(L.tensor([1.5, 2.5]))",
    "x.clamp_min_(L.tensor([1.5, 2.5]))",
    "x.clamp_(1.5)",
    "L.ops.aten.clamp_.Tensor(x, None, L.tensor([1.5, 2.5]))",
)
AUTOCAST = (
    *["L.inner(v, v)", "L.inner(a, v)", "L.einsum('i,i->i', [v, v])", "L.einsum('i,i->', [v, v])"],
    *["L.einsum('i,j->ij', [v, v])", "L.einsum('ij,jk->ik', [a, a])", "L.einsum('ij->i', [a])"],
    *["L.ops.aten.nll_loss_nd(a, t)", "L.ops.aten.nll_loss(a, t)", "L.dot(v, v)"],
)
OUTER = ("i,j->ij", "i,j->ji", "ij,ij->ij", "ij,ik->ikj", "ij,jk->ijk", "i,jk->kij", "ab,a,b->ab")


def _error(expression: str, lib: Any, **names: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        eval(expression, {"L": lib, **names})
    return caught.type.__name__, str(caught.value).splitlines()[0][:34]


@pytest.mark.parametrize("expression", REFUSED)
def test_what_pytorch_refuses_is_refused_with_its_words(expression: str) -> None:
    assert _error(expression, dovetail) == _error(expression, torch)


@pytest.mark.parametrize("expression", WIDER_BOUNDS)
def test_integers_are_not_clamped_in_place_by_wider_bounds(expression: str) -> None:
    ours, theirs = dovetail.tensor([2, 5]), torch.tensor([2, 5])
    assert _error(expression, dovetail, x=ours) == _error(expression, torch, x=theirs)
    assert ours.tolist() == [2, 5] and ours._version == 0


@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("expression", AUTOCAST)
def test_autocast_gives_composites_the_dtype_of_pytorch(expression: str, source: str) -> None:
    dtypes = []
    for lib in (dovetail, torch):
        a = lib.ones(2, 2, dtype=getattr(lib, source))
        with lib.autocast("cpu", dtype=lib.bfloat16):
            result = eval(expression, {"L": lib, "a": a, "v": a[0], "t": lib.tensor([0, 1])})
        dtypes.append(str(result.dtype).rpartition(".")[2])
    assert dtypes[0] == dtypes[1]


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64"])
@pytest.mark.parametrize("equation", OUTER)
def test_products_that_sum_nothing_are_elementwise(equation: str, dtype: str) -> None:
    ours, theirs = (
        lib.einsum(
            equation,
            *[
                lib.arange(3 ** len(term)).reshape([3] * len(term)).to(getattr(lib, dtype))
                for term in equation.partition("->")[0].split(",")
            ],
        )
        for lib in (dovetail, torch)
    )
    assert ours.tolist() == theirs.tolist() and str(ours.dtype).endswith(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("greatest", [3e4, 3e18, 3e38])
def test_deviations_are_finite_where_only_their_squares_are_not(
    dtype: str, greatest: float
) -> None:
    if dtype == "float16":
        greatest = 3e4
    found = []
    for lib in (dovetail, torch):
        x = lib.tensor([-greatest, greatest, 1.0]).to(getattr(lib, dtype))
        found.append([getattr(lib, name)(x).item() for name in ("std", "var")])
    if dtype == "complex64" and greatest == 3e38:
        assert found[0][0] == pytest.approx(3e38)  # PyTorch adds squares of complex64 in float32
        return
    assert found[0] == pytest.approx(found[1], rel=1e-2, nan_ok=True)

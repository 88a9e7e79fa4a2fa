"""Products of matrices of half precision: added up in float32, rounded once."""

from __future__ import annotations

import pytest

import dovetail
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")
HALVES = (dovetail.float16, dovetail.bfloat16)
SHAPES = (
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 3, 4), (1, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((6, 2, 3, 4), (2, 4, 5)),
    ((3, 4), (5, 4, 2)),
    ((4,), (4,)),
    ((2, 0, 4), (2, 4, 3)),
    ((2, 3, 0), (2, 0, 3)),
    ((2, 1, 4), (2, 4, 1)),
)


def in_memory(x, order):
    if order == "transposed" and x.ndim > 1:
        return x.mT.contiguous().mT
    return dovetail.stack([x, x], -1)[..., 0] if order == "apart" else x


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    "orders", [("", ""), ("transposed", ""), ("", "transposed"), ("apart",) * 2]
)
@pytest.mark.parametrize("shapes", SHAPES)
def test_products_are_those_of_the_cpu(shapes, orders, dtype):
    dovetail.manual_seed(0)
    given = [dovetail.randn(shape, dtype=dtype) for shape in shapes]
    moved = [in_memory(x.cuda(), order) for x, order in zip(given, orders, strict=True)]
    found = moved[0] @ moved[1]
    assert found.dtype is dtype
    dovetail.testing.assert_close(found.cpu(), given[0] @ given[1])


def test_what_is_added_up_is_not_rounded_on_the_way():
    ones = dovetail.ones(1, 4096, device="cuda", dtype=dovetail.float16)
    assert (ones @ ones.mT).item() == 4096  # in float16 it would stay at 2048
    batch = ones.expand(2, 1, 4096)
    assert (batch @ batch.mT).flatten().tolist() == [4096, 4096]


def test_an_addend_is_rounded_with_the_product():
    x = dovetail.full((1, 1), 1024.0, device="cuda", dtype=dovetail.float16)
    half = dovetail.full((1, 1), 0.5, device="cuda", dtype=dovetail.float16)
    # 2047.3 rounds to 2047; 1023.3 is rounded to 1023.5, and then the sum to 2048.
    found = dovetail.addmm(x, half, half, alpha=4093.2)
    assert found.item() == 2047


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("numbers", [{}, {"beta": 0.5, "alpha": 2.0}, {"beta": 0}])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (3, 1), ()])
def test_sums_are_those_of_the_cpu(shape, numbers, dtype):
    dovetail.manual_seed(0)
    given = [dovetail.randn(size, dtype=dtype) for size in (shape, (3, 4), (4, 5))]
    found = dovetail.addmm(*[x.cuda() for x in given], **numbers)
    dovetail.testing.assert_close(found.cpu(), dovetail.addmm(*given, **numbers))
    batches = [given[0], given[1].expand(2, 3, 4), given[2].expand(2, 4, 5)]
    found = dovetail.baddbmm(*[x.cuda() for x in batches], **numbers)
    dovetail.testing.assert_close(found.cpu(), dovetail.baddbmm(*batches, **numbers))


def test_a_beta_of_zero_leaves_nan_out():
    x = dovetail.full((2, 2), float("nan"), device="cuda", dtype=dovetail.float16)
    ones = dovetail.ones(2, 2, device="cuda", dtype=dovetail.float16)
    assert dovetail.addmm(x, ones, ones, beta=0).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("dtypes", [("half", "float"), ("float", "half"), ("half", "bfloat16")])
def test_an_addend_of_another_dtype_is_refused_as_on_the_cpu(dtypes):
    own, other = (getattr(dovetail, dtype) for dtype in dtypes)
    for device in ("cpu", "cuda"):
        x = dovetail.ones(2, 2, device=device, dtype=own)
        factor = dovetail.ones(2, 2, device=device, dtype=other)
        with pytest.raises(RuntimeError, match="must have the same dtype"):
            dovetail.addmm(x, factor, factor)

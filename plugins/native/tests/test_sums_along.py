"""Sums down many short rows are as exact as sums along a row, however a reduction comes to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dovetail
from dovetail import Tensor
from dovetail_dispatcher import compiled_code

dovetail.zeros(1, device="cpu")
pytestmark = pytest.mark.skipif(
    not compiled_code.is_in_force(), reason="plain NumPy adds row after row"
)

TALL = [(32768, 8), (5000, 17), (4099, 256), (262147, 2), (2, 16384, 5), (3, 5000, 1, 7)]


def drawn(shape: tuple[int, ...], dtype: str = "float32") -> Tensor:
    return dovetail.tensor(np.random.default_rng(0).random(shape).astype(dtype))


def gradient_of_a_row(x: Tensor) -> Tensor:
    row = dovetail.zeros(x.shape[-1], requires_grad=True)
    ((x * 1 + row) * x).sum().backward()
    assert row.grad is not None
    return row.grad


REDUCTIONS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "sum": lambda x, dim: x.sum(dim),
    "sum_keepdim": lambda x, dim: x.sum(dim, keepdim=True),
    "sum_of_several": lambda x, dim: x[..., None].sum((dim, -1)),
    "mean": lambda x, dim: x.mean(dim),
    "nansum": lambda x, dim: x.nansum(dim),
    "var": lambda x, dim: x.var(dim),
    "std": lambda x, dim: x.std(dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "softmax": lambda x, dim: x.softmax(dim),
    "log_softmax": lambda x, dim: x.log_softmax(dim),
}


@pytest.mark.cpu_only(reason="the backend's own sums")
@pytest.mark.parametrize("shape", TALL)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_along_a_long_dimension_that_is_not_the_last_keeps_its_digits(
    name: str, shape: tuple[int, ...]
) -> None:
    x = drawn(shape)
    dim = int(np.argmax(shape))
    found = REDUCTIONS[name](x, dim).cpu().numpy()
    wanted = REDUCTIONS[name](x.double(), dim).cpu().numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.cpu_only(reason="the backend's own sums")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("shape", [(32769, 8), (5000, 3, 4), (2, 20001, 3)])
def test_a_sum_of_a_part_of_each_row_keeps_its_digits(
    shape: tuple[int, ...], keepdim: bool
) -> None:
    whole, dim = drawn(shape), int(np.argmax(shape))
    for x in (whole[..., 1:], whole[..., ::2], whole.flip(dim)[..., :2], whole.mT):
        along = x.ndim - 1 if x.shape != shape and x.shape[-1] > 1024 else dim
        found, wanted = x.sum(along, keepdim), x.double().sum(along, keepdim)
        assert found.shape == wanted.shape
        assert found.is_contiguous()
        np.testing.assert_allclose(found.cpu().numpy(), wanted.cpu().numpy(), rtol=1e-6)


@pytest.mark.cpu_only(reason="the backend's own sums")
def test_a_sum_along_the_rows_of_a_transposed_matrix_keeps_its_digits() -> None:
    x = drawn((32768, 8)).t()
    for keepdim in (False, True):
        found, wanted = x.sum(1, keepdim), x.double().sum(1, keepdim)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found.cpu().numpy(), wanted.cpu().numpy(), rtol=1e-6)


@pytest.mark.cpu_only(reason="the backend's own sums")
@pytest.mark.parametrize("shape", TALL[:4])
def test_the_gradient_of_what_is_broadcast_to_many_rows_keeps_its_digits(
    shape: tuple[int, ...],
) -> None:
    x = drawn(shape)
    np.testing.assert_allclose(
        gradient_of_a_row(x).cpu().numpy(), x.double().sum(0).cpu().numpy(), rtol=1e-6
    )


@pytest.mark.cpu_only(reason="the backend's own sums")
@pytest.mark.parametrize("rows", [1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 4097, 1048577])
def test_sums_of_any_number_of_rows_have_every_row(rows: int) -> None:
    x = dovetail.arange(rows * 3, dtype=dovetail.float64).reshape(rows, 3)
    wanted = [rows * (rows - 1) // 2 * 3 + rows * column for column in range(3)]
    assert x.sum(0).tolist() == wanted
    assert x[None].sum(1).tolist() == [wanted]


@pytest.mark.cpu_only(reason="threads of the backend")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(262147, 2), (3, 40000, 4), (7, 5000, 1, 8)])
def test_reductions_down_many_rows_are_the_same_for_any_number_of_threads(
    name: str, shape: tuple[int, ...]
) -> None:
    x = drawn(shape)
    before = dovetail.get_num_threads()
    found = []
    try:
        for number in (1, 2, 3, 8):
            dovetail.set_num_threads(number)
            found.append(REDUCTIONS[name](x, int(np.argmax(shape))).cpu().numpy().tobytes())
    finally:
        dovetail.set_num_threads(before)
    assert len(set(found)) == 1


@pytest.mark.parametrize("rows", [2**20, 2**20 + 1, 3_000_017, 4_000_000])
@pytest.mark.parametrize("count", [1, 2])
def test_rows_beyond_the_square_of_a_block_are_all_added(rows, count):
    """What is left behind the blocks may be more than a block itself."""
    x = np.ones((count, rows // count, 2), np.float32)
    x[:, -1] = 2
    x[:, rows // count // 2] = 3
    for made in (dovetail.from_numpy(x).sum(1), dovetail.from_numpy(x).mean(1) * x.shape[1]):
        np.testing.assert_allclose(made.numpy(), x.shape[1] + 3, rtol=1e-6)

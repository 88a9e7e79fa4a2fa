"""What tensors answer when they are asked about layouts and dtypes that are not here."""

from __future__ import annotations

import pytest

import dovetail_aten as at
from dovetail_kernel import float64


@pytest.mark.parametrize("method", ["to_sparse_bsr", "to_sparse_bsc"])
def test_layouts_of_blocks_name_those_that_are_there(method: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"{method}\(\): .*to_sparse_csr\(\)"):
        getattr(at.ones(2, 2), method)((1, 1))


def test_a_mask_that_is_strided_is_no_sparse_mask() -> None:
    with pytest.raises(TypeError, match=r"must be sparse.*x \* mask"):
        at.ones(2, 2).sparse_mask(at.ones(2, 2))


def test_complex_halves_name_the_narrowest_complex_numbers() -> None:
    with pytest.raises(NotImplementedError, match=r"no dtype complex32.*x\.cfloat\(\)"):
        at.ones(2).chalf()
    with pytest.raises(NotImplementedError, match=r"x\.cfloat\(\)"):
        at.ones(2).to(at.ones(2).cfloat().dtype).chalf()


@pytest.mark.parametrize(
    ("method", "form"),
    [
        ("coalesce", "sparse coordinate tensor"),
        ("is_coalesced", "sparse coordinate tensor"),
        ("indices", "sparse coordinate tensor"),
        ("values", "sparse tensor"),
        ("crow_indices", "sparse row compressed tensor"),
        ("col_indices", "sparse row compressed tensor"),
        ("ccol_indices", "sparse column compressed tensor"),
        ("row_indices", "sparse column compressed tensor"),
    ],
)
def test_a_strided_tensor_has_no_indices_and_values(method: str, form: str) -> None:
    with pytest.raises(RuntimeError, match=rf"{method} expected {form} layout but got Strided"):
        getattr(at.ones(2, 2), method)()


def test_a_strided_tensor_is_dense() -> None:
    x = at.ones(2, 3)
    assert x.to_dense() is x
    assert x.to_dense(float64).dtype is float64
    assert (x.dense_dim(), x.sparse_dim()) == (2, 0)

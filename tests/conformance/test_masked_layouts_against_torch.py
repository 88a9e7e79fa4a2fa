"""Masked functions take sparse masks and sparse tensors as in PyTorch, and say what they mask."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from same_programs import plain, tried

import dovetail

LAYOUTS = ("strided", "sparse_coo", "sparse_csr")
CALLS = [
    *[(name, (1,)) for name in ("sum", "prod", "amax", "amin", "mean")],
    *[("sum", (0,)), ("prod", (0,)), ("amin", (0,)), ("sum", ((0, 1),)), ("amax", ((0, -1),))],
]


def laid_out(lib: Any, tensor: Any, layout: str) -> Any:
    return tensor if layout == "strided" else tensor.to_sparse(layout=getattr(lib, layout))


def arguments(lib: Any, layout: str, mask: str) -> tuple[Any, Any]:
    """Return a matrix with negative numbers and zeros, and a mask of a zero and of others."""
    x = lib.tensor([[-1.0, 2.0, 0.0, 5.0], [0.0, 3.0, 4.0, -2.0], [7.0, 0.0, -3.0, 1.0]])
    m = lib.tensor(
        [[True, False, True, False], [True, True, False, True], [False, False, True, False]]
    )
    return laid_out(lib, x, layout), laid_out(lib, m, mask)


@pytest.mark.filterwarnings("ignore")  # PyTorch's of layouts in beta
@pytest.mark.parametrize("mask", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "args"), CALLS)
def test_layouts_of_inputs_and_masks(
    name: str, args: tuple[Any, ...], layout: str, mask: str
) -> None:
    if name == "mean" and layout == "sparse_coo":
        pytest.skip("PyTorch has it for the other layouts")
    made = []
    for lib in (torch, dovetail):
        x, m = arguments(lib, layout, mask)
        result = getattr(lib.masked, name)(x, *args, keepdim=True, mask=m)
        kept = lib.masked._output_mask(
            getattr(lib.masked, name), x.to_dense(), *args, keepdim=True, mask=m.to_dense()
        )
        shown = result.to_dense() if layout == "strided" else result.to_dense() * kept
        made.append(
            (str(result.layout).rpartition(".")[2], plain(lib.nan_to_num(shown)), kept.tolist())
        )
    assert made[0] == made[1]


@pytest.mark.filterwarnings("ignore")
def test_what_depends_on_masked_elements_alone_is_no_element() -> None:
    def elements(lib: Any) -> Any:
        x, _ = arguments(lib, "sparse_coo", "strided")
        mask = lib.tensor([[True] * 4, [False] * 4, [True] * 4]).to_sparse()
        return lib.masked.sum(x, 1, mask=mask).coalesce().indices().tolist()

    assert elements(dovetail) == elements(torch) == [[0, 2]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mask", LAYOUTS[1:])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin", "cumsum", "cumprod"])
def test_normalizations_take_sparse_masks(name: str, mask: str) -> None:
    found = []
    for lib in (torch, dovetail):
        x, m = arguments(lib, "strided", mask)
        kept = lib.masked._output_mask(getattr(lib.masked, name), x, 1, mask=m.to_dense())
        found.append(plain(lib.where(kept, getattr(lib.masked, name)(x, 1, mask=m), 0.0)))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("name", ["prod", "amax", "amin"])
def test_a_sparse_tensor_needs_a_mask_where_its_zeros_count(name: str, layout: str) -> None:
    for lib in (torch, dovetail):
        x, _ = arguments(lib, layout, layout)
        with pytest.raises(ValueError, match="explicit mask"):
            getattr(lib.masked, name)(x, 1, keepdim=True)


def test_gradients_reach_the_values_of_a_sparse_input() -> None:
    values = dovetail.tensor([2.0, 3.0, 4.0], requires_grad=True)
    x = dovetail.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], values, (2, 2))
    mask = dovetail.tensor([[True, True], [True, False]])
    dovetail.masked.prod(x, 1, mask=mask).to_dense().sum().backward()
    assert values.grad.tolist() == [3.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("dim", "ndim"),
    [(None, 3), ((), 3), ((2, -3), 3), (-1, 3), (0, 0), ((0, 0), 3), (5, 3), (1, 0)],
)
def test_canonical_dimensions(dim: Any, ndim: int) -> None:
    found = [
        tried(lambda lib=lib: lib.masked._canonical_dim(dim, ndim)) for lib in (torch, dovetail)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "complex64", "int32"])
@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("correction", [0, 1.5])
def test_variances_have_the_dtype_of_the_input(name: str, dtype: str, correction: float) -> None:
    for masked in (False, True):
        kinds = []
        for lib in (torch, dovetail):
            x, m = arguments(lib, "strided", "strided")
            found = getattr(lib.masked, name)(
                x.to(getattr(lib, dtype)), 1, correction=correction, mask=m if masked else None
            )
            kinds.append(str(found.dtype).rpartition(".")[2])
        assert kinds[0] == kinds[1]

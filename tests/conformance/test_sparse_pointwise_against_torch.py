"""Functions of single elements, attributes, and comparisons of sparse tensors, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse invariant:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse CS:UserWarning"),
]

NAMES = (
    *("abs", "absolute", "asin", "arcsin", "asinh", "atan", "arctan", "atanh", "ceil", "conj"),
    *("conj_physical", "deg2rad", "erf", "erfinv", "expm1", "fix", "floor", "frac", "isinf"),
    *("isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "neg", "negative", "positive"),
    *("rad2deg", "relu", "resolve_conj", "resolve_neg", "round", "sgn", "sign", "signbit", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
LATER_OUT = {"conj", "isinf", "isnan", "positive", "relu", "resolve_conj", "resolve_neg"}
"""Functions without ``out=``."""


def sources(lib: Any) -> dict[str, Any]:
    dense = lib.tensor([[0.5, 0.0, -0.25], [0.0, float("nan"), 0.75]])
    twice = lib.tensor([[1, 0, 1], [2, 0, 2]]), lib.tensor([0.25, -0.5, 0.5])
    return {
        "coordinates": dense.to_sparse(),
        "the same index twice": lib.sparse_coo_tensor(*twice, (2, 3)),
        "rows": dense.to_sparse_csr(),
        "columns": dense.to_sparse_csc(),
        "integers": lib.tensor([[0, 3], [-2, 0]]).to_sparse(),
        "complex": lib.tensor([[0.5 + 0.25j, 0], [0, -0.5j]]).to_sparse(),
        "rows of it": lib.sparse_coo_tensor(lib.tensor([[1]]), lib.tensor([[0.5, -0.25]]), (2, 2)),
        "nothing": lib.zeros(0, 2).to_sparse(),
    }


def shown(lib: Any, made: Any) -> Any:
    """Return what a tensor stores, with its dtype and layout."""
    if not isinstance(made, lib.Tensor):
        return made
    about = (
        tuple(made.shape),
        str(made.dtype).rpartition(".")[2],
        str(made.layout).rpartition(".")[2],
    )
    if made.layout is lib.strided:
        return about, made.tolist()
    is_unique = made.is_coalesced() if made.layout is lib.sparse_coo else None
    return about, is_unique, made._nnz(), torch.tensor(made.to_dense().tolist())


def outcome(lib: Any, call: Callable[[], Any]) -> Any:
    try:
        return shown(lib, call())
    except (RuntimeError, NotImplementedError) as error:
        return "refused" if type(error) in (RuntimeError, NotImplementedError) else type(error)


def assert_alike(ours: Any, theirs: Any, about: object) -> None:
    if isinstance(theirs, tuple) and len(theirs) == 4:
        assert ours[:3] == theirs[:3], about
        torch.testing.assert_close(ours[3], theirs[3], equal_nan=True)
    else:
        assert ours == theirs, about


@pytest.mark.parametrize("name", NAMES)
def test_functions_that_are_zero_at_zero(name: str) -> None:
    for kind in sources(torch):
        found = []
        for lib in (dovetail, torch):

            def in_place(lib: Any = lib, kind: str = kind) -> Any:
                x = sources(lib)[kind]
                getattr(x, f"{name}_")()
                return x

            def to_out(lib: Any = lib, kind: str = kind) -> Any:
                x = sources(lib)[kind]
                return getattr(lib, name)(x, out=lib.zeros_like(x))

            x = sources(lib)[kind]
            made = [outcome(lib, getattr(x, name)), outcome(lib, lambda: getattr(lib, name)(x))]  # noqa: B023
            made.append(outcome(lib, in_place) if hasattr(x, f"{name}_") else None)
            made.append(
                None if name in LATER_OUT or kind != "coordinates" else outcome(lib, to_out)
            )
            found.append(made)
        for ours, theirs in zip(*found, strict=True):
            if theirs != "refused":  # more dtypes and layouts are supported here
                assert_alike(ours, theirs, kind)


def test_writes_that_would_be_recorded_are_refused() -> None:
    for lib in (dovetail, torch):
        x = lib.tensor([[0.5, 0.0]]).to_sparse().requires_grad_()
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.neg_()
        with lib.no_grad():
            x.neg_()
        assert x.to_dense().tolist() == [[-0.5, 0.0]]
    y = dovetail.tensor([[0.5, 0.0]]).to_sparse().requires_grad_() * 2
    with pytest.raises(NotImplementedError, match="recorded"):
        y.neg_()


def test_values_at_one_index_are_not_written_before_they_are_added_up() -> None:
    for lib in (dovetail, torch):
        x = sources(lib)["the same index twice"]
        with pytest.raises(RuntimeError, match="requires coalesced input"):
            x.sin_()
        assert x._values().tolist() == [0.25, -0.5, 0.5]


def test_writes_raise_the_version() -> None:
    for lib in (dovetail, torch):
        x = lib.tensor([[0.5, 0.0]]).to_sparse()
        before = x._version
        assert x.neg_() is x
        assert x._version == before + 1
        with pytest.raises(RuntimeError, match="can't be cast to"):
            lib.tensor([1, 0]).to_sparse().sin_()


ATTRIBUTES = (
    *("is_conj", "is_neg", "is_distributed", "is_ipu", "is_maia", "is_mps", "is_mtia", "is_vulkan"),
    *("is_xla", "is_xpu", "is_pinned", "name", "grad_dtype", "storage_offset", "data", "H", "mH"),
    *("real", "adjoint", "any", "zero_", "is_sparse"),
)


@pytest.mark.parametrize("layout", ["coordinates", "rows", "columns"])
def test_attributes_can_be_read(layout: str) -> None:
    for name in ATTRIBUTES:
        found = []
        for lib in (dovetail, torch):
            value = getattr(sources(lib)[layout], name)
            if callable(value) and not isinstance(value, lib.Tensor):
                value = outcome(lib, value)
            else:
                value = shown(lib, value)
            found.append(value if isinstance(value, tuple | str) else str(value)[-7:])
        if found[1] != "refused":
            assert_alike(*found, name)


def test_assert_close_compares_what_is_stored() -> None:
    for lib in (dovetail, torch):
        close = lib.testing.assert_close
        x = lib.tensor([[0.5, 0.0], [0.0, 1.0]])
        for layout in ("sparse_coo", "sparse_csr", "sparse_csc"):
            made = x.to_sparse(layout=getattr(lib, layout))
            close(made, made * 1)
            close(made, x, check_layout=False)
            for other in (made * 2, (x + 1).to_sparse(layout=getattr(lib, layout)), x):
                with pytest.raises(AssertionError):
                    close(made, other)
            moved = lib.tensor([[0.5, 1.0], [0.0, 0.0]]).to_sparse(layout=getattr(lib, layout))
            with pytest.raises(AssertionError):
                close(made, moved)
        with pytest.raises(AssertionError, match="number of specified values"):
            close(
                sources(lib)["the same index twice"],
                sources(lib)["the same index twice"].coalesce(),
            )

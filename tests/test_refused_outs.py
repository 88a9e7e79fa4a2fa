"""A call with several ``out=`` tensors writes all of them, or none if one is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dovetail

CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("max", "min", "median", "nanmedian", "cummax", "cummin"), (0,)),
    **dict.fromkeys(("sort", "mode", "frexp", "qr", "aminmax", "slogdet", "geqrf"), ()),
    **dict.fromkeys(("topk", "kthvalue"), (1,)),
    **dict.fromkeys(("linalg.eigh", "linalg.svd", "linalg.slogdet", "linalg.inv_ex"), ()),
    **dict.fromkeys(("linalg.lu", "linalg.lu_factor", "linalg.cholesky_ex", "linalg.eig"), ()),
}


def retyped(result: Any) -> Any:
    wrong = dovetail.bool if result.dtype is not dovetail.bool else dovetail.uint8
    return dovetail.zeros(result.shape, dtype=wrong)


def expanded(result: Any) -> Any:
    if not result.ndim:  # fits
        return retyped(result)
    return dovetail.zeros((1,) * result.ndim, dtype=result.dtype).expand(result.shape)


def viewed(result: Any) -> Any:
    if not result.ndim:  # fits
        return retyped(result)
    return dovetail.zeros((1, 1), dtype=result.dtype)[:, :0]


def elsewhere(result: Any) -> Any:
    return dovetail.zeros(result.shape, dtype=result.dtype, device="meta")


@pytest.mark.parametrize("spoil", [retyped, expanded, viewed, elsewhere])
@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_no_tensor_is_written_where_one_is_refused(
    name: str, fits: bool, spoil: Callable[[Any], Any]
) -> None:
    function: Any = dovetail
    for part in name.split("."):
        function = getattr(function, part)
    x = dovetail.tensor([[4.0, 1.0], [1.0, 3.0]])
    results = tuple(function(x, *CALLS[name]))
    outs = [dovetail.zeros(each.shape if fits else (0,), dtype=each.dtype) for each in results[:-1]]
    before = [(out.shape, out.tolist(), out.data_ptr(), out._version) for out in outs]
    last = spoil(results[-1])
    with pytest.raises(RuntimeError):
        function(x, *CALLS[name], out=(*outs, last))
    assert [(out.shape, out.tolist(), out.data_ptr(), out._version) for out in outs] == before
    outs += [dovetail.zeros(0, dtype=results[-1].dtype)]
    function(x, *CALLS[name], out=tuple(outs))
    for out, result in zip(outs, results, strict=True):
        assert out.tolist() == result.tolist()

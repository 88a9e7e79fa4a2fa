"""Views by sizes, strides and offset stay within their memory: they are refused exactly where
PyTorch refuses them, and else show and write the same elements.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

EXAMPLES = int(os.environ.get("DOVETAIL_CALLS", "30"))
HUGE = [10**10, -(10**10), 2**31, 2**61, 2**62, 2**63 - 1, -(2**63)]
SMALL = st.integers(-2, 14)
NUMBERS = st.one_of(SMALL, SMALL, SMALL, st.sampled_from(HUGE))
VIEWS = st.integers(0, 3).flatmap(
    lambda ndim: st.tuples(
        st.lists(st.integers(-1, 4), min_size=ndim, max_size=ndim),
        st.lists(st.one_of(SMALL, NUMBERS), min_size=ndim, max_size=ndim),
        st.one_of(st.none(), NUMBERS),
    )
)
SOURCES = {
    "all of it": lambda x: x,
    "a part": lambda x: x[1:, 1:],
    "transposed": lambda x: x.t(),
    "expanded": lambda x: x[:1, :1].expand(2, 3),
    "nothing": lambda x: x[:, :0],
}


def with_grad(lib: Any, x: Any, view: Any) -> Any:
    whole = x.clone().requires_grad_()
    shown = whole.as_strided(*view)
    (shown * lib.arange(1.0, shown.numel() + 1).reshape(shown.shape)).sum().backward()
    return whole.grad


def written(lib: Any, x: Any, view: Any) -> Any:
    whole = x.clone()
    part = whole.as_strided(*view)
    for dim, size in enumerate(part.shape):
        part = part.narrow(dim, 0, min(size, 1))  # elements that share memory cannot be written
    part.copy_(part - 100.0)  # arithmetic refuses views of expanded memory: docs/differences.md
    return whole


USES = {
    "shown": lambda lib, x, view: x.as_strided(*view),
    "differentiated": with_grad,
    "written": written,
    "differentiated by a transform": lambda lib, x, view: lib.func.grad(
        lambda y: y.as_strided(*view).sum()
    )(x),
    "mapped": lambda lib, x, view: lib.func.vmap(lambda y: y.as_strided(*view))(x),
    "mapped over columns": lambda lib, x, view: lib.func.vmap(
        lambda y: y.as_strided(*view), in_dims=1
    )(x),
    "functionalized": lambda lib, x, view: lib.func.functionalize(
        lambda y: y.as_strided(*view).neg()
    )(x.contiguous().clone()),
    "of a clone": lambda lib, x, view: x.clone().as_strided(*view).clone(),
}


def outcome(lib: Any, source: Any, use: Any, view: Any) -> Any:
    x = source(lib.arange(12.0).reshape(3, 4))
    try:
        found = use(lib, x, view)
    except (RuntimeError, IndexError, ValueError, OverflowError) as error:
        return type(error)
    return tuple(found.shape), found.tolist()


def is_beyond_addresses(view: Any) -> bool:
    """Say whether a dimension that moves nowhere, or nothing, has a place that no address has:
    PyTorch counts elements, array libraries count bytes.
    """
    return any(abs(number) >= 2**61 for number in (*view[1], view[2] or 0))


@pytest.mark.parametrize("use", USES)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(source=st.sampled_from(list(SOURCES)), view=VIEWS)
def test_a_view_by_strides_is_refused_exactly_where_it_leaves_its_memory(
    use: str, source: str, view: Any
) -> None:
    ours = outcome(dovetail, SOURCES[source], USES[use], view)
    if min(view[0], default=0) < 0:
        assert ours is RuntimeError  # PyTorch makes tensors of negative size if another is 0
        return
    theirs = outcome(torch, SOURCES[source], USES[use], view)
    is_batch_of_nothing = source == "nothing" and use.startswith("mapped")
    if ours is RuntimeError and (is_beyond_addresses(view) or is_batch_of_nothing):
        return  # the second: PyTorch's vmap does not look at a batch of no samples
    assert ours == theirs, f"{use}, of {source}, {view}: {ours} instead of {theirs}"


NOTHING = ((0,), (0, 4), (4, 0), (0, 0), (2, 0), (1, 0), (2, 0, 4), (0, 8, 8), (0, 2, 16))
KINDS = ("uint8", "bool", "int16", "bfloat16", "float32", "int64", "complex64", "complex128")


def _strides_of_nothing(lib: Any, shape: tuple[int, ...], kind: str, device: str) -> list[Any]:
    plain = lib.empty(shape, dtype=getattr(lib, kind), device=device)
    views = [plain, plain[:0]]
    found: list[Any] = []
    for view in views:
        for other in KINDS:
            try:
                made = view.view(getattr(lib, other))
            except RuntimeError:
                found.append("refused")
            else:
                found.append((tuple(made.shape), made.stride(), made.storage_offset()))
        if kind.startswith("complex"):
            pairs = lib.view_as_real(view)
            found += [(tuple(each.shape), each.stride()) for each in (pairs, view.real, view.imag)]
            found.append(lib.view_as_complex(pairs).stride())
    return found


@pytest.mark.parametrize("device", ("cpu", "meta"))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", NOTHING)
def test_views_of_no_elements_as_another_dtype_have_pytorchs_strides(
    shape: tuple[int, ...], kind: str, device: str
) -> None:
    found, expected = [_strides_of_nothing(lib, shape, kind, device) for lib in (dovetail, torch)]
    assert found == expected

"""NumPy's functions on several threads against the functions themselves."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail_cpu import CpuArrays
from dovetail_cpu.functions.shared_functions import shared
from dovetail_cpu.parallel import threads

ONE = (np.exp, np.negative, np.sqrt, np.isnan, np.logical_not)
TWO = (np.add, np.divide, np.maximum, np.less, np.arctan2)
FEW = 5 * (threads.SHARED_FROM // 5 + 13)


@pytest.fixture(autouse=True)
def several_threads() -> Iterator[None]:
    """Let three threads compute, and leave their number as it was."""
    before = threads.get_num_threads()
    threads.set_num_threads(3)
    yield
    threads.set_num_threads(before)


def laid(layout, dtype, seed):
    """Return an array of one shape that lies in memory in one way."""
    line = (9 * np.random.default_rng(seed).standard_normal(2 * FEW)).astype(dtype)
    if line.dtype.kind == "f":
        line[:3] = 0, np.nan, np.inf
    rows = {"line": line[:FEW], "gaps": line[::2], "backwards": line[FEW - 1 :: -1]}
    if layout in rows:
        return rows[layout].reshape(5, -1) if layout == "line" else rows[layout].reshape(-1)
    matrix = line[:FEW].reshape(-1, 5)
    return {"turned": matrix.T, "matrix": matrix.T.copy()}[layout]


def same(found, expected):
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    assert [s for s in found.strides if s] == [s for s in expected.strides if s]


@pytest.mark.parametrize("ufunc", ONE)
@pytest.mark.parametrize("layout", ["line", "gaps", "backwards", "turned"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_one_array(ufunc, layout, dtype):
    x = laid(layout, dtype, 0)
    with np.errstate(all="ignore"):
        same(shared(ufunc)(x), ufunc(x))


@settings(max_examples=60, deadline=None)
@given(
    ufunc=st.sampled_from(TWO),
    layouts=st.tuples(*[st.sampled_from(("line", "matrix", "turned", "number"))] * 2),
    dtypes=st.tuples(*[st.sampled_from(("float32", "float64", "int64"))] * 2),
)
def test_a_function_of_two_arrays(ufunc, layouts, dtypes):
    x, other = (
        np.array(3, dtype) if layout == "number" else laid(layout, dtype, seed)
        for seed, (layout, dtype) in enumerate(zip(layouts, dtypes, strict=True))
    )
    if layouts == ("number", "number"):
        return
    with np.errstate(all="ignore"):
        same(shared(ufunc)(x, other), ufunc(x, other))


def test_one_is_broadcast_over_the_other():
    x = laid("line", "float32", 0)
    same(shared(np.add)(x, x[:1]), x + x[:1])
    same(shared(np.add)(x[0], x), x[0] + x)


@pytest.mark.parametrize("apart", [0, 1, -1, 64, FEW])
def test_a_result_is_written_where_an_operand_lies(apart):
    def add(function):
        line = np.arange(3 * FEW, dtype=np.float32)
        out = line[FEW : 2 * FEW]
        assert function(out, line[FEW + apart : 2 * FEW + apart], out=out) is out
        return line

    same(add(shared(np.add)), add(np.add))


def test_what_a_function_refuses_is_refused_as_by_numpy():
    text = np.array(["a"] * FEW)
    with pytest.raises(np._core._exceptions._UFuncNoLoopError):
        shared(np.add)(text, np.zeros(FEW))
    with pytest.raises(ValueError, match="broadcast"):
        shared(np.add)(np.zeros(FEW), np.zeros(FEW + 1))
    with pytest.raises(np._core._exceptions.UFuncTypeError):
        shared(np.add)(np.zeros(FEW), np.zeros(FEW), out=np.zeros(FEW, int))


def test_no_thread_warns():
    x = np.full(threads.SHARED_FROM, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(shared(np.sqrt)(x)).all()


def test_functions_of_other_kinds_are_not_shared():
    assert shared(np.divmod) is None
    assert shared(np.matmul) is None


def test_with_one_thread_nothing_is_shared():
    assert CpuArrays().by_size(np.add, None).many is shared(np.add)
    threads.set_num_threads(1)
    assert CpuArrays().by_size(np.add, None) is None

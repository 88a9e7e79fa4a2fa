"""Tensors of buffers, ranges with a named end, and corners of what takes lists and `out=`."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

import dovetail


def test_a_tensor_shares_the_memory_of_the_buffer() -> None:
    memory = array("i", [1, 2, 3])
    x = dovetail.frombuffer(memory, dtype=dovetail.int32)
    memory[1] = 20
    x[2] = 30
    assert x.tolist() == [1, 20, 30]
    assert memory.tolist() == [1, 20, 30]


def test_count_and_offset_say_which_part() -> None:
    memory = bytearray(range(9))
    assert dovetail.frombuffer(memory, dtype=dovetail.uint8, count=2, offset=3).tolist() == [3, 4]
    assert dovetail.frombuffer(memory, dtype=dovetail.int16, count=1).tolist() == [256]
    assert dovetail.frombuffer(memory, dtype=dovetail.uint8, offset=7).tolist() == [7, 8]


def test_gradients_can_be_asked_for() -> None:
    x = dovetail.frombuffer(array("d", [1.0]), dtype=dovetail.float64, requires_grad=True)
    assert x.requires_grad


@pytest.mark.parametrize(
    ("buffer", "options", "text"),
    [
        (3, {}, "object does not implement Python buffer protocol"),
        (b"", {}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        (b"ab", {"count": 0}, r"both buffer length \(2\) and count \(0\) must not be 0"),
        (b"ab", {"offset": 2}, r"offset \(2 bytes\) must be non-negative and no greater than"),
        (b"ab", {"offset": -1}, r"offset \(-1 bytes\) must be non-negative"),
        (b"ab", {"count": 3}, r"requested buffer length \(3 \* 1 bytes\) after offset"),
        (b"abc", {"dtype": dovetail.int16}, r"must be a multiple of element size \(2\)"),
    ],
)
def test_memory_that_is_not_there_is_refused(
    buffer: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        dovetail.frombuffer(buffer, **{"dtype": dovetail.uint8, **options})


def test_arange_takes_its_end_by_name() -> None:
    assert dovetail.arange(1, end=4).tolist() == [1, 2, 3]
    assert dovetail.arange(1, end=6, step=2).tolist() == [1, 3, 5]


def test_true_division_writes_into_out() -> None:
    x, out = dovetail.tensor([1.0, 3.0]), dovetail.empty(2)
    assert dovetail.true_divide(x, 2, out=out) is out
    assert out.tolist() == [0.5, 1.5]
    assert dovetail.divide(x, x, out=out).tolist() == [1.0, 1.0]


def test_lists_of_bools_are_no_tensors() -> None:
    for function in (dovetail.all, dovetail.any):
        with pytest.raises(
            TypeError, match=r"argument 'input' \(position 1\) must be Tensor, not list"
        ):
            function([True, False])


def test_an_imaginary_part_is_not_lost_where_real_numbers_are_filled() -> None:
    mask = dovetail.tensor([True, False])
    for dtype in (dovetail.int64, dovetail.float32):
        x = dovetail.ones(2, dtype=dtype)
        with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
            x.masked_fill(mask, dovetail.tensor(1j))
        assert x.masked_fill(mask, dovetail.tensor(2 + 0j)).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [((0, 1), (0, 2)), ((1, 0, 1), (2, 0, 3)), ((2, 1), (2, 0)), ((1,), (3, 0))],
)
def test_an_expansion_without_elements_is_a_view_that_can_be_written(
    shape: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    x = dovetail.zeros(shape)
    view = x.expand(wanted)
    assert view.shape == wanted
    assert view._base is x
    assert view.add_(1) is view


def test_normal_numbers_follow_the_device_and_dtype_of_out() -> None:
    meta = dovetail.empty(2, 3, device="meta")
    assert dovetail.normal(0.0, 1.0, (2, 3), out=meta) is meta
    double = dovetail.empty(64, dtype=dovetail.float64)
    dovetail.normal(0.0, 1.0, (64,), out=double)
    assert not dovetail.equal(double, double.float().double())


def test_a_size_beside_tensors_of_means_is_refused() -> None:
    with pytest.raises(TypeError, match="size"):
        dovetail.normal(dovetail.zeros(2), 1.0, (3,))
    with pytest.raises(TypeError, match="size"):
        dovetail.normal(0.0, dovetail.ones(2), size=(3,))

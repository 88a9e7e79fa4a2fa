"""Arrays that have a geometry and no elements."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import DatalessArray

INT16 = np.dtype("int16")


def test_the_geometry_is_that_of_a_contiguous_array() -> None:
    array, like = DatalessArray([2, 3, 4], INT16), np.zeros((2, 3, 4), "int16")
    assert array.shape == like.shape and array.element_strides == (12, 4, 1)
    assert array.strides == like.strides
    assert (array.ndim, array.size, array.itemsize, array.dtype) == (3, 24, 2, INT16)
    assert (array.offset, array.nbytes, array.device.id) == (0, 0, 0)


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (1, 4)])
def test_strides_of_any_shape(shape: tuple[int, ...]) -> None:
    array = DatalessArray(shape, INT16)
    expected = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        expected[dim] = expected[dim + 1] * max(shape[dim + 1], 1)
    assert array.element_strides == tuple(expected)
    assert array.size == np.prod(shape, dtype=int)


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous"),
    [
        ((2, 3), (3, 1), True),
        ((2, 3), (1, 2), False),
        ((2, 3), (6, 2), False),
        ((1, 3), (7, 1), True),
        ((2, 1), (1, 9), True),
        ((0, 3), (1, 2), True),
        ((), (), True),
    ],
)
def test_it_is_contiguous_where_an_array_is(
    shape: tuple[int, ...], strides: tuple[int, ...], contiguous: bool
) -> None:
    flags = DatalessArray(shape, INT16, strides).flags
    assert flags.c_contiguous is contiguous and flags.writeable is False


def test_a_place_and_a_device_may_be_given() -> None:
    array = DatalessArray((2,), INT16, (3,), 7, device_index=2)
    assert (array.element_strides, array.offset, array.device.id) == ((3,), 7, 2)


USES: dict[str, Any] = {
    "reading": lambda array: array[0],
    "writing": lambda array: array.__setitem__(0, 1),
    "NumPy": np.asarray,
    "DLPack": lambda array: array.__dlpack__(),
    "a method": lambda array: array.astype("int8"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_its_elements_are_refused_with_the_reason(use: Any) -> None:
    with pytest.raises(RuntimeError, match=r"shape \[2, 3\] has no data: .*__torch_dispatch__"):
        use(DatalessArray((2, 3), INT16))
    with pytest.raises(RuntimeError, match=r"^it was freed$"):
        use(DatalessArray((2, 3), INT16, why="it was freed"))


def test_protocols_that_it_has_not_are_missing() -> None:
    array = DatalessArray((2,), INT16)
    assert not hasattr(array, "__array_interface__")
    assert copy.copy(array).shape == (2,)

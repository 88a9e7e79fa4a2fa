"""Elements at indices: values and errors are those of the generic kernel, the order in memory is
PyTorch's.
"""

from __future__ import annotations

import numpy as np
import pytest

LINE, TABLE, NOTHING = np.array([1, 0, -1]), np.array([[1], [0]]), np.array([], np.int64)


@pytest.mark.parametrize(
    "indices",
    (
        (LINE,),
        (None, LINE),
        (None, None, LINE),
        (None, TABLE),
        (LINE, LINE),
        (None, LINE, TABLE),
        (LINE, None, TABLE),
        (None, NOTHING),
        (None, LINE.astype(np.int32)),
        (None, np.array([True, False, True])),
        (np.array(1), LINE),
    ),
    ids=str,
)
@pytest.mark.parametrize("order", ((0, 1, 2), (2, 0, 1)), ids=str)
def test_elements_at_indices_are_the_generic_ones(indices, order, table, generic_table):
    x = np.arange(27.0).reshape(3, 3, 3).transpose(order)
    found, expected = [
        each.kernels["index.Tensor"].fn(x, indices) for each in (table, generic_table)
    ]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert not np.shares_memory(found, x)


@pytest.mark.parametrize("indices", ((None, LINE), (None, None, TABLE), (None, LINE, LINE)))
def test_elements_of_an_array_in_c_order_are_in_c_order(indices, kernel):
    assert kernel("index.Tensor", np.ones((3, 4, 5)), indices).flags.c_contiguous


@pytest.mark.parametrize(
    "indices",
    (
        (None, np.array([3])),
        (np.array([0]), np.array([-4])),
        (LINE, np.array([0, 1])),
        (LINE, LINE, LINE),
        (None, np.array([0.5])),
        (),
    ),
    ids=str,
)
@pytest.mark.parametrize("shape", ((3, 3), (0, 3)))
def test_wrong_indices_are_refused_as_by_the_generic_kernel(indices, shape, table, generic_table):
    words = []
    for each in (table, generic_table):
        with pytest.raises(IndexError) as caught:
            each.kernels["index.Tensor"].fn(np.ones(shape), indices)
        words.append(str(caught.value))
    assert words[0] == words[1]

"""Parts of memory that are written are those of the generic kernels."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail_aten.families.split_and_scatter.kernels import Windows


def outcomes(name, tables, *args):
    """Return what the kernels of several tables return, or what they raise."""
    made = []
    for table in tables:
        try:
            made.append(table.kernels[name].fn(*args))
        except (RuntimeError, IndexError) as error:
            made.append((type(error), str(error)))
    return made


MEMORY = np.arange(40.0)
WHOLE = MEMORY[:12].copy().reshape(3, 4)
PARTS = {
    "whole": WHOLE,
    "part": MEMORY[8:20].reshape(3, 4),
    "turned": WHOLE.T,
    "steps": MEMORY[::3][:12].reshape(4, 3),
    "expanded": np.broadcast_to(np.ones(4), (3, 4)),
    "nothing": np.zeros((0, 4)),
    "number": np.array(3.0),
    "integers": np.arange(12),
}


@pytest.mark.parametrize("offset", (None, 0, 1, 3, 9, -1, 30))
@pytest.mark.parametrize(
    ("size", "stride"),
    (
        ((2, 2), (1, 2)),
        ((2, 2), (2, 1)),
        ((2, 3), (0, 1)),
        ((3, 2), (1, 1)),
        ((3, 3), (1, 2)),
        ((0, 2), (2, 1)),
        ((), ()),
        ((2,), (-1,)),
        ((2, 2), (1,)),
        ((1, 3), (0, 4)),
    ),
)
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_memory_is_written_as_by_the_generic_kernel(
    part, size, stride, offset, table, generic_table
):
    x, src = PARTS[part], np.arange(100.0, 100 + np.prod(size)).reshape(size)
    before = MEMORY.copy(), x.copy()
    found, expected = outcomes(
        "as_strided_scatter", (table, generic_table), x, src, size, stride, offset
    )
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
        assert not np.shares_memory(found, x)
    np.testing.assert_array_equal(MEMORY, before[0])
    np.testing.assert_array_equal(x, before[1])


def test_a_part_within_an_array_is_written_through_a_view(kernel, monkeypatch):
    monkeypatch.setattr(Windows, "as_strided_scatter", None)
    made = kernel("as_strided_scatter", np.zeros((3, 4)), np.ones((2, 2)), (2, 2), (1, 2), 1)
    np.testing.assert_array_equal(made, [[0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]])

"""Whether two strided arrays share an element, against all addresses of both."""

from __future__ import annotations

from itertools import product
from time import perf_counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail_kernel.devices.overlap import Placement, may_overlap_itself, share_bytes

dimensions = st.lists(st.tuples(st.integers(0, 4), st.integers(-12, 12)), max_size=3)
placements = st.builds(
    lambda address, dims, itemsize: Placement(
        address, [size for size, _ in dims], [step for _, step in dims], itemsize
    ),
    st.integers(-20, 20),
    dimensions,
    st.sampled_from([1, 2, 4, 8]),
)


def bytes_of(placement):
    places = product(*map(range, placement.shape))
    starts = (
        placement.address + sum(step * k for step, k in zip(placement.strides, place, strict=True))
        for place in places
    )
    return {start + byte for start in starts for byte in range(placement.itemsize)}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(placements, placements)
def test_arrays_share_bytes_where_some_address_is_in_both(a, b):
    expected = bool(bytes_of(a) & bytes_of(b))
    assert share_bytes(a, b) is expected
    assert share_bytes(b, a) is expected


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("itemsize", [1, 4])
def test_neighbours_share_nothing_and_a_byte_less_is_shared(shape, itemsize):
    strides = [itemsize] * len(shape)
    a, size = Placement(100, shape, strides, itemsize), itemsize * (shape or (1,))[0]
    for distance in (size, -size):
        assert not share_bytes(a, a._replace(address=100 + distance))
    for distance in (size - 1, 1 - size):
        assert share_bytes(a, a._replace(address=100 + distance))


def test_columns_and_blocks_of_a_large_matrix_share_nothing():
    rows = 10**9
    first, second = (Placement(8 * place, (rows,), (800,), 8) for place in (0, 99))
    left, right = (Placement(8 * place, (rows, 50), (800, 8), 8) for place in (0, 50))
    assert not share_bytes(first, second)
    assert not share_bytes(left, right)
    assert share_bytes(left, Placement(8 * 49, (rows, 50), (800, 8), 8))


def test_a_search_of_thousands_of_steps_ends():
    a = Placement(0, [4] * 5, [2 * 3**k * 100 + 2 * k for k in range(5)], 1)
    b = Placement(1, [4] * 5, [2 * 3**k * 100 + 2 * k + 14 for k in range(5)], 1)
    assert not share_bytes(a, b)  # 5,000 to 10,000 of them


def test_a_search_that_takes_too_long_is_given_up():
    a = Placement(0, [40] * 8, [2 * 3**k * 100 + 2 * k for k in range(8)], 1)
    b = Placement(1, [40] * 8, [2 * 3**k * 100 + 2 * k + 14 for k in range(8)], 1)
    start = perf_counter()
    assert share_bytes(a, b)  # one has even addresses, the other odd ones
    assert perf_counter() - start < 10


@pytest.mark.parametrize(
    ("shape", "strides", "shares"),
    [
        ((2, 3), (3, 1), False),
        ((3, 2), (1, 3), False),
        ((2, 3), (0, 1), True),
        ((1, 3), (0, 1), False),
        ((0, 3), (0, 0), False),
        ((2, 3), (2, 1), True),
        ((2, 3), (8, 2), False),
        ((), (), False),
    ],
)
def test_an_array_may_overlap_itself(
    shape: tuple[int, ...], strides: tuple[int, ...], shares: bool
) -> None:
    assert may_overlap_itself(shape, strides) is shares
    assert may_overlap_itself(shape, [4 * step for step in strides], 4) is shares

"""Size, layouts and memory formats."""

from __future__ import annotations

import copy
import pickle
from operator import add
from typing import Any

import pytest

from dovetail_kernel.tensor.size import Size
from dovetail_kernel.types.layout import Layout, MemoryFormat, channels_last, sparse_coo, strided


def test_a_size_is_a_tuple_with_a_repr_of_its_own() -> None:
    assert Size([2, 3]) == (2, 3)
    assert repr(Size([2, 3])) == str(Size((2, 3))) == "dovetail.Size([2, 3])"


@pytest.mark.parametrize(("sizes", "count"), [([2, 3], 6), ([], 1), ([4, 0], 0)])
def test_numel_is_the_product(sizes: list[int], count: int) -> None:
    assert Size(sizes).numel() == count


@pytest.mark.parametrize("error", [StopIteration, ValueError, TypeError, OverflowError])
def test_what_an_index_raises_is_a_type_error_that_names_its_place(error: type[Exception]) -> None:
    class Index:
        def __index__(self) -> int:
            raise error

    with pytest.raises(TypeError, match="item 1 is 'Index'"):
        Size([2, Index()])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Size([0, 1, 2])[1:],
        lambda: add(Size([1]), (2,)),
        lambda: add((1,), Size([2])),
        lambda: Size([1, 2]) * 1,
        lambda: 1 * Size([1, 2]),
    ],
    ids=["slice", "sum", "sum from the right", "multiple", "multiple from the right"],
)
def test_slices_sums_and_multiples_are_sizes(make: Any) -> None:
    size = make()
    assert type(size) is Size and size == (1, 2)


@pytest.mark.parametrize("side", [lambda size: add(size, [2]), lambda size: add([2], size)])
def test_a_list_is_no_size_from_either_side(side: Any) -> None:
    with pytest.raises(TypeError):
        side(Size([1]))


def test_an_item_is_a_plain_int() -> None:
    assert type(Size([True])[0]) is int


@pytest.mark.parametrize("bad", [[1.5], ["a"], [1, None]])
def test_items_must_be_integers(bad: list[Any]) -> None:
    with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item"):
        Size(bad)


def test_a_list_cannot_be_added() -> None:
    with pytest.raises(TypeError, match=r"concatenate|unsupported operand"):
        add(Size([1]), [2])


def test_a_size_survives_copying_and_pickling() -> None:
    for twin in (copy.deepcopy(Size([1, 2])), pickle.loads(pickle.dumps(Size([1, 2])))):
        assert type(twin) is Size and twin == (1, 2)


def test_layouts_print_their_public_names() -> None:
    assert [repr(strided), repr(sparse_coo), repr(channels_last)] == [
        "dovetail.strided",
        "dovetail.sparse_coo",
        "dovetail.channels_last",
    ]


@pytest.mark.parametrize("value", [strided, channels_last], ids=str)
def test_layouts_and_memory_formats_keep_their_identity(value: Layout | MemoryFormat) -> None:
    assert copy.deepcopy(value) is pickle.loads(pickle.dumps(value)) is value

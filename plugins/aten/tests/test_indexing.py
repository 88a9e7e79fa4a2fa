"""``x[index]`` and ``x[index] = value``."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_aten import Tensor, arange, ones, tensor, zeros
from dovetail_aten.tensor import index_items, indexing
from dovetail_dispatcher import compiled_code
from dovetail_kernel import int8, int64, plugin_manager, uint8

plugin_manager.load_transform("autograd")


@pytest.fixture
def x() -> Tensor:
    return arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "index",
    [0, (0,), slice(0, 1), ..., None, (slice(None), 1), (..., 0), (0, None, slice(1, 3))],
    ids=str,
)
def test_basic_indices_give_views(x: Tensor, index: Any) -> None:
    x[index].add_(10)
    assert x.sum().item() > 15


@pytest.mark.parametrize(
    "index", [[0], tensor([0]), tensor([True, False]), True, (slice(None), [1])], ids=str
)
def test_advanced_indices_give_copies(x: Tensor, index: Any) -> None:
    x[index].add_(10)
    assert x.sum().item() == 15


def test_a_zero_dim_index_tensor_is_an_integer(x: Tensor) -> None:
    assert x[tensor(1)].tolist() == [3, 4, 5]


def test_index_tensors_broadcast_together(x: Tensor) -> None:
    assert x[tensor([[0], [1]]), tensor([0, 2])].tolist() == [[0, 2], [3, 5]]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (([1, 0],), [[3, 4, 5], [0, 1, 2]]),
        ((slice(None), [2, 0, -1]), [[2, 0, 2], [5, 3, 5]]),
        (([1, 0], [2, -3]), [5, 0]),
        ((slice(0, 1), [2, 0]), [[2, 0]]),
        (([0, 1], None, [1, 1]), [[1], [4]]),
        ((..., [0, 2]), [[0, 2], [3, 5]]),
        ((1, [0, 2]), [3, 5]),
        ((slice(None), [True, False, True]), [[0, 2], [3, 5]]),
        ((slice(None), []), [[], []]),
        ((range(2), (2, 0)), [2, 3]),
        ((True, [1, 0]), [[3, 4, 5], [0, 1, 2]]),
        (([[0], [1]], [0, 2]), [[0, 2], [3, 5]]),
    ],
    ids=str,
)
def test_a_list_stands_for_a_tensor_of_what_is_in_it(
    x: Tensor, index: Any, expected: list[Any]
) -> None:
    assert x[index].tolist() == expected


@pytest.mark.skipif(compiled_code.is_in_force(), reason="compiled code makes it")
def test_a_list_among_indices_is_made_a_tensor_once(
    x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        index_items, "tensor", lambda data, **rest: made.append(data) or tensor(data, **rest)
    )
    assert x[[0, 1], ..., [0, 2]].tolist() == [0, 5]
    assert made == [[0, 1], [0, 2]]


def test_tensors_of_places_beside_whole_dimensions_take_the_short_way(
    x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_apply_basic", None)
    assert x[[1, 0]].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert x[:, tensor([2, 0])].tolist() == [[2, 0], [5, 3]]
    assert x[tensor([1, 0]), [0, 1]].tolist() == [3, 1]
    assert x[tensor([1]), :].tolist() == [[3, 4, 5]]
    x[:, [1]] = 9
    assert x.tolist() == [[0, 9, 2], [3, 9, 5]]


def test_a_mask_takes_as_many_dimensions_as_it_has(x: Tensor) -> None:
    assert x[x > 2].tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("index", "kind", "words"),
    [
        (5, IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        ((0, -4), IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
        (1.5, IndexError, "only integers, slices"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (slice("a"), TypeError, "slice indices must be integers"),
        (tensor([0.5]), IndexError, "tensors used as indices must be long, int, byte or bool"),
        (
            tensor([0], dtype=int8),
            IndexError,
            "tensors used as indices must be long, int, byte or bool",
        ),
        (tensor([True, False, True]), IndexError, "The shape of the mask"),
        (tensor([9]), IndexError, "index 9 is out of bounds"),
    ],
)
def test_a_wrong_index_is_refused(x: Tensor, index: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        x[index]


def test_a_number_has_no_elements() -> None:
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        tensor(1.0)[0]


def test_a_list_of_slices_is_a_deprecated_tuple(x: Tensor) -> None:
    with pytest.warns(
        UserWarning, match="non-tuple sequence for multidimensional indexing is deprecated"
    ):
        assert x[[slice(0, 1), 0]].tolist() == [0]


@pytest.mark.parametrize("index", [0, slice(0, 1), [0], tensor([True, False]), (0, ...)], ids=str)
def test_a_number_fills_what_it_replaces(x: Tensor, index: Any) -> None:
    x[index] = 9
    assert x.tolist() == [[9, 9, 9], [3, 4, 5]]


def test_a_value_broadcasts(x: Tensor) -> None:
    x[:] = tensor([1.0, 2.0, 3.0])
    x[:, [0]] = tensor([[7.0], [8.0]])
    assert x.tolist() == [[7, 2, 3], [8, 2, 3]]


def test_leading_dimensions_of_one_are_dropped(x: Tensor) -> None:
    x[0] = ones(1, 1, 3)
    assert x[0].tolist() == [1, 1, 1]


def test_a_value_is_cast(x: Tensor) -> None:
    x[0] = tensor([1, 2, 3])
    assert x[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("index", "value", "kind", "words"),
    [
        (0, [1, 2, 3], TypeError, r"can't assign a list to a dovetail\.(\w+\.)?FloatTensor"),
        (
            0,
            ones(2),
            RuntimeError,
            r"The expanded size of the tensor \(3\) must match the existing size \(2\)",
        ),
        (0, ones(2, 3), RuntimeError, "the number of sizes provided"),
        ([0], ones(2), RuntimeError, "shape mismatch: value tensor of shape"),
        (
            [0],
            zeros(3, dtype=int64),
            RuntimeError,
            "Index put requires the source and destination dtypes match",
        ),
        (0, 1j, RuntimeError, "value cannot be converted"),
        (7, 1, IndexError, "index 7 is out of bounds"),
    ],
)
def test_a_wrong_value_changes_nothing(
    x: Tensor, index: Any, value: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        x[index] = value
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_writing_counts_as_a_write(x: Tensor) -> None:
    before = x._version
    x[0, 0] = 1
    x[[0]] = 2
    assert x._version == before + 2


def test_gradients_pass_through_indices(x: Tensor) -> None:
    x.requires_grad_()
    (x[0, 1:] * 2 + x[[1, 1], [0, 1]]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 2, 2], [1, 1, 0]]


@pytest.mark.parametrize("alone", [True, False])
def test_the_warning_of_a_mask_of_bytes_names_the_line_that_indexes(alone: bool) -> None:
    x, mask = zeros(2, 3), tensor([1, 0], dtype=uint8)
    index: Any = mask if alone else (mask, 0)
    with pytest.warns(UserWarning, match="indexing with dtype uint8 is now deprecated") as read:
        x[index]
    with pytest.warns(UserWarning, match="indexing with dtype uint8 is now deprecated") as written:
        x[index] = 1
    assert [each.filename for each in (*read, *written)] == [__file__] * 2

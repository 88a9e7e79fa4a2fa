"""`functional.embedding_bag`: bags of rows, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail
from dovetail.nn import functional as F

INPUT = dovetail.tensor([0, 1, 2, 1])
OFFSETS = dovetail.tensor([0, 2])


def table() -> Any:
    return dovetail.arange(12.0).reshape(4, 3).requires_grad_()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("sum", [[3.0, 5.0, 7.0], [9.0, 11.0, 13.0]]),
        ("mean", [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]),
        ("max", [[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]),
    ],
)
def test_bags_of_a_vector_and_of_a_matrix_are_the_same(mode: str, expected: Any) -> None:
    assert F.embedding_bag(INPUT, table(), OFFSETS, mode=mode).tolist() == expected
    assert F.embedding_bag(INPUT.reshape(2, 2), table(), mode=mode).tolist() == expected


def test_a_bag_without_rows_gives_zeros() -> None:
    offsets = dovetail.tensor([0, 0, 4, 4])
    for mode in ("sum", "mean", "max"):
        made = F.embedding_bag(INPUT, table(), offsets, mode=mode)
        assert made[0].tolist() == [0.0, 0.0, 0.0]
        assert made[2].tolist() == [0.0, 0.0, 0.0]


def test_the_last_offset_may_be_the_end() -> None:
    made = F.embedding_bag(
        INPUT, table(), dovetail.tensor([0, 2, 4]), mode="sum", include_last_offset=True
    )
    assert made.tolist() == [[3.0, 5.0, 7.0], [9.0, 11.0, 13.0]]


def test_padding_counts_for_no_bag_and_gets_no_gradient() -> None:
    weight = table()
    made = F.embedding_bag(INPUT, weight, OFFSETS, padding_idx=-3)
    assert made.tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    made.sum().backward()
    assert weight.grad.tolist() == [[1.0] * 3, [0.0] * 3, [1.0] * 3, [0.0] * 3]


def test_rows_are_weighed_and_the_weights_are_differentiated() -> None:
    weights = dovetail.tensor([1.0, 2.0, 0.5, 1.0], requires_grad=True)
    made = F.embedding_bag(INPUT, table(), OFFSETS, mode="sum", per_sample_weights=weights)
    assert made[0].tolist() == [6.0, 9.0, 12.0]
    made.sum().backward()
    assert weights.grad.tolist() == [3.0, 12.0, 21.0, 12.0]


def test_long_rows_are_shortened_first() -> None:
    weight = dovetail.tensor([[3.0, 4.0], [0.0, 1.0]])
    made = F.embedding_bag(dovetail.tensor([[0, 1]]), weight, mode="sum", max_norm=1.0)
    assert dovetail.allclose(made, dovetail.tensor([[0.6, 1.8]]))
    assert dovetail.allclose(weight[0], dovetail.tensor([0.6, 0.8]))


@pytest.mark.parametrize(
    ("error", "text", "args", "options"),
    [
        (ValueError, "offsets has to be None", (INPUT.reshape(2, 2), table(), OFFSETS), {}),
        (ValueError, "offsets has to be a 1D Tensor but got None", (INPUT, table()), {}),
        (ValueError, "input has to be 1D or 2D", (INPUT.reshape(1, 2, 2), table()), {}),
        (ValueError, "mode has to be one of", (INPUT, table(), OFFSETS), {"mode": "min"}),
        (
            ValueError,
            "max mode does not support scaling",
            (INPUT, table(), OFFSETS),
            {"mode": "max", "scale_grad_by_freq": True},
        ),
        (
            NotImplementedError,
            "only supported for mode='sum'",
            (INPUT, table(), OFFSETS),
            {"per_sample_weights": dovetail.ones(4)},
        ),
        (RuntimeError, "padding_idx must be within", (INPUT, table(), OFFSETS), {"padding_idx": 4}),
        (RuntimeError, r"offsets\[0\] has to be 0", (INPUT, table(), OFFSETS + 1), {}),
        (RuntimeError, r"offsets\[-1\] can not be greater", (INPUT, table(), OFFSETS * 3), {}),
        (RuntimeError, "Expected tensor for argument", (INPUT.float(), table(), OFFSETS), {}),
    ],
)
def test_what_does_not_fit_is_refused(
    error: type[Exception], text: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=text):
        F.embedding_bag(*args, **options)


def test_an_unknown_way_to_reduce_is_refused() -> None:
    table = dovetail.ones(3, 2)
    with pytest.raises(RuntimeError, match=r"`mode` must be sum, mean, or max, but got 5. Give 0"):
        dovetail.embedding_bag(table, dovetail.tensor([0, 1]), dovetail.tensor([0, 1]), mode=5)

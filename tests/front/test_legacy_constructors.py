"""``Tensor(data)`` and its kin: for users only, and out of the way of everybody else."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail


def test_results_of_operators_are_plain_instances_of_the_class() -> None:
    x = dovetail.ones(2)
    assert type(x + x) is dovetail.Tensor
    assert type(dovetail.Tensor([1.0])) is dovetail.Tensor


def test_a_subclass_with_an_init_of_its_own_is_initialized() -> None:
    class Tagged(dovetail.Tensor):
        def __init__(self, data: Any) -> None:
            self.tag = len(data)

    made = Tagged([1, 2, 3])
    assert type(made) is Tagged
    assert made.tag == 3
    assert made.tolist() == [1.0, 2.0, 3.0]


def test_a_subclass_with_a_new_of_its_own_is_made_by_it() -> None:
    class Scaled(dovetail.Tensor):
        def __new__(cls, data: Any, factor: float) -> Any:
            return dovetail.Tensor._make_subclass(cls, dovetail.tensor(data) * factor)

    made = Scaled([1.0, 2.0], 3)
    assert type(made) is Scaled
    assert made.tolist() == [3.0, 6.0]


def test_the_default_dtype_counts() -> None:
    dovetail.set_default_dtype(dovetail.float64)
    try:
        assert dovetail.Tensor([1]).dtype is dovetail.float64
        assert dovetail.FloatTensor([1]).dtype is dovetail.float32
    finally:
        dovetail.set_default_dtype(dovetail.float32)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: dovetail.Tensor(2.5),
            TypeError,
            r"new\(\): data must be a sequence \(got float\).*tensor\(number\)",
        ),
        (
            lambda: dovetail.Tensor([1], dtype=dovetail.int8),
            TypeError,
            r"invalid combination of arguments",
        ),
        (
            lambda: dovetail.Tensor(dtype=dovetail.int8),
            TypeError,
            r"'dtype' is none of data, other, size and device",
        ),
        (
            lambda: dovetail.Tensor(2, "a"),
            TypeError,
            r"failed to unpack the object at pos 2 .*but got str",
        ),
        (
            lambda: dovetail.LongTensor(dovetail.ones(1)),
            TypeError,
            r"expected a tensor of dtype int64 \(got float32\)",
        ),
        (
            lambda: dovetail.FloatTensor([1], device="meta"),
            RuntimeError,
            r"constructor expects device type: cpu",
        ),
    ],
)
def test_other_arguments_are_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_typed_constructor_says_what_it_is() -> None:
    assert repr(dovetail.FloatTensor) == "<class 'dovetail.FloatTensor'>"
    assert dovetail.FloatTensor.dtype is dovetail.float32
    assert dovetail.ones(1, device="cpu").type() == "dovetail.FloatTensor"

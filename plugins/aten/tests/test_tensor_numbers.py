"""Tensors as Python numbers and containers."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_aten import Tensor, fill, ones, tensor, zeros
from dovetail_dispatcher.calls import entry_support
from dovetail_kernel import bfloat16, complex64, float32, float64, int64


def test_item_gives_a_python_number() -> None:
    assert type(tensor([[1.5]]).item()) is float
    assert type(tensor(3).item()) is int
    assert tensor(True).item() is True


@pytest.mark.parametrize("size", [0, 2])
def test_item_wants_one_element(size: int) -> None:
    with pytest.raises(
        RuntimeError, match=f"a Tensor with {size} elements cannot be converted to Scalar"
    ):
        zeros(size).item()


def test_tolist_nests_like_the_shape() -> None:
    assert tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert tensor(2.5).tolist() == 2.5


def test_tolist_of_bfloat16_gives_floats() -> None:
    assert [type(number) for number in ones(2, dtype=bfloat16).tolist()] == [float, float]


def test_truth_of_one_element_is_its_own() -> None:
    assert tensor([2.0])
    assert not tensor(0)


@pytest.mark.parametrize(("size", "words"), [(0, "no values"), (2, "more than one value")])
def test_truth_of_several_elements_is_ambiguous(size: int, words: str) -> None:
    with pytest.raises(RuntimeError, match=f"Boolean value of Tensor with {words} is ambiguous"):
        bool(zeros(size))


def test_numbers_convert_as_python_does() -> None:
    assert int(tensor(2.7)) == 2
    assert float(tensor(3)) == 3.0
    assert complex(tensor([1])) == 1 + 0j


def test_a_complex_number_is_no_float() -> None:
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type double without overflow"
    ):
        float(tensor(1j))


def test_several_elements_are_no_float() -> None:
    with pytest.raises(
        ValueError, match="only one element tensors can be converted to Python scalars"
    ):
        float(ones(2))


def test_an_integer_tensor_is_an_index() -> None:
    assert "abc"[tensor([1])] == "b"


@pytest.mark.parametrize("bad", [1.0, [1, 2]])
def test_other_tensors_are_no_index(bad: Any) -> None:
    with pytest.raises(
        TypeError, match="only integer tensors of a single element can be converted to an index"
    ):
        range(tensor(bad))  # type: ignore[arg-type]


def test_length_and_iteration_follow_the_first_dimension() -> None:
    rows = list(tensor([[1, 2], [3, 4]]))
    assert len(ones(3, 2)) == 3
    assert [row.tolist() for row in rows] == [[1, 2], [3, 4]]
    assert [row.tolist() for row in reversed(tensor([1, 2]))] == [2, 1]


def test_a_number_has_no_length() -> None:
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(tensor(1))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(tensor(1))


def test_contains_compares_elements() -> None:
    assert 2 in tensor([1, 2])
    assert 3 not in tensor([1, 2])


def test_contains_wants_a_number() -> None:
    with pytest.raises(
        RuntimeError, match="only supports Tensor or scalar, but you passed in a <class 'str'>"
    ):
        ones(2).__contains__("a")


def test_a_number_formats_like_one() -> None:
    assert f"{tensor(2.5):.3f}" == "2.500"


def test_several_elements_do_not_format() -> None:
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        format(ones(2), ".3f")


def test_hash_is_identity() -> None:
    x = ones(2)
    assert hash(x) == id(x)
    assert {x: 1}[x] == 1


def test_the_class_makes_tensors_of_the_default_dtype() -> None:
    made = Tensor([1, 2])
    assert type(made) is Tensor
    assert made.dtype is float32
    assert made.tolist() == [1.0, 2.0]


def test_dtypes_are_kept() -> None:
    assert tensor([1]).dtype is int64
    assert tensor([1.0]).double().dtype is float64


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_an_imaginary_number_is_true(shape: tuple[int, ...]) -> None:
    x = tensor([1j, 0j]).reshape(shape)
    assert x.bool().flatten().tolist() == [True, False]
    assert x.logical_not().flatten().tolist() == [False, True]
    assert x.any() and x[:1].all() and not x.all()
    assert x.any(0).all() and not x.all(0).any()
    assert x.count_nonzero() == 1 and len(x.nonzero()) == 1


@pytest.mark.parametrize("number", (True, 2 + 0j))
def test_numbers_of_any_class_and_options_are_not_bound_with_every_check(
    number: complex, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = zeros(2, dtype=complex64)
    fill(x, number)  # composes the routes
    monkeypatch.setattr(entry_support, "bound_call", None)
    assert fill(x, number).tolist() == [number, number]

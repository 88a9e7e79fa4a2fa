"""Python's operators on tensors and on what is no tensor: which class is asked, and what comes out,
as in PyTorch.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from devices import without_device

import dovetail

NAMES = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "imatmul",
    "iand",
    "ior",
    "ixor",
]
REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class Foreign:
    """Answers every operator, from either side, with its name and the class of the other."""


def _answer(name: str) -> Callable[[Any, Any], tuple[str, str]]:
    return lambda _, other: (name, type(other).__name__)


for _name in NAMES:
    for _dunder in (f"__{_name.strip('_')}__", f"__r{_name.strip('_')}__"):
        setattr(Foreign, _dunder, _answer(_dunder))


OPERANDS: dict[str, Callable[[Any], Any]] = {
    "an object of a class with its own operators": lambda lib: Foreign(),
    "an object without operators": lambda lib: object(),
    "a list": lambda lib: [1, 2],
    "a tuple": lambda lib: (1, 2),
    "a range": lambda lib: range(2),
    "a string": lambda lib: "a",
    "None": lambda lib: None,
    "a decimal number": lambda lib: Decimal(1),
    "a fraction": lambda lib: Fraction(1, 2),
    "a NumPy float": lambda lib: np.float32(2),
    "a NumPy float of 64 bits": lambda lib: np.float64(2),
    "a NumPy integer": lambda lib: np.int64(2),
    "a bool": lambda lib: True,
    "an int": lambda lib: 2,
    "a float": lambda lib: 2.5,
    "a tensor of no dimensions": lambda lib: lib.tensor(2),
}
TENSORS: dict[str, list[Any]] = {"floats": [1.0, 2.0], "integers": [1, 2]}


def answered(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return what an operator gives, as values or as the type of its error; a TypeError's text
    too.
    """
    try:
        result = function(left, right)
    except TypeError as error:
        return "TypeError", str(error).replace("torch.", "")
    except RuntimeError:  # a NotImplementedError is one; which it is for two faults may differ
        return "RuntimeError"
    except Exception as error:
        return type(error).__name__
    if hasattr(result, "tolist"):
        result = str(result.dtype).rpartition(".")[2], result.tolist()
    return without_device(repr(result))


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("values", TENSORS)
def test_operators_answer_as_in_pytorch(values: str, operand: str) -> None:
    """For every operator, from either side."""
    differing = {}
    for name in NAMES:
        function = getattr(operator, name)
        for side in ("left", "right"):
            found = []
            for lib in (torch, dovetail):
                pair = [lib.tensor(TENSORS[values]), OPERANDS[operand](lib)]
                found.append(answered(function, *(pair if side == "left" else pair[::-1])))
            if found[0] != found[1]:
                differing[name, side] = found
    assert differing == {}


@pytest.mark.parametrize("name", NAMES)
def test_the_reflected_operator_of_a_foreign_class_is_reached(name: str) -> None:
    plain = name.strip("_").removeprefix("i") if name.startswith("i") else name.strip("_")
    reflected = f"__{REFLECTED.get(plain, 'r' + plain)}__"
    assert getattr(operator, name)(dovetail.ones(2), Foreign()) == (reflected, "Tensor")


def test_an_overriding_tensor_lets_a_foreign_class_decide() -> None:
    for library in (dovetail, torch):

        class Own(library.Tensor):  # type: ignore[misc,name-defined]
            pass

        own = library.ones(2).as_subclass(Own)
        assert own + Foreign() == ("__radd__", "Own")
        assert Foreign() + own == ("__add__", "Own")


@pytest.mark.cpu_only(reason="NumPy reads memory of the host")
@pytest.mark.parametrize("text", ["x + a", "x * a", "x / a", "a / x", "x @ a", "x - a", "x == a"])
def test_arrays_beside_tensors_are_taken_as_in_pytorch(text: str) -> None:
    array = np.array([1.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's __array_wrap__ is old
        expected = eval(text, {"x": torch.tensor([1.0, 2.0]), "a": array})
    found = eval(text, {"x": dovetail.tensor([1.0, 2.0]), "a": array})
    assert str(found.dtype) == str(expected.dtype).replace("torch", "dovetail")
    assert found.tolist() == expected.tolist()


def test_a_matrix_product_with_a_number_is_refused() -> None:
    for lib in (torch, dovetail):
        with pytest.raises(TypeError):
            lib.tensor([1.0, 2.0]) @ 2


@pytest.mark.cpu_only(reason="NumPy reads memory of the host")
def test_a_comparison_with_an_array_compares_the_elements() -> None:
    """PyTorch does so for ``==``; its ``!=`` is by identity."""
    x, array = dovetail.tensor([1.0, 2.0]), np.array([1.0, 3.0])
    assert (x == array).tolist() == (array == x).tolist() == [True, False]
    assert (x != array).tolist() == (array != x).tolist() == [False, True]


@pytest.mark.cpu_only(reason="NumPy reads memory of the host")
@pytest.mark.parametrize("number", [np.array(2.0), np.array(2), np.float16(2), np.complex64(2j)])
def test_numpy_numbers_are_numbers_in_operators_and_functions(number: Any) -> None:
    """Operators promote arrays of no dimensions by their dtype; functions, which refuse them in
    PyTorch, do not. PyTorch cuts off imaginary parts.
    """
    x, plain = dovetail.tensor([1.0, 2.0]), number.item()
    for function in (dovetail.add, dovetail.mul, dovetail.pow, dovetail.eq):
        assert dovetail.equal(function(x, number), function(x, plain))
    assert dovetail.equal(x + number, x + plain)
    assert dovetail.equal(number - x, plain - x)
    is_array = isinstance(number, np.ndarray)
    assert (x + number).dtype == (dovetail.float64 if is_array else (x + plain).dtype)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "bitwise_and", "floor_divide", "eq"])
def test_integers_of_more_than_64_bits_do_not_wrap(name: str) -> None:
    for lib in (torch, dovetail):
        with pytest.raises(OverflowError, match="int too big to convert"):
            getattr(lib, name)(lib.tensor([1, 2]), 2**70)


def test_integers_of_64_bits_wrap_as_in_c() -> None:
    for number in (2**63, 2**64 - 1):
        for lib in (torch, dovetail):
            total = (lib.tensor([1, 2]) + number).tolist()
            assert total == [(i + number + 2**63) % 2**64 - 2**63 for i in (1, 2)]


def test_a_tensor_that_is_none_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match=r"proper Tensor but got None .* argument #1 'other'"):
        dovetail.add(dovetail.ones(2), None)

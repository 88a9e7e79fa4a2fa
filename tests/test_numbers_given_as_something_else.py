"""What is no number is refused with a TypeError that names the argument, wherever one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fresh_interpreter import printed_by

import dovetail

NO_NUMBERS: dict[str, Any] = {
    "None": None,
    "a list": [1, 2],
    "a tuple": (1,),
    "a range": range(2),
    "a string": "a",
    "an array": np.array([1.0, 2.0]),
    "a class": int,
    "an object": object(),
}


def x() -> Any:
    return dovetail.tensor([1.0, 2.0])


CALLS: dict[str, Callable[[Any], Any]] = {
    "add": lambda value: dovetail.add(x(), value),
    "mul": lambda value: x().mul(value),
    "eq": lambda value: x().eq(value),
    "mm": lambda value: dovetail.mm(x(), value),
    "add, alpha": lambda value: dovetail.add(x(), x(), alpha=value),
    "addcmul": lambda value: dovetail.addcmul(x(), x(), x(), value=value),
    "full": lambda value: dovetail.full((2,), value),
    "full_like": lambda value: dovetail.full_like(x(), value),
    "new_full": lambda value: x().new_full((2,), value),
    "fill_": lambda value: x().fill_(value),
    "masked_fill": lambda value: x().masked_fill(x() > 0, value),
    "pow": lambda value: dovetail.pow(x(), value),
    "pow of a number": lambda value: dovetail.pow(value, x()),
    "where": lambda value: dovetail.where(x() > 0, value, 1.0),
    "arange": dovetail.arange,
    "arange, end": lambda value: dovetail.arange(0, value),
    "arange, step": lambda value: dovetail.arange(0, 3, value),
    "linspace": lambda value: dovetail.linspace(0, value, 3),
    "linspace, steps": lambda value: dovetail.linspace(0, 1, value),
    "scalar_tensor": dovetail.scalar_tensor,
    "ones": lambda value: dovetail.ones(2, value),
}


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_number_is_a_type_error(name: str, value: str) -> None:
    with pytest.raises(TypeError):
        CALLS[name](NO_NUMBERS[value])


def test_the_error_names_function_argument_and_type() -> None:
    with pytest.raises(
        TypeError, match=r"full\(\): argument 'fill_value' must be Number, not None"
    ):
        dovetail.full((2,), None)
    with pytest.raises(
        TypeError, match=r"zeros\(\): argument 'size' .* be tuple of ints, not ndarr"
    ):
        dovetail.zeros(np.array([1.0, 2.0]))
    with pytest.raises(
        TypeError, match=r"add\(\): argument 'other' .* must be Tensor, not NoneType"
    ):
        dovetail.add(x(), None)


@pytest.mark.parametrize("value", ["a", None, [1.0], range(2), {}])
def test_a_tensor_equals_nothing_that_it_cannot_be_compared_with(value: Any) -> None:
    assert (x() == value) is False
    assert (x() != value) is True
    assert (value == x()) is False


SHAPES = [(7, 11), (13,), (1, 3, 5, 7, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_do_not_fit_are_a_runtime_error(shape: tuple[int, ...]) -> None:
    from dovetail.testing import op_infos
    from dovetail_testing.checks.samples import dtypes_of, samples_of

    cpu = dovetail.device("cpu")
    for info in op_infos("aten"):
        base = info.operator.base_name
        if base == "cross_entropy_loss" or base.startswith("nll_loss"):
            continue  # PyTorch's own ValueErrors
        dtype = next(iter(sorted(dtypes_of(info, "out", cpu), key=lambda d: d.name != "float32")))
        sample = next(iter(samples_of(info, "out", cpu, dtype)), None)
        for position, argument in enumerate(sample.arguments if sample else ()):
            if isinstance(argument, dovetail.Tensor):
                arguments = list(sample.arguments)
                arguments[position] = dovetail.ones(shape, dtype=argument.dtype)
                try:
                    info.op(*arguments, **sample.kwargs)
                except (RuntimeError, IndexError, TypeError):
                    continue


@pytest.mark.parametrize("name", ["remainder", "xlogy", "pow", "float_power", "bitwise_left_shift"])
def test_operators_other_than_those_of_arithmetic_take_no_two_numbers(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\)"):
        getattr(dovetail, name)(2, 3)
    with pytest.raises(RuntimeError):
        getattr(dovetail.ops.aten, name)(2, 3)


def test_arithmetic_of_two_numbers_may_be_the_first_call() -> None:
    program = "import dovetail; print(dovetail.add(2, 3), dovetail.mul(2, 3.0))"
    assert printed_by(program) == "tensor(5) tensor(6.)\n"

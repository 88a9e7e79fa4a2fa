"""A number beside a tensor, and ``out=`` of any dtype."""

import itertools

import pytest
import torch

import dovetail

FUNCTIONS = (
    "add", "sub", "mul", "div", "remainder", "fmod", "pow", "lt", "le", "gt", "ge", "eq", "ne",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "xlogy",
)  # fmt: skip
DTYPES = ("bool", "int32", "float32", "float64")
NUMBERS = (2, 2.5, 0.1)


def result(library, function: str, operand: str, number: complex, out: str):
    """Return the numbers that `function` writes, or that it refuses to."""
    written = library.empty(3, dtype=getattr(library, out))
    tensor = library.tensor([1, 0, 1]).to(getattr(library, operand))
    try:
        returned = getattr(library, function)(tensor, number, out=written)
    except (RuntimeError, NotImplementedError):
        return "refused"
    assert returned is written
    return written.to(library.float64).tolist()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_number_is_promoted_beside_its_tensor_whatever_out_is(function: str) -> None:
    for operand, out, number in itertools.product(DTYPES, DTYPES, NUMBERS):
        if function == "pow" and operand == "bool":
            continue  # PyTorch's powers of bools depend on whether the exponent is an int
        ours = result(dovetail, function, operand, number, out)
        theirs = result(torch, function, operand, number, out)
        if theirs == "refused":
            assert ours == theirs, (operand, number, out)
        else:
            assert ours == pytest.approx(theirs, nan_ok=True), (operand, number, out)

"""Functions take and refuse the same kinds of values for ints, floats and bools as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


class Index:
    def __index__(self) -> int:
        return 1


VALUES: dict[str, Callable[[Any], Any]] = {
    "True": lambda lib: True,
    "a bool of NumPy": lambda lib: np.True_,
    "an int64 of NumPy": lambda lib: np.int64(1),
    "an int8 of NumPy": lambda lib: np.int8(1),
    "a float64 of NumPy": lambda lib: np.float64(1),
    "a float32 of NumPy": lambda lib: np.float32(1),
    "1": lambda lib: 1,
    "1.0": lambda lib: 1.0,
    "a tensor of an int": lambda lib: lib.tensor(1),
    "a tensor of a bool": lambda lib: lib.tensor(True),
    "a tensor of a float": lambda lib: lib.tensor(1.0),
    "a tensor with a dimension": lambda lib: lib.tensor([1]),
    "a tensor that requires grad": lambda lib: lib.tensor(1.0, requires_grad=True),
    "an array of an int": lambda lib: np.array(1),
    "an array of a float": lambda lib: np.array(1.0),
    "an index": lambda lib: Index(),
    "None": lambda lib: None,
    "a string": lambda lib: "a",
    "1j": lambda lib: 1 + 0j,
    "[1]": lambda lib: [1],
    "(True,)": lambda lib: (True,),
    "(0, True)": lambda lib: (0, True),
    "[1.0]": lambda lib: [1.0],
    "[0, 1.0]": lambda lib: [0, 1.0],
    "[None]": lambda lib: [None],
    "[an int64 of NumPy]": lambda lib: [np.int64(1)],
    "[a float64 of NumPy]": lambda lib: [0, np.float64(1)],
    "[a bool of NumPy]": lambda lib: [np.True_],
    "[a tensor of an int]": lambda lib: [lib.tensor(1)],
    "[a tensor of a float]": lambda lib: [lib.tensor(1.0)],
}

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "int": lambda lib, x, v: lib.unsqueeze(x, v),
    "int?": lambda lib, x, v: lib.argmax(x, v),
    "int[]": lambda lib, x, v: x.permute(v),
    "int[1]": lambda lib, x, v: lib.amax(x, v),
    "int[1]?": lambda lib, x, v: lib.mean(x, v),
    "size": lambda lib, x, v: lib.zeros(v),
    "a number of rows": lambda lib, x, v: lib.eye(v),
    "float": lambda lib, x, v: lib.dropout(x, v, True),
    "float by keyword": lambda lib, x, v: lib.isclose(x, x, rtol=v),
    "float?": lambda lib, x, v: lib.logit(x, v),
    "bool": lambda lib, x, v: lib.amax(x, 0, v),
    "bool by keyword": lambda lib, x, v: lib.isclose(x, x, equal_nan=v),
    "bool of an overload": lambda lib, x, v: lib.sum(x, 0, keepdim=v),
    "bool?": lambda lib, x, v: lib.argsort(x, stable=v),
    "Scalar": lambda lib, x, v: lib.celu(x, v),
    "str?": lambda lib, x, v: lib.div(x, x, rounding_mode=v),
    "ScalarType": lambda lib, x, v: lib.zeros(2, dtype=v),
    "MemoryFormat": lambda lib, x, v: x.is_contiguous(memory_format=v),
    "Tensor": lambda lib, x, v: lib.mm(x, v),
    "Tensor of a method": lambda lib, x, v: x.type_as(v),
}

MORE: dict[str, set[str]] = {
    # Their meaning is plain.
    "an index": {"int", "int?", "int[1]", "int[1]?"},
    "an array of an int": {
        "int", "int?", "int[1]", "int[1]?", "float", "float by keyword", "float?", "Scalar",
    },
    "an array of a float": {"float", "float by keyword", "float?", "Scalar"},
    "a bool of NumPy": {"bool", "bool by keyword", "bool of an overload"},
    "None": {"MemoryFormat"},
    "a tensor of a bool": {"size", "a number of rows"},  # PyTorch has an internal error
}  # fmt: skip
"""What is taken here and not there."""

LESS: dict[str, set[str]] = {
    # It is no place of a dimension, as True is none.
    "a tensor of a bool": {"int[]", "int[1]", "int[1]?"}
}
"""What is taken there and not here."""


def outcome(lib: Any, call: str, value: str) -> str:
    try:
        CALLS[call](lib, lib.ones(3, 3), VALUES[value](lib))
    except TypeError:
        return "refused"
    except (RuntimeError, IndexError, ValueError):
        return "not possible"
    return "taken"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_a_kind_of_argument_takes_the_values_that_it_takes_in_pytorch(call: str) -> None:
    found = {
        value: (outcome(dovetail, call, value), outcome(torch, call, value)) for value in VALUES
    }
    different = {
        value: both
        for value, both in found.items()
        if both[0] != both[1]
        and call not in MORE.get(value, ())
        and call not in LESS.get(value, ())
    }
    assert not different


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: x.sum(True), "'dim' .* must be tuple of ints, not bool.*give it by keyword"),
        (lambda x: x.unsqueeze(True), "'dim' .* must be int, not bool.*a bool is not an int"),
        (lambda x: x.amax(0, 1), "'keepdim' .* must be bool, not int"),
        (lambda x: x.unsqueeze(dovetail.tensor(1.0)), "a float is not an int, even a whole one"),
        (lambda x: dovetail.dropout(x, dovetail.tensor(0.5, requires_grad=True), True),
         "requires grad, which a number cannot keep"),
        (lambda x: dovetail.zeros(True), "'size' .* must be tuple of ints, not bool"),
        (lambda x: x.type_as(None), "'other' .* must be Tensor, not NoneType"),
        (lambda x: x.float("x"), "'memory_format' must be dovetail.memory_format, not str"),
    ],
)  # fmt: skip
def test_a_slip_is_refused_with_what_was_meant(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(TypeError, match=f"(?s){text}"):
        call(dovetail.ones(3, 3))


def test_operators_of_ops_take_numbers_for_each_other() -> None:
    x = dovetail.ones(3, 3)
    assert dovetail.ops.aten.amax(x, [True], 1).shape == (3, 1)
    assert torch.ops.aten.amax(torch.ones(3, 3), [True], 1).shape == (3, 1)


def test_polygamma_is_a_method_of_the_tensor() -> None:
    assert (
        dovetail.ones(2).polygamma(1).tolist() == dovetail.polygamma(1, dovetail.ones(2)).tolist()
    )


NUMBERS_FIRST: dict[str, Callable[[Any, Any], Any]] = {
    f"{name} {mode}": (lambda lib, t, name=name, mode=mode: getattr(lib, name)(7, t, **mode))
    for name in ("div", "divide")
    for mode in ({}, *({"rounding_mode": mode} for mode in (None, "trunc", "floor")))
} | {
    f"{name} out": (lambda lib, t, name=name: getattr(lib, name)(7, t, out=lib.empty(3)))
    for name in ("add", "sub", "mul", "div", "true_divide", "floor_divide", "multiply", "subtract")
}


@pytest.mark.parametrize("call", NUMBERS_FIRST.values(), ids=NUMBERS_FIRST)
def test_a_number_stands_for_the_first_tensor_of_arithmetic(call: Any) -> None:
    want = call(torch, torch.tensor([1.0, -2.0, 3.0]))
    assert call(dovetail, dovetail.tensor([1.0, -2.0, 3.0])).tolist() == want.tolist()


INDICES: dict[str, Callable[[Any, Any], Any]] = {
    "split": lambda x, i: x.split(i)[0],
    "split along": lambda x, i: x.split(i, 1)[0],
    "squeeze": lambda x, i: x.squeeze(i),
    "squeeze several": lambda x, i: x.squeeze(i, 0),
    "view": lambda x, i: x.view(i, 12),
    "view to one size": lambda x, i: x.flatten().view(12 * i),
    "view, the last": lambda x, i: x.view(12, i),
    "reshape": lambda x, i: x.reshape(i, 12),
    "movedim": lambda x, i: x.movedim(i, 0),
    "expand": lambda x, i: x.expand(i, 4, 3),
    "permute": lambda x, i: x.permute(i, 0),
    "repeat": lambda x, i: x.repeat(i, 1),
    "std": lambda x, i: x.std(i),
    "mean": lambda x, i: x.mean(i),
    "max": lambda x, i: x.max(i)[0],
    "flip": lambda x, i: x.flip(i),
    "transpose": lambda x, i: x.transpose(i, 0),
    "narrow": lambda x, i: x.narrow(i, 0, i),
    "unflatten": lambda x, i: x.unflatten(1, (i, 3)),
}


@pytest.mark.parametrize("call", INDICES.values(), ids=INDICES)
def test_a_tensor_of_one_int_stands_for_an_int(call: Any) -> None:
    x = [[float(3 * i + j) for j in range(3)] for i in range(4)]
    want = call(torch.tensor(x), torch.tensor(1))
    got = call(dovetail.tensor(x), dovetail.tensor(1))
    assert got.tolist() == want.tolist()

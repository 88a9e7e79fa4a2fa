"""Functions of the top level that say what a tensor is give what PyTorch's do."""

from __future__ import annotations

from typing import Any

import pytest
from devices import cpu_only_where
from same_programs import Programs, assert_same


def detached_in_inference(lib: Any, *tensors: Any) -> list[Any]:
    with lib.inference_mode():
        return [(each.detach_() is each, each.requires_grad, each.is_leaf) for each in tensors]


CALLS = {
    "is_same_size": lambda lib, x: lib.is_same_size(x, lib.zeros(2, 3)),
    "is_same_size of two shapes": lambda lib, x: lib.is_same_size(x, lib.zeros(3, 2)),
    "is_same_size by name": lambda lib, x: lib.is_same_size(input=x, other=lib.zeros(1, 2, 3)),
    "is_same_size of a shape": lambda lib, x: lib.is_same_size(x, (2, 3)),
    "get_device": lambda lib, x: lib.get_device(x),
    "get_device of meta": lambda lib, x: lib.get_device(lib.zeros(2, device="meta")),
    "is_signed": lambda lib, x: [
        lib.is_signed(lib.zeros(2, dtype=each))
        for each in (lib.int8, lib.uint8, lib.bool, lib.float16, lib.complex64)
    ],
    "is_signed of a number": lambda lib, x: lib.is_signed(2),
    "detach_": lambda lib, x: lib.detach_(x * 2).requires_grad,
    "detach_ of a view": lambda lib, x: lib.detach_((x * 2)[0]),
    "detach_ in inference mode": lambda lib, x: detached_in_inference(lib, x, x * 2, x[0]),
    "numel of a number": lambda lib, x: lib.numel(2),
    "is_inference of a number": lambda lib, x: lib.is_inference(2),
    "get_device of a number": lambda lib, x: lib.get_device(2),
    "detach_ of a number": lambda lib, x: lib.detach_(2),
}

programs = Programs()

for name, call in CALLS.items():
    programs(name)(lambda lib, call=call: call(lib, lib.arange(6.0).view(2, 3).requires_grad_()))


@pytest.mark.parametrize(
    "name", cpu_only_where(programs, lambda each: each == "get_device", "the device is the cpu")
)
def test_what_a_function_says_of_a_tensor_is_what_pytorch_says(name: str) -> None:
    assert_same(programs[name], words=0)

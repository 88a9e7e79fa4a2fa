"""Activations as modules: what they print, give and refuse is what PyTorch's do."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

MODULES = {
    "CELU": lambda nn: nn.CELU(1.5),
    "GLU": lambda nn: nn.GLU(1),
    "SELU": lambda nn: nn.SELU(),
    "Hardshrink": lambda nn: nn.Hardshrink(0.25),
    "Hardsigmoid": lambda nn: nn.Hardsigmoid(),
    "Hardswish": lambda nn: nn.Hardswish(),
    "Hardtanh": lambda nn: nn.Hardtanh(-0.25, 0.5),
    "Mish": lambda nn: nn.Mish(),
    "RReLU": lambda nn: nn.RReLU(0.25, 0.5).eval(),
    "ReLU6": lambda nn: nn.ReLU6(),
    "Softmax2d": lambda nn: nn.Softmax2d(),
    "Softmin": lambda nn: nn.Softmin(1),
    "Softshrink": lambda nn: nn.Softshrink(0.25),
    "Softsign": lambda nn: nn.Softsign(),
    "Tanhshrink": lambda nn: nn.Tanhshrink(),
    "Threshold": lambda nn: nn.Threshold(0.25, 5.0),
}

IN_PLACE = {
    "CELU": lambda nn: nn.CELU(inplace=True),
    "SELU": lambda nn: nn.SELU(inplace=True),
    "Hardsigmoid": lambda nn: nn.Hardsigmoid(inplace=True),
    "Hardswish": lambda nn: nn.Hardswish(inplace=True),
    "Hardtanh": lambda nn: nn.Hardtanh(inplace=True),
    "Mish": lambda nn: nn.Mish(inplace=True),
    "RReLU": lambda nn: nn.RReLU(inplace=True).eval(),
    "ReLU6": lambda nn: nn.ReLU6(inplace=True),
    "Threshold": lambda nn: nn.Threshold(0.25, 5.0, inplace=True),
}

REFUSED = {
    "limits that are swapped": lambda nn, x: nn.Hardtanh(2, 1),
    "an odd half": lambda nn, x: nn.GLU(0)(x),
    "a softmax of channels of a matrix": lambda nn, x: nn.Softmax2d()(x[0]),
    "a negative bound": lambda nn, x: nn.Softshrink(-1)(x),
    "bounds that are swapped": lambda nn, x: nn.RReLU(0.5, 0.25)(x),
}


def sample(lib: Any) -> Any:
    return (lib.arange(36, dtype=lib.float32) * 0.7).sin().reshape(3, 4, 3) * 4


def written(lib: Any, make: Any) -> Any:
    module, x = make(lib.nn), sample(lib)
    made = module(x)
    assert made.data_ptr() == x.data_ptr()
    return x


PROGRAMS = Programs()
for name, make in MODULES.items():
    PROGRAMS[f"{name}, printed"] = lambda lib, make=make: repr(make(lib.nn))
    PROGRAMS[name] = lambda lib, make=make: make(lib.nn)(sample(lib))
for name, make in IN_PLACE.items():
    PROGRAMS[f"{name} in place, printed"] = lambda lib, make=make: repr(make(lib.nn))
    PROGRAMS[f"{name} in place"] = lambda lib, make=make: written(lib, make)
for name, call in REFUSED.items():
    PROGRAMS[name] = lambda lib, call=call: tried(lambda: call(lib.nn, sample(lib)), words=24)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_does_what_pytorchs_does(name: str) -> None:
    assert_same(PROGRAMS[name], close=True)

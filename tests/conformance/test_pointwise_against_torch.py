"""Pointwise operators in corners: dtypes that they refuse, numbers beside tensors, gradients at
special points; as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from devices import cpu_only_where
from same_programs import Programs, assert_same, tried

import dovetail


def gradient_of_atan2_at_the_origin(lib: Any) -> Any:
    x = lib.zeros(2, requires_grad=True)
    lib.atan2(x, lib.zeros(2)).sum().backward()
    return x.grad


def power_of_a_negative_number(lib: Any) -> Any:
    exponent = lib.tensor([2.0 - 1.5j], requires_grad=True)
    (lib.tensor([-1.0]) ** exponent).abs().sum().backward()
    return lib.view_as_real(exponent.grad)


def complex_gradient(lib: Any, name: str) -> Any:
    x = lib.tensor([0.3 - 1.2j, -0.7 + 0.4j, 1.5 + 0.2j], requires_grad=True)
    getattr(x, name)().abs().sum().backward()
    return lib.view_as_real(x.grad)


def gradient_of_the_first_power(lib: Any) -> Any:
    x = lib.tensor([2.0, 0.0, float("inf"), float("nan")], requires_grad=True)
    (first,) = lib.autograd.grad((x**1).sum(), x, create_graph=True)
    return [first.tolist(), lib.autograd.grad(first.sum(), x)[0].nan_to_num(7).tolist()]


PROGRAMS = Programs(
    {
        "the first power has a second derivative": lambda lib: lib.func.grad(
            lambda x: lib.func.grad(lambda x: x**1)(x) * 3
        )(lib.tensor(2.0)),
        "the gradient of the first power requires grad": gradient_of_the_first_power,
        "the gradient of atan2 is 0 at the origin": gradient_of_atan2_at_the_origin,
        "bounds of logit in the wrong order": lambda lib: lib.logit(
            lib.linspace(-0.5, 1.5, 21), 0.75
        ),
        "a negative number to a complex power": power_of_a_negative_number,
        "acosh of complex numbers has its own branch": lambda lib: complex_gradient(lib, "acosh"),
        "a 0-dim bound does not promote": lambda lib: lib.clamp(
            lib.ones(3), lib.tensor(2.0, dtype=lib.float64)
        ),
        "bounds that do not broadcast are refused": lambda lib: lib.clamp(
            lib.ones(3), lib.tensor([0.0, 2.0]), None
        ),
        "an in-place sum keeps its shape": lambda lib: lib.ones(3).sub_(lib.ones(1, 3), alpha=2),
        "a result of floor_divide requires grad": lambda lib: lib.tensor(
            lib.floor_divide(lib.ones(2, requires_grad=True), 2).requires_grad
        ),
        "a comparison written in place may require grad": lambda lib: lib.tensor(
            lib.ones(2).lt_(lib.ones(2, requires_grad=True)).requires_grad
        ),
        "a number minus a bool": lambda lib: lib.ones(2) - True,
        "a bool alpha": lambda lib: lib.add(lib.ones(2), lib.tensor([1, 2]), alpha=False),
        "a bool alpha of one": lambda lib: lib.add(lib.ones(2), lib.ones(2), alpha=True),
        "a bool alpha of one, subtracted in place": lambda lib: lib.ones(2).sub_(
            lib.ones(2), alpha=True
        ),
        "a bool alpha of one beside a number": lambda lib: lib.add(lib.ones(2), 1, alpha=True),
        "a bool alpha of one, cached as a float": lambda lib: (
            lib.ones(2).add_(lib.ones(2), alpha=1.0).add_(lib.ones(2), alpha=True)
        ),
        "a bool alpha of bools and floats": lambda lib: lib.rsub(
            lib.tensor([1.0]), lib.tensor([1.0]), alpha=True
        ),
        "a bool alpha of bools": lambda lib: lib.add(
            lib.tensor([True, False]), lib.tensor([True, True]), alpha=False
        ),
        "a fractional alpha of integers": lambda lib: lib.add(
            lib.arange(2), lib.arange(2), alpha=0.5
        ),
        "an alpha of bools": lambda lib: lib.add(
            lib.tensor([True, False]), lib.tensor([True, True]), alpha=2
        ),
        "abs of bools": lambda lib: lib.tensor([True]).abs(),
        "floor of bools": lambda lib: lib.tensor([True]).floor(),
        "floor of no bools": lambda lib: lib.zeros(0, dtype=lib.bool).floor(),
        "maximum of complex numbers": lambda lib: lib.maximum(
            lib.ones(2, dtype=lib.complex64), lib.ones(2)
        ),
        "complex numbers have no order": lambda lib: lib.ones(2, dtype=lib.complex64) < 1,
        "in-place abs of complex numbers": lambda lib: lib.ones(2, dtype=lib.complex64).abs_(),
        "the complement of floats": lambda lib: ~lib.ones(2),
        "lerp between dtypes": lambda lib: lib.lerp(
            lib.ones(2), lib.ones(2, dtype=lib.float64), 0.5
        ),
        "lerp between integers": lambda lib: lib.lerp(lib.arange(2), lib.arange(2), 0.5),
        "where chooses by bools": lambda lib: lib.where(lib.ones(2), lib.ones(2), 0),
        "where as a method": lambda lib: lib.arange(3.0).where(
            lib.tensor([True, False, True]), 0.5
        ),
        "where of a number without dimensions": lambda lib: lib.where(lib.tensor(True))[0],
        "the angle of integers is a float": lambda lib: lib.angle(lib.tensor([1, -2])),
        "division of integers without rounding": lambda lib: lib.tensor([1, 2]).div(
            2, rounding_mode=None
        ),
        "logaddexp of complex numbers at infinity": lambda lib: lib.view_as_real(
            lib.logaddexp(
                lib.tensor(
                    [
                        1 + 2j,
                        complex("-inf"),
                        complex("inf+1j"),
                        complex("-inf+1j"),
                        complex("nan"),
                        1000 + 3j,
                    ]
                ),
                lib.tensor(
                    [1 + 1j, complex("-inf+2j"), complex("inf+2j"), 2 - 7j, 1 + 1j, 999 - 3j]
                ),
            )
        ),
        "bools that are close": lambda lib: lib.isclose(
            lib.tensor([True, False]), lib.tensor([False, True]), rtol=1.0, atol=0.0
        ),
        "bytes that are close": lambda lib: lib.isclose(
            lib.tensor([1, 5], dtype=lib.uint8), lib.tensor([2, 2], dtype=lib.uint8), atol=2.0
        ),
    }
)


@PROGRAMS("the gradient of nextafter, which ends where both are equal")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 0.0]).requires_grad_()
    lib.nextafter(x, lib.tensor([0.3, 2.0, -0.0])).sum().backward()
    return x.grad


@PROGRAMS("lgamma of the least numbers in double precision")
def _(lib: Any) -> Any:
    x = lib.tensor([5e-324, 1e-310, 2.3e-308, 1e-300, 0.0], dtype=lib.float64)
    return [x.lgamma().tolist(), x.mvlgamma(1).tolist()]


@PROGRAMS("erfinv of zeros")
def _(lib: Any) -> Any:
    zeros = [lib.tensor([-0.0, 0.0], dtype=each) for each in (lib.float64, lib.float32)]
    return [each.erfinv().signbit().tolist() for each in zeros]


@PROGRAMS("mvlgamma of bools, which is refused")
def _(lib: Any) -> Any:
    return lib.mvlgamma(lib.tensor([True]), 1)


@PROGRAMS("clamp between tensors of dtypes with and without an order")
def _(lib: Any) -> Any:
    def clamped(dtype: str, bound: str) -> Any:
        x, limit = (
            lib.tensor([1, 2], dtype=getattr(lib, dtype)),
            lib.tensor([1, 0], dtype=getattr(lib, bound)),
        )
        found = x.clamp(min=limit), lib.clamp(x, max=limit)
        return [(str(each.dtype).rpartition(".")[2], each.tolist()) for each in found]

    pairs = [("bool", "bool"), ("bool", "int64"), ("int64", "float32"), ("float32", "complex64")]
    found = [tried(lambda pair=pair: clamped(*pair)) for pair in pairs]
    return [each[0] if isinstance(each, tuple) else each for each in found]


@pytest.mark.parametrize(
    "name",
    cpu_only_where(PROGRAMS, lambda each: "at infinity" in each, "CUDA has NaN beside infinity"),
)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)


@pytest.mark.parametrize("step", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_negation_in_place_is_right_for_every_stride(step: int, dtype: str) -> None:
    for library in (dovetail, torch):
        x = library.arange(1, 65, dtype=getattr(library, dtype))
        x[::step].neg_()
        assert x[::step].tolist() == [-number for number in range(1, 65, step)]


def test_products_with_powers_of_two_are_in_range_where_the_powers_are_not() -> None:
    ours, theirs = [
        lib.ldexp(lib.tensor([0.0, 1e-30]), lib.tensor([2000.0, 180.0])).tolist()
        for lib in (dovetail, torch)
    ]
    assert ours == [0.0, pytest.approx(1e-30 * 2.0**180)]
    assert theirs != ours

"""Compiled operators of random numbers against their references: the same numbers, errors and
states of the generator.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import dovetail

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import kernel
from .layouts import LAYOUTS

IN_PLACE: dict[str, tuple[tuple[Any, ...], ...]] = {
    "normal_": ((0.0, 1.0), (2.0, 0.5), (0.0, -1.0), (0.0, float("nan"))),
    "uniform_": ((0.0, 1.0), (-3.0, 4.0), (4.0, 3.0), (0.0, float("inf")), (-3e38, 3e38)),
    "exponential_": ((1.0,), (0.5,), (-1.0,)),
    "bernoulli_.float": ((0.3,), (1.0,), (1.5,)),
    "random_": ((),),
    "random_.to": ((5,), (1 << 30,), (0,), (256,), (1 << 40,)),
    "random_.from": ((2, 9), (-5, 3), (9, 2), (2, None), (-(1 << 63), (1 << 63) - 1)),
}
OF_SIZE: dict[str, tuple[tuple[Any, ...], ...]] = {
    "rand": (((3, 4),), ((5,),), ((),)),
    "randn": (((3, 4),), ((5, 5),), ((-1,),)),
    "randint": ((9, (3, 4)), (0, (3,)), (1 << 28, (5,)), (1 << 40, (5, 2)), (3, (-1,)), (3, ())),
    "randint.low": (
        *((2, 9, (3, 4)), (9, 2, (3,)), (-5, 1 << 29, (7,)), (0, 3, (0, 2))),
        *((-(1 << 63), (1 << 63) - 1, (4,)), (1.5, 3, (2,))),
    ),
    "randperm": ((9,), (0,), (-1,)),
    "normal.float_float": ((1.0, 2.0, (5, 5)), (1.0, -2.0, (5,))),
}
DTYPES = (None, "f4", "f8", "f2", "i8", "i4")


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    """Return what a call draws, or its error, and the numbers that the generator draws next."""
    generator = options.get("generator")
    dovetail.manual_seed(7)
    dovetail.randn(3, generator=generator)  # keeps a normal number
    try:
        made = function(*args, **options)
        found: Any = made.shape, made.dtype, made.strides, made.tolist()
    except Exception as error:
        found = type(error), str(error)
    return repr(found), dovetail.randn(3, generator=generator).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", (*IN_PLACE, "rand_like", "randn_like"))
def test_numbers_like_an_array_are_those_of_the_reference(name, layout):
    compiled = kernel(name)
    for dtype in ("f4", "f8", "f2", "i8", "i4", "u1", "?", "c8"):
        for shape in ((), (5,), (4, 6), (3, 0)):
            x = LAYOUTS[layout](np.zeros(shape, dtype))
            for args in IN_PLACE.get(name, ((),)):
                found = outcome(compiled, x, *args)
                assert found == outcome(compiled.__wrapped__, x, *args), (dtype, shape, args)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8", "f2"))
def test_choices_by_chances_are_those_of_the_reference(dtype, layout):
    compiled = kernel("bernoulli")
    for shape in ((), (5,), (4, 60), (3, 0)):
        chances = np.random.default_rng(1).random(shape)
        for invalid in (None, -0.5, 1.5, np.nan):
            if invalid is not None and chances.size:
                chances.flat[-1] = invalid
            x = LAYOUTS[layout](chances.astype("f4").astype(dtype))
            with np.errstate(all="ignore"):
                assert outcome(compiled, x) == outcome(compiled.__wrapped__, x), (shape, invalid)


@pytest.mark.parametrize("name", OF_SIZE)
def test_numbers_of_a_size_are_those_of_the_reference(name):
    compiled = kernel(name)
    for args in OF_SIZE[name]:
        for dtype in DTYPES:
            options = {"dtype": None if dtype is None else np.dtype(dtype)}
            found = outcome(compiled, *args, **options)
            assert found == outcome(compiled.__wrapped__, *args, **options), (args, options)


@pytest.mark.cpu_only(reason="a generator of the cpu")
def test_the_generator_of_a_call_is_drawn_from():
    x = np.zeros((4, 5), "f4")
    compiled = kernel("normal_")
    for bits in ("MT19937", "PCG64"):
        drawn = []
        for function in (compiled, compiled.__wrapped__):
            generator = dovetail.Generator(bit_generator=bits).manual_seed(3)
            drawn.append(outcome(function, x, 0.0, 1.0, generator=generator))
        assert drawn[0] == drawn[1]
    with pytest.raises(RuntimeError, match="device type for generator"):
        compiled(x, 0.0, 1.0, generator=dovetail.Generator("meta"))
    with pytest.raises(AttributeError):
        compiled(x, 0.0, 1.0, generator=object())


@pytest.mark.cpu_only(reason="a generator of the cpu")
def test_a_draw_waits_for_the_lock_of_the_generator():
    generator = dovetail.Generator()
    x = dovetail.zeros(4, device="cpu").normal_(generator=generator)
    thread = threading.Thread(target=lambda: x.normal_(generator=generator))
    with generator.native.lock:
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.cpu_only(reason="the entry is the same on all devices")
def test_an_int_stands_for_a_float():
    x = dovetail.zeros(20, device="cpu")
    dovetail.manual_seed(1)
    one = x.normal_(2, 3).tolist()
    dovetail.manual_seed(1)
    assert x.normal_(2.0, 3.0).tolist() == one
    with pytest.raises((TypeError, RuntimeError)):
        x.normal_(0, 1 << 1100)
    with pytest.raises((TypeError, RuntimeError)):
        x.normal_(0, "1")

"""Compiled `tensor`, `as_tensor`, `Tensor.to` and factories of another tensor: they do what their
text does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing

from .recorder import Recorder  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="entries are the same on all devices"),
]

NUMBERS = (0, 1, -3, True, False, 2.5, -0.0, 1e300, float("nan"), float("inf"), 2**53, 2**53 + 1)
RARE = (2**63, -(2**63), 2**70, 1j, None, "1", numpy.float32(2), numpy.int64(3), [], ())
DTYPES = (None, *[getattr(dovetail, n) for n in ("float32", "float64", "int64", "bool", "int8")])
MODES: list[Callable[[], AbstractContextManager[Any]]] = [
    nullcontext,
    dovetail.no_grad,
    dovetail.inference_mode,
    lambda: dovetail.device("meta"),
]


def drawn_data(draw: random.Random, depth: int) -> Any:
    """Return a number, or lists and tuples of numbers; now and then of unequal lengths."""
    if depth == 0:
        return draw.choice(RARE if draw.random() < 0.03 else NUMBERS)
    count = draw.choice((0, 1, 2, 3, 3))
    kind = draw.choice((list, list, tuple))
    return kind(
        [drawn_data(draw, depth - 1 - (draw.random() < 0.02 and depth > 1)) for _ in range(count)]
    )


def seen(made: Any) -> Any:
    """Return what can be seen of a tensor."""
    facts = (type(made), made.dtype, made.shape, made.stride(), made.device, made.requires_grad)
    is_filled = made.device.type == "cpu"
    return *facts, made.is_inference(), repr(made.tolist()) if is_filled else None


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return seen(call(*args, **options))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tensor", "as_tensor"])
def test_tensors_of_numbers_are_those_of_the_text(name: str) -> None:
    entry = getattr(dovetail, name)
    assert type(entry) is core.Entry
    draw = random.Random(7)
    for _ in range(1500):
        data = drawn_data(draw, draw.choice((0, 1, 1, 2, 2, 3, 5)))
        options: dict[str, Any] = {}
        if draw.random() < 0.5:
            options["dtype"] = draw.choice(DTYPES)
        if draw.random() < 0.3:
            options["device"] = draw.choice((None, "cpu", dovetail.device("cpu"), "meta", "c", 7))
        if name == "tensor" and draw.random() < 0.2:
            options["requires_grad"] = draw.choice((False, True, 0))
        with draw.choice(MODES)():
            found, wanted = outcome(entry, data, **options), outcome(entry.text, data, **options)
        assert found == wanted, (data, options)


def test_the_default_dtype_is_that_of_real_numbers() -> None:
    previous = dovetail.get_default_dtype()
    dovetail.set_default_dtype(dovetail.float64)
    try:
        assert dovetail.tensor([[1, 2.5]]).dtype is dovetail.float64
        assert dovetail.tensor([[1, True]]).dtype is dovetail.int64
    finally:
        dovetail.set_default_dtype(previous)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tensor", "as_tensor", "from_numpy"])
def test_tensors_of_arrays_are_those_of_the_text(name: str) -> None:
    entry, square = getattr(dovetail, name), numpy.arange(12).reshape(3, 4)
    for dtype in ("f4", "f8", "i4", "i8", "?", "c8", "f2", "u2", ">f4", "O", "U1", "M8[s]"):
        own = square.astype(dtype)
        for array in (own, own.T, own[::2], own[::-1], own[0, 0], own[:0], own[1].copy()):
            for options in ({}, {"dtype": dovetail.float64}, {"device": "cpu"}):
                if name == "from_numpy" and options:
                    continue
                found, wanted = [outcome(f, array, **options) for f in (entry, entry.text)]
                assert found == wanted, (array, options)
    made = dovetail.tensor(square)
    made[0, 0] = 7
    assert square[0, 0] == 0


def kinds_of_tensors() -> list[Any]:
    x = dovetail.arange(6.0).reshape(2, 3)
    leaf = dovetail.ones(2, requires_grad=True)
    others = (x.T, x.double(), x.long(), x.bool(), x.half(), dovetail.tensor(1), x.to("meta"))
    return [x, leaf, leaf * 2, dovetail.nn.Parameter(x), *others]


CONVERSIONS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("cpu",), {}),
    (("meta",), {}),
    ((dovetail.device("cpu"),), {}),
    ((dovetail.float32,), {}),
    ((dovetail.float64,), {}),
    ((float,), {}),
    ((dovetail.ones(2),), {}),
    ((dovetail.ones(2), dovetail.float32), {}),
    (("cpu", dovetail.float32), {}),
    (("cpu", dovetail.int64), {}),
    (("cpu", "cpu"), {}),
    ((dovetail.float32, dovetail.float32), {}),
    (("cpu", dovetail.float32, True), {}),
    (("cpu", dovetail.float32, True, True), {}),
    ((dovetail.float32, True), {}),
    ((), {"dtype": dovetail.float32}),
    ((), {"dtype": "cpu"}),
    ((), {"device": "cpu"}),
    ((), {"device": dovetail.float32}),
    ((), {"other": dovetail.ones(2)}),
    (("cpu",), {"dtype": dovetail.float32}),
    (("cpu",), {"device": "cpu"}),
    ((dovetail.float32,), {"dtype": dovetail.float32}),
    ((dovetail.float32,), {"copy": True}),
    ((dovetail.float32,), {"copy": False, "non_blocking": True}),
    (("cpu",), {"non_blocking": 1}),
    (("cpu",), {"memory_format": dovetail.preserve_format}),
    (("cpu",), {"wrong": 1}),
    (([],), {}),
    ((None,), {}),
]


@pytest.mark.parametrize("mode", [nullcontext, dovetail.inference_mode])
def test_conversions_are_those_of_the_text(mode: Callable[[], AbstractContextManager[Any]]) -> None:
    entry = dovetail.Tensor.to
    assert type(entry) is core.Entry
    for x in kinds_of_tensors():
        for args, options in CONVERSIONS:
            with mode():
                found, wanted = (
                    outcome(entry, x, *args, **options),
                    outcome(entry.text, x, *args, **options),
                )
            assert found == wanted, (x, args, options)
            if isinstance(found[0], type) and issubclass(found[0], Exception):
                continue
            with mode():
                is_same = entry(x, *args, **options) is x
                assert is_same == (entry.text(x, *args, **options) is x), (x, args, options)


def test_conversions_of_numbers_that_no_integer_has_are_numpys() -> None:
    hard = [0.0, -0.0, 0.5, -1.5, 255.0, 256.0, -129.0, 3e9, -3e9, 1e19, -1e19, 1e300]
    hard += [float("nan"), float("inf"), -float("inf"), 2.0**31, 2.0**63]
    integers = ("bool", "int8", "uint8", "int16", "int32", "int64")
    for own in (numpy.float32, numpy.float64):
        with numpy.errstate(all="ignore"):
            numbers = numpy.array(hard * 5, dtype=own)
        for name in (*integers, "float32"):
            for array in (numbers, numbers[::-3].copy()[::2], numbers.reshape(5, -1).T):
                with numpy.errstate(all="ignore"):
                    wanted = array.astype(name)
                made = dovetail.from_numpy(array).to(getattr(dovetail, name))
                numpy.testing.assert_array_equal(made.numpy(), wanted)


def test_new_tensors_go_by_the_tensor() -> None:
    for x in kinds_of_tensors():
        for name in ("new_zeros", "new_ones", "new_empty"):
            entry = getattr(dovetail.Tensor, name)
            assert type(entry) is core.Entry
            for args in ((3,), (2, 2), ((2, 2),), (), ([2],), (-1,), ("2",)):
                for options in ({}, {"dtype": dovetail.int64}, {"device": "cpu"}, {"wrong": 1}):
                    made = [outcome(f, x, *args, **options) for f in (entry, entry.text)]
                    if name == "new_empty":
                        made = [each[:-1] if len(each) > 2 else each for each in made]
                    assert made[0] == made[1], (x, args, options)
            assert entry(x, 2, requires_grad=True, dtype=dovetail.float32).requires_grad


@pytest.mark.parametrize("wanted", [False, True, 1, None])
def test_factories_make_tensors_that_require_grad(wanted: Any) -> None:
    for name in ("zeros", "ones", "eye", "full", "arange", "zeros_like", "ones_like", "full_like"):
        first = dovetail.ones(2) if name.endswith("like") else 3
        args = ((2,) if name == "full" else first, *[True] * name.startswith("full"))
        for options in ({}, {"dtype": dovetail.float64}, {"dtype": dovetail.int64}):
            entry = getattr(dovetail, name)
            text = getattr(entry, "text", entry)
            found = outcome(entry, *args, requires_grad=wanted, **options)
            assert found == outcome(text, *args, requires_grad=wanted, **options), (name, options)


def test_modes_see_these_calls() -> None:
    x = dovetail.ones(2)
    with Recorder() as mode:
        x.to("cpu")
        x.cpu()
        x.new_zeros(2)
        dovetail.tensor([1.0], dtype=dovetail.float64)
        dovetail.zeros_like(x, device="cpu")
        assert not x.is_cuda
    for each in (x.to, x.cpu, x.new_zeros):
        assert getattr(dovetail.Tensor, each.__name__) in mode.seen
    assert dovetail.tensor in mode.seen
    assert dovetail.zeros_like in mode.seen
    assert dovetail.Tensor.is_cuda.__get__ in mode.seen

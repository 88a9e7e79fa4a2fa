"""Entries of factories: sizes in every form, defaults, modes and kernels of the moment, and their
compiled kernels.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
pytest.importorskip("dovetail", reason="the front end is not installed")

import dovetail
from dovetail.overrides import TorchFunctionMode
from dovetail_dispatcher import compiled_code

from .compiled_kernels import kernel
from .recorder import Recorder

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the entries of factories are for the cpu"),
]


FACTORIES = ("zeros", "ones", "empty", "rand", "randn")


@pytest.fixture(params=FACTORIES)
def factory(request):
    made = getattr(dovetail, request.param)
    made(2)
    return made


@pytest.mark.parametrize("sizes", ((3,), (2, 3), ((2, 3),), ([2, 3],), ((),), (0,), ((4, 0),)))
def test_a_factory_takes_its_sizes_in_every_form_without_its_text(factory, sizes):
    shape = sizes[0] if isinstance(sizes[0], tuple | list) else sizes
    cpu = dovetail.device("cpu")
    for options in (
        *({}, {"dtype": None}, {"dtype": dovetail.float64}, {"requires_grad": False}),
        *({"device": "cpu"}, {"device": cpu, "dtype": dovetail.float64}),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(factory.text, "__code__", refused.__code__)
            made = factory(*sizes, **options)
        assert made.shape == tuple(shape)
        assert made.dtype is (options.get("dtype") or dovetail.float32)
        assert made.device == dovetail.device("cpu")
        assert not made.requires_grad


def test_a_device_that_is_given_is_the_one_and_modes_see_it_as_it_is(factory):
    with dovetail.device("meta"):
        assert factory(2, device="cpu").device.type == "cpu"
        assert factory(2).device.type == "meta"
    seen = []

    class Devices(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((kwargs or {}).get("device"))
            return func(*args, **(kwargs or {}))

    with Devices():
        factory(2, device="cpu")
    assert "cpu" in map(str, seen)
    with pytest.raises(RuntimeError):
        factory(2, device="cpus")


def test_a_number_beside_a_tensor_is_made_by_the_kernel_that_is_registered_now():
    x, mask = dovetail.tensor([1.0, 2.0]), dovetail.tensor([True, False])
    assert dovetail.where(mask, x, 0.0).tolist() == [1, 0]
    library = dovetail.library.Library("aten", "IMPL")
    library.impl("scalar_tensor", lambda s, **options: dovetail.tensor(7.0), "BackendSelect")
    try:
        assert dovetail.where(mask, x, 0.0).tolist() == [1, 7]
    finally:
        library._destroy()
    assert dovetail.where(mask, 0.5, x).tolist() == [0.5, 2]
    for value in (3, 2.5, True, 1j, float("nan"), 1 << 40):
        for tensor in (x, x.long(), x.half(), x > 0, x[0], x.to(dovetail.complex64)):
            made = dovetail.where(mask, tensor, value)
            expected = dovetail.where(mask, tensor, dovetail.tensor(value))
            assert made.dtype is dovetail.result_type(tensor, value)
            assert repr(made.tolist()) == repr(expected.to(made.dtype).tolist())


def refused(*sizes: Any, **options: Any) -> Any:
    """Stand for the text of a factory that must not run."""
    raise AssertionError((sizes, options))


@pytest.mark.parametrize(
    ("error", "args", "options"),
    [
        (TypeError, (), {}),
        (TypeError, (True,), {}),
        (TypeError, (1.5,), {}),
        (TypeError, ([[2]],), {}),
        (TypeError, (2,), {"size": (2,)}),
        (TypeError, (2,), {"unknown": None}),
        (TypeError, (2,), {"dtype": "float32"}),
        (RuntimeError, (-1,), {}),
        (RuntimeError, ((2, -3),), {}),
        ((RuntimeError, TypeError), (2**70,), {}),
        (RuntimeError, ((2**40, 2**40),), {}),
        (
            RuntimeError,
            (2,),
            {"out": dovetail.ones(2, dtype=dovetail.int8), "dtype": dovetail.half},
        ),
    ],
)
def test_a_factory_refuses_what_its_text_refuses(factory, error, args, options):
    with pytest.raises(error) as found:
        factory(*args, **options)
    with pytest.raises(error) as expected:
        factory.text(*args, **options)
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)


def test_a_factory_sees_defaults_and_modes_at_each_call(factory):
    class Seen(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func)
            return func(*args, **(kwargs or {}))

    names: list[Any] = []
    dovetail.set_default_dtype(dovetail.float64)
    try:
        assert factory(2).dtype is dovetail.float64
    finally:
        dovetail.set_default_dtype(dovetail.float32)
    assert factory(2).dtype is dovetail.float32
    with dovetail.device("meta"):
        assert factory(2).is_meta
    dovetail.set_default_device("meta")
    try:
        assert factory(2).is_meta
    finally:
        dovetail.set_default_device(None)
    assert not factory(2).is_meta
    assert factory(2, device="meta").is_meta
    assert factory(2, requires_grad=True).requires_grad
    with dovetail.inference_mode():
        assert factory(2).is_inference()
    assert not factory(2).is_inference()
    with Seen():
        factory(2)
    assert names == [factory]
    out = dovetail.empty(2)
    assert factory(2, out=out) is out


NUMBER_CALLS = [
    ("full", ((2, 3), 1.5), {}),
    ("full", ([2], 3), {"requires_grad": False}),
    ("full", ((), -2), {"dtype": dovetail.float64}),
    ("arange", (4,), {}),
    ("arange", (0,), {"dtype": None}),
    ("arange", (2, 5), {}),
    ("arange", (5, 1, -2), {"dtype": dovetail.float32}),
    ("arange", (1.5,), {}),
    ("arange", (0, 1, 0.25), {}),
    ("linspace", (0, 1, 5), {}),
    ("linspace", (2.5, -1, 1), {"dtype": dovetail.float64}),
    ("eye", (3,), {}),
    ("eye", (0,), {"dtype": dovetail.int64}),
    ("randint", (7, (3,)), {}),
    ("randint", (-3, 7, [2, 2]), {"dtype": dovetail.float32}),
    ("randperm", (5,), {}),
    ("randperm", (0,), {"dtype": dovetail.int32}),
]


@pytest.mark.parametrize(("name", "args", "options"), NUMBER_CALLS)
def test_a_factory_of_numbers_gives_without_its_text_what_its_text_gives(name, args, options):
    factory = getattr(dovetail, name)
    factory(*args, **options)
    with pytest.MonkeyPatch.context() as patch:
        if options.get("dtype", 0) is not None:  # None given is the text's
            patch.setattr(factory.text, "__code__", refused.__code__)
        dovetail.manual_seed(3)
        made = factory(*args, **options)
    dovetail.manual_seed(3)
    expected = factory.text(*args, **options)
    assert made.dtype is expected.dtype
    assert made.shape == expected.shape
    assert made.tolist() == expected.tolist()
    assert not made.requires_grad


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("full", ((2,),), {"fill_value": 2.0}),
        ("full", ((2,), True), {}),
        ("arange", (3,), {"end": 4}),
        ("arange", (3,), {"start": 1}),
        ("arange", (9,), {"step": 2}),
        ("arange", (), {"start": 1.5, "end": 4}),
        ("linspace", (0,), {"end": 1, "steps": 3}),
        ("linspace", (0, 1j, 3), {}),
        ("eye", (2, 3), {}),
        ("eye", (2,), {"m": 3}),
        ("randint", (5,), {"size": (2,)}),
        ("randint", (2,), {"high": 5, "size": (2,)}),
        ("randperm", (), {"n": 4}),
    ],
)
def test_a_factory_of_numbers_takes_keywords_as_its_text_does(name, args, options):
    factory = getattr(dovetail, name)

    def outcome(function):
        dovetail.manual_seed(3)
        try:
            made = function(*args, **options)
        except (TypeError, RuntimeError) as error:
            return type(error)
        return made.dtype, made.tolist()

    for _ in range(2):
        assert outcome(factory) == outcome(factory.text)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("full", ((2,),), {}),
        ("full", (2, 1.0), {}),
        ("full", ((-1,), 1.0), {}),
        ("full", ((2,), "x"), {}),
        ("full", ((2,), 300), {"dtype": dovetail.int8}),
        ("arange", (), {}),
        ("arange", (1, 2, 3, 4), {}),
        ("arange", (-1,), {}),
        ("arange", (1, 2, 0), {}),
        ("arange", (0.0, float("nan")), {}),
        ("arange", (float("inf"),), {}),
        ("arange", (2**70,), {}),
        ("arange", (3,), {"dtype": dovetail.complex64}),
        ("linspace", (0, 1), {}),
        ("linspace", (0, 1, -1), {}),
        ("linspace", (0, 1, 2.5), {}),
        ("linspace", (0, 1, 3), {"dtype": dovetail.bool}),
        ("eye", (-1,), {}),
        ("eye", (2.5,), {}),
        ("randint", ((3,),), {}),
        ("randint", (0, (3,)), {}),
        ("randint", (3, 3, (2,)), {}),
        ("randint", (2**70, (2,)), {}),
        ("randint", (300, (2,)), {"dtype": dovetail.uint8}),
        ("randperm", (-1,), {}),
        ("randperm", (300,), {"dtype": dovetail.int8}),
    ],
)
def test_a_factory_of_numbers_refuses_what_its_text_refuses(name, args, options):
    factory = getattr(dovetail, name)
    with pytest.raises((TypeError, ValueError, RuntimeError)) as expected:
        factory.text(*args, **options)
    for _ in range(2):
        with pytest.raises(type(expected.value)):
            factory(*args, **options)


LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like")


def seen_of(tensor: Any, name: str) -> Any:
    values = None if name == "empty_like" else tensor.tolist()
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.device, tensor.requires_grad, values


@pytest.mark.parametrize("name", LIKE)
def test_a_factory_that_goes_by_a_tensor_gives_without_its_text_what_its_text_gives(name):
    entry = getattr(dovetail, name)
    number = (2,) if name == "full_like" else ()
    tensors = [
        dovetail.ones(2, 3),
        dovetail.ones(3, 2).t(),
        dovetail.ones(2, 3, dtype=dovetail.float64),
        dovetail.ones(2, 3, requires_grad=True),
        dovetail.ones(2, 3, requires_grad=True) * 2,
        dovetail.ones(4, 3)[::2],
        dovetail.tensor(1.0),
    ]
    entry(tensors[0], *number)  # it reads the parameters of its text, which is exchanged below
    for mode in (dovetail.enable_grad, dovetail.no_grad, dovetail.inference_mode):
        for options in ({}, {"dtype": dovetail.float64}, {"memory_format": None}):
            for each in tensors:
                with mode(), pytest.MonkeyPatch.context() as patch:
                    dovetail.manual_seed(0)
                    expected = entry.text(each, *number, **options)
                    patch.setattr(entry.text, "__code__", refused.__code__)
                    dovetail.manual_seed(0)
                    made = entry(each, *number, **options)
                assert seen_of(made, name) == seen_of(expected, name)
                assert made.is_inference() is expected.is_inference()


@pytest.mark.parametrize("name", LIKE)
def test_other_calls_of_a_factory_that_goes_by_a_tensor_are_those_of_its_text(name):
    entry, x = getattr(dovetail, name), dovetail.ones(2)
    number = (2,) if name == "full_like" else ()
    entry(x, *number)
    assert entry(x, *number, requires_grad=True).requires_grad
    assert entry(x, *number, device="meta").device.type == "meta"
    assert entry(x.to("meta"), *number).device.type == "meta"
    for error, args, options in (
        (TypeError, (), {}),
        (TypeError, (1, *number), {}),
        (TypeError, (x, *number, None, None), {}),
        (TypeError, (x, *number), {"unknown": None}),
        (TypeError, (x, *number), {"dtype": "float32"}),
    ):
        with pytest.raises(error) as found:
            entry(*args, **options)
        with pytest.raises(error) as expected:
            entry.text(*args, **options)
        assert str(found.value) == str(expected.value)
    with Recorder() as mode:
        entry(x, *number)
    assert entry in mode.seen


@pytest.mark.parametrize("key", ("CPU", "BackendSelect"))
def test_a_factory_calls_the_kernel_that_is_registered_now(factory, key):
    name = {"empty": "empty.memory_format"}.get(factory.__name__, factory.__name__)
    library = dovetail.library.Library("aten", "IMPL")
    called = []

    def sevens(size, **options):
        called.append(size)
        return dovetail.full(tuple(size), 7.0)

    factory(2)
    library.impl(name, sevens, key, allow_override=True)
    try:
        for _ in range(2):
            factory(2)
        assert len(called) == 2
    finally:
        library._destroy()
    factory(2)
    assert len(called) == 2


@pytest.mark.parametrize("name", ("zeros", "ones", "empty.memory_format"))
@pytest.mark.parametrize("dtype", ("f4", "f8", "i8", "?", "c8", "f2", "bfloat16"))
def test_new_arrays_are_those_of_the_reference(name, dtype):
    compiled = kernel(name)
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for size in ((), (0,), (3,), (2, 0, 4), (5, 6, 7)):
        found, expected = compiled(size, dtype=dtype), compiled.__wrapped__(size, dtype=dtype)
        assert (found.shape, found.strides) == (expected.shape, expected.strides)
        assert found.dtype == expected.dtype
        assert found.flags.c_contiguous and found.flags.owndata
        if not name.startswith("empty"):
            assert (found == expected).all()
    for size in ((-1,), (2**40, 2**40)):
        with pytest.raises(RuntimeError, match=r"negative|overflow"):
            compiled(size, dtype=dtype)


@pytest.mark.parametrize("name", ("zeros_like", "ones_like", "empty_like"))
def test_arrays_like_others_are_those_of_the_reference(name):
    compiled, base = kernel(name), np.zeros((3, 4, 5), "f4")
    for x in (
        base,
        base.T,
        base[:, ::2],
        base[0, 0, 0:0],
        base[..., 0],
        np.broadcast_to(base, (2, 3, 4, 5)),
    ):
        for dtype in (None, np.dtype("i4")):
            found, expected = compiled(x, dtype=dtype), compiled.__wrapped__(x, dtype=dtype)
            assert (found.shape, found.strides) == (expected.shape, expected.strides)
            assert found.dtype == expected.dtype
            if name != "empty_like":
                assert (found == expected).all()


@pytest.mark.parametrize("dtype", ("f4", "f8", "i8", "i4", "f2"))
def test_progressions_have_the_bits_of_the_reference(dtype):
    compiled = kernel("arange.start_step")
    ints = (-7, -1, 0, 1, 2, 9, 2**53 + 1, 2**62, -(2**63))
    floats = (-2.5, -0.0, 0.1, 3.3, 1e30)
    bounds = [(a, b, s) for a in ints for b in ints for s in (-3, -1, 1, 2, 2**61)]
    bounds += [(a, b, s) for a in (*ints[:6], *floats) for b in floats for s in (0.3, -0.25, 7.0)]
    for start, end, step in bounds:
        if abs(end - start) / abs(step) > 1000:
            continue
        compare(compiled, start, end, step, dtype=np.dtype(dtype))
    compiled = kernel("linspace")
    for start in (*ints[:6], *floats):
        for end in (*ints[:7], *floats, 1e308):
            for steps in (0, 1, 2, 3, 8, 17):
                compare(compiled, start, end, steps, dtype=np.dtype(dtype))


@pytest.mark.parametrize("dtype", ("f4", "f8", "i8", "i4", "?", "c8", "f2"))
def test_full_arrays_and_unit_matrices_are_those_of_the_reference(dtype):
    compiled = kernel("full")
    numbers = (0, 1, -3, 300, 2**40, 2**63 - 1, 2**64, 1.5, -0.0, 3.4e38, 3.5e38, 1e300)
    for number in (*numbers, float("inf"), float("-inf"), float("nan"), True):
        for size in ((), (0,), (3, 2)):
            compare(compiled, size, number, dtype=np.dtype(dtype))
    for rows in (0, 1, 4):
        compare(kernel("eye"), rows, dtype=np.dtype(dtype))


def compare(compiled: Any, *args: Any, dtype: np.dtype[Any]) -> None:
    """Compare a compiled kernel with its reference: bits, or errors."""
    try:
        with np.errstate(all="ignore"):
            expected = compiled.__wrapped__(*args, dtype=dtype)
    except (RuntimeError, ValueError, OverflowError, TypeError) as error:
        with pytest.raises(type(error)):
            compiled(*args, dtype=dtype)
        return
    with np.errstate(all="ignore"):
        found = compiled(*args, dtype=dtype)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), args
    assert found.tobytes() == expected.tobytes(), (args, found, expected)

"""What calls remember (routes of factories, overloads, packets, promotions) gives way when what it
was made from changes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from devices import own_key

import dovetail
from dovetail.library import Library
from dovetail.overrides import TorchFunctionMode
from dovetail.utils._python_dispatch import TorchDispatchMode


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """Return what a call returns, or the class and text of what it raises."""
    try:
        return ("returned", function(*args))
    except Exception as error:
        return ("raised", type(error), str(error))


# -- what is remembered ----------------------------------------------------------------------------


def test_a_packet_finds_what_is_defined_now() -> None:
    found = []
    for value in (1.0, 2.0):
        library = Library("remembered", "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x, value=value: x * value, own_key())
        packet = dovetail.ops.remembered.f
        assert packet.default is packet.default
        found.append(packet.default(dovetail.ones(1)).item())
        library._destroy()
        with pytest.raises(AttributeError):
            packet.default  # noqa: B018 - looks it up
    assert found == [1.0, 2.0]


def test_a_packet_finds_an_overload_that_comes_later() -> None:
    library = Library("remembered_late", "DEF")
    library.define("f(Tensor x) -> Tensor")
    packet = dovetail.ops.remembered_late.f
    assert packet.default is not None
    with pytest.raises(AttributeError):
        packet.late  # noqa: B018 - looks it up
    library.define("f.late(Tensor x, int n) -> Tensor")
    assert packet.late._overloadname == "late"
    library._destroy()


X = dovetail.arange(12.0).reshape(3, 4)
IMAGE, FILTERS = dovetail.ones(1, 2, 5, 5), dovetail.ones(3, 2, 3, 3)
BY_KEYWORD: list[tuple[Callable[..., Any], dict[str, Any], tuple[Any, ...]]] = [
    (dovetail.sum, {"input": X, "dim": 0}, (X, 0)),
    (dovetail.sum, {"dim": None, "input": X}, (X,)),
    (dovetail.sum, {"input": X, "axis": 1}, (X, 1)),
    (dovetail.sum, {"input": X, "dim": (0, 1)}, (X,)),
    (dovetail.max, {"input": X, "dim": 1}, (X, 1)),
    (dovetail.max, {"input": X, "other": X}, (X, X)),
    (dovetail.max, {"input": X}, (X,)),
    (dovetail.mean, {"input": X, "dim": 0, "keepdim": True}, (X, 0, True)),
    (dovetail.nn.functional.conv2d, {"input": IMAGE, "weight": FILTERS}, (IMAGE, FILTERS)),
    (
        dovetail.nn.functional.conv2d,
        {"input": IMAGE, "weight": FILTERS, "padding": 1},
        (IMAGE, FILTERS, None, 1, 1),
    ),
    (
        dovetail.nn.functional.conv2d,
        {"input": IMAGE, "weight": FILTERS, "padding": "same"},
        (IMAGE, FILTERS, None, 1, "same"),
    ),
    (dovetail.add, {"input": X, "other": 2}, (X, 2)),
    (dovetail.add, {"input": X, "other": X, "beta": 2}, (X, X, 3)),
    (dovetail.sum, {"input": X, "wrong": 0}, (X, 0, 1, 2, 3, 4)),
]


def test_an_overload_found_by_keywords_is_the_one_that_positions_find_each_time() -> None:
    calls = BY_KEYWORD * 3
    random.Random(0).shuffle(calls)
    for function, keywords, args in calls:
        found, expected = (
            outcome(lambda: function(**keywords)),  # noqa: B023 - called at once
            outcome(function, *args),
        )
        assert found[0] == expected[0], (function, keywords, found, expected)
        if found[0] == "returned":
            pairs = zip(
                *[each if isinstance(each, tuple) else (each,) for each in (found[1], expected[1])],
                strict=True,
            )
            assert all(bool(dovetail.equal(a, b)) for a, b in pairs), (function, keywords)
        else:
            assert found[1] is expected[1] is TypeError


def test_a_factory_takes_a_kernel_that_is_registered_after_its_first_call() -> None:
    assert dovetail.ones(2).tolist() == [1.0, 1.0]
    library = Library("aten", "IMPL")
    library.impl("ones", lambda size, **options: dovetail.full(size, 7.0), own_key())
    try:
        assert dovetail.ones(2).tolist() == [7.0, 7.0]
    finally:
        library._destroy()
    assert dovetail.ones(2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("key", [own_key(), "BackendSelect"])
def test_a_factory_like_a_tensor_takes_a_kernel_that_is_registered_after_its_first_call(
    key: str,
) -> None:
    x = dovetail.ones(2)
    assert [dovetail.zeros_like(x).tolist() for _ in range(2)] == [[0.0, 0.0]] * 2
    library = Library("aten", "IMPL")
    library.impl("zeros_like", lambda self, **options: self * 7, key, allow_override=True)
    try:
        assert dovetail.zeros_like(x).tolist() == [7.0, 7.0]
    finally:
        library._destroy()
    assert dovetail.zeros_like(x).tolist() == [0.0, 0.0]


def test_a_factory_like_a_tensor_heeds_dtype_state_and_strides() -> None:
    x = dovetail.rand(2, 3, requires_grad=True)
    for _ in range(2):
        assert dovetail.full_like(x, 2).tolist() == [[2.0] * 3] * 2
        assert dovetail.zeros_like(x, dtype=dovetail.int64).dtype is dovetail.int64
        assert dovetail.empty_like(x.t()).stride() == (1, 3)
        assert dovetail.ones_like(x, requires_grad=True).requires_grad
        assert not dovetail.ones_like(x).requires_grad
        assert dovetail.zeros_like(x[0, 0]).shape == ()
        assert dovetail.zeros_like(x, device="meta").is_meta
        with dovetail.inference_mode():
            assert dovetail.zeros_like(x).is_inference()
    with pytest.raises(RuntimeError, match="without overflow"):
        dovetail.full_like(x.detach().to(dovetail.uint8), 1000)


@pytest.mark.cpu_only(reason="the kernels are the cpu's")
def test_a_packet_remembers_what_the_number_of_arguments_decides() -> None:
    library = Library("remembered_numbers", "DEF")
    library.define("f.two(Tensor x, int n) -> Tensor")
    library.define("f(Tensor x) -> Tensor")
    library.define("f.flag(Tensor x, bool n, *, int m=1) -> Tensor")
    for overload, value in (("f.two", 2.0), ("f", 1.0), ("f.flag", 3.0)):
        library.impl(overload, lambda x, *rest, value=value, **named: x * value, own_key())
    f, x = dovetail.ops.remembered_numbers.f, dovetail.ones(1)
    for _ in range(2):
        assert [f(x).item(), f(x, 5).item(), f(x, n=5).item()] == [1.0, 2.0, 2.0]
        assert f(x, True, m=2).item() == 3.0
    library._destroy()


def test_zeros_are_remembered_with_their_sign() -> None:
    x = dovetail.ones(2)
    for zero in (0.0, -0.0, 0.0, -0.0):
        assert str((x * zero).tolist()) == str([zero, zero])
        assert str(dovetail.full((2,), zero).tolist()) == str([zero, zero])
        assert str(dovetail.zeros(2).fill_(zero).tolist()) == str([zero, zero])
        made = dovetail.full_like(x.to(dovetail.complex64), complex(zero, zero))
        assert str(made.imag.tolist()) == str([zero, zero])


def test_a_factory_heeds_default_dtype_default_device_and_modes() -> None:
    class Seen(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    dovetail.zeros(2)
    dovetail.set_default_dtype(dovetail.float64)
    try:
        assert dovetail.zeros(2).dtype is dovetail.float64
        assert dovetail.tensor([0.5]).dtype is dovetail.float64
    finally:
        dovetail.set_default_dtype(dovetail.float32)
    with dovetail.device("meta"):
        assert dovetail.zeros(2).is_meta and dovetail.tensor([1, 2]).is_meta
    with dovetail.inference_mode():
        assert dovetail.zeros(2).is_inference() and dovetail.tensor([1.0]).is_inference()
        assert dovetail.zeros(2).is_inference()
    assert not dovetail.zeros(2).is_inference()
    with Seen():
        dovetail.zeros(2)
    with Dispatched():
        dovetail.zeros(2)
    assert names[0] == "zeros" and names[-1].startswith("aten.zeros")


def test_an_overload_chosen_by_classes_is_right_for_other_values_and_keywords() -> None:
    x = dovetail.tensor([[1.0, 2.0], [3.0, 7.0]])
    for _ in range(2):
        assert x.var(0).tolist() == [2.0, 12.5]
        assert x.var(True).ndim == 0
        assert x.var(False).item() == pytest.approx(5.1875)
        assert x.var(1).tolist() == [0.5, 8.0]
        assert x.var(0, True).shape == (2,)
        assert x.var(dim=0, keepdim=True).shape == (1, 2)
        assert x.var([0, 1]).ndim == 0
        with pytest.raises(IndexError):
            x.var(2)


def test_a_choice_promotes_by_the_dtypes_of_each_call() -> None:
    mask = dovetail.tensor([True, False])
    single, double = dovetail.ones(2), dovetail.zeros(2, dtype=dovetail.float64)
    whole, scalar = dovetail.ones(2, dtype=dovetail.int64), dovetail.tensor(2.0)
    for _ in range(2):
        assert dovetail.where(mask, single, single).dtype is dovetail.float32
        assert dovetail.where(mask, single, double).dtype is dovetail.float64
        assert dovetail.where(mask, mask, single).dtype is dovetail.float32
        assert dovetail.where(mask, whole, scalar).dtype is dovetail.float32
        assert dovetail.where(mask, mask, mask).dtype is dovetail.bool


@pytest.mark.parametrize("other", [dovetail.float32, dovetail.float64, dovetail.bool])
def test_the_gradient_of_a_choice_is_the_same_over_arrays_and_over_tensors(other: Any) -> None:
    x = dovetail.randn(4, requires_grad=True)
    y = dovetail.ones(4, dtype=other)
    found = []
    for create_graph in (False, True):
        result = dovetail.where(x > 0, x * 3, y).sum()
        (grad,) = dovetail.autograd.grad(result, x, create_graph=create_graph)
        found.append((grad.dtype, grad.detach().tolist()))
    assert found[0] == found[1]
    assert found[0][0] is dovetail.float32


def test_a_gradient_that_is_asked_for_passes_the_hooks_of_its_leaf() -> None:
    x, y = dovetail.ones(3, requires_grad=True), dovetail.full((3,), 2.0, requires_grad=True)
    out = (x * y * x).sum()
    plain = dovetail.autograd.grad(out, (x, y, x), retain_graph=True)
    assert [each.tolist() for each in plain] == [[4.0] * 3, [1.0] * 3, [4.0] * 3]
    x.register_hook(lambda grad: grad * 10)
    hooked = dovetail.autograd.grad(out, (x, y), retain_graph=True)
    assert [each.tolist() for each in hooked] == [[40.0] * 3, [1.0] * 3]
    assert x.grad is None and y.grad is None


def test_a_shape_is_a_size_whose_slices_are_sizes() -> None:
    x = dovetail.ones(2, 3)
    assert type(x.shape) is dovetail.Size and type(x.size()) is dovetail.Size
    assert type(x.shape[1:]) is dovetail.Size and type(x.shape[0]) is int
    assert type(dovetail.ones(2, 3).shape[-1]) is int and x.shape.numel() == x.numel() == 6


def test_memory_formats_by_keyword_reach_the_kernel() -> None:
    x = dovetail.ones(2, 3, 4, 5)
    for _ in range(2):
        laid_out = x.contiguous(memory_format=dovetail.channels_last)
        assert laid_out.stride() == (60, 1, 15, 3)
        assert laid_out.contiguous().stride() == (60, 20, 5, 1)
        assert x.clone(memory_format=dovetail.channels_last).stride() == (60, 1, 15, 3)
        assert dovetail.empty_like(laid_out).stride() == (60, 1, 15, 3)
        with pytest.raises(RuntimeError, match="required rank 4"):
            dovetail.ones(2).contiguous(memory_format=dovetail.channels_last)


def test_zeros_of_both_signs_stay_apart_as_numbers() -> None:
    x = dovetail.zeros(1)
    for _ in range(2):
        assert numpy.signbit((x.fill_(-0.0)).cpu().numpy())[0]
        assert not numpy.signbit((x.fill_(0.0)).cpu().numpy())[0]
        assert dovetail.ones(1).div(dovetail.full((1,), -0.0)).item() == -float("inf")


@pytest.mark.parametrize(
    "data",
    [
        *(0.5, 3, True, [1.0, 2.0], [1, 2], [True, False], [], [1, 2.5], [[1], [2]], (1.0, 2.0)),
        *([numpy.float32(1.5)], [1 << 62], [float("inf"), float("nan")], [1e300], 1 << 70),
        *(["a"], [None], [dovetail.tensor(1.0), 2.0]),
    ],
    ids=str,
)
def test_lists_of_numbers_become_the_same_tensors_by_either_way(data: Any) -> None:
    # With the device named the numbers are looked at one by one.
    short = outcome(dovetail.tensor, data)
    long = outcome(lambda each: dovetail.tensor(each, device=dovetail.get_default_device()), data)
    if short[0] == "raised":
        assert short == long
    else:
        assert short[1].dtype is long[1].dtype and short[1].shape == long[1].shape
        numpy.testing.assert_array_equal(short[1].cpu().numpy(), long[1].cpu().numpy())

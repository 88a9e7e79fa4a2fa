"""Tensors of another dtype, on another device, as NumPy arrays; and tensors that share data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from dovetail_aten import Tensor, empty, from_numpy, ones, tensor, zeros
from dovetail_aten.tensor.data import from_data
from dovetail_kernel import (
    Device,
    bfloat16,
    channels_last,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    plugin_manager,
    uint8,
)
from dovetail_kernel import bool as bool_

plugin_manager.load_transform("autograd")


@pytest.mark.cpu_only(reason="it moves to the cpu")
def test_to_gives_the_tensor_itself_if_nothing_changes() -> None:
    x = ones(2)
    assert x.to(float32) is x
    assert x.to("cpu") is x
    assert x.to(ones(1)) is x
    assert x.to() is x
    assert x.float() is x
    assert x.cpu() is x


def test_to_copies_on_demand() -> None:
    x = ones(2)
    y = x.to(float32, copy=True)
    y[0] = 5
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    "arguments",
    [(int64,), ("cpu", int64), (Device("cpu"), int64, False), (tensor(1),), (int,)],
    ids=str,
)
def test_to_takes_dtype_device_or_tensor(arguments: tuple[Any, ...]) -> None:
    assert ones(2).to(*arguments).dtype is int64


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((int32, int64), {}),
        ((ones(1), int64), {}),
        ((), {"foo": 1}),
        ((int64, 3), {}),
        ((int64,), {"dtype": int64}),
    ],
)
def test_to_refuses_other_combinations(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
        ones(2).to(*args, **kwargs)


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("float", float32), ("double", float64), ("half", float16), ("bfloat16", bfloat16),
        ("int", int32),
        ("long", int64), ("short", int16), ("char", int8), ("byte", uint8), ("bool", bool_),
        ("cfloat", complex64),
        ("cdouble", complex128),
    ],
)  # fmt: skip
def test_each_dtype_has_a_method(method: str, dtype: Any) -> None:
    assert getattr(tensor([0, 1], dtype=int8), method)().dtype is dtype


@pytest.mark.cpu_only(reason="the names of types tell the device")
def test_type_names_or_converts() -> None:
    assert ones(1).type() == "dovetail.FloatTensor"
    assert ones(1, device="meta").type() == "dovetail.meta.FloatTensor"
    assert ones(1).type(int64).dtype is int64
    assert ones(1).type("dovetail.IntTensor").dtype is int32


def test_an_unknown_type_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"invalid type: 'dovetail.FooTensor'"):
        ones(1).type("dovetail.FooTensor")


@pytest.mark.cpu_only(reason="only host memory is shared with NumPy")
def test_numpy_shares_memory() -> None:
    x = zeros(2)
    x.numpy()[0] = 3
    assert x.tolist() == [3, 0]


def test_numpy_refuses_a_tensor_that_requires_grad() -> None:
    x = ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]


@pytest.mark.cpu_only(reason="only the cpu comes so far")
def test_numpy_has_no_bfloat16() -> None:
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        ones(1, dtype=bfloat16).numpy()


@pytest.mark.cpu_only(reason="NumPy takes tensors in host memory only")
def test_numpy_functions_take_tensors() -> None:
    assert np.asarray(ones(2), np.float64).dtype == np.float64
    assert type(np.exp(zeros(2))) is Tensor


@pytest.mark.cpu_only(reason="an array is a tensor of the cpu")
def test_a_tensor_plus_an_array_is_a_tensor() -> None:
    assert type(ones(2) + from_numpy(np.ones(2))) is Tensor


def test_data_shares_memory_but_not_the_version() -> None:
    x = ones(2, requires_grad=True)
    x.data[0] = 5
    assert x.tolist() == [5, 1]
    assert x._version == 0
    assert not x.data.requires_grad


def test_data_can_be_replaced() -> None:
    x = ones(2, requires_grad=True)
    x.data = zeros(3, dtype=float64)
    assert x.dtype is float64
    assert x.tolist() == [0, 0, 0]
    assert x.requires_grad


def test_data_of_a_tensor_with_gradients_must_have_gradients() -> None:
    x = ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        x.data = tensor([1, 2])
    assert x.tolist() == [1, 1]


def test_a_subclass_shares_data_and_version() -> None:
    class Special(Tensor):
        pass

    x = ones(2)
    special = Tensor._make_subclass(Special, x, True)
    x.add_(1)
    assert type(special) is Special
    assert special.tolist() == [2, 2]
    assert special._version == 1
    assert special.requires_grad


def test_only_tensors_have_subclasses() -> None:
    with pytest.raises(TypeError, match=r"argument 'data' \(position 2\) must be Tensor"):
        Tensor._make_subclass(Tensor, [1])  # type: ignore[arg-type]


def test_deepcopy_of_a_leaf_is_independent() -> None:
    x = ones(2, requires_grad=True)
    y = copy.deepcopy(x)
    y.data[0] = 7
    assert x.tolist() == [1, 1]
    assert y.requires_grad


def test_deepcopy_refuses_what_an_operator_made() -> None:
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(ones(2, requires_grad=True) * 2)


def test_contiguity_follows_the_strides() -> None:
    x = ones(2, 3)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.t().contiguous().is_contiguous()
    assert empty(2, 3, 4, 5, device="meta", memory_format=channels_last).is_contiguous(
        memory_format=channels_last
    )


def test_cuda_without_cuda_is_an_assertion() -> None:
    from dovetail_kernel import PluginError

    try:
        plugin_manager.load_backend("cuda")
    except PluginError:
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            ones(1).cuda()
    else:
        assert ones(1).cuda().is_cuda


def test_new_tensors_take_dtype_and_device_of_their_model() -> None:
    x = ones(2, dtype=float64)
    assert x.new_zeros(2, 3).dtype is float64
    assert x.new_tensor([1]).dtype is float64
    assert x.new_full((2,), 3, dtype=int64).tolist() == [3, 3]
    assert x.new_ones((2,), requires_grad=True).requires_grad
    assert x.new_empty(2, device="meta").is_meta


@pytest.mark.cpu_only(reason="numbers for other devices go the long way")
@pytest.mark.parametrize("device", [None, "cpu", Device("cpu")], ids=str)
def test_numbers_for_the_cpu_take_the_short_way(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_data, "shape_of_data", None)
    for numbers in ([1, 2], [1.5], [True, False], 3):
        made = tensor(numbers, device=device)
        assert (made.tolist(), str(made.device)) == (numbers, "cpu")
    with pytest.raises(TypeError):  # others go the long way
        tensor([[1j]], device=device)

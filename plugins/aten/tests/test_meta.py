"""The meta device: shapes without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dovetail_aten import empty, empty_like, functions, ones, randn, tensor, zeros
from dovetail_aten.meta.meta_array import MetaArray
from dovetail_aten.meta.registration import DATA_DEPENDENT
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey, complex64, float64, int64, plugin_manager

plugin_manager.load_transform("autograd")


def meta(*sizes: int, **options: Any) -> Any:
    return empty(*sizes, device="meta", **options)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: meta(2, 1) + meta(3), (2, 3)),
        (lambda: meta(2, 3).sum(1, keepdim=True), (2, 1)),
        (lambda: meta(2, 3) @ meta(3, 4), (2, 4)),
        (lambda: meta(2, 3).t()[1:], (2, 2)),
        (lambda: meta(4, 3)[tensor([0, 1, 1]).to("meta")], (3, 3)),
        (lambda: functions.cat([meta(2, 3), meta(4, 3)]), (6, 3)),
        (lambda: functions.softmax(meta(2, 3), 1), (2, 3)),
        (lambda: functions.linear(meta(5, 3), meta(2, 3), meta(2)), (5, 2)),
        (lambda: meta(2, 3).relu().view(-1).exp(), (6,)),
    ],
)
def test_operators_tell_the_shape(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    result = make()
    assert result.is_meta
    assert result.shape == shape


def test_dtypes_promote() -> None:
    assert (meta(2, dtype=int64) / 2).is_floating_point()
    assert (meta(2) + meta(2, dtype=float64)).dtype is float64
    assert (meta(2) > 0).dtype.name == "bool"


def test_views_share_and_writes_count() -> None:
    x = meta(2, 3)
    view = x[0]
    view.add_(1)
    assert x._version == 1
    assert view.untyped_storage() is x.untyped_storage()
    assert view.storage_offset() == 0
    assert x[1].storage_offset() == 3


def test_gradients_have_shapes_too() -> None:
    x = meta(2, 3, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (2, 3)


def test_a_large_tensor_costs_nothing() -> None:
    assert (meta(10**6, 10**6) * 2).numel() == 10**12


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda x: x[0, 0].item(),
            RuntimeError,
            r"Tensor.item\(\) cannot be called on meta tensors",
        ),
        (
            lambda x: bool(x[0, 0]),
            RuntimeError,
            r"Tensor.item\(\) cannot be called on meta tensors",
        ),
        (lambda x: x.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (
            lambda x: zeros(2, 3).copy_(x),
            NotImplementedError,
            "Cannot copy out of meta tensor; no data!",
        ),
        (lambda x: x.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda x: x.nonzero(), NotImplementedError, "aten::nonzero"),
        (lambda x: x[x > 0], NotImplementedError, "aten::nonzero"),
        (lambda x: x + ones(2, 3), RuntimeError, "is not on the expected device meta"),
        (lambda x: x.view(5), RuntimeError, "is invalid for input of size 6"),
        (lambda x: x.t().view(6), RuntimeError, "view size is not compatible"),
        (
            lambda x: x + meta(2),
            RuntimeError,
            r"The size of tensor a \(3\) must match the size of tensor b \(2\)",
        ),
        (
            lambda x: x @ x,
            RuntimeError,
            r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)",
        ),
        (lambda x: x.as_strided((9,), (1,)), RuntimeError, "out of bounds for storage of size 24"),
    ],
)
def test_what_needs_data_or_does_not_fit_is_refused(
    call: Callable[[Any], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        call(meta(2, 3))


def test_copying_in_checks_the_shape_only() -> None:
    x = meta(2, 3)
    assert x.copy_(ones(3)) is x
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.copy_(ones(4, 2, 3))


def test_a_tensor_moves_to_meta_with_its_strides() -> None:
    moved = randn(2, 3).t().to("meta")
    assert moved.shape == (3, 2)
    assert moved.stride() == (1, 3)
    assert empty_like(moved, device="cpu").is_cpu


@pytest.mark.cpu_only(reason="only 0-dim tensors of the cpu join in")
def test_a_zero_dim_cpu_tensor_joins_in() -> None:
    assert (meta(2) + tensor(1.0)).shape == (2,)


@pytest.mark.parametrize(
    "key", [0, slice(1, None), (slice(None), None, 1), (..., 0), (1, slice(None, None, 2))], ids=str
)
def test_a_meta_array_is_indexed_like_any_array(key: Any) -> None:
    import numpy as np

    from dovetail_kernel import float32

    array, model = MetaArray((2, 4), float32), np.zeros((2, 4), np.float32)
    assert array[key].shape == model[key].shape
    assert array[key].size == model[key].size


def test_a_meta_array_has_the_attributes_of_one() -> None:
    from dovetail_kernel import float32

    array = MetaArray((2, 4), float32)
    assert (array.T.shape, array.strides, array.nbytes, array.itemsize, len(array)) == (
        (4, 2),
        (16, 4),
        32,
        4,
        2,
    )
    assert array.reshape(4, -1).shape == (4, 2)
    with pytest.raises(ValueError, match="cannot reshape array of size 8"):
        array.reshape(3)


def test_gradients_of_broadcast_and_shared_operands_have_the_shapes_of_the_operands() -> None:
    x, y = meta(2, 3).requires_grad_(), meta(3).requires_grad_()
    (x * y + y).sum().backward()
    assert (x.grad.shape, y.grad.shape, y.grad.device.type) == ((2, 3), (3,), "meta")


def test_gradients_on_meta_lie_as_their_leaves_do() -> None:
    x = meta(3, 2).t().detach().requires_grad_()
    x.sum().backward()
    assert x.grad.stride() == x.stride()


@pytest.mark.parametrize("name", DATA_DEPENDENT)
def test_operators_whose_shape_depends_on_data_have_no_meta_kernel(name: str) -> None:
    assert not any(op.newest(DispatchKey.Meta) for op in registry.operators[name].values())


def test_a_view_of_a_tensor_without_dimensions_or_elements_shares_its_memory() -> None:
    for x in (meta((), dtype=complex64), meta(0, 3, dtype=complex64)):
        once = functions.view_as_real(x[...])
        again = functions.view_as_complex(once)
        assert once.array.base is x.array
        assert (again.array.base, again.shape) == (x.array, x.shape)

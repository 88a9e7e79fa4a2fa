"""Tensors around arrays: of which class, in which state, and with another array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import (
    AutogradInterface,
    Backend,
    DatalessArray,
    TensorBase,
    bump_version,
    replace_array,
    set_grad_enabled,
    set_tensor_class,
    share_storage,
    show_view,
    tensor_class,
    wrap,
)
from dovetail_kernel.keys import inference_mode_on, inside_transform
from dovetail_kernel.keys.state import StateGuard
from dovetail_kernel.signature import DTYPE_MASK, NORMAL, OVERRIDES, ZERO_DIM
from dovetail_kernel.sockets import AUTOGRAD, TENSOR_CLASS
from dovetail_kernel.tensor import InsideCounter, bare_tensor_maker, new_tensors, next_transform
from dovetail_kernel.types.dtype import float64, int16

Make = Callable[..., TensorBase]


@pytest.fixture
def no_class(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test set the class of new tensors, as if none existed yet."""
    monkeypatch.setattr(TENSOR_CLASS, "plug", None)
    monkeypatch.setattr(TENSOR_CLASS, "is_filled", False)
    monkeypatch.setattr(new_tensors, "_frozen", False)
    tensor_class.cache_clear()
    yield
    tensor_class.cache_clear()


class Own(TensorBase):
    """What a base library calls Tensor."""


class Other(TensorBase):
    """Another class of tensors."""


def test_new_tensors_are_of_the_class_that_the_base_library_sets(
    no_class: None, npt: Backend
) -> None:
    set_tensor_class(Own)
    set_tensor_class(Own)
    assert TENSOR_CLASS.is_filled
    assert type(wrap(np.zeros(2), npt)) is tensor_class() is Own
    assert type(wrap(np.zeros(2), npt, Other)) is Other
    assert type(bare_tensor_maker()()) is Own


def test_without_a_base_library_they_are_of_the_kernels_own_class(
    no_class: None, npt: Backend
) -> None:
    assert type(wrap(np.zeros(2), npt)) is TensorBase


def test_the_class_is_set_once(no_class: None) -> None:
    set_tensor_class(Own)
    with pytest.raises(RuntimeError, match=r"is Own already .* cannot become Other"):
        set_tensor_class(Other)


def test_the_class_is_not_set_after_the_first_tensor(no_class: None, npt: Backend) -> None:
    wrap(np.zeros(2), npt)
    with pytest.raises(RuntimeError, match=r"is TensorBase already .* cannot become Own"):
        set_tensor_class(Own)
    assert tensor_class() is TensorBase


def test_a_new_tensor_is_a_leaf_that_nothing_was_done_to(tensor: Make) -> None:
    x = tensor([1.0])
    assert (x._grad_fn, x.output_nr, x._storage, x._counter, x._meta) == (None, 0, None, None, None)


def test_a_scalar_object_becomes_an_array(npt: Backend) -> None:
    x = wrap(np.float64(2.5), npt, TensorBase)  # type: ignore[arg-type]  # what NumPy returns
    assert type(x.array) is np.ndarray and x.array.shape == () and x._signature & ZERO_DIM


def test_a_dataless_array_is_kept(npt: Backend) -> None:
    array = DatalessArray((2,), np.dtype("int16"))
    assert wrap(array, npt, TensorBase).array is array


def test_the_bits_of_the_class_are_in_the_signature(npt: Backend) -> None:
    class Overriding(TensorBase):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return func(*args)

    x, plain = wrap(np.zeros(2), npt, Overriding), wrap(np.zeros(2), npt, TensorBase)
    assert x._signature == plain._signature | OVERRIDES


def test_grad_mode_has_no_part_in_a_new_tensor(tensor: Make) -> None:
    set_grad_enabled(False)
    x = tensor([1.0])
    set_grad_enabled(True)
    assert x._signature == tensor([1.0])._signature and x._signature & NORMAL


@pytest.mark.parametrize("grad_mode", [True, False])
def test_memory_that_is_made_in_a_transform_is_marked(tensor: Make, grad_mode: bool) -> None:
    number = next_transform()
    with StateGuard(inside_transform):
        set_grad_enabled(grad_mode)
        x = tensor([1.0])
    assert isinstance(x._counter, InsideCounter) and x._counter.made == number
    assert not x.is_inference() and tensor([1.0])._counter is None


def test_a_transform_in_inference_mode_makes_inference_tensors(tensor: Make) -> None:
    next_transform()
    with StateGuard(inference_mode_on), StateGuard(inside_transform):
        x = tensor([1.0])
    assert x.is_inference() and isinstance(x._counter, InsideCounter)


# -- another array ---------------------------------------------------------------------------------


def test_another_array_brings_its_dtype_and_its_storage(tensor: Make) -> None:
    x = tensor(np.zeros(3))
    share_storage(x)
    bump_version(x)
    told: list[Any] = []
    x._meta = SimpleNamespace(array_replaced=told.append, grad=None)
    before, array = x._signature, np.array(4, "int16")
    replace_array(x, array)
    assert x.array is array and (x.dtype, x._storage, x._version) == (int16, None, 1)
    assert x._signature == before & ~DTYPE_MASK | int16.bit | ZERO_DIM
    assert len(told) == 1 and told[0] is array
    replace_array(x, np.zeros(2))
    assert x._signature == before and x.dtype is float64


class Asked(AutogradInterface):
    """Autograd that notes what it is told about an in-place view."""

    def __init__(self, allowed: bool = True) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.allowed = allowed

    def check_inplace_view(self, tensor: TensorBase, name: str) -> None:
        self.calls.append(("check", tensor, name))
        if not self.allowed:
            raise RuntimeError("not here")

    def take_history(self, tensor: TensorBase, view: TensorBase) -> None:
        self.calls.append(("take", tensor, view))


def test_a_tensor_shows_what_its_view_does(tensor: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(AUTOGRAD, "plug", asked)
    x = tensor(np.arange(6.0).reshape(2, 3))
    view = show_view(x, "t_", lambda: tensor(x.array.T))
    assert x.array is view.array and x.shape == (3, 2) and x._version == 1
    assert asked.calls == [("check", x, "t_"), ("take", x, view)]


def test_a_view_that_is_refused_changes_nothing(
    tensor: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AUTOGRAD, "plug", Asked(allowed=False))
    x = tensor(np.arange(6.0).reshape(2, 3))
    with pytest.raises(RuntimeError, match="not here"):
        show_view(x, "t_", lambda: tensor(x.array.T))
    assert x.shape == (2, 3) and x._version == 0


def test_a_wrapper_takes_the_attributes_of_its_view(npt: Backend, no_autograd: Any) -> None:
    int16_ = np.dtype("int16")
    x: Any = wrap(DatalessArray((2, 3), int16_), npt, Own)
    view: Any = wrap(DatalessArray((3, 2), int16_, (1, 3)), npt, Own)
    other: Any = wrap(DatalessArray((6,), int16_), npt, Other)
    x.inner, view.inner, other.inner = "before", "after", "of another class"
    show_view(x, "t_", lambda: view)
    assert x.inner == "after" and x.shape == (3, 2)
    show_view(x, "view_", lambda: other)
    assert x.inner == "after" and x.shape == (6,)

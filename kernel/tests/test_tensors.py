"""What a tensor says of itself: its array, its elements, its device and its version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import (
    Backend,
    DatalessArray,
    Device,
    Size,
    TensorBase,
    backend_of_signature,
    bump_version,
    share_version,
    strided,
    without_wrappers,
    wrap,
    wrapped_backend,
)
from dovetail_kernel.devices.known_devices import KNOWN_DEVICES
from dovetail_kernel.keys import inference_mode_on
from dovetail_kernel.keys.state import StateGuard
from dovetail_kernel.signature import DTYPE_MASK, INFERENCE, NORMAL, ZERO_DIM
from dovetail_kernel.tensor import KNOWN_SIZES, WritableCounter
from dovetail_kernel.types.dtype import DTYPES, float32, int16

Make = Callable[..., TensorBase]


class Wrapped:
    """The array of a tensor of a transform: what it wraps, as one array."""

    def __init__(self, physical: TensorBase) -> None:
        self.physical = physical
        self.shape, self.dtype = physical.array.shape, physical.array.dtype


def wrapper_of(physical: TensorBase) -> TensorBase:
    """Return a tensor of a transform that wraps `physical`."""
    tensor: Any = object.__new__(TensorBase)
    tensor.array = Wrapped(physical)
    tensor._signature = wrapped_backend().bit | physical._signature & DTYPE_MASK | NORMAL
    tensor._storage = tensor._counter = tensor._meta = tensor._grad_fn = None
    return tensor  # type: ignore[no-any-return]


# -- geometry --------------------------------------------------------------------------------------


def test_a_tensor_has_the_geometry_of_its_array(tensor: Make) -> None:
    x = tensor(np.zeros((4, 6), "int16")[::2, 1:4])
    assert (x.shape, x.size(), type(x.shape)) == (Size((2, 3)), Size((2, 3)), Size)
    assert (x.stride(), x.storage_offset()) == ((12, 1), 1)
    assert (x.dim(), x.ndim, x.numel(), x.nelement()) == (2, 2, 6, 6)
    assert (x.itemsize, x.element_size(), x.nbytes) == (2, 2, 12)


@pytest.mark.parametrize("read", ["size", "stride"])
def test_one_dimension_is_asked_for_from_either_end_and_by_both_names(
    tensor: Make, read: str
) -> None:
    x = tensor(np.zeros((4, 6)))
    ask = getattr(x, read)
    both = tuple(ask())
    assert (ask(0), ask(1), ask(-2), ask(-1)) == (*both, *both)
    assert (ask(dim=1), ask(axis=0), ask(axis=-1)) == (both[1], both[0], both[1])
    with pytest.raises(TypeError, match="'dim' and 'axis'"):
        ask(0, axis=0)
    for wrong in (2, -3):
        with pytest.raises(IndexError, match=rf"range of \[-2, 1\], but got {wrong}\)"):
            ask(wrong)


def test_a_scalar_has_no_dimension_to_ask_for(tensor: Make) -> None:
    x = tensor(2.5)
    assert (x.shape, x.stride(), x.dim(), x.numel()) == (Size(), (), 0, 1)
    for wrong in (0, -1):
        with pytest.raises(IndexError, match=r"range of \[-1, 0\]"):
            x.size(wrong)


def test_equal_shapes_are_one_size(tensor: Make) -> None:
    assert tensor(np.zeros((2, 3))).shape is tensor(np.ones((2, 3))).shape


def test_sizes_are_forgotten_when_they_become_many() -> None:
    for n in range(1100):
        assert KNOWN_SIZES[n, 7] == Size((n, 7))
    assert len(KNOWN_SIZES) <= 1024


# -- elements --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [d for d in DTYPES if d.name != "bfloat16"], ids=str)
def test_a_tensor_says_what_its_dtype_says(tensor: Make, kind: Any) -> None:
    x = tensor([1, 0], kind.name)
    assert x.dtype is kind
    assert (x.is_complex(), x.is_floating_point()) == (kind.is_complex, kind.is_floating_point)
    assert (x.is_signed(), x.itemsize) == (kind.is_signed, kind.itemsize)


def test_dtype_and_dimensions_are_bits_of_the_signature(tensor: Make, npt: Backend) -> None:
    scalar, line = tensor(np.array(1, "int16")), tensor(np.array([1], "int16"))
    assert scalar._signature == npt.bit | int16.bit | ZERO_DIM | NORMAL
    assert line._signature == npt.bit | int16.bit | NORMAL
    assert backend_of_signature(line._signature) is npt


def test_a_tensor_prints_its_shape_dtype_and_device(tensor: Make) -> None:
    assert (
        repr(tensor(np.zeros((2, 3), "float32")))
        == "<TensorBase of shape (2, 3), dovetail.float32 on npt>"
    )


def test_the_address_is_that_of_the_first_element(tensor: Make) -> None:
    array = np.arange(6.0)
    start = array.__array_interface__["data"][0]
    assert (tensor(array).data_ptr(), tensor(array[2:]).data_ptr()) == (start, start + 16)
    assert tensor(array[::-1]).data_ptr() == start + 40
    assert tensor(array[6:]).data_ptr() == 0


# -- device ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cpu", "cuda", "meta", "npt"])
def test_a_tensor_is_on_the_device_of_its_backend(
    backend_of: Callable[..., Backend], name: str
) -> None:
    x = wrap(np.zeros(2), backend_of(name), TensorBase)
    assert (x.device, x.device.index) == (Device(name), None)
    assert [x.is_cpu, x.is_cuda, x.is_meta] == [name == "cpu", name == "cuda", name == "meta"]


def test_a_tensor_of_several_devices_says_on_which_it_is(numbered: Backend) -> None:
    x = wrap(np.zeros(2), numbered, TensorBase)
    assert x.device == Device("npn", 1)
    assert x.untyped_storage().device == Device("npn", 1)
    assert x._signature not in KNOWN_DEVICES


def test_a_device_without_a_number_is_remembered_where_the_backend_has_no_numbers(
    tensor: Make, npt: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tensor(np.zeros(2, "int16"))
    KNOWN_DEVICES.pop(x._signature, None)
    assert x.device == Device("npt")
    assert x._signature not in KNOWN_DEVICES
    monkeypatch.setattr(type(npt.arrays), "is_unnumbered", True)
    assert x.device == Device("npt") == KNOWN_DEVICES[x._signature] == x.device
    del KNOWN_DEVICES[x._signature]


def test_remembered_devices_are_forgotten_when_they_become_many(
    tensor: Make, npt: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(npt.arrays), "is_unnumbered", True)
    x = tensor(np.zeros(2, "int16"))
    KNOWN_DEVICES.update({-n: Device("cpu") for n in range(1, 1100)})
    KNOWN_DEVICES.pop(x._signature, None)
    assert x.device == Device("npt")
    assert list(KNOWN_DEVICES) == [x._signature]
    KNOWN_DEVICES.clear()


def test_a_tensor_of_a_transform_is_where_the_wrapped_one_is(
    backend_of: Callable[..., Backend],
) -> None:
    inner = wrap(np.zeros(2), backend_of("cuda"), TensorBase)
    outer = wrapper_of(wrapper_of(inner))
    assert outer.device == Device("cuda")
    assert (outer.is_cuda, outer.is_cpu, outer.is_meta) == (True, False, False)
    assert without_wrappers(outer) is without_wrappers(inner) is inner


def test_the_storage_of_a_tensor_of_a_transform_is_where_the_wrapped_one_is(tensor: Make) -> None:
    from dovetail_kernel import Storage

    wrapper = wrapper_of(tensor([1.0]))
    assert Storage.of(wrapper.array, wrapped_backend()).device == Device("npt")


# -- what a tensor is not --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_vulkan"),
        *("is_xpu", "is_mps", "is_xla", "is_ipu", "is_maia", "is_mtia"),
    ],
)
def test_a_tensor_is_of_no_other_layout_or_device(tensor: Make, name: str) -> None:
    assert getattr(tensor([1.0]), name) is False


def test_every_tensor_is_strided_and_has_no_name(tensor: Make) -> None:
    x = tensor([1.0])
    assert x.layout is strided and x.name is None


def test_volatile_warns_and_does_nothing(tensor: Make) -> None:
    x: Any = tensor([1.0])
    with pytest.warns(UserWarning, match="volatile was removed") as read:
        assert x.volatile is False
    with pytest.warns(UserWarning, match="no_grad") as written:
        x.volatile = True
    assert [each[0].filename for each in (read, written)] == [__file__, __file__]


# -- versions --------------------------------------------------------------------------------------


def test_a_version_counts_writes_and_views_share_it(tensor: Make) -> None:
    x, view = tensor(np.zeros(4)), tensor(np.zeros(4))
    assert x._version == 0
    bump_version(x)
    assert (x._version, view._version) == (1, 0)
    view._counter = share_version(x)
    bump_version(view)
    bump_version(x)
    assert (x._version, view._version) == (3, 3)


def test_an_undefined_tensor_counts_no_write(tensor: Make) -> None:
    bump_version(None)
    with pytest.raises(AttributeError):
        bump_version(3)  # type: ignore[arg-type]  # no tensor


def test_an_inference_tensor_has_no_version_until_it_is_writable(tensor: Make) -> None:
    with StateGuard(inference_mode_on):
        x = tensor(np.zeros(2, "float32"))
    assert x.is_inference() and not tensor([1.0]).is_inference()
    assert x._signature & INFERENCE and not x._signature & NORMAL
    assert x.dtype is float32
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = x._version
    x._counter = WritableCounter(2)
    assert x._version == 2


# -- classes ---------------------------------------------------------------------------------------


def test_a_dataless_array_has_a_place_and_no_address(npt: Backend) -> None:
    x = wrap(DatalessArray((2, 3), np.dtype("int16"), (6, 2), 5), npt, TensorBase)
    assert (x.shape, x.stride(), x.storage_offset(), x.data_ptr()) == ((2, 3), (6, 2), 5, 0)
    storage = x.untyped_storage()
    assert (storage.nbytes(), storage.data_ptr()) == (0, 0)


def test_a_subclass_has_attributes_of_its_own(tensor: Make) -> None:
    class Named(TensorBase):
        pass

    x: Any = tensor([1.0], cls=Named)
    x.note = "kept"
    assert type(x) is Named and vars(x) == {"note": "kept"}
    assert repr(x).startswith("<Named of shape (1,)")

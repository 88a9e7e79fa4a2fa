"""Methods of tensors and storages that old programs call."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def plain(value: Any) -> Any:
    """A value without the library it is of."""
    if isinstance(value, torch.Tensor | dovetail.Tensor):
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.tolist()
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, type):
        return value.__name__
    return re.sub(r"^(torch|dovetail)\.", "", value) if isinstance(value, str) else value


def same(program: Any) -> Any:
    """What a program gives with Dovetail, after PyTorch gave the same."""
    results = []
    for lib in (torch, dovetail):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results.append(plain(program(lib)))
            except Exception as error:
                results.append(type(error))
    assert results[0] == results[1]
    return results[1]


TENSORS = {
    "deleting": lambda lib: lib.ones(2).__delitem__(0),
    "dequantize": lambda lib: lib.ones(2, dtype=lib.float16).dequantize(),
    "dequantize integers": lambda lib: lib.ones(2, dtype=lib.int8).dequantize(),
    "distributed": lambda lib: lib.ones(2).is_distributed(),
    "reinforce": lambda lib: lib.ones(2).reinforce(1),
    "resize": lambda lib: lib.arange(6).reshape(2, 3).t().resize(3, 2),
    "resize to more": lambda lib: lib.arange(6).resize(7),
    "resize_as": lambda lib: lib.arange(6).resize_as(lib.ones(2, 3)),
    "storage_type": lambda lib: lib.ones(2, dtype=lib.float64, device="cpu").storage_type(),
    "all true": lambda lib: lib.tensor([True, False])._is_all_true(),
    "any true": lambda lib: lib.tensor([True, False])._is_any_true(),
    "all true of floats": lambda lib: lib.ones(2)._is_all_true(),
    "zero tensor": lambda lib: lib.zeros(2)._is_zerotensor(),
    "symbols": lambda lib: lib.ones(2)._has_symbolic_sizes_strides,
}


@pytest.mark.parametrize("name", TENSORS)
def test_methods_of_tensors(name: str) -> None:
    same(TENSORS[name])


def test_the_address_to_read_from_is_the_address() -> None:
    x = dovetail.ones(2)
    assert x.const_data_ptr() == x.data_ptr()


def test_a_tensor_that_was_resized_has_a_gradient() -> None:
    def program(lib: Any) -> Any:
        x = lib.arange(6.0, requires_grad=True)
        (x.resize(2, 3) * 2).sum().backward()
        return x.grad

    same(program)


def test_states_of_old_pickles() -> None:
    def by_storage(lib: Any) -> Any:
        x = lib.ones(2, 3)
        x.__setstate__((lib.arange(6.0).untyped_storage(), 1, (2, 2), (3, 1)))
        return x

    def by_typed_storage(lib: Any) -> Any:
        x = lib.ones(2, 3)
        x.__setstate__((lib.arange(6.0).storage(), 0, (3,), (2,)))
        return x

    def by_grad(lib: Any) -> Any:
        x = lib.ones(2)
        x.__setstate__((True, None, {}))
        return x.requires_grad

    assert same(by_storage)[2] == [[1.0, 2.0], [4.0, 5.0]]
    same(by_typed_storage)
    assert same(by_grad) is True
    same(lambda lib: lib.ones(2).__setstate__((1, 2, 3)))
    same(lambda lib: lib.ones(2).__setstate__((1, 2)))
    same(lambda lib: (lib.ones(2, requires_grad=True) * 2).__setstate__((True, None, {})))


def test_tensors_with_attributes_are_copied_and_pickled_as_before() -> None:
    x = dovetail.nn.Parameter(dovetail.ones(2))
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made.tolist() == [1.0, 1.0]
        assert made.requires_grad


def test_streams_of_another_device_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="synchronize"):
        dovetail.ones(2).record_stream(None)


STORAGES = {
    "type": lambda s: s.type(),
    "another type": lambda s: s.type("torch.DoubleStorage"),
    "pinned": lambda s: s.is_pinned(),
    "layout": lambda s: (s.is_sparse, s.is_hpu),
    "sizes": lambda s: (s._size(), s._nbytes(), s._element_size()),
    "dtype": lambda s: str(s._dtype),
    "shared": lambda s: (s._is_shared(), s._share_memory_()._is_shared()),
    "items": lambda s: (s._setitem(0, 5.0), s._getitem(0)),
    "resize": lambda s: (s._resize_(2), len(s)),
    "class": lambda s: s._get_legacy_storage_class(),
    "name": lambda s: s._pickle_storage_type(),
    "address": lambda s: s._data_ptr() == s.data_ptr(),
    "device": lambda s: s.to(device="cpu").tolist(),
}


@pytest.mark.cpu_only(reason="legacy storages on the CPU have names without a device")
@pytest.mark.parametrize("name", STORAGES)
def test_methods_of_typed_storages(name: str) -> None:
    same(lambda lib: STORAGES[name](lib.arange(4.0).storage()))


@pytest.mark.cpu_only(reason="the names of storages on other devices are of their own")
def test_methods_of_untyped_storages() -> None:
    def program(lib: Any) -> Any:
        storage = lib.ones(2).untyped_storage()
        return storage.type(), storage.is_pinned(), storage.is_sparse_csr, storage.is_sparse

    same(program)
    same(lambda lib: isinstance(lib.ones(2).untyped_storage(), lib.storage._StorageBase))


@pytest.mark.cpu_only(reason="page-locked memory is of the host")
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device to pin memory for")
def test_storages_are_not_pinned_without_a_device() -> None:
    same(lambda lib: lib.ones(2).untyped_storage().pin_memory())
    same(lambda lib: lib.ones(2).storage().pin_memory())

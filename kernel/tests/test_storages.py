"""Storages: the memory that tensors share, and memory of another size for all of them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import (
    Allocator,
    Backend,
    DatalessArray,
    DataPtr,
    Device,
    Storage,
    TensorBase,
    is_writable,
    make_writable,
    new_storage,
    resize_storage,
    share_storage,
    tensors_on_storage,
    wrap,
)
from dovetail_kernel.devices.memory import new_memory
from dovetail_kernel.sockets import STORAGE_CLASS
from dovetail_kernel.tensor import has_own_storage, holders, is_resizable, is_shared, move_storage

Make = Callable[..., TensorBase]


@pytest.fixture(autouse=True)
def plain_storages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make storages of the kernel's own class, whatever the process has loaded."""
    monkeypatch.setattr(STORAGE_CLASS, "plug", None)


@pytest.fixture
def view(npt: Backend) -> Callable[..., TensorBase]:
    """Makes tensors that show a part of the array of another, on its storage."""

    def make(of: TensorBase, array: Any) -> TensorBase:
        made = wrap(array, npt, TensorBase)
        made._storage = share_storage(of)
        return made

    return make


@pytest.fixture
def pool(npt: Backend, monkeypatch: pytest.MonkeyPatch, host_memory: Any) -> Allocator:
    """An allocator for the backend of NumPy arrays."""

    class Pool(Allocator):
        def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
            return host_memory(nbytes)  # type: ignore[no-any-return]

    pool = Pool()
    monkeypatch.setattr(type(npt.arrays), "allocator", pool)
    return pool


# -- what a storage is -----------------------------------------------------------------------------


def test_a_tensor_has_one_storage_of_the_memory_that_its_array_shows(tensor: Make) -> None:
    whole = np.arange(6.0)
    x = tensor(whole[2:4])
    storage = x.untyped_storage()
    assert storage is x.untyped_storage() is share_storage(x)
    assert type(storage) is Storage and storage.array is whole
    assert (storage.nbytes(), storage.size(), len(storage)) == (48, 48, 48)
    assert storage.data_ptr() == whole.__array_interface__["data"][0]
    assert storage.device == Device("npt")
    assert repr(storage) == "<Storage of 48 bytes on npt>"


def test_the_class_of_storages_is_that_of_the_base_library(
    tensor: Make, npt: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Untyped(Storage):
        __slots__ = ()

    monkeypatch.setattr(STORAGE_CLASS, "plug", Untyped)
    assert type(tensor([1.0]).untyped_storage()) is Untyped
    assert type(new_storage(npt, 8)) is Untyped


def test_new_storages_have_the_bytes_that_were_asked_for(npt: Backend) -> None:
    assert [new_storage(npt, n).nbytes() for n in (0, 1, 100)] == [0, 1, 100]
    with pytest.raises(RuntimeError, match="negative number: -1"):
        new_storage(npt, -1)


def test_the_bytes_of_memory_reach_from_the_lowest_to_the_highest(npt: Backend) -> None:
    whole = np.arange(24, dtype="int16").reshape(4, 6)
    start = whole.__array_interface__["data"][0]
    bounds = npt.arrays.byte_bounds
    assert bounds(whole) == (start, start + 48)
    assert bounds(whole[1:3, 2:4]) == (start + 16, start + 12 + 12 + 8)
    assert bounds(whole[::-1, ::-2]) == (start + 2, start + 48)
    empty = whole[2:2]
    assert bounds(empty) == (npt.arrays.data_ptr(empty),) * 2
    assert npt.arrays.memory_bounds(whole[2:3, 1:]) == (start, start + 48)


def test_bounds_are_known_of_arrays_without_strides_in_bytes(npt: Backend) -> None:
    whole = np.arange(6, dtype="int16")

    class Columns:
        shape, dtype = (3, 2), whole.dtype
        __array_interface__ = whole.__array_interface__

    class Arrays(type(npt.arrays)):  # type: ignore[misc]
        def strides(self, array: Any) -> tuple[int, ...]:
            return (1, 3) if isinstance(array, Columns) else super().strides(array)

    columns: Any = Columns()
    start = whole.__array_interface__["data"][0]
    assert Arrays().byte_bounds(columns) == (start, start + 12)


def test_the_place_of_memory_is_its_address_and_size(
    tensor: Make, npt: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = np.arange(6.0)
    x, y = tensor(whole), tensor(whole[1:])
    start = whole.__array_interface__["data"][0]
    place = (start, 48, "npt")
    assert x.untyped_storage().place() == y.untyped_storage().place() == place
    monkeypatch.setattr(type(npt.arrays), "mutable_arrays", False)
    assert x.untyped_storage().place() != y.untyped_storage().place()
    assert x.untyped_storage().place() == (id(x.untyped_storage()), 0, "npt")


def test_memory_comes_from_the_allocator_of_a_backend(pool: Allocator, npt: Backend) -> None:
    storage = new_storage(npt, 40)
    assert storage.nbytes() == 40 == pool.statistics().allocated_bytes
    pointer = npt.arrays.pointer_of(storage.array)
    assert pointer is not None and pointer.get() == storage.data_ptr()
    del storage, pointer
    assert pool.statistics().allocated_bytes == 0


def test_an_allocator_without_arrays_says_what_is_missing(npt: Backend) -> None:
    from dovetail_kernel import ArrayBackend

    class Half(ArrayBackend):
        allocator = Allocator()

    with pytest.raises(NotImplementedError, match=r"bytes_at\(self, pointer\)"):
        Half().bytes_at(DataPtr(0, 0))
    with pytest.raises(NotImplementedError, match="cannot show a part of some memory by strides"):
        Half().as_view(None, None, (), (), 0)


# -- who shows it ----------------------------------------------------------------------------------


def test_all_tensors_on_a_storage_are_found(tensor: Make, view: Make) -> None:
    x = tensor(np.arange(6.0))
    y = view(x, x.array[1:])
    other = tensor(np.arange(6.0))
    other.untyped_storage()
    found = tensors_on_storage(x.untyped_storage())
    assert {id(each) for each in found} == {id(x), id(y)}


def test_a_storage_is_a_tensors_own_until_another_object_holds_it(tensor: Make, view: Make) -> None:
    x = tensor(np.arange(6.0))
    assert has_own_storage(x)  # it has none yet
    x.untyped_storage()
    assert has_own_storage(x)
    y = view(x, x.array[1:])
    assert not has_own_storage(x) and not has_own_storage(y)
    assert has_own_storage(x, others=1)
    del y
    assert has_own_storage(x)


def test_holders_are_counted_besides_the_container() -> None:
    held = [np.zeros(2)]
    assert holders(held, 0) == 0 and not is_shared(held, 0)
    another = held[0]
    assert holders(held, 0) == 1 and is_shared(held, 0)
    assert not is_shared(held, 0, others=1)
    del another
    table = {"it": object()}
    assert holders(table, "it") == 0


def test_an_array_is_shared_if_its_base_is() -> None:
    base = np.zeros(4)
    held = [base[1:]]
    assert is_shared(held, 0)
    del base
    assert not is_shared(held, 0)


# -- resizing --------------------------------------------------------------------------------------


def test_a_storage_grows_and_keeps_what_it_held(tensor: Make) -> None:
    x = tensor(np.arange(6, dtype="int32"))
    storage = x.untyped_storage()
    resize_storage(storage, 100, x)
    assert storage.nbytes() == 100 and x.array.tolist() == [0, 1, 2, 3, 4, 5]
    assert x.array.base is storage.array


def test_every_tensor_moves_along(tensor: Make, view: Make) -> None:
    x = tensor(np.arange(12, dtype="int16").reshape(3, 4))
    array = x.array
    views = [
        view(x, each)
        for each in (array.T, array[1:, ::2], array[::-1], array[2:2], array.view("int8")[0])
    ]
    before = [each.array.tolist() for each in views]
    del array
    resize_storage(x.untyped_storage(), 64)
    assert [each.array.tolist() for each in views] == before
    x.array[...] = 0
    assert not views[0].array.any() and not views[2].array.any()


def test_a_tensor_beyond_the_new_end_has_no_data_until_there_is_room(
    tensor: Make, view: Make
) -> None:
    x = tensor(np.arange(6, dtype="int32"))
    inside, last, empty = view(x, x.array[:3]), view(x, x.array[4:]), view(x, x.array[6:])
    storage = x.untyped_storage()
    resize_storage(storage, 12)
    assert inside.array.tolist() == [0, 1, 2]
    assert (x.array.__class__, last.array.__class__) == (DatalessArray, DatalessArray)
    assert empty.array.shape == (0,) and empty.array.__class__ is np.ndarray
    assert (last.shape, last.stride(), last.storage_offset()) == ((2,), (1,), 4)
    with pytest.raises(
        RuntimeError,
        match=r"shape \[2\] has no data: .* resized to 12 bytes, and the elements end at byte 24",
    ):
        last.array[0]
    resize_storage(storage, 24)
    assert x.array[:3].tolist() == [0, 1, 2]
    x.array[4:] = 9
    assert last.array.tolist() == [9, 9]


def test_exactly_enough_bytes_are_enough(tensor: Make, view: Make) -> None:
    x = tensor(np.arange(6, dtype="int32"))
    part = view(x, x.array[1:3])
    resize_storage(x.untyped_storage(), 12)
    assert part.array.tolist() == [1, 2]
    resize_storage(x.untyped_storage(), 11)
    assert part.array.__class__ is DatalessArray


def test_a_storage_without_bytes_holds_nothing(tensor: Make) -> None:
    x = tensor(np.arange(3.0))
    resize_storage(x.untyped_storage(), 0, x)
    assert x.untyped_storage().nbytes() == 0 and x.array.__class__ is DatalessArray
    resize_storage(x.untyped_storage(), 24, x)
    assert x.array.shape == (3,)


def test_a_tensor_between_elements_cannot_lose_its_data(tensor: Make, view: Make) -> None:
    x = tensor(np.zeros(12, "uint8"))
    odd = np.ndarray((2,), "int32", x.array, 2, (4,))
    y = view(x, odd)
    del odd
    with pytest.raises(RuntimeError, match="lies between the elements of its dtype"):
        resize_storage(x.untyped_storage(), 4)
    assert x.untyped_storage().nbytes() == 12 and y.array.shape == (2,)


def test_whoever_shows_the_array_is_told_where_it_is(tensor: Make) -> None:
    x = tensor(np.arange(3.0))
    told: list[Any] = []
    x._meta = SimpleNamespace(array_replaced=told.append, grad=None)
    resize_storage(x.untyped_storage(), 48, x)
    assert len(told) == 1 and told[0] is x.array


def _array(x: TensorBase) -> Any:
    return x.array


def _slice(x: TensorBase) -> Any:
    return x.array[1:]


def _memory(x: TensorBase) -> Any:
    return x.untyped_storage().array


@pytest.mark.parametrize("hold", [_array, _slice, _memory])
def test_memory_that_something_else_shows_is_not_left(tensor: Make, hold: Any) -> None:
    x = tensor(np.arange(6.0))
    storage = x.untyped_storage()
    assert is_resizable(storage)
    held = hold(x)
    assert not is_resizable(storage)
    with pytest.raises(RuntimeError, match=r"not resizable: its 48 bytes are shown by something"):
        resize_storage(storage, 8, x)
    assert x.array.tolist() == [0, 1, 2, 3, 4, 5]
    del held
    gc.collect()
    assert is_resizable(storage)
    resize_storage(storage, 8)


def test_memory_of_others_is_not_left(tensor: Make, npt: Backend, pool: Allocator) -> None:
    foreign = tensor(np.frombuffer(bytearray(16), "int32"))
    with pytest.raises(RuntimeError, match="not resizable: its 16 bytes belong to another library"):
        resize_storage(foreign.untyped_storage(), 8, foreign)
    assert not is_resizable(foreign.untyped_storage())
    shared = new_storage(npt, 24)
    resize_storage(shared, 32)
    pointer = npt.arrays.pointer_of(shared.array)
    assert pointer is not None
    pointer.is_shared = True
    del pointer
    with pytest.raises(RuntimeError, match="its 32 bytes belong to several processes"):
        resize_storage(shared, 8)
    none = wrap(DatalessArray((2,), np.dtype("int16")), npt, TensorBase)
    with pytest.raises(RuntimeError, match="belong to the class of a wrapper subclass"):
        resize_storage(none.untyped_storage(), 8)


def test_a_storage_moves_to_given_memory_even_if_an_array_shows_the_old(tensor: Make) -> None:
    x = tensor(np.arange(6, dtype="int16"))
    kept = x.array
    memory = np.zeros(20, "uint8")
    move_storage(x.untyped_storage(), lambda: memory)
    assert x.untyped_storage().array is memory and x.array.tolist() == kept.tolist()
    x.array[0] = 7
    assert kept[0] == 0 and memory[0] == 7


# -- writing ---------------------------------------------------------------------------------------


def test_an_array_says_whether_it_can_be_written() -> None:
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    unsaid: Any = object()
    assert [is_writable(each) for each in (np.zeros(2), fixed, unsaid)] == [True, False, True]


def test_a_part_of_writable_memory_becomes_writable_in_its_place(tensor: Make) -> None:
    whole = np.arange(6.0)
    part = whole[1:3]
    part.flags.writeable = False
    x = tensor(part)
    assert make_writable(x)
    x.array[0] = 9
    assert whole.tolist() == [0, 9, 2, 3, 4, 5]


def test_elements_that_share_memory_stay_read_only(tensor: Make) -> None:
    x = tensor(np.broadcast_to(np.zeros(1).copy(), (3, 1)))
    assert not make_writable(x) and not is_writable(x.array)


def test_read_only_memory_is_left_with_every_tensor_on_it(tensor: Make, view: Make) -> None:
    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    x = tensor(fixed)
    y = view(x, x.array[1:])
    assert make_writable(x)
    x.array[1] = 9
    assert (y.array.tolist(), fixed.tolist()) == ([9, 2, 3], [0, 1, 2, 3])
    alone = tensor(fixed)
    assert make_writable(alone) and alone.array is not fixed


def test_a_tensor_without_data_does_not_become_writable(npt: Backend) -> None:
    assert not make_writable(wrap(DatalessArray((2,), np.dtype("int16")), npt, TensorBase))


def test_new_memory_is_a_line_of_bytes(npt: Backend) -> None:
    memory = new_memory(npt.arrays, 12, None)
    assert (memory.dtype, memory.shape) == (np.uint8, (12,))
    with pytest.raises(RuntimeError, match="negative number: -3"):
        new_memory(npt.arrays, -3, None)

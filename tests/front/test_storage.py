"""Storages: memory that tensors share, moves with all of them, and is freed once."""

from __future__ import annotations

import gc
import io
import os
import pickle
import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail_kernel import Allocator, DataPtr, backend

pytestmark = [
    pytest.mark.cpu_only(reason="memory of other devices is not NumPy's"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

NO_DATA = r"A tensor of shape \[6\] has no data: its storage was resized to 8 bytes"
READERS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda x, other: x + 1,
    "the other operand": lambda x, other: other * x,
    "a reduction": lambda x, other: x.sum(),
    "numbers": lambda x, other: x.tolist(),
    "numpy": lambda x, other: x.numpy(),
    "indexing": lambda x, other: x[0],
    "a view": lambda x, other: x.view(2, 3),
    "a view by strides": lambda x, other: x.as_strided((2,), (1,)),
    "a write": lambda x, other: x.fill_(1),
    "a write by an operator": lambda x, other: x.add_(1),
    "a copy into it": lambda x, other: x.copy_(other),
    "a copy of it": lambda x, other: other.copy_(x),
    "an item": lambda x, other: x[1:2].item(),
    "out=": lambda x, other: dovetail.add(other, other, out=x),
    "joining": lambda x, other: dovetail.cat([other, x]),
    "deepcopy": lambda x, other: deepcopy(x),
    "pickle": lambda x, other: pickle.dumps(x),
    "saving": lambda x, other: dovetail.save(x, io.BytesIO()),
    "DLPack": lambda x, other: x.__dlpack__(),
    "randomness": lambda x, other: x.normal_(),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_tensor_beyond_its_storage_cannot_be_read_or_written(reader: str) -> None:
    x, other = dovetail.arange(6.0), dovetail.ones(6)
    x.untyped_storage().resize_(8)
    with pytest.raises((RuntimeError, TypeError), match=f"{NO_DATA}|DatalessArray"):
        READERS[reader](x, other)
    assert other.tolist() == [1.0] * 6
    x.untyped_storage().resize_(24)
    assert x.fill_(3).tolist() == [3.0] * 6


def test_a_tensor_within_a_smaller_storage_keeps_its_elements() -> None:
    x = dovetail.arange(6.0)
    first, second = x[:2], x[2:4]
    x.untyped_storage().resize_(8)
    assert first.tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError, match=r"A tensor of shape \[2\] has no data"):
        second.tolist()
    first.resize_(6).fill_(4)
    assert x.tolist() == [4.0] * 6
    assert second.tolist() == [4.0, 4.0]


def test_parameters_can_be_freed_and_filled_between_forward_steps() -> None:
    layer = dovetail.nn.Linear(3, 2)
    storage, size = layer.weight.untyped_storage(), layer.weight.untyped_storage().nbytes()
    storage.resize_(0)
    with pytest.raises(RuntimeError, match="has no data"):
        layer(dovetail.ones(1, 3))
    storage.resize_(size)
    layer.weight.data.fill_(2.0)
    layer(dovetail.ones(1, 3)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0] * 3] * 2


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "numpy": dovetail.Tensor.numpy,
    "a view of it": lambda x: x.numpy()[2:],
    "DLPack": np.from_dlpack,
    "a slice of the storage": lambda x: x.untyped_storage()[4:8],
    "the array itself": lambda x: x.array,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_memory_that_something_else_shows_is_not_left(holder: str) -> None:
    x = dovetail.arange(6.0)
    view = x[1:]
    held = HOLDERS[holder](x)
    assert not x.untyped_storage().resizable()
    for call in (lambda: x.resize_(7), lambda: x.untyped_storage().resize_(4)):
        with pytest.raises(
            RuntimeError, match=r"Trying to resize storage that is not resizable: .*Let go of it"
        ):
            call()
    assert (x.tolist(), view.tolist(), x._version) == ([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], 0)
    del held
    gc.collect()
    x.resize_(7)
    view.fill_(9)
    assert x[:6].tolist() == [0] + [9] * 5


def test_memory_of_another_library_is_not_left() -> None:
    x = dovetail.from_dlpack(np.arange(6.0))
    with pytest.raises(RuntimeError, match="not resizable: its 48 bytes belong to another library"):
        x.resize_(7)
    whole = np.arange(8.0)
    part = dovetail.from_numpy(whole[2:6])
    with pytest.raises(RuntimeError, match="not resizable"):
        part.resize_(5)
    assert part.resize_(2).tolist() == [2.0, 3.0]


def test_all_tensors_move_along_however_they_were_made() -> None:
    x = dovetail.arange(12.0).reshape(3, 4).clone()
    views = [
        x,
        x.t(),
        x[1],
        x[:, 1:3],
        x.as_strided((2, 2), (5, 1), 1),
        x.diagonal(),
        x.detach(),
        x.data,
        x.view(dovetail.int32),
        x[2].expand(2, 4),
        x.as_strided((2,), (1,), 3)[1:],
    ]
    before = [each.tolist() for each in views]
    x.untyped_storage().resize_(100)
    assert [each.tolist() for each in views] == before
    x.data.mul_(2.0)
    assert views[1].tolist() == [[2 * n for n in row] for row in before[1]]
    assert len({each.untyped_storage() for each in views}) == 1


def test_a_view_without_elements_grows_from_its_own_place_on() -> None:
    x = dovetail.arange(6.0)
    x[2:2].resize_(2).fill_(-1.0)
    assert x.tolist() == [0, 1, -1, -1, 4, 5]
    dovetail.mul(dovetail.ones(2), 7.0, out=x[4:4])
    assert x.tolist() == [0, 1, -1, -1, 7, 7]
    assert x[6:].resize_(2).storage_offset() == 6
    assert x.untyped_storage().nbytes() == 32
    assert x.resize_(0).resize_(6).tolist() == [0, 1, -1, -1, 7, 7]


def test_a_transformed_tensor_has_no_memory_to_resize() -> None:
    with pytest.raises(RuntimeError, match="resize_"):
        dovetail.func.vmap(lambda x: x.clone().resize_(2))(dovetail.ones(3, 4))
    with pytest.raises(RuntimeError, match="set_"):
        dovetail.func.vmap(lambda x: x.clone().set_())(dovetail.ones(3, 4))


def test_a_dispatch_mode_sees_the_operators() -> None:
    from dovetail.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, y = dovetail.arange(6.0), dovetail.ones(2)
    with Log():
        x.resize_(2)
        x.set_(y)
        x.set_(y.untyped_storage())
    assert seen == ["aten.resize_.default", "aten.set_.source_Tensor", "aten.set_.source_Storage"]


# -- the allocator ---------------------------------------------------------------------------------


def test_memory_of_a_storage_is_aligned_counted_and_freed() -> None:
    allocator = backend("cpu").arrays.allocator
    assert allocator is not None
    gc.collect()
    before = allocator.statistics()
    storages = [dovetail.UntypedStorage(1000) for _ in range(3)]
    assert all(storage.data_ptr() % 64 == 0 for storage in storages)
    during = allocator.statistics()
    assert during.allocated_bytes == before.allocated_bytes + 3000
    assert (during.allocations, during.total_allocations) == (
        (before.allocations or 0) + 3,
        (before.total_allocations or 0) + 3,
    )
    x = dovetail.empty(0).set_(storages[0])
    del storages
    assert allocator.statistics().allocated_bytes == before.allocated_bytes + 1000
    x.set_()
    after = allocator.statistics()
    assert after.allocated_bytes == before.allocated_bytes
    assert (after.peak_allocated_bytes or 0) >= before.allocated_bytes + 3000
    allocator.reset_peak()
    assert allocator.statistics().peak_allocated_bytes == before.allocated_bytes


def test_a_deleter_is_called_once_with_its_context() -> None:
    freed: list[Any] = []
    pointer = DataPtr(64, 16, "context", freed.append)
    assert (pointer.get(), pointer.nbytes, pointer.get_context()) == (64, 16, "context")
    assert pointer.get_deleter() == freed.append
    assert freed == []
    del pointer
    assert freed == ["context"]


def test_an_allocator_counts_by_device_and_refuses_what_is_not_there() -> None:
    released = []

    class Pool(Allocator):
        def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
            if nbytes > 100:
                raise MemoryError
            return 4096, (device_index, nbytes)

        def release(self, context: Any) -> None:
            released.append(context)

    pool = Pool()
    first, second = pool.allocate(10, 0), pool.allocate(20, 1)
    assert [pool.statistics(n).allocated_bytes for n in (0, 1, 2)] == [10, 20, 0]
    with pytest.raises(
        RuntimeError, match="can't allocate memory: you tried to allocate 101 bytes"
    ):
        pool.allocate(101, 0)
    with pytest.raises(RuntimeError, match="negative number: -1"):
        pool.allocate(-1)
    del first, second
    assert sorted(released) == [(0, 10), (1, 20)]
    assert pool.statistics(1).peak_allocated_bytes == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked elsewhere")
def test_a_forked_process_writes_to_shared_memory() -> None:
    x = dovetail.arange(3.0).share_memory_()
    child = os.fork()
    if child == 0:
        x.array[:] = 7  # nothing that takes a lock
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [7.0, 7.0, 7.0]
    with pytest.raises(RuntimeError, match="belong to several processes"):
        x.resize_(4)


# -- copies ----------------------------------------------------------------------------------------


def test_storages_are_pickled_and_copied_with_what_they_share() -> None:
    x = dovetail.arange(6.0)
    x.resize_(8)[6:] = 0
    view, storage = x[2:4], x.untyped_storage()
    for copied in (deepcopy([x, view, storage]), pickle.loads(pickle.dumps([x, view, storage]))):
        copied[0].fill_(5)
        assert copied[1].tolist() == [5.0, 5.0]
        assert copied[2] is copied[0].untyped_storage() is copied[1].untyped_storage()
        assert copied[2].nbytes() == 32
    typed = pickle.loads(pickle.dumps(dovetail.FloatStorage([1, 2])))
    assert typed.tolist() == [1.0, 2.0]
    file = io.BytesIO()
    dovetail.save([x, view], file)
    file.seek(0)
    loaded, part = dovetail.load(file)
    loaded.fill_(1)
    assert part.tolist() == [1.0, 1.0]


def test_a_long_storage_is_printed_without_its_middle() -> None:
    text = repr(dovetail.UntypedStorage(5000).fill_(3))
    assert text.count("\n") == 7
    assert text.endswith("[dovetail.UntypedStorage(device=cpu) of size 5000]")
    assert repr(dovetail.UntypedStorage([1, 2])) == (
        " 1\n 2\n[dovetail.UntypedStorage(device=cpu) of size 2]"
    )


def test_storage_says_that_it_is_deprecated() -> None:
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        found = dovetail.arange(3.0).storage()
    assert found.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
def test_getsizeof_counts_what_a_storage_shows() -> None:
    few, many = dovetail.zeros(0), dovetail.zeros(1000)
    for storage_of in (dovetail.Tensor.untyped_storage, dovetail.Tensor.storage):
        sizes = [sys.getsizeof(storage_of(each)) for each in (few, many)]
        assert sizes[1] - sizes[0] == 4000
        assert 0 < sizes[0] < 500

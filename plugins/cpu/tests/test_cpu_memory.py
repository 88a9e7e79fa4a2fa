"""Memory of the cpu: shared pages, storages that are resized, and arrays of other libraries."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_cpu as cpu
import dovetail_kernel as kernel
from dovetail_cpu.memory.shared_pages import SharedPages

pytestmark = pytest.mark.cpu_only(reason="the memory is that of the cpu")

ARRAYS = aten.empty(0)._backend.arrays


@pytest.mark.parametrize("dtype", (kernel.float32, kernel.bfloat16, kernel.complex64), ids=repr)
def test_shared_memory_shows_what_a_forked_process_writes(dtype: Any) -> None:
    x = aten.arange(6).to(dtype).view(2, 3)
    view = x[1]
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared() and view.is_shared()
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    child = os.fork()
    if child == 0:
        x.mul_(2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tolist() == [[0, 2, 4], [6, 8, 10]] and view.tolist() == [6, 8, 10]


def test_shared_memory_without_elements_is_shared() -> None:
    assert aten.zeros(0).share_memory_().is_shared()


def test_a_storage_is_aligned_to_a_line_of_the_cache() -> None:
    for size in (1, 3, 100, 4096):
        storage = aten.zeros(1).untyped_storage()
        storage.resize_(size)
        assert storage.data_ptr() % 64 == 0
        assert storage.nbytes() == size


def test_a_nameless_file_has_its_size_and_no_name() -> None:
    handle = cpu.nameless_file(12345)
    try:
        assert os.fstat(handle).st_size == 12345
        os.pwrite(handle, b"here", 12341)
        assert os.pread(handle, 10, 12341) == b"here"
        assert "deleted" in os.readlink(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def test_a_nameless_file_that_cannot_be_leaves_no_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(OSError):
            cpu.nameless_file(1 << 20)
        with pytest.raises((MemoryError, RuntimeError)):
            aten.zeros(1 << 18).share_memory_()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, heard)
    assert len(os.listdir("/proc/self/fd")) == before


def test_bfloat16_goes_through_dlpack_without_a_copy() -> None:
    x = aten.tensor([1.5, -2.0], dtype=kernel.bfloat16)
    twin = aten.from_dlpack(x)
    assert twin.dtype is kernel.bfloat16 and twin.tolist() == [1.5, -2.0]
    twin.mul_(2)
    assert x.tolist() == [3.0, -4.0]


def test_what_numpy_exports_is_shared() -> None:
    array = np.arange(4.0)
    x = aten.from_dlpack(array)
    x[0] = 7
    assert array[0] == 7
    assert np.from_dlpack(x)[0] == 7


def test_arrays_in_the_other_byte_order_and_of_odd_dtypes_are_refused() -> None:
    with pytest.raises(ValueError, match="byte order"):
        aten.tensor(np.array([1.0, 2.0], ">f4"))
    with pytest.raises(TypeError, match=r"numpy.str_|<U1"):
        aten.tensor(np.array(["a"]))
    for odd in (np.array([1], "M8[s]"), np.zeros(2, "i4,f4")):
        with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
            aten.from_numpy(odd)


def test_a_view_of_another_librarys_memory_begins_where_it_begins() -> None:
    array = np.arange(10.0)
    x = aten.from_numpy(array[2:8:2])
    assert x.storage_offset() == 0 and x.stride() == (2,)
    assert x.untyped_storage().nbytes() == 5 * 8
    x[1] = -1
    assert array[4] == -1


@pytest.mark.parametrize(
    ("value", "dtype"), [(300, kernel.uint8), (2**70, kernel.int64), (1 + 2j, kernel.float32)]
)
def test_numbers_that_a_dtype_loses_are_refused(value: complex, dtype: Any) -> None:
    with pytest.raises(RuntimeError, match="cannot be converted"):
        aten.full((2,), 0, dtype=dtype).fill_(value)


def test_the_real_part_is_written_to_a_real_tensor() -> None:
    x = aten.zeros(2)
    x.copy_(aten.tensor([1 + 2j, 3j]))
    assert x.tolist() == [1.0, 0.0]
    assert aten.tensor([1 + 2j]).to(kernel.float64).tolist() == [1.0]


@pytest.mark.parametrize("dtype", (kernel.float32, kernel.float16, kernel.bfloat16), ids=repr)
def test_error_functions_keep_the_dtype(dtype: Any) -> None:
    x = aten.tensor([-1.0, 0.0, 0.5], dtype=dtype)
    for name, reference in (("erf", [-0.8427, 0.0, 0.5205]), ("erfc", [1.8427, 1.0, 0.4795])):
        found = getattr(aten, name)(x)
        assert found.dtype is dtype
        np.testing.assert_allclose(found.float().tolist(), reference, atol=0.01)


@pytest.mark.parametrize("missing", [["memfd_create"], ["memfd_create", "posix_fallocate"]])
def test_pages_are_shared_where_the_system_has_neither_call(
    missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.delattr(os, name)
    handle = cpu.nameless_file(100)
    first, second = SharedPages(100, os.dup(handle)), SharedPages(100, handle)
    first.memory[99] = 7
    assert os.fstat(handle).st_size == 100
    assert second.memory[99] == 7


def test_pages_that_cannot_be_leave_no_descriptor() -> None:
    handle, other = os.pipe()  # of which there are no pages
    try:
        with pytest.raises(OSError):
            SharedPages(100, handle)
        with pytest.raises(OSError):
            os.fstat(handle)
    finally:
        os.close(other)


@pytest.mark.parametrize("dtype", [kernel.float64, kernel.uint8, kernel.bfloat16], ids=repr)
@pytest.mark.parametrize("memory", [np.arange(256, dtype=np.uint8), np.arange(32.0)])
def test_views_of_memory_without_gaps_are_those_of_any_memory(memory: Any, dtype: Any) -> None:
    native, size = ARRAYS.native_dtypes[dtype], dtype.itemsize
    with_gaps = np.repeat(memory, 2)[::2]
    assert not with_gaps.flags.c_contiguous
    for shape, steps, first in (
        *(((), (), 3), ((2, 3), (3, 1), 0), ((3, 2), (1, 3), 2), ((4,), (-1,), 3)),
        *(((3, 2), (0, 1), 1), ((2, 0), (1, 1), 900), ((1, 4), (0, 2), 5)),
    ):
        place = (shape, [step * size for step in steps], first * size)
        view = ARRAYS.as_view(memory, native, *place)
        other = ARRAYS.as_view(with_gaps, native, *place)
        assert view.__array_interface__["data"][0] == memory.ctypes.data + first * size
        assert (view.shape, view.dtype) == (other.shape, other.dtype)
        assert view.flags.writeable == other.flags.writeable == (shape != (3, 2) or steps != (0, 1))
        assert not view.size or view.strides == other.strides
        assert ARRAYS.storage_of(view) is memory


def test_a_view_beyond_its_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="buffer"):
        ARRAYS.as_view(np.zeros(4), np.dtype(float), (3,), (8,), 16)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("t_", ()),
        ("transpose_", (0, 1)),
        ("squeeze_", ()),
        ("unsqueeze_", (0,)),
        ("swapaxes_", (0, 1)),
        ("as_strided_", ((2,), (1,), 1)),
    ],
)
def test_a_tensor_that_becomes_a_view_of_itself_keeps_its_storage(name: str, args: Any) -> None:
    x = aten.ones(2, 3)
    before = x[0]
    getattr(x, name)(*args)
    assert x.untyped_storage() is before.untyped_storage() is x[0].untyped_storage()

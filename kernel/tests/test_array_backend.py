"""What an array library has by default, allocators, and how array functions are called."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import (
    Allocator,
    ArrayBackend,
    Backend,
    DataPtr,
    NamedDtype,
    OutOfMemoryError,
    backend_of_array,
    named_dtype,
)
from dovetail_kernel.devices import PlanFacts
from dovetail_kernel.devices.backends import accelerator
from dovetail_kernel.devices.lowering import CallSpec
from dovetail_kernel.types.dtype import DTYPES, float32, int16


@pytest.fixture
def arrays(npt: Backend) -> Any:
    """Arrays of NumPy."""
    return npt.arrays


# -- defaults --------------------------------------------------------------------------------------


def test_conversions_go_by_asarray_and_to_host(arrays: Any) -> None:
    source = np.arange(3.0)
    assert arrays.to_scalar_array(np.float32(2)).shape == ()
    assert arrays.from_host_soon(source) is source
    copied = arrays.to_host_soon(source)
    assert copied is not source and copied.tolist() == source.tolist()


def test_a_view_of_a_foreign_array_shows_its_memory(arrays: Any) -> None:
    source = np.arange(3.0)
    view = arrays.wrap_foreign(source)
    assert view is not source and view.base is source


def test_a_filled_array_is_made_of_an_empty_one(arrays: Any) -> None:
    array = arrays.full((2, 3), 7, np.dtype("int16"))
    assert array.dtype == np.int16 and array.tolist() == [[7, 7, 7]] * 2


def test_a_cast_is_a_copy_and_a_copy_broadcasts(arrays: Any) -> None:
    source = np.array([1.5, 2.5])
    assert arrays.cast(source, np.dtype("int16")).tolist() == [1, 2]
    target = np.zeros((2, 2), "int8")
    arrays.copy_into(target, source)
    assert target.tolist() == [[1, 2], [1, 2]]


def test_without_other_devices_there_is_one_and_nothing_is_moved(arrays: Any) -> None:
    source = np.arange(3.0)
    assert (arrays.device_count(), arrays.device_index(source)) == (1, None)
    assert arrays.current_device() is None and arrays.current_stream(0) == 0
    assert arrays.to_device(source, 1) is source
    with arrays.on_device(0):
        assert arrays.synchronize is None
    assert not arrays.is_pinned(source)


def test_what_a_library_has_not_is_none_or_false(arrays: Any) -> None:
    source = np.arange(3.0)
    assert arrays.resized(source, (4,)) is None and arrays.fused_step("sgd") is None
    assert arrays.write_once(source, source, source) is False
    assert ArrayBackend().owns_memory(source) is False
    assert ArrayBackend().pointer_of(source) is None
    assert arrays.tell_launches(None) == "NumPyArrays does not tell them"


def test_a_library_that_exports_to_dlpack_does_it_by_its_arrays(arrays: Any) -> None:
    capsule = arrays.to_dlpack(np.arange(3.0), None, None)
    assert type(capsule).__name__ == "PyCapsule"


NEEDED: dict[str, tuple[Any, ...]] = {
    "asarray": (1,),
    "scalar": (1, None),
    "to_host": (None,),
    "empty": ((1,), None),
    "empty_pinned": (None,),
    "data_ptr": (None,),
    "overwritten": (None, None),
    "from_dlpack": (None,),
    "may_overlap": (None, None),
    "new_generator": (1,),
    "restored_generator": (b"", None),
}


@pytest.mark.parametrize(("name", "arguments"), NEEDED.items(), ids=NEEDED)
def test_what_a_library_has_to_bring_has_no_default(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(NotImplementedError):
        getattr(ArrayBackend(), name)(*arguments)


def test_a_generator_without_a_state_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match=r"ArrayBackend cannot tell .* manual_seed"):
        ArrayBackend().generator_state(None, 0)


def test_a_dtype_that_is_asked_for_has_a_native_one_or_is_refused(arrays: Any) -> None:
    asked = arrays.asked_dtypes
    assert asked is arrays.asked_dtypes and asked[float32] == np.float32
    with pytest.raises(NotImplementedError, match="is a name alone"):
        asked[named_dtype("qint8")]
    with pytest.raises(KeyError):
        asked[next(d for d in DTYPES if d.name == "bfloat16")]


def test_a_table_of_dtypes_refuses_in_its_own_words() -> None:
    from dovetail_kernel.types.named_dtype import AskedDtypes

    class Own(dict[Any, Any]):
        def __missing__(self, wanted: Any) -> Any:
            raise TypeError(f"no {wanted}") if wanted != "soon" else KeyError(wanted)

    asked = AskedDtypes(Own({float32: 1}))
    with pytest.raises(TypeError, match=r"no dovetail\.int16"):
        asked[int16]
    assert isinstance(named_dtype("qint8"), NamedDtype)


# -- geometry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3, 4)),
        np.zeros((2, 3, 4)).T,
        np.zeros((2, 3, 4))[:, :1],
        np.zeros((2, 3, 4))[:, :, :1],
        np.zeros((2, 3, 4))[:1, :, ::2],
        np.zeros((1, 3))[:, ::-1],
        np.zeros((4, 1))[::2],
        np.zeros((4, 1))[::2][:1],
        np.zeros((0, 3)).T,
        np.zeros(()),
        np.broadcast_to(np.zeros(1), (3, 1)),
    ],
    ids=lambda array: f"{array.shape}{array.strides}",
)
def test_arrays_are_contiguous_where_numpy_says_so(arrays: Any, array: Any) -> None:
    assert arrays.is_contiguous(array) is array.flags.c_contiguous
    assert arrays.strides(array) == tuple(step // 8 for step in array.strides)


def test_a_matrix_by_columns_has_no_gaps(arrays: Any) -> None:
    matrix = np.zeros((3, 4), "int16")
    assert arrays.is_column_major(np.asfortranarray(matrix))
    assert not arrays.is_column_major(matrix)
    assert not arrays.is_column_major(np.zeros((6, 4), order="F")[::2])


def test_memory_belongs_to_the_root_of_its_views(arrays: Any) -> None:
    whole = np.arange(6.0)
    assert arrays.storage_of(whole) is arrays.storage_of(whole[1:][1:]) is whole
    foreign = np.frombuffer(bytearray(8), "int16")
    assert arrays.storage_of(foreign) is foreign
    assert arrays.owns(whole[1:]) == (whole,) and arrays.owns(whole) == ()


def test_arrays_are_known_by_their_class(npt: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    from dovetail_kernel.devices import backends

    monkeypatch.setattr(backends, "_in_order", (npt,))
    assert backend_of_array(np.zeros(2)) is npt and backend_of_array([1]) is None
    assert accelerator() is npt
    monkeypatch.setattr(npt, "is_attached", False)
    assert backend_of_array(np.zeros(2)) is None and accelerator() is None


def test_neither_cpu_nor_meta_is_an_accelerator(
    backend_of: Callable[..., Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dovetail_kernel.devices import backends

    monkeypatch.setattr(backends, "_in_order", (backend_of("cpu"), backend_of("meta")))
    assert accelerator() is None
    monkeypatch.setattr(
        backends, "_in_order", (backend_of("cuda"), backend_of("npt"), backend_of("meta"))
    )
    assert accelerator() is backend_of("npt")


# -- allocators ------------------------------------------------------------------------------------


class Pool(Allocator):
    """Hands out addresses of up to 100 bytes, and notes what it gets back."""

    def __init__(self) -> None:
        super().__init__()
        self.released: list[Any] = []

    def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
        if nbytes > 100:
            raise MemoryError
        return 4096, (device_index, nbytes)

    def release(self, context: Any) -> None:
        self.released.append(context)


def test_an_allocator_counts_what_it_hands_out_and_gets_back() -> None:
    pool = Pool()
    assert pool.statistics() == (0, 0, 0, 0, 0)
    first, second = pool.allocate(10), pool.allocate(20)
    assert (first.get(), first.nbytes, first.get_context()) == (4096, 10, (None, 10))
    assert pool.statistics() == (30, 30, 30, 2, 2)
    del first
    gc.collect()
    assert pool.released == [(None, 10)]
    assert pool.statistics() == (20, 20, 30, 1, 2)
    pool.reset_peak()
    assert pool.statistics() == (20, 20, 20, 1, 2)
    third = pool.allocate(5)
    assert pool.statistics() == (25, 25, 25, 2, 3)
    del second, third
    assert pool.statistics() == (0, 0, 25, 0, 3)
    pool.empty_cache()


def test_an_allocator_counts_each_device_for_itself() -> None:
    pool = Pool()
    first, second = pool.allocate(10, 0), pool.allocate(20, 1)
    assert [pool.statistics(n).allocated_bytes for n in (0, 1, 2)] == [10, 20, 0]
    del first
    assert [pool.statistics(n).allocations for n in (0, 1, 2)] == [0, 1, 0]
    assert second.nbytes == 20


@pytest.mark.parametrize("error", [MemoryError, OverflowError, ValueError])
def test_memory_that_is_not_there_is_an_error_that_both_kinds_of_program_catch(
    error: type[Exception],
) -> None:
    class Full(Pool):
        def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
            raise error

    pool = Full()
    with pytest.raises(OutOfMemoryError, match="tried to allocate 101 bytes") as raised:
        pool.allocate(101)
    assert isinstance(raised.value, MemoryError) and isinstance(raised.value, RuntimeError)
    assert isinstance(raised.value.__cause__, error)
    assert pool.statistics() == (0, 0, 0, 0, 0)


def test_no_allocator_hands_out_less_than_nothing() -> None:
    with pytest.raises(RuntimeError, match="negative number: -1"):
        Pool().allocate(-1)
    assert Pool().allocate(0).nbytes == 0
    with pytest.raises(NotImplementedError):
        Allocator().allocate(1)


def test_memory_is_given_back_once_with_what_owns_it() -> None:
    freed: list[Any] = []
    pointer = DataPtr(64, 16, "owner", freed.append)
    assert pointer.get_deleter() == freed.append and pointer.is_shared is False
    assert repr(pointer) == "<DataPtr 0x40 of 16 bytes>"
    del pointer
    gc.collect()
    assert freed == ["owner"]
    quiet = DataPtr(64, 16, is_shared=True)
    assert (quiet.get_deleter(), quiet.get_context(), quiet.is_shared) == (None, None, True)


def test_memory_without_a_release_is_freed_by_its_owner() -> None:
    class Plain(Allocator):
        def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
            return 1, "owner"

    plain = Plain()
    pointer = plain.allocate(3)
    del pointer
    assert plain.statistics().allocated_bytes == 0


# -- how array functions are called ----------------------------------------------------------------


def few(*_: Any) -> None:
    """Compute for few elements."""


def many(*_: Any) -> None:
    """Compute for many elements."""


def plain(*_: Any) -> None:
    """Compute."""


class Warner(ArrayBackend):
    """Has a quiet error state that `many` does not need."""

    error_state = (lambda: None, lambda _: None, lambda _: None, None)

    def may_warn(self, function: Callable[..., object]) -> bool:
        return super().may_warn(function) and function is not many


def test_a_function_is_called_as_it_is_by_default() -> None:
    backend = ArrayBackend()
    specs = backend.lower({"kernel": plain, "out_function": few}, PlanFacts())
    assert specs == {"kernel": CallSpec(plain), "out_function": CallSpec(few)}
    assert backend.compiled("op", plain) is plain and backend.rounded_once(plain) is None
    assert not backend.may_warn(plain)


def test_only_what_may_warn_is_called_in_the_quiet_error_state() -> None:
    specs = Warner().lower({"kernel": plain, "fast_path": many}, PlanFacts())
    assert specs == {"kernel": CallSpec(plain, True), "fast_path": CallSpec(many, False)}


def test_what_computes_nothing_has_nothing_to_warn_of() -> None:
    specs = Warner().lower({"kernel": plain}, PlanFacts(computes=False))
    assert specs == {"kernel": CallSpec(plain)}

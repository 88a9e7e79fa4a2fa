"""NumPy arrays as the core sees them: dtypes, numbers, memory, casts."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np
import pytest

import dovetail_kernel as kernel
from dovetail_cpu import CpuArrays

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture
def arrays():
    return CpuArrays()


@pytest.mark.parametrize("dtype", kernel.DTYPES, ids=lambda each: each.name)
def test_every_dtype_has_a_native_one_that_leads_back(arrays, dtype):
    assert arrays.dtype_bits[arrays.native_dtypes[dtype]] == dtype.bit


@pytest.mark.parametrize("code", "?bBhHiIlLqQefdFD")
def test_every_native_code_is_found_whatever_the_platform_calls_it(arrays, code):
    native = np.dtype(code)
    assert (
        arrays.dtype_bits[native]
        == kernel.ALIASES.get(native.name, getattr(kernel, native.name)).bit
    )


def test_a_dtype_with_metadata_is_found(arrays):
    assert arrays.dtype_bits[np.dtype("f4", metadata={"unit": "m"})] == kernel.float32.bit


def test_an_array_of_the_other_byte_order_becomes_native(arrays):
    made = arrays.asarray(np.array([1, 2], ">i4"))
    assert made.dtype == np.int32
    assert made.tolist() == [1, 2]


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([None]), np.zeros(1, "M8[s]"), np.zeros(1, np.longdouble)]
)
def test_an_array_of_a_foreign_dtype_is_refused(arrays, array):
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
        arrays.asarray(array)


def test_an_array_of_a_known_dtype_is_not_copied(arrays):
    array = np.zeros(3, np.float32)
    assert arrays.asarray(array) is array


@pytest.mark.parametrize(
    ("number", "dtype", "expected"),
    [
        *(
            (300, np.uint8, 44),
            (-1, np.uint8, 255),
            (200, np.int8, -56),
            (1 << 63, np.int64, -(1 << 63)),
        ),
        *(
            (-1, np.uint64, (1 << 64) - 1),
            (2.75, np.int32, 2),
            (5, np.bool_, True),
            (1.5, BFLOAT16, 1.5),
        ),
        *((1e10, np.float16, np.inf), (3, np.complex64, 3 + 0j), (2 + 0j, np.float32, 2.0)),
    ],
)
def test_a_number_becomes_a_0d_array_of_the_dtype_and_wraps_out_of_range(
    arrays, number, dtype, expected
):
    made = arrays.scalar(number, np.dtype(dtype))
    assert isinstance(made, np.ndarray)
    assert (made.shape, made.dtype) == ((), np.dtype(dtype))
    assert made[()] == expected


def test_an_imaginary_number_does_not_become_real(arrays):
    with pytest.raises(RuntimeError, match="cannot be converted to type float32 without overflow"):
        arrays.scalar(1j, np.dtype(np.float32))


def test_an_integer_too_large_for_a_float_is_refused(arrays):
    with pytest.raises(RuntimeError, match="without overflow"):
        arrays.scalar(10**400, np.dtype(np.float32))


@pytest.mark.parametrize(
    "key", [np.s_[:], np.s_[1:, ::2], np.s_[..., None], np.s_[2, 1, ...]], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=str)
def test_the_data_pointer_is_the_address_of_the_first_element(arrays, key, dtype):
    array = np.zeros((3, 4), dtype)[key]
    assert arrays.data_ptr(array) == array.ctypes.data


def test_strides_count_elements(arrays):
    assert arrays.strides(np.zeros((3, 4), np.complex64)[:, ::2].real) == (8, 4)


def test_strides_of_nothing_are_contiguous(arrays):
    assert arrays.strides(np.zeros((2, 0, 3))) == (3, 3, 1)


def test_the_storage_of_a_view_is_the_root_of_its_bases(arrays):
    root = np.zeros((3, 4))
    view = np.lib.stride_tricks.as_strided(root.T[1:], (2,), (8,))
    assert arrays.storage_of(np.broadcast_to(view, (5, 2))) is root


@pytest.mark.parametrize("source", ["float64", "complex64", "int64", "bool", BFLOAT16], ids=str)
@pytest.mark.parametrize(
    "destination", ["float32", "complex128", "int8", "bool", "float16", BFLOAT16], ids=str
)
def test_copy_into_casts_from_any_dtype_to_any_other(arrays, source, destination):
    values = np.array([[0.0, 1.0, 3.0]]).astype(source)
    made = np.empty((2, 3), destination)
    arrays.copy_into(made, values)
    expected = (
        [False, True, True] if destination == "bool" else [0, 1, 3 if source != "bool" else 1]
    )
    assert made.tolist() == [expected, expected]


def test_copy_into_a_real_array_takes_the_real_part(arrays):
    made = np.zeros(2, np.float32)
    arrays.copy_into(made, np.array([1 + 2j, 3 - 1j]))
    assert made.tolist() == [1, 3]


def test_copy_into_overlapping_memory_reads_before_it_writes(arrays):
    memory = np.arange(5)
    arrays.copy_into(memory[1:], memory[:-1])
    assert memory.tolist() == [0, 0, 1, 2, 3]


def test_an_imaginary_number_is_true(arrays):
    assert arrays.cast(np.array([0j, 1j]), np.dtype(bool)).tolist() == [False, True]


def test_cast_of_an_overflowing_number_gives_infinity(arrays):
    assert arrays.cast(np.array([1e10]), np.dtype(np.float16)).tolist() == [np.inf]


def test_a_cast_to_the_same_dtype_is_a_copy(arrays):
    array = np.zeros(3)
    assert not np.shares_memory(arrays.cast(array, array.dtype), array)


def test_interleaved_views_do_not_overlap(arrays):
    memory = np.zeros(10)
    assert not arrays.may_overlap(memory[::2], memory[1::2])
    assert arrays.may_overlap(memory[::2], memory[4:6])
    assert not arrays.may_overlap(memory, np.zeros(10))


def test_ufuncs_and_what_says_so_never_warn(arrays):
    def quiet(x):
        return x

    quiet.never_warns = True
    for function in (np.add, np.add.reduce, partial(np.add, 1), partial(quiet), quiet):
        assert arrays.may_warn(function) is False
    for function in (np.sort, partial(np.sort, axis=0)):
        assert arrays.may_warn(function) is True


def test_a_cast_of_an_expanded_array_is_in_c_order(arrays):
    expanded = np.broadcast_to(np.array([[1.5], [2.5]], "float32"), (2, 3))
    made = arrays.cast(expanded, np.dtype("int64"))
    assert made.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert made.flags.c_contiguous and made.flags.owndata


def test_arrays_of_which_it_is_hard_to_tell_may_overlap(arrays):
    memory = np.zeros(1 << 26, np.uint8)

    def places(first):
        steps = np.random.RandomState(first).randint(1 << 19, 1 << 20, 4)
        return np.lib.stride_tricks.as_strided(memory[first:], [6] * 4, steps.tolist())

    assert not np.shares_memory(places(0), places(1))
    assert arrays.may_overlap(places(0), places(1))
    assert not arrays.may_overlap(memory[::2], memory[1::2])
    assert not arrays.may_overlap(memory[:4], memory[4:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_array_without_data_refuses_to_be_written(arrays, dtype):
    without = kernel.DatalessArray((2,), np.dtype("float32"))
    with pytest.raises(RuntimeError, match="no data"):
        arrays.copy_into(without, np.zeros(2, dtype))

"""The arrays of the cuda backend, on a device or the emulator."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail_cuda
import dovetail_kernel as kernel
from dovetail_aten.kernel_support import array_kernel_table
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture
def capabilities():
    from dovetail_cuda.arrays import CudaArrays

    return CudaArrays()


def test_every_base_operator_that_is_no_composite_has_a_kernel(cupy, capabilities):
    table = array_kernel_table(cupy, capabilities)
    composites = (DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd)
    wanted = {
        f"{op.base_name}.{op.overload}" if op.overload else op.base_name
        for op in registry.all_operators()
        if op.namespace == "aten"
        and op.variant_of is None
        and not any(op.newest(key) for key in composites)
    }
    assert len(wanted) > 200
    # Of sparse matrices alone, as in PyTorch.
    assert wanted - set(table.kernels) == {"_sparse_mm_reduce_impl"}


@pytest.mark.parametrize("dtype", kernel.DTYPES, ids=repr)
def test_addition_at_repeated_places_wraps_as_the_dtype_does(cupy, capabilities, dtype):
    native = capabilities.native_dtypes[dtype]
    ones = cupy.ones(200, native)
    found = capabilities.index_add(cupy.zeros(2, native), 0, cupy.zeros(200, np.int64), ones)
    assert found.dtype == native
    assert found.tolist() == [np.array(200).astype(native).item(), 0]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_added_at_places_of_several_dimensions(cupy, capabilities, dtype):
    index = cupy.array([0, 2, 0])
    values = (cupy.arange(6) + 1j).reshape(2, 3).astype(dtype)
    found = capabilities.index_put(
        cupy.zeros((2, 3), dtype), (slice(None), index), values, accumulate=True
    )
    assert found.tolist() == [[2 + 2j, 0, 1 + 1j], [8 + 2j, 0, 4 + 1j]]


def test_addition_at_a_mask_adds_where_it_is_true(cupy, capabilities):
    mask = cupy.array([[True, False], [False, True]])
    found = capabilities.index_put(cupy.zeros((2, 2)), (mask,), cupy.array([1.0, 2.0]), True)
    assert found.tolist() == [[1, 0], [0, 2]]


def test_scatter_leaves_its_argument_alone(cupy, capabilities):
    array = cupy.zeros((2, 3))
    index, values = cupy.array([[2], [0]]), cupy.array([[5.0], [6.0]])
    found = capabilities.scatter(array, 1, index, values, False)
    assert found.tolist() == [[0, 0, 5], [6, 0, 0]]
    assert not array.any()


def test_an_integer_out_of_range_wraps(capabilities):
    assert capabilities.number(-1, np.dtype(np.uint8)) == 255
    assert capabilities.scalar(300, np.dtype(np.uint8)) == 44


def test_what_is_written_is_cast_and_of_complex_numbers_the_real_part(cupy, capabilities):
    made = cupy.zeros(2, np.float32)
    capabilities.copy_into(made, cupy.array([1 + 2j, 3j]))
    assert made.tolist() == [1, 0]


def test_an_array_of_objects_is_refused(capabilities):
    with pytest.raises(TypeError, match="cupy has no dtype object"):
        capabilities.asarray(np.array([None]))

"""DLPack without PyTorch: NumPy reads tensors and tensors read NumPy's arrays, in the same
memory.
"""

from __future__ import annotations

import numpy as np
import pytest

import dovetail

pytestmark = pytest.mark.cpu_only(reason="the memory that is exchanged is the cpus")


def test_numpy_writes_to_a_tensor() -> None:
    x = dovetail.arange(6.0).reshape(2, 3)
    np.from_dlpack(x.t())[0, 1] = 9
    assert x.tolist() == [[0, 1, 2], [9, 4, 5]]


def test_a_tensor_writes_to_an_array() -> None:
    a = np.arange(6.0)
    dovetail.from_dlpack(a).mul_(2)
    assert a.tolist() == [0, 2, 4, 6, 8, 10]


def test_bfloat16_goes_round() -> None:
    x = dovetail.tensor([1.5, -2.0]).bfloat16()
    y = dovetail.from_dlpack(x)
    y.add_(1)
    assert (y.dtype, x.tolist()) == (dovetail.bfloat16, [2.5, -1.0])


def test_an_expanded_tensor_is_exported_read_only() -> None:
    assert not np.from_dlpack(dovetail.ones(1).expand(3)).flags.writeable


def test_negative_strides_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"At least one stride of the given array is negative.*Make a copy"
    ):
        dovetail.from_dlpack(np.ones(3)[::-1])


def test_another_device_without_a_copy_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"cannot move \(i.e. copy=False\) tensor from cpu to meta without copying"
    ):
        dovetail.from_dlpack(np.ones(3), device="meta", copy=False)


def test_memory_that_no_backend_has_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"Unsupported device_type: 8.*Copy the array to host memory first"
    ):
        dovetail.ones(2).__dlpack__(dl_device=(8, 0))


def test_a_version_of_its_own_counts_the_writes() -> None:
    x = dovetail.ones(2)
    dovetail.from_dlpack(x).add_(1)
    assert x._version == 0

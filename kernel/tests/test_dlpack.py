"""DLPack capsules: where their array is, and the code of its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail_kernel import DLDeviceType
from dovetail_kernel.tensor import BFLOAT, UINT, DlpackSource, change_dtype_code


def capsule_of(array: Any, versioned: bool) -> Any:
    """Return a capsule of an array, of the older or the newer form."""
    return array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()


both_forms = pytest.mark.parametrize("versioned", [False, True], ids=["old", "versioned"])


@both_forms
def test_a_capsule_is_read_as_an_object_of_the_protocol(versioned: bool) -> None:
    array = np.arange(3, dtype="uint16")
    source = DlpackSource(capsule_of(array, versioned))
    assert source.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
    assert source.is_versioned is versioned
    read = np.from_dlpack(source)
    assert read.dtype == np.uint16 and read.tolist() == [0, 1, 2]
    assert np.shares_memory(read, array)


@both_forms
def test_a_dtype_that_a_library_does_not_know_goes_by_another_code(versioned: bool) -> None:
    capsule = capsule_of(np.array([0x3F80], "uint16"), versioned)
    assert change_dtype_code(capsule, UINT, BFLOAT) is True
    assert change_dtype_code(capsule, UINT, BFLOAT) is False
    assert change_dtype_code(capsule, BFLOAT, UINT) is True
    assert np.from_dlpack(DlpackSource(capsule)).tolist() == [0x3F80]


@both_forms
def test_a_capsule_of_another_dtype_stays_as_it_is(versioned: bool) -> None:
    capsule = capsule_of(np.array([1.5]), versioned)
    assert change_dtype_code(capsule, UINT, BFLOAT) is False
    assert np.from_dlpack(DlpackSource(capsule)).tolist() == [1.5]


@pytest.mark.parametrize("wrong", ["consumed", "no capsule", "of another library"])
def test_what_is_no_capsule_is_refused(wrong: str) -> None:
    import datetime  # has a capsule of its C functions

    capsule: Any = {"no capsule": 3, "of another library": datetime.datetime_CAPI}.get(wrong)
    if wrong == "consumed":
        capsule = np.arange(3).__dlpack__()
        np.from_dlpack(DlpackSource(capsule))
    with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
        DlpackSource(capsule)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        change_dtype_code(capsule, UINT, BFLOAT)


def test_kinds_of_memory_have_the_numbers_of_the_standard() -> None:
    assert [each.value for each in DLDeviceType] == [
        1,
        2,
        3,
        4,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
        17,
    ]
    assert DLDeviceType(13) is DLDeviceType.kDLCUDAManaged

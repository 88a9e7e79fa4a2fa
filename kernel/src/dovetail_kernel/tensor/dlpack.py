"""DLPack, the exchange of arrays between libraries without a copy: what a capsule says of its
array.

The structures that are read here are those of ``dlpack.h``: a capsule named ``dltensor`` holds a
``DLTensor`` at its start, one named ``dltensor_versioned`` after a header of 32 bytes.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

UINT: Final = 1
BFLOAT: Final = 4
"""``DLDataTypeCode``: kDLUInt and kDLBfloat."""

_OFFSETS: Final = {"dltensor": 0, "dltensor_versioned": 32}
_CODE: Final = 20
"""Where a ``DLTensor`` has the code of its dtype: behind the data pointer, the device (two ints)
and the ndim.
"""

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class DlpackSource:
    """A bare capsule as an object of the DLPack protocol, which is what array libraries read from.

    Parameters
    ----------
    capsule
        A DLPack capsule that was not consumed yet.

    Attributes
    ----------
    is_versioned
        Whether the capsule tells if its memory may be written.

    Raises
    ------
    RuntimeError
        If it is something else.
    """

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule
        self._tensor = _address(capsule)
        self.is_versioned = _get_name(capsule) == b"dltensor_versioned"

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, index = (ctypes.c_int32 * 2).from_address(self._tensor + 8)
        return kind, index


def change_dtype_code(capsule: object, old: int, new: int) -> bool:
    """Write the dtype code `new` into an unconsumed capsule whose code is `old`; return whether it
    was.

    This is how a library that does not know a dtype exchanges its elements: as another dtype of the
    same size.
    """
    code = ctypes.c_uint8.from_address(_address(capsule) + _CODE)
    if code.value != old:
        return False
    code.value = new
    return True


def _address(capsule: object) -> int:
    """Return the address of the ``DLTensor`` in `capsule`."""
    name = _get_name(capsule) if type(capsule).__name__ == "PyCapsule" else None
    offset = None if name is None else _OFFSETS.get(name.decode())
    if offset is None:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once. Give the "
            "array itself, or a new capsule of it."
        )
    return int(_get_pointer(capsule, name)) + offset

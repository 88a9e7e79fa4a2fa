"""Arrays in host memory, which MPI reads and writes: the arrays of contiguous tensors on the CPU,
and copies of others.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

import dovetail
from dovetail.autograd.graph import increment_version

_HALVES = (dovetail.float16, dovetail.bfloat16)


class HostArray:
    """The values of a tensor, as an array for MPI.

    Nothing is copied for a contiguous tensor on the CPU. Tensors of other devices and strided ones
    are copied, and `store` copies back.

    Parameters
    ----------
    tensor : Tensor
    for_arithmetic : bool, default False
        Whether values will be combined. Half-precision values are then converted to float32, for
        which MPI has operations.

    Attributes
    ----------
    array : ndarray
        C-contiguous. If values are only moved, bfloat16 is represented as int16.
    """

    __slots__ = ("_is_copy", "_moved_as", "array", "tensor")

    def __init__(self, tensor: dovetail.Tensor, for_arithmetic: bool = False) -> None:
        self.tensor = tensor
        self._moved_as: Any = None
        values = tensor.detach()
        if for_arithmetic and values.dtype in _HALVES:
            values = values.float()
        elif values.dtype is dovetail.bfloat16:
            self._moved_as = values.dtype
            values = values.contiguous().view(dovetail.int16)
        values = values.cpu().contiguous()
        self.array: NDArray[Any] = values.numpy()
        self._is_copy = values.data_ptr() != tensor.data_ptr() or tensor.device.type != "cpu"
        if not (self.array.flags.writeable or self._is_copy):
            self.array = self.array.copy()
            self._is_copy = True

    @dovetail.no_grad()
    def store(self) -> None:
        """Copy the values of the array to the tensor."""
        if not self._is_copy:
            if not self.tensor.is_inference():
                increment_version(self.tensor)
            return
        values = dovetail.from_numpy(self.array)
        if self._moved_as is not None:
            values = values.view(self._moved_as)
        self.tensor.detach().copy_(values)

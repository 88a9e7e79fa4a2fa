"""Exchange of arrays through DLPack, as ``torch.utils.dlpack``."""

from typing import Any

from dovetail_aten import Tensor, from_dlpack
from dovetail_kernel import DLDeviceType

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule that shares memory with `tensor`, even if `tensor` requires grad.

    The capsule is unversioned; prefer passing the tensor itself to a library, which can then
    negotiate the version.

    Raises
    ------
    TypeError
        If `tensor` is not a tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"to_dlpack(): argument 'data' (position 1) must be Tensor, not {type(tensor).__name__}"
        )
    return tensor.detach().__dlpack__()

"""What programs ask of the tensors inside of transforms."""

from dovetail_aten import Tensor
from dovetail_kernel import wrapped_backend

from ..names.missing import serve_names as _serve_names

__all__ = ["get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor"]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return whether a `vmap` maps over `tensor`."""
    return tensor.array.kind == "BatchedTensor" if is_functorch_wrapped_tensor(tensor) else False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Return whether `tensor` is one of a transform of `dovetail.func`."""
    return tensor._backend is wrapped_backend()


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Return what a transform works on in place of `tensor`."""
    if not is_functorch_wrapped_tensor(tensor):
        raise RuntimeError("No wrappers present! Give a tensor inside of a transform.")
    inside: Tensor = tensor.array.physical
    return inside


_serve_names(__name__)

"""What is refused of writes before anything is written."""

from __future__ import annotations

from dovetail_dispatcher.calls import check_inference_write
from dovetail_kernel import TensorBase
from dovetail_kernel.sockets import AUTOGRAD


def check_write(tensor: TensorBase, name: str) -> None:
    """Raise the error of an operator `name` that writes to a tensor in place, before it does.

    Raises
    ------
    RuntimeError
        For a leaf that requires grad or a view of one, a view that may not be written, an inference
        tensor outside inference mode, and elements that share memory.
    """
    if any([n > 1 and not step for n, step in zip(tensor.shape, tensor.stride(), strict=True)]):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    if tensor.is_inference():
        check_inference_write(tensor)
    else:
        AUTOGRAD.plug.check_inplace_view(tensor, name)

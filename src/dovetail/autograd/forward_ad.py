"""Forward-mode differentiation with dual numbers, as ``torch.autograd.forward_ad``."""

from dovetail_autograd.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)
from dovetail_kernel import publish

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

publish(__name__)

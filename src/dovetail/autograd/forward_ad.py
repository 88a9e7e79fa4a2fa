"""Forward-mode differentiation with dual numbers, as ``torch.autograd.forward_ad``."""

import sys
from types import ModuleType

from dovetail_autograd.forward_ad import (
    UnpackedDualTensor,
    current_dual_level,
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


class _Levels(ModuleType):
    """A Python module that has the number of the current level."""

    @property
    def _current_level(self) -> int:
        """The number of the level that dual tensors are made at; -1 outside of any."""
        return current_dual_level()


publish(__name__)
sys.modules[__name__].__class__ = _Levels

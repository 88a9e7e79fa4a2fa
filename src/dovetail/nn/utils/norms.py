"""Weights as matrices, their norms by slices, and the power method for singular values."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from ...functions.rarer_functions import slice_norms
from ..functional import normalize
from ..modules.module import Module

__all__: list[str] = []


def weight_of_norm(direction: Tensor, norm: Tensor, dim: int) -> Tensor:
    """Return ``direction`` with norms ``norm`` of its slices along ``dim``."""
    return direction * (norm / slice_norms(direction, dim))


def matrix_of(weight: Tensor, dim: int) -> Tensor:
    """Return a weight as a matrix with ``dim`` first and all other dimensions in one."""
    if dim != 0:
        weight = weight.permute(dim, *(each for each in range(weight.dim()) if each != dim))
    return weight.reshape(weight.size(0), -1)


def output_dimension(module: object) -> int:
    """Return where the weight of a module has its outputs: 1 if it is a transposed convolution."""
    return int(getattr(module, "transposed", False) is True)


@no_grad()
def power_method(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Bring ``u`` and ``v``, in place, nearer to the first singular vectors of ``matrix``."""
    for _ in range(steps):
        u.copy_(normalize(matrix.mv(v), dim=0, eps=eps))
        v.copy_(normalize(matrix.H.mv(u), dim=0, eps=eps))


def forget_forward_pre_hook(module: Module, kind: type, name: str) -> Any:
    """Take the hook of this class for this tensor off a module; return it, or None."""
    tables = module._hooks
    if tables is not None:
        for key, hook in tables.forward_pre.items():
            if isinstance(hook.function, kind) and getattr(hook.function, "name", None) == name:
                del tables.forward_pre[key]
                return hook.function
    return None

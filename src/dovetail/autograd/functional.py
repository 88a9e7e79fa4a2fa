"""Jacobians, Hessians, and products with them, as in ``torch.autograd.functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor, eye
from dovetail_autograd.checking.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from dovetail_kernel import publish

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

# The names below are no public ones of PyTorch's: pytorch-minimize imports them.


def _as_tuple(inp: object, arg_name: str, fn_name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether `inp` is a tuple, and the tuple of its tensors."""
    values = inp if isinstance(inp, tuple) else (inp,)
    for each in values:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"The {arg_name} given to {fn_name} must be either a Tensor or a tuple of Tensors "
                f"but {type(each)} was given. Give tensors."
            )
    return isinstance(inp, tuple), values


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Return the only element where there was no tuple: of results, and of inputs in them."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        res = res if inner else tuple([each[0] for each in res])
        return res if outer else res[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Return nested tuples of tensors, detached unless a graph is wanted."""
    if isinstance(inputs, Tensor):
        return inputs if create_graph else inputs.detach()
    return tuple([_grad_postprocess(each, create_graph) for each in inputs])


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """Return the columns of a unit matrix over all elements, one tensor (N, n) for each of
    `tensors`, where n is its number of elements and N that of all.
    """
    ends = [sum(tensor_numels[: at + 1]) for at in range(len(tensor_numels))]
    return tuple(
        [
            eye(sum(tensor_numels), dtype=x.dtype, device=x.device)[:, end - size : end]
            for x, size, end in zip(tensors, tensor_numels, ends, strict=True)
        ]
    )


publish(__name__)

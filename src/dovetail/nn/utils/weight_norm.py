"""Deprecated weight normalisation, which computes the weight before every forward; see
`parametrizations.weight_norm`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from dovetail_aten import Tensor
from dovetail_kernel import warn_user

from ...functions.rarer_functions import slice_norms
from ..modules.module import Module
from ..parameter import Parameter, is_lazy
from .norms import forget_forward_pre_hook, weight_of_norm

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class WeightNorm:
    """The hook that computes ``<name>`` from ``<name>_g`` and ``<name>_v``.

    Parameters
    ----------
    name : str
        The weight.
    dim : int, optional
        The dimension whose slices have a norm each; None means a single norm.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the weight computed from the norms and the direction."""
        norm: Tensor = getattr(module, self.name + "_g")
        direction: Tensor = getattr(module, self.name + "_v")
        return weight_of_norm(direction, norm, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Register the hook on a module, and replace the weight by the two parameters."""
        if any([isinstance(hook, WeightNorm) and hook.name == name for hook in _hooks(module)]):
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
        hook = WeightNorm(name, dim)
        weight: Tensor = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        norm = slice_norms(weight.detach(), hook.dim)
        delattr(module, name)
        module.register_parameter(name + "_g", Parameter(norm))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Replace the two parameters by one with the current weight."""
        weight = self.compute_weight(module)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _hooks(module: Module) -> list[Any]:
    tables = module._hooks
    return [] if tables is None else [hook.function for hook in tables.forward_pre.values()]


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Separate the norm of a weight from its direction; deprecated.

    Parameters
    ----------
    module : Module
        Changed in place: parameters ``<name>_g`` and ``<name>_v`` replace the weight, which is
        computed from them before every forward.
    name : str, default 'weight'
        The weight.
    dim : int, optional, default 0
        The dimension whose slices have a norm each; None means a single norm.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    RuntimeError
        If the weight already has it.
    """
    warn_user(
        "`dovetail.nn.utils.weight_norm` is deprecated in favor of "
        "`dovetail.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo `weight_norm`: the weight becomes a plain parameter with its current value.

    Raises
    ------
    ValueError
        If the weight has no such normalisation.
    """
    hook = forget_forward_pre_hook(module, WeightNorm, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}. Apply weight_norm first.")
    hook.remove(module)
    return module

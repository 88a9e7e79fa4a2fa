"""Deprecated spectral normalisation, which computes the weight before every forward; see
`parametrizations.spectral_norm`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import finfo, restoring

from ..functional import normalize
from ..modules.module import Module
from ..parameter import Parameter, is_lazy
from .norms import forget_forward_pre_hook, matrix_of, output_dimension

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook that computes ``<name>`` from ``<name>_orig`` and the singular vectors ``<name>_u``
    and ``<name>_v``.

    Parameters
    ----------
    name : str, default 'weight'
        The weight.
    n_power_iterations : int, default 1
        Steps of the power method before each forward in training mode.
    dim : int, default 0
        The dimension of the outputs.
    eps : float, default 1e-12
        Lower bound of the norm.

    Raises
    ------
    ValueError
        If ``n_power_iterations`` is not positive.
    """

    # How state dicts are laid out; before 1 they had the weight, and no v.
    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return a weight as a matrix, outputs first."""
        return matrix_of(weight, self.dim)

    @restoring()
    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the weight divided by its greatest singular value, after steps of the power method
        if ``do_power_iteration``.
        """
        weight: Tensor = getattr(module, self.name + "_orig")
        u: Tensor = getattr(module, self.name + "_u")
        v: Tensor = getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
                # Copies: the next step writes them in place, and backward needs these.
                u, v = u.clone(), v.clone()
        return weight / aten.dot(u, matrix.mv(v))

    @restoring()
    def remove(self, module: Module) -> None:
        """Replace the original by a parameter with the current weight."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for ending in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + ending)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """Return ``v`` with ``u = normalize(W v)`` and ``uᵀ W v = sigma``."""
        v = aten.pinverse(matrix, rcond=matrix.size(0) * finfo(matrix.dtype).eps) @ u
        return v.mul_(sigma / aten.dot(u, matrix.mv(v)))

    @staticmethod
    @restoring()
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Register the hook on a module, and replace the weight by the original and the vectors."""
        tables = module._hooks
        for each in () if tables is None else tables.forward_pre.values():
            if isinstance(each.function, SpectralNorm) and each.function.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            matrix = hook.reshape_weight_to_matrix(weight)
            u, v = (
                normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in matrix.shape
            )
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Converts old state dicts, with the weight and without ``v``, to the current layout."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    @restoring()
    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        hook = self.fn
        version = local_metadata.get("spectral_norm", {}).get(hook.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + hook.name
        if key + "_v" in state_dict or not all(
            [key + ending in state_dict for ending in ("_orig", "", "_u")]
        ):
            return  # what is missing is reported by the load itself
        original, weight = state_dict[key + "_orig"], state_dict.pop(key)
        with no_grad():
            sigma = (original / weight).mean()
            matrix = hook.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = hook._solve_v_and_rescale(
                matrix, state_dict[key + "_u"], sigma
            )


class SpectralNormStateDictHook:
    """Records the layout in the metadata of a state dict."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: Module, state_dict: object, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its greatest singular value before every forward.

    `parametrizations.spectral_norm` does this on each access to the weight.

    Parameters
    ----------
    module : Module
        Changed in place: it gets a parameter ``<name>_orig`` and buffers ``<name>_u`` and
        ``<name>_v``.
    name : str, default 'weight'
        The weight.
    n_power_iterations : int, default 1
        Steps of the power method before each forward in training mode.
    eps : float, default 1e-12
        Lower bound of the norm.
    dim : int, optional
        The dimension of the outputs; default: 1 for transposed convolutions, else 0.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    RuntimeError
        If the weight already has it.
    ValueError
        If ``n_power_iterations`` is not positive.
    """
    where = output_dimension(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, where, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`: the weight becomes a plain parameter with its current value.

    Raises
    ------
    ValueError
        If the weight has no such normalisation.
    """
    hook = forget_forward_pre_hook(module, SpectralNorm, name)
    if hook is None:
        raise ValueError(
            f"spectral_norm of '{name}' not found in {module}. Apply spectral_norm first."
        )
    tables: Any = module._hooks
    for table in (tables.state_dict_post, tables.load_state_dict_pre):
        for key, each in list(table.items()):
            if getattr(each.function, "fn", None) is hook:
                del table[key]
    hook.remove(module)
    return module

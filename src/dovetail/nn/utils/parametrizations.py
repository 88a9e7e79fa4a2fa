"""Parametrizations: orthogonal weights, spectral normalisation, and weight normalisation."""

from __future__ import annotations

from typing import Any, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import restoring

from ...functions.rarer_functions import slice_norms
from ..functional import normalize
from ..modules.module import Module
from .norms import matrix_of, output_dimension, power_method, weight_of_norm
from .orthogonal_maps import _OrthMaps, _Orthogonal
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'. named_parameters() "
            "lists those it has."
        )
    return found


def orthogonal(
    module: M,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> M:
    """Parametrize a matrix of a module so that its rows, or its columns if these are fewer, are
    orthonormal.

    Parameters
    ----------
    module : Module
        Changed in place.
    name : str, default 'weight'
        Name of the parameter or buffer: a matrix or a batch of matrices, shape ``(*, m, n)``.
    orthogonal_map : {'matrix_exp', 'cayley', 'householder'}, optional
        Map from free parameters to an orthogonal matrix: ``exp(A)`` or ``(I + A/2)(I - A/2)⁻¹`` of
        a skew-symmetric ``A``, or a product of reflections (not for complex matrices). Default:
        'matrix_exp' for square or complex matrices, else 'householder'.
    use_trivialization : bool, default True
        Multiply by a constant orthogonal matrix, at which training starts. This allows assignment
        with any map, and stores an additional matrix.

    Returns
    -------
    Module
        ``module``. Its matrix becomes the orthogonal factor of its QR decomposition; an exponential
        or Cayley map without trivialization instead uses the old matrix as free parameters.

    Raises
    ------
    ValueError
        If there is no such matrix or no such map.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions. "
            "Name another parameter."
        )
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    parametrization = _Orthogonal(
        weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization
    )
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    """A weight of its norms and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_of_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return slice_norms(weight, self.dim), weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Separate the norm of a weight from its direction: ``w = g * v / |v|``.

    Parameters
    ----------
    module : Module
        Changed in place: ``parametrizations.<name>.original0`` is ``g``, ``original1`` is ``v``.
        State dicts of `nn.utils.weight_norm` can be loaded.
    name : str, default 'weight'
        Name of the parameter.
    dim : int, optional, default 0
        The dimension whose slices have a norm each; None means a single norm.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        If there is no such parameter.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_keys_of_old(state_dict: dict[str, object], prefix: str, *rest: Any) -> None:
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all([key in state_dict for key in old]):
            for place, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{place}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_keys_of_old)
    return module


class _SpectralNorm(Module):
    """A weight divided by its greatest singular value, which the power method follows."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        dimensions = weight.ndim
        if not -dimensions <= dim < dimensions:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{dimensions}, "
                f"{dimensions - 1}] but got {dim}). Pass the dimension of the outputs."
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % dimensions
        self.eps = eps
        if dimensions > 1:  # a vector has its norm
            self.n_power_iterations = n_power_iterations
            matrix = matrix_of(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                self.register_buffer(name, start.detach())
            # Near enough that training does not start with a false norm.
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Tensor, steps: int) -> None:
        power_method(matrix, self._u, self._v, steps, self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = matrix_of(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next step writes them in place, and backward needs these.
        u, v = self._u.clone(), self._v.clone()
        return weight / aten.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # as if it had norm one


@restoring()
def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its greatest singular value.

    Parameters
    ----------
    module : Module
        Changed in place. In training mode, each access to the weight runs steps of the power
        method.
    name : str, default 'weight'
        Name of the parameter. More than two dimensions are flattened to a matrix; a vector is
        divided by its norm.
    n_power_iterations : int, default 1
        Steps of the power method for each access.
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
    ValueError
        If there is no such parameter, or if ``n_power_iterations`` is not positive.
    IndexError
        If ``dim`` is not a dimension of the weight.
    """
    weight = _tensor_of(module, name)
    with no_grad():
        parametrization = _SpectralNorm(
            weight, n_power_iterations, output_dimension(module) if dim is None else dim, eps
        )
    return register_parametrization(module, name, parametrization)

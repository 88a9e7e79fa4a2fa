"""Maps from free parameters to orthogonal matrices: exponential, Cayley, products of
reflections.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_dispatcher import ops
from dovetail_kernel import finfo

from ..modules.module import Module

__all__: list[str] = []


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows if these are fewer."""

    base: Tensor | None

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError(
                "The householder parametrization does not support complex tensors. Use matrix_exp."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def _is_wide(self) -> bool:
        return bool(self.shape[-2] < self.shape[-1])

    def forward(self, X: Tensor) -> Tensor:
        free = X.mT if self._is_wide() else X
        result: Tensor
        if self.orthogonal_map is _OrthMaps.householder:
            result = _product_of_reflections(free)
        else:
            result = self._map_of_skew(free)
        base = getattr(self, "base", None)
        if base is not None:
            result = base @ result
        return result.mT if self._is_wide() else result

    def _map_of_skew(self, free: Tensor) -> Tensor:
        rows, columns = free.shape[-2:]
        lower = free.tril()
        if rows != columns:
            blank = lower.new_zeros((*lower.shape[:-1], rows - columns))
            lower = aten.cat([lower, blank], dim=-1)
        skew = lower - lower.mH
        square: Tensor
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            square = aten.matrix_exp(skew)
        else:
            one = aten.eye(rows, dtype=skew.dtype, device=skew.device)
            square = ops.aten.linalg_solve(one - skew / 2, one + skew / 2)
        return square if rows == columns else square[..., :columns]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}. Assign one of that shape."
            )
        tall = Q.mT if self._is_wide() else Q
        free = self._move_base(tall) if "base" in self._buffers else self._free_numbers(tall)
        return free.mT if self._is_wide() else free

    def _free_numbers(self, tall: Tensor) -> Tensor:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False. Use trivialization."
            )
        reflections, factors = aten.geqrf(tall)
        signs = reflections.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs.copy_(aten.where(factors == 0, -signs, signs))  # no reflection there
        return reflections

    def _move_base(self, tall: Tensor) -> Tensor:
        """Make ``tall`` the image of minus one, which the maps take to the identity."""
        rows, columns = tall.shape[-2:]
        if rows != columns:
            others = tall.new_empty((*tall.shape[:-1], rows - columns)).normal_(0, 1)
            self.base = _orthogonal_factor(aten.cat([tall, others], dim=-1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _orthogonal_factor(tall)
        start = aten.zeros_like(tall)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _product_of_reflections(free: Any) -> Any:
    reflections = free.tril(diagonal=-1)
    factors = 2.0 / (1.0 + (reflections * reflections).sum(dim=-2))
    result = ops.aten.linalg_householder_product(reflections, factors)
    signs = free.diagonal(dim1=-2, dim2=-1).detach().int()  # constants, 1 or -1
    return result * signs.unsqueeze(-2)


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    """Return whether the columns are orthonormal, as far as rounding lets one tell."""
    rows, columns = Q.shape[-2:]
    tolerance = 10.0 * rows * finfo(Q.dtype).eps if eps is None else eps
    one = aten.eye(columns, dtype=Q.dtype, device=Q.device)
    return bool(aten.allclose(Q.mH @ Q, one, atol=tolerance))


def _orthogonal_factor(tall: Tensor) -> Tensor:
    """Return the orthogonal factor of the QR decomposition whose triangle has a positive
    diagonal.
    """
    reflections, factors = aten.geqrf(tall)
    result: Tensor = ops.aten.linalg_householder_product(reflections, factors)
    return result * reflections.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)

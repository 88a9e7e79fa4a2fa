"""Combinations of vectors: grids, blocks, powers and covariances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations as _combinations
from itertools import combinations_with_replacement as _repeated
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import int64

from ....kernel_support.dims import check_room
from ....tensor.data.from_data import tensor
from ....typing import Tensor


def cartesian_prod(tensors: Sequence[Tensor]) -> Any:
    """Return all combinations of an element of each vector, as rows."""
    for each in tensors:
        if each.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(each.shape)}. Flatten it.")
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList. Give at least one vector.")
    if len(tensors) == 1:
        return tensors[0]
    if len({each.dtype for each in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype. Convert them.")
    shape = [each.shape[0] for each in tensors]
    columns = []
    for at, each in enumerate(tensors):
        line = F.reshape(each, [size if dim == at else 1 for dim, size in enumerate(shape)])
        columns.append(F.reshape(F.expand(line, shape), (-1,)))
    return F.stack(columns, 1)


def combinations(self: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Return all combinations of `r` elements of a vector, as rows, in the order of places."""
    if self.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.shape)}. Flatten it.")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return F.new_zeros(self, (0,))
    choose = _repeated if with_replacement else _combinations
    count = self.shape[0]
    check_room(math.comb(count + r - 1 if with_replacement and count else count, r) * r, 40)
    places = [place for row in choose(range(self.shape[0]), r) for place in row]
    index = tensor(places, dtype=int64, device=self.device)
    return F.reshape(F.index_select(self, 0, index), (-1, r) if places else (0, r))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Any:
    """Return a matrix whose columns are powers of a vector, falling by default."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor. Flatten it.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative. Give more columns, or leave N out.")
    made = _powers(x, count)
    return made if increasing else F.flip(made, (-1,))


def linalg_vander(x: Tensor, *, N: int | None = None) -> Any:
    """Return matrices whose columns are the powers of vectors from 0 on."""
    if x.dtype.scalar_name in ("Bool", "Half", "BFloat16"):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{x.dtype.scalar_name}. Convert it."
        )
    if not x.ndim:
        x = F.unsqueeze(x, -1)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1. Give more columns, or leave N out.")
    return _powers(x, count)


def _powers(x: Tensor, count: int) -> Any:
    """Return the first powers of all elements along a new last dimension."""
    column = F.unsqueeze(x, -1)
    if x.dtype.category < 2:
        column = F.to(column, int64)
    ones = F.ones_like(F.narrow(F.expand(column, (*x.shape, max(count, 1))), -1, 0, min(count, 1)))
    if count <= 1:
        return ones
    others = F.expand(column, (*x.shape, count - 1))
    return F.cat([ones, F.cumprod(others, -1)], -1)


# -- covariances -----------------------------------------------------------------------------------


def cov(self: Any, *, correction: int = 1, fweights: object = None, aweights: Any = None) -> Any:
    """Return the covariances of variables, the rows, over observations, the columns."""
    if self.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{self.ndim} dimensions. Reshape it."
        )
    if self.dtype.scalar_name == "Bool":
        raise RuntimeError("cov(): bool dtype is not supported for input. Convert it.")
    x = F.reshape(self, (1, -1)) if self.ndim < 2 else self
    count = x.shape[1]
    weights: Any = None
    if fweights is not None:
        _check_weights("fweights", fweights, count, integral=True)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count, integral=False)
        weights = aweights if weights is None else F.mul(weights, aweights)
    weighted = x if weights is None else F.mul(x, weights)
    total: Any = count if weights is None else F.sum(weights)
    centred = F.sub(x, F.div(F.sum(weighted, (1,), True), total))
    freedom: Any = total - correction if weights is None else F.sub(total, correction)
    if aweights is not None and correction:
        spread = F.sum(F.mul(weights, aweights))
        freedom = F.sub(total, F.div(F.mul(spread, correction), total))
    scaled = centred if weights is None else F.mul(centred, weights)
    product = F.mm(centred, F.conj(F.t(F.to(scaled, centred.dtype))))
    made = F.div(product, max(freedom, 0) if weights is None else F.clamp(freedom, 0))
    return F.reshape(made, ()) if made.shape == (1, 1) else made


def _check_weights(name: str, weights: Any, count: int, *, integral: bool) -> None:
    """Raise an error for weights that do not match the observations, or are negative."""
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.ndim} dimensions. Flatten them."
        )
    is_integral = weights.dtype.category < 2 and weights.dtype.scalar_name != "Bool"
    if is_integral is not integral or weights.dtype.is_complex:
        kind = "integral" if integral else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.scalar_name} dtype. Convert them."
        )
    size = math.prod(weights.shape)
    if size != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {size} != {count}. Give one for each."
        )
    if size and weights.device.type != "meta" and not bool(F.all(F.ge(weights, 0))):
        raise RuntimeError(f"cov(): {name} cannot be negative, or NaN. Leave out the observation.")


def corrcoef(self: Any) -> Any:
    """Return the correlation coefficients of variables, the rows: covariances over both standard
    deviations.
    """
    if self.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{self.ndim} dimensions. Reshape it."
        )
    made = F.cov(self)
    if not made.ndim:
        return F.div(made, made)
    deviation = F.sqrt(F.real(F.diagonal(made)))
    made = F.div(F.div(made, F.unsqueeze(deviation, -1)), deviation)
    if made.dtype.is_complex:
        parts = [F.clamp(part(made), -1, 1) for part in (F.real, F.imag)]
        return F.view_as_complex(F.stack(parts, -1))
    return F.clamp(made, -1, 1)

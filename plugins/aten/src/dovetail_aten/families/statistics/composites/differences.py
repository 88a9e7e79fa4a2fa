"""Differences, derivatives and integrals along a dimension, from samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import bool as bool_
from dovetail_kernel import uint8

from ....kernel_support.dims import wrap_dim, wrap_dims
from ....typing import Scalar, Tensor


def _sides(x: Tensor, dim: int) -> tuple[Any, Any]:
    """Return all elements along a dimension but the last, and all but the first."""
    size = x.shape[dim]
    return F.narrow(x, dim, 0, size - 1), F.narrow(x, dim, 1, size - 1)


def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the `n`-th differences of neighbours along a dimension."""
    if not self.ndim:
        raise RuntimeError(
            "diff expects input to be at least one-dimensional. Give it a dimension: x.reshape(1)."
        )
    dim = wrap_dim(dim, self.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}. Give 0 or more.")
    if n == 0:
        return F.clone(self)  # as it is, as in PyTorch
    if prepend is not None or append is not None:
        given = [each for each in (prepend, self, append) if each is not None]
        if any([each.ndim != self.ndim for each in given]):
            raise RuntimeError(
                "diff expects prepend or append to be the same dimension as input. Reshape it."
            )
        self = F.cat(given, dim)
    for _ in range(min(n, self.shape[dim])):
        before, behind = _sides(self, dim)
        is_mask = self.dtype is bool_
        self = F.logical_xor(behind, before) if is_mask else F.sub(behind, before)
    return self


# -- derivatives -----------------------------------------------------------------------------------


def gradient(
    self: Tensor,
    *,
    spacing: object = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Any, ...]:
    """Return the derivatives along each dimension, estimated from neighbours to second order.

    `spacing` is the distance of samples, one number for all dimensions or one for each, or a tensor
    of coordinates for each.
    """
    if self.dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input. Convert the tensor.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = [] if isinstance(dim, list | tuple) and not dim else wrap_dims(dim, self.ndim)
    spacings = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            f"arguments to have the same length, but got a spacing argument of length "
            f"{len(spacings)} and a dim argument of length {len(dims)}."
        )
    for each in dims:
        if self.shape[each] <= edge_order:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, but "
                f"dimension {each} has {self.shape[each]} for edge_order={edge_order}."
            )
    pairs = zip(dims, spacings, strict=True)
    return tuple([_derivative(self, each, step, edge_order) for each, step in pairs])


def _derivative(self: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    """Return the derivative along one dimension."""
    size = self.shape[dim]
    is_even = not hasattr(spacing, "shape")
    if not is_even:
        steps = _steps(self, dim, spacing)
    else:
        number = 1 if spacing is None else spacing
        ones = [size - 1 if each == dim else 1 for each in range(self.ndim)]
        dtype = self.dtype if self.dtype.is_floating_point or self.dtype.is_complex else None
        factor, number = (number, 1) if isinstance(number, complex) else (1, number)
        steps = F.mul(F.full(ones, number, dtype=dtype, device=self.device), factor)

    def at(x: Tensor, start: int, length: int) -> Any:
        return F.narrow(x, dim, start % x.shape[dim], length)

    first, last = at(steps, 0, 1), at(steps, -1, 1)
    if edge_order == 1:
        begin = F.div(F.sub(at(self, 1, 1), at(self, 0, 1)), first)
        end = F.div(F.sub(at(self, -1, 1), at(self, -2, 1)), last)
    else:
        begin = _edge([at(self, place, 1) for place in (0, 1, 2)], first, at(steps, 1, 1))
        end = _edge([at(self, place, 1) for place in (-1, -2, -3)], last, at(steps, -2, 1))
        end = F.neg(end)
    parts = [begin, end]
    if size > 2:
        before, behind = at(steps, 0, size - 2), at(steps, 1, size - 2)
        left, middle, right = (at(self, start, size - 2) for start in (0, 1, 2))
        parts.insert(1, _slope(left, middle, right, before, behind, is_even))
    return F.cat(parts, dim)


def _slope(
    left: Tensor, middle: Tensor, right: Tensor, before: Tensor, behind: Tensor, is_even: bool
) -> Any:
    """Return the slope at the middle of three values, that of the parabola through them."""
    if is_even:
        # The middle one cancels: said so, it may be infinite.
        return F.div(F.sub(right, left), F.mul(before, 2))
    # The slopes to both sides, weighted by the distance on the other one.
    back, ahead = F.div(F.sub(middle, left), before), F.div(F.sub(right, middle), behind)
    both = F.add(F.mul(back, behind), F.mul(ahead, before))
    return F.div(both, F.add(before, behind))


def _steps(self: Any, dim: int, coordinates: Tensor) -> Any:
    """Return the distances of samples along a dimension, to be broadcast with them."""
    if coordinates.ndim != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an "
            f"element with {coordinates.ndim} dimensions!"
        )
    if coordinates.device != self.device:
        raise RuntimeError(
            "torch.gradient expected each tensor to be on the same device, but got devices "
            f"{coordinates.device} and {self.device}!"
        )
    if coordinates.shape[0] != self.shape[dim]:
        raise RuntimeError(
            "torch.gradient expected as many coordinates as there are samples, but got "
            f"{coordinates.shape[0]} for dimension {dim} of size {self.shape[dim]}."
        )
    shape = [-1 if each == dim else 1 for each in range(self.ndim)]
    return F.reshape(diff(coordinates), shape)


def _edge(values: Sequence[Any], near: Any, far: Any) -> Any:
    """Return the slope at the first of three values, of the parabola through them."""
    slope = F.div(F.sub(values[1], values[0]), near)
    next_slope = F.div(F.sub(values[2], values[1]), far)
    bend = F.div(F.mul(F.sub(next_slope, slope), near), F.add(near, far))
    return F.sub(slope, bend)


# -- integrals -------------------------------------------------------------------------------------


def trapezoid(y: object, x: Tensor, *, dim: int = -1) -> Any:
    """Return the integral along a dimension by the trapezoidal rule, between coordinates `x`."""
    areas = _trapezoids("trapezoid", y, x, dim)
    return F.div(F.sum(areas, (wrap_dim(dim, areas.ndim),)), 2)


def trapezoid_dx(y: Tensor, *, dx: Any = 1, dim: int = -1) -> Any:
    """Return the integral along a dimension by the trapezoidal rule, with steps of `dx`."""
    axis = _check_step("trapezoid", y, dx, dim)
    total = F.sum(y, (axis,))
    if y.shape[axis]:
        ends = F.add(F.select(y, axis, 0), F.select(y, axis, -1))
        total = F.sub(total, F.mul(ends, 0.5))
    return F.mul(total, dx)


def cumulative_trapezoid(y: object, x: Tensor, *, dim: int = -1) -> Any:
    """Return the integrals up to each coordinate `x` but the first, by the trapezoidal rule."""
    areas = _trapezoids("cumulative_trapezoid", y, x, dim)
    return F.cumsum(F.div(areas, 2), wrap_dim(dim, areas.ndim))


def cumulative_trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Any:
    """Return the integrals up to each sample but the first, with steps of `dx`."""
    axis = _check_step("cumulative_trapezoid", y, dx, dim)
    return F.cumsum(F.mul(_sums(y, axis), dx / 2), axis)


def _check_samples(name: str, y: Any, dim: int) -> int:
    """Return the dimension to integrate along."""
    if not y.ndim:
        raise IndexError(
            f"{name}: Dimension specified as {dim} but tensor has no dimensions. Give it one."
        )
    axis = wrap_dim(dim, y.ndim)
    if y.dtype is bool_:
        raise RuntimeError(
            f"{name}: received a bool input for `y`, but bool is not supported. Convert it."
        )
    return axis


def _check_step(name: str, y: object, dx: object, dim: int) -> int:
    """Return the dimension to integrate along with steps of `dx`."""
    if isinstance(dx, bool | complex):
        raise RuntimeError(
            f"{name}: Currently, we only support dx as a real number. Give an int or a float."
        )
    return _check_samples(name, y, dim)


def _sums(y: Tensor, dim: int) -> Any:
    """Return the sums of neighbours along a dimension; none of one sample."""
    if not y.shape[dim]:
        return y
    before, behind = _sides(y, dim)
    return F.add(before, behind)


def _trapezoids(name: str, y: Any, x: Any, dim: int) -> Any:
    """Return twice the areas between neighbouring coordinates."""
    axis = _check_samples(name, y, dim)
    if x.dtype is bool_:
        raise RuntimeError(
            f"{name}: received a bool input for `x`, but bool is not supported. Convert it."
        )
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point: there are "
                f"{x.shape[0]} for {y.shape[axis]}."
            )
        x = F.reshape(x, [-1 if each == axis else 1 for each in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = F.reshape(x, (*([1] * (y.ndim - x.ndim)), *x.shape))
    if not x.shape[axis] or not y.shape[axis]:
        return y
    before, after = _sides(x, axis)
    return F.mul(F.sub(after, before), _sums(y, axis))

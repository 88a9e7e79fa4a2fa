"""Transforms of event dimensions, and combinations of transforms for parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Size

from . import constraints
from .base_transforms import Transform
from .utils import _sum_rightmost, lazy_property


class IndependentTransform(Transform):
    """A transform whose last batch dimensions belong to the event: the log-Jacobian is summed over
    them.

    Parameters
    ----------
    base_transform
        The transform.
    reinterpreted_batch_ndims
        Number of dimensions.
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The support of the base, with more event dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The support of the base, with more event dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """Whether the base is bijective."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """The sign of the base."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the log-Jacobian of the base, summed over the reinterpreted dimensions."""
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(found, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: object) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: object) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Transform that reshapes the event.

    Parameters
    ----------
    in_shape, out_shape
        The event shapes of the argument and of the result.
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Vectors, matrices, …, of real numbers."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Vectors, matrices, …, of real numbers."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return 0 for every event."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: object) -> Any:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: object) -> Any:
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape: Any, own: Any, other: Any) -> Any:
    """Return a shape whose last dimensions are `other` instead of `own`."""
    if len(shape) < len(own):
        raise ValueError("Too few dimensions on input")
    kept = len(shape) - len(own)
    if tuple(shape[kept:]) != tuple(own):
        raise ValueError(f"Shape mismatch: expected {tuple(shape[kept:])} but got {tuple(own)}")
    return Size((*shape[:kept], *other))


class _Joined(Transform):
    """Transforms of the parts of a tensor along a dimension."""

    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all([isinstance(each, Transform) for each in tseq]):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [each.with_cache(cache_size) for each in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim

    @property
    def bijective(self) -> bool:
        """Whether all are."""
        return all([each.bijective for each in self.transforms])

    def _parts(self, x: Tensor) -> Any:
        raise NotImplementedError

    def _together(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _check(self, *tensors: Tensor) -> None:
        for x in tensors:
            if not -x.dim() <= self.dim < x.dim():
                raise AssertionError(
                    f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
                )

    def _call(self, x: Tensor) -> Tensor:
        self._check(x)
        return self._together([f(p) for f, p in zip(self.transforms, self._parts(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        self._check(y)
        return self._together(
            [f.inv(p) for f, p in zip(self.transforms, self._parts(y), strict=True)]
        )


class CatTransform(_Joined):
    """Transforms of the parts of a tensor along a dimension, of given lengths."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths must match transforms length, got {len(self.lengths)} vs "
                f"{len(self.transforms)}"
            )

    @lazy_property
    def event_dim(self) -> int:
        """The most that any of them has."""
        return max(each.event_dim for each in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The length along the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Tensor) -> Any:
        if x.size(self.dim) != self.length:
            raise AssertionError(
                f"Input size {x.size(self.dim)} at dim {self.dim} does not match expected length "
                f"{self.length}"
            )
        return aten.split(x, self.lengths, self.dim)

    def _together(self, parts: list[Tensor]) -> Tensor:
        return aten.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the log-Jacobians of all parts, concatenated; summed over the dimension if it
        belongs to the event.
        """
        self._check(x, y)
        found = []
        for f, own, made in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            term = f.log_abs_det_jacobian(own, made)
            found.append(_sum_rightmost(term, self.event_dim - f.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return aten.cat(found, dim=dim) if dim < 0 else sum(found)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domains of all parts, concatenated."""
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomains of all parts, concatenated."""
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms of the slices of a tensor along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, x: Tensor) -> Any:
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"Input size {x.size(self.dim)} at dim {self.dim} does not match number of "
                f"transforms {len(self.transforms)}"
            )
        return x.unbind(self.dim)

    def _together(self, parts: list[Tensor]) -> Tensor:
        return aten.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the log-Jacobians of all parts, stacked."""
        self._check(x, y)
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return aten.stack([f.log_abs_det_jacobian(a, b) for f, a, b in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domains of all parts, stacked."""
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomains of all parts, stacked."""
        return constraints.stack([each.codomain for each in self.transforms], self.dim)

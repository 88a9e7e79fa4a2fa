"""Invertible functions of tensors with the logarithm of their Jacobian's determinant: the base
class, inverses, and compositions.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any
from weakref import ref

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .utils import _sum_rightmost, lazy_property


class Transform:
    """An invertible function with the log-determinant of its Jacobian.

    Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    Parameters
    ----------
    cache_size
        1 caches the last argument and result, so that the inverse of a result is exactly its
        argument. Default: 0.

    Attributes
    ----------
    bijective
        Whether ``t.inv(t(x)) == x`` for all x of the domain.
    domain, codomain
        Constraints of arguments and results.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()  # of another base class: a Module, where the transform has parameters

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of event dimensions, if argument and result have the same number.

        Raises
        ------
        ValueError
            If argument and result have different numbers of event dimensions.
        """
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, as a transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 or -1: whether an elementwise transform is increasing or decreasing."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return the same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        Transform.__init__(made, cache_size)
        return made

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        known, result = self._cached_x_y
        if x is known:
            return result
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        x, known = self._cached_x_y
        if y is known:
            return x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of ``|dy / dx|``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: object) -> Any:
        """Return the shape of the result of an argument of `shape`."""
        return shape

    def inverse_shape(self, shape: object) -> Any:
        """Return the shape of the argument of a result of `shape`."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform  # kept, not referred to weakly

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The codomain of the transform."""
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The domain of the transform."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        """That of the transform."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """That of the transform."""
        return self._inv.sign

    @property
    def inv(self) -> Any:
        """The transform."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return the inverse of the transform with another size of its cache."""
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and bool(self._inv == other._inv)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of ``|dy / dx|``: minus that of the transform."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: object) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: object) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Composition of transforms.

    Parameters
    ----------
    parts
        The transforms, in the order of application.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def _joined(self, outer: str, inner: str) -> Any:
        """Return the constraint at one end, with the event dimensions that the others demand."""
        parts = self.parts if outer == "domain" else self.parts[::-1]
        found = getattr(parts[0], outer)
        needed = getattr(parts[-1], inner).event_dim
        for part in reversed(parts):
            needed += getattr(part, outer).event_dim - getattr(part, inner).event_dim
            needed = max(needed, getattr(part, outer).event_dim)
        missing = needed - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The domain of the first."""
        return self._joined("domain", "codomain") if self.parts else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The codomain of the last."""
        return self._joined("codomain", "domain") if self.parts else constraints.real

    @lazy_property
    def bijective(self) -> bool:
        """Whether all are."""
        return all([part.bijective for part in self.parts])

    @lazy_property
    def sign(self) -> Any:
        """The product of all."""
        return functools.reduce(operator.mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self) -> Any:
        """The inverses in reverse order."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = ref(inverse)
            inverse._inv = ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum of all log-Jacobians, over the event dimensions of the composition."""
        if not self.parts:
            return aten.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, values, values[1:], strict=False):
            term = part.log_abs_det_jacobian(before, after)
            total = total + _sum_rightmost(term, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total  # type: ignore[return-value]

    def forward_shape(self, shape: object) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: object) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        shown = ",\n    ".join([repr(part) for part in self.parts])
        return f"{type(self).__name__}(\n    {shown}\n)"


identity_transform = ComposeTransform([])

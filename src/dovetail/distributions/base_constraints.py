"""The base class of constraints, placeholders for constraints that depend on parameters, and
combinations of constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor


class Constraint:
    """A set of tensors.

    Attributes
    ----------
    is_discrete
        Whether the set is discrete. Default: False.
    event_dim
        Number of trailing dimensions that form an element of the set. Default: 0.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Return a bool tensor of ``value.shape`` without its event dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _Dependent(Constraint):
    """A placeholder for a set that depends on other values."""

    def __init__(self, *, is_discrete: object = NotImplemented, event_dim: object = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:
        """Whether its elements lie apart; unknown raises NotImplementedError."""
        return self._known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> int:
        """How many dimensions make an element; unknown raises NotImplementedError."""
        return self._known(self._event_dim, "event_dim")

    def _known(self, value: object, name: str) -> Any:
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> Any:
        """Return a placeholder of which more is known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """Raise an error: there is nothing to compare with. Always raises ValueError."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: object) -> bool:
    """Return whether a constraint is a placeholder."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """Property of a distribution that returns a constraint depending on parameters; on the class,
    it returns a placeholder.
    """

    def __init__(
        self,
        fn: Callable[..., object] | None = None,
        *,
        is_discrete: object = NotImplemented,
        event_dim: object = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:  # type: ignore[override]
        """Decorate a method."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Constraint that all elements along some trailing dimensions satisfy a base constraint."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """Whether the base is discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The event dimensions of the base, and the reinterpreted dimensions."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Return whether all elements along the dimensions satisfy the base."""
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}. Give a tensor "
                "with all event dimensions."
            )
        kept = found.dim() - self.reinterpreted_batch_ndims
        return found.reshape((*found.shape[:kept], -1)).all(-1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__.removeprefix('_')}({self.base_constraint!r}, "
            f"{self.reinterpreted_batch_ndims})"
        )


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture whose components are along a batch dimension of the base."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """Whether the base is discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The event dimensions of the base."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return whether every element satisfies the constraints of all components."""
        place = value.dim() - self.event_dim
        found = self.base_constraint.check(value.unsqueeze(place))
        kept = found.dim() - self.event_dim
        return (
            found.all(-1)
            if kept <= 0 or not self.event_dim
            else found.reshape((*value.shape[:place], -1)).all(-1)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Joined(Constraint):
    """Constraint of a tensor whose parts along a dimension have different constraints."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        for each in cseq:
            if not isinstance(each, Constraint):
                raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        """Whether any of them is."""
        return any([each.is_discrete for each in self.cseq])

    @property
    def event_dim(self) -> int:
        """The most that any of them has."""
        return max(each.event_dim for each in self.cseq)

    def check_dim(self, value: Tensor) -> None:
        """Raise an error for a tensor without the dimension."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"Expected -{value.dim()} <= dim < {value.dim()}, got dim={self.dim}"
            )


class _Cat(_Joined):
    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"Expected lengths to have {len(self.cseq)} elements, got {len(self.lengths)}"
            )

    def check(self, value: Tensor) -> Tensor:
        self.check_dim(value)
        parts = aten.split(value, self.lengths, self.dim)
        found = [each.check(part) for each, part in zip(self.cseq, parts, strict=True)]
        return aten.cat(found, self.dim)


class _Stack(_Joined):
    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        """The maximum event dimension of all parts, including the stacking dimension if it is part
        of the event.
        """
        most = super().event_dim
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Tensor) -> Tensor:
        self.check_dim(value)
        parts = value.unbind(self.dim)
        found = [each.check(part) for each, part in zip(self.cseq, parts, strict=True)]
        return aten.stack(found, self.dim)

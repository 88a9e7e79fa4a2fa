"""Transforms from unconstrained numbers to a constrained set: `biject_to` returns bijections,
`transform_to` surjections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_aten import Tensor

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry(constraints.Constraint):
    """A registry of functions that create transforms for constraints, by constraint class."""

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: object, factory: Any = None) -> Callable[[Any], Any]:
        """Register `factory`, or the decorated function, for the class of a constraint.

        Raises
        ------
        TypeError
            For an object that is neither a constraint nor a constraint class.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return a transform to what `constraint` allows.

        Raises
        ------
        NotImplementedError
            If none is registered.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints. Register a function "
                "for them."
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Any], Any]:
    """Register a function for constraints, in both tables."""

    def register(factory: object) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints.real)
def _real(constraint: object) -> Any:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _positive(constraint: object) -> Any:
    return transforms.ExpTransform()


@_both(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint: object) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def _below(constraint: object) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: object) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


def _register_joined(table: ConstraintRegistry) -> None:
    """Register what is made of the same table's transforms for other constraints."""

    @table.register(constraints.independent)
    def _independent(constraint: object) -> Any:
        return transforms.IndependentTransform(
            table(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @table.register(constraints.cat)
    def _cat(constraint: object) -> Any:
        parts = [table(each) for each in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @table.register(constraints.stack)
    def _stack(constraint: object) -> Any:
        return transforms.StackTransform([table(each) for each in constraint.cseq], constraint.dim)


_register_joined(biject_to)
_register_joined(transform_to)


@biject_to.register(constraints.simplex)
def _simplex_one_to_one(constraint: object) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _simplex(constraint: object) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint: object) -> Any:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint: object) -> Any:
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: object) -> Any:
    return transforms.CorrCholeskyTransform()

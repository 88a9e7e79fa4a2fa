"""`Distribution`: the base class of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Size, defining_module, warn_user, without_wrappers

from . import constraints
from .utils import broadcast_all, holds_everywhere, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution of tensors.

    Parameters
    ----------
    batch_shape
        The shape of the parameters: a distribution for each element.
    event_shape
        The shape of one sample of a single distribution.
    validate_args
        Whether to check parameters and values against constraints. Default: the value set by
        `set_default_validate_args`, or True unless Python runs with ``-O``.

    Attributes
    ----------
    arg_constraints
        Constraints of the parameters, by name. A parameter with ``event_dim`` n has n dimensions
        more than the batch.
    has_rsample
        Whether samples can be differentiated with respect to parameters.
    has_enumerate_support
        Whether `enumerate_support` lists all values.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    arg_constraints: ClassVar[Any]
    support: Any

    if TYPE_CHECKING:  # parameters are set by their names

        def __getattr__(self, name: str) -> Any: ...

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments.

        Raises
        ------
        ValueError
            For a value that is not a bool.
        """
        if value not in (True, False):
            raise ValueError("validate_args has to be True or False.")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # of another base class: a Module, where there are parameters

    def _check_parameters(self) -> None:
        cls = type(self)
        try:
            known = self.arg_constraints
        except (AttributeError, NotImplementedError):
            known = {}
            warn_user(
                f"{cls} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
        for name, constraint in known.items():
            if constraints.is_dependent(constraint) or (
                name not in self.__dict__ and isinstance(getattr(cls, name, None), lazy_property)
            ):
                continue
            value = getattr(self, name)
            valid = constraint.check(value)
            if not holds_everywhere(valid):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{without_wrappers(value)}"
                )

    def _set(self, validate_args: bool | None, **parameters: Any) -> None:
        """Take parameters of scalars, which broadcast, for the constructor."""
        names, given = list(parameters), list(parameters.values())
        for name, value in zip(names, broadcast_all(*given), strict=True):
            setattr(self, name, value)
        shape = getattr(self, names[0]).shape
        Distribution.__init__(self, shape, validate_args=validate_args)

    # -- shapes ------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Sequence[int], _instance: object = None) -> Any:
        """Return the distribution with its parameters expanded to another batch shape."""
        known = [cls for cls in type(self).__mro__ if defining_module(cls).startswith(__package__)]
        new = self._get_checked_instance(known[0], _instance)
        for name, constraint in self.arg_constraints.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                events = value.shape[value.dim() - constraint.event_dim :]
                new.__dict__[name] = value.expand((*batch_shape, *events))
        self._expand_into(new, Size(batch_shape))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new: object, batch_shape: Size) -> None:
        """Give an expanded distribution what else it needs."""

    def _get_checked_instance(self, cls: type, _instance: object = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # -- samples -----------------------------------------------------------------------------------

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples of the shape `sample_shape`, batch, event, without gradients."""
        return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples that are differentiable functions of the parameters.

        Raises
        ------
        NotImplementedError
            If samples are not differentiable.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Return n samples: ``sample((n,))``."""
        warn_user("sample_n(n) will be deprecated. Use .sample((n,)) instead.", FutureWarning)
        return self.sample((n,))

    # -- what a distribution says of values --------------------------------------------------------

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at values that broadcast with
        batch and event.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile: the inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values along a new first dimension, expanded over the batch or not."""
        raise NotImplementedError

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        values = values.reshape((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value: object) -> None:
        """Raise an error for values whose shape does not fit, or that are not in the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if tuple(value.shape[value.dim() - events :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}."
            )
        expected = self._extended_shape()
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        if not holds_everywhere(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{without_wrappers(value)}"
            )

    # -- moments -----------------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def entropy(self) -> Tensor:
        """Return the entropy, of the shape of the batch, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return aten.exp(self.entropy())

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                short = not isinstance(value, Tensor) or (
                    value.numel() == 1 and without_wrappers(value) is value
                )
                shown.append(f"{name}: {value if short else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _refuse(name: str) -> property:
    def refuse(self: Distribution) -> Any:
        raise NotImplementedError

    return property(refuse, doc=name)


Distribution.arg_constraints = _refuse("Constraints of the parameters, by name.")
Distribution.support = _refuse("The constraint of the values.")

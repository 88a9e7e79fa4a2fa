"""Parameters that are probabilities or log-odds; the missing one is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor

from . import constraints
from .distribution import Distribution
from .utils import (
    attribute,
    broadcast_all,
    exclusive,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


class OneOfTwo(Distribution):
    """Base class of distributions that are given `probs` or `logits`, and compute the other."""

    @property
    def _param(self) -> Tensor:
        """Whichever was given."""
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new_empty(*args, **kwargs)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.shape


class Chances(OneOfTwo):
    """Base class of distributions with probabilities of success `probs`, or log-odds `logits`."""

    arg_constraints = {  # noqa: RUF012
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self, probs: object = None, logits: object = None, validate_args: bool | None = None
    ) -> None:
        self._set_chances(validate_args, probs, logits)

    def _set_chances(
        self, validate_args: bool | None, probs: object, logits: object, **others: Any
    ) -> None:
        exclusive(probs=probs, logits=logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        values = broadcast_all(given, *others.values())
        for each, value in zip((name, *others), values, strict=True):
            setattr(self, each, value)
        super().__init__(values[0].shape, validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds of the chances."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)


class Shares(Distribution):
    """Base class of distributions with probabilities that sum to 1 along the last dimension:
    normalized `probs`, or the softmax of `logits`.
    """

    arg_constraints = {  # noqa: RUF012
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    _categorical: Any
    """The distribution that holds the chances."""
    probs = attribute("_categorical.probs")
    logits = attribute("_categorical.logits")
    param_shape = attribute("_categorical.param_shape")
    _param = attribute("_categorical._param")
    _new = attribute("_categorical._new")

    def _set_shares(self, validate_args: bool | None, categorical: OneOfTwo) -> None:
        """Take the distribution of one category, for the constructor."""
        self._categorical = categorical
        shape = categorical.batch_shape
        super().__init__(shape, categorical.param_shape[-1:], validate_args=validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._categorical = self._categorical.expand(batch_shape)

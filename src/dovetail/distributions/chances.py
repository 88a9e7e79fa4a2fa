"""Parameters that are probabilities or log-odds; the missing one is computed."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor

from .distribution import Distribution
from .utils import (
    attribute,
    broadcast_all,
    exclusive,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


class Chances(Distribution):
    """Base class of distributions with probabilities of success `probs`, or log-odds `logits`."""

    def _set_chances(
        self, validate_args: bool | None, probs: object, logits: object, **others: Any
    ) -> None:
        exclusive(probs=probs, logits=logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        values = broadcast_all(given, *others.values())
        for each, value in zip((name, *others), values, strict=True):
            setattr(self, each, value)
        super().__init__(values[0].shape, validate_args=validate_args)

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

    _shares: Any
    """The distribution that holds the chances."""
    probs = attribute("_probs")
    logits = attribute("_logits")
    param_shape = attribute("_param_shape")

    @property
    def _probs(self) -> Tensor:
        return self._shares.probs

    @property
    def _logits(self) -> Tensor:
        return self._shares.logits

    @property
    def _param(self) -> Tensor:
        return self._shares._param

    @property
    def _param_shape(self) -> Any:
        return self._shares.param_shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._shares._new(*args, **kwargs)

"""Exponential families: densities ``exp(<t(x), theta> - F(theta) + k(x))``."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import grad

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters and a known log normalizer F."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy: ``F - <theta, grad F> - E k``."""
        natural = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        slopes: Any = grad(normalizer.sum(), natural, create_graph=True)
        result: Any = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(natural, slopes, strict=True):
            product = parameter * slope
            result = result - product.reshape((*self._batch_shape, -1)).sum(-1)
        return aten.as_tensor(result)

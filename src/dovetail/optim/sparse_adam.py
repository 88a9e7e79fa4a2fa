"""Adam for sparse gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from ..sparse.constructors import sparse_coo_tensor
from .optimizer import Optimizer, Params
from .options import check_betas, check_rate, number

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: only the elements that a gradient stores change, and so do their
    running means.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`.
    lr : float or Tensor, default 1e-3
        Learning rate.
    betas : (float, float), default (0.9, 0.999)
        Decay of the two running means, each within [0, 1).
    eps : float, default 1e-8
        Value added to the denominator.
    maximize : bool, default False
        Maximize the objective instead of minimizing it.

    Raises
    ------
    ValueError
        For an option out of range, or sparse or complex parameters.
    """

    _takes_sparse = True

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        if not number(lr) > 0.0:
            raise ValueError(f"Invalid learning rate: {number(lr)}. It must be positive.")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}. It must be positive.")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        given = [
            ([number_of_group, place], each)
            for number_of_group, group in enumerate(self.param_groups)
            for place, each in enumerate(group["params"])
        ]
        if places := [place for place, each in given if each.is_sparse]:
            raise ValueError(
                f"Sparse params at indices {places}: SparseAdam requires dense parameter tensors. "
                "Use Adam."
            )
        if places := [place for place, each in given if each.is_complex()]:
            raise ValueError(
                f"Complex params at indices {places}: SparseAdam does not support complex "
                "parameters. Use Adam."
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        rate, (beta1, beta2) = number(group["lr"]), map(number, group["betas"])
        given = [each for each in group["params"] if each.grad is not None]
        if not all([each.grad.is_sparse for each in given]):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        for parameter in given:
            state, gradient = self.state[parameter], parameter.grad.coalesce()
            if not state:  # at once: an interrupt, or no memory, leaves all of it or none
                means = {key: aten.zeros_like(parameter) for key in ("exp_avg", "exp_avg_sq")}
                state.update(step=0, **means)
            state["step"] += 1
            values = -gradient._values() if group["maximize"] else gradient._values()
            if not values.numel():
                continue
            mean = _moved(state["exp_avg"], gradient, values, 1 - beta1)
            square = _moved(state["exp_avg_sq"], gradient, values.square(), 1 - beta2)
            correction = math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
            update = mean.div_(square.sqrt_().add_(group["eps"])).mul_(-rate * correction)
            parameter.add_(with_values(gradient, update))


def with_values(sparse: Any, values: Tensor) -> Tensor:
    """Return a sparse tensor of the same indices."""
    return sparse_coo_tensor(sparse._indices(), values, tuple(sparse.shape), is_coalesced=True)


def _moved(mean: Any, gradient: Any, values: Any, share: float) -> Any:
    """Move a running mean towards values at the indices of a gradient, and return it there."""
    held = mean.sparse_mask(gradient)._values()
    change = (values - held).mul_(share)
    mean.add_(with_values(gradient, change))
    return change.add_(held)

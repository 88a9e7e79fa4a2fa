"""`SparseAdam`, a name without function: Dovetail has no sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_aten import Tensor

from .optimizer import Optimizer, Params
from .options import check_betas, check_rate, number

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients. Dovetail's gradients are dense, so `step` raises an error.

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
        For an option out of range, or complex parameters.
    """

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
        for place_of_group, group in enumerate(self.param_groups):
            places = [place for place, each in enumerate(group["params"]) if each.is_complex()]
            if places:
                raise ValueError(
                    f"SparseAdam does not support complex parameters: {places} of group "
                    f"{place_of_group} are. Use Adam."
                )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        if any([parameter.grad is not None for parameter in group["params"]]):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead. "
                "Dovetail has no sparse ones."
            )

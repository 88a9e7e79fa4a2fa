"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import finfo

from .functional_steps import check_states, refuse_scaling
from .optimizer import Optimizer, Params
from .options import check_one_rate, count, number

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Optimizer):
    """Adafactor: steps divided by the root of a mean of squares, which is stored as one factor per
    row and one per column.

    With ``beta = 1 - step**beta2_decay``, ``rho = min(lr, 1 / sqrt(step))`` and
    ``alpha = max(eps[1], rms(p)) * rho``: ``R = beta * R + (1 - beta) * mean(g**2, -1)``;
    ``C = beta * C + (1 - beta) * mean(g**2, -2)``; ``u = g / sqrt(R C / mean(R))``;
    ``p = p - alpha * u / max(1, rms(u) / d)``. For parameters of fewer than two dimensions, the
    mean itself is stored.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`.
    lr : float or Tensor, default 1e-2
        Maximum learning rate.
    beta2_decay : float, default -0.8
        Exponent of the step in the weight of the newest gradient, at most 0.
    eps : (float or None, float), default (None, 1e-3)
        The smallest denominator (None means the epsilon of the dtype), and the smallest scale of a
        parameter.
    d : float, default 1.0
        Root mean square at which updates are clipped, at least 1.
    weight_decay : float, default 0.0
        The parameter shrinks by ``lr * weight_decay``.
    foreach : bool, optional
        Accepted; it does not change the result.
    maximize : bool, default False
        Maximize the objective instead of minimizing it.

    Raises
    ------
    ValueError
        For an option out of range.
    """

    _later_options: ClassVar[dict[str, Any]] = {"foreach": None}
    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_one_rate(lr)
        for is_right, text, value in (
            (number(lr) >= 0.0, "Learning rate should be >= 0", number(lr)),
            (beta2_decay <= 0.0, "beta2_decay should be <= 0", beta2_decay),
            (eps[0] is None or eps[0] >= 0.0, "epsilon1 should be >= 0", eps[0]),
            (eps[1] >= 0.0, "epsilon2 should be >= 0", eps[1]),
            (d >= 1.0, "Clipping threshold d should be >= 1", d),
            (weight_decay >= 0.0, "weight_decay should be >= 0", weight_decay),
        ):
            if not is_right:
                raise ValueError(f"{text} but is: {value}. Give another.")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        given = [each for each in group["params"] if each.grad is not None]
        _refuse_complex(given)
        for parameter in given:
            state = self.state[parameter]
            if not state:
                state.update(_started(parameter))
            _update(parameter, parameter.grad, state, group)


def _started(parameter: Tensor) -> dict[str, Any]:
    if parameter.dim() < 2:
        return {"step": count(0.0), "variance": aten.zeros_like(parameter)}
    *others, rows, columns = parameter.shape
    zeros = partial(aten.zeros, dtype=parameter.dtype, device=parameter.device)
    return {
        "step": count(0.0),
        "row_var": zeros([*others, rows, 1]),
        "col_var": zeros([*others, 1, columns]),
    }


def _update(parameter: Tensor, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    step = state["step"].add_(1).item()
    if group["maximize"]:
        gradient = gradient.neg()
    least, smallest = group["eps"]
    least = finfo(parameter.dtype).eps if least is None else least
    rate, share = number(group["lr"]), step ** group["beta2_decay"]
    size = max(smallest, _size(parameter))
    if group["weight_decay"] != 0:
        parameter.mul_(1 - rate * group["weight_decay"])
    variance = _variance(gradient, state, share, least)
    update = variance.clamp_(min=least * least).rsqrt_().mul_(gradient)
    clipping = max(1.0, _size(update) / group["d"])
    parameter.add_(update, alpha=-size * min(rate, step**-0.5) / clipping)


def _size(tensor: Tensor) -> float:
    """Return the root of the mean square of the elements."""
    return float(tensor.norm(2).item() / tensor.numel() ** 0.5)


def _variance(gradient: Tensor, state: dict[str, Any], share: float, least: float) -> Tensor:
    """Take a gradient into the mean of squares; return a new tensor with that."""
    if gradient.dim() < 2:
        mean: Tensor = state["variance"]
        return mean.lerp_(gradient.square(), share).clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(gradient.norm(dim=-1, keepdim=True).square_().div_(gradient.size(-1)), share)
    columns.lerp_(gradient.norm(dim=-2, keepdim=True).square_().div_(gradient.size(-2)), share)
    product: Tensor = rows @ columns
    return product.div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float,
    eps2: float,
    maximize: bool,
) -> None:
    """Take a step of `Adafactor` for each parameter; parameters and states change in place.

    Parameters
    ----------
    params, grads
        Parameters and their gradients.
    row_vars, col_vars
        Means over rows and columns, of parameters of two dimensions and more.
    variances
        Means of squares of the other parameters.
    state_steps
        A tensor for each parameter, which counts its steps.
    foreach, has_complex
        Accepted for compatibility.
    grad_scale, found_inf
        None: gradients are unscaled before.
    d, lr, beta2_decay, weight_decay, maximize
        As in `Adafactor`.
    eps1, eps2
        The two of its `eps`; None for the first is that of the dtype.

    Raises
    ------
    RuntimeError, IndexError, AssertionError
        As in `take_steps`; RuntimeError for complex parameters.
    """
    refuse_scaling(grad_scale, found_inf)
    check_states(
        params,
        {"grad": grads, "row_var": row_vars, "col_var": col_vars, "variance": variances},
        state_steps,
    )
    _refuse_complex(params)
    group = {
        "lr": lr,
        "beta2_decay": beta2_decay,
        "eps": (eps1, eps2),
        "d": d,
        "weight_decay": weight_decay,
        "maximize": maximize,
    }
    for place, parameter in enumerate(params):
        state = {
            "step": state_steps[place],
            "row_var": row_vars[place],
            "col_var": col_vars[place],
            "variance": variances[place],
        }
        _update(parameter, grads[place], state, group)


def _refuse_complex(parameters: list[Tensor]) -> None:
    if any([each.is_complex() for each in parameters]):
        raise RuntimeError(
            "Adafactor does not support complex parameters. Use view_as_real of them."
        )

"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import enable_grad, no_grad
from dovetail_kernel import contiguous_format

from .optimizer import Optimizer, Params
from .options import check_rate, may_be_refused, number
from .strong_wolfe import Conditions, Point, minimum_of_cubic, search

__all__ = ["LBFGS"]

LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS: Newton's method with an inverse Hessian estimated from the latest steps.

    `step` requires a closure, which is called several times. All parameters must be in one group.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`, of one group.
    lr : float or Tensor, default 1
        Learning rate.
    max_iter : int, default 20
        Maximum number of iterations in a step.
    max_eval : int, optional
        Maximum number of calls of the closure in a step; default: 1.25 times ``max_iter``.
    tolerance_grad : float, default 1e-7
        Stop if no element of the gradient is greater.
    tolerance_change : float, default 1e-9
        Stop if neither the loss nor the parameters change by more.
    history_size : int, default 100
        Number of steps to store.
    line_search_fn : {'strong_wolfe'}, optional
        Line search for the length of each step; default: the learning rate.

    Raises
    ------
    ValueError
        For a negative rate, or several groups.
    """

    _takes_sparse = True

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups). Pass one list."
            )
        self._params: list[Tensor] = self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run several iterations.

        Parameters
        ----------
        closure : callable
            Reevaluates the model with its gradients, and returns the loss.

        Returns
        -------
        Any
            The first value that ``closure`` returned.
        """
        group, evaluate = self.param_groups[0], enable_grad()(closure)
        search_name = group["line_search_fn"]
        first_loss = evaluate()
        loss = float(first_loss)
        evaluations = 1
        self._try_parameters()
        gradient = self._flat_gradient()
        state = self.state[self._params[0]]
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        is_flat = gradient.abs().max() <= group["tolerance_grad"]
        if is_flat:
            return first_loss

        memory = _Memory(state, group["history_size"])
        if not memory.is_begun:  # also where the first step was interrupted
            state["n_iter"] = 0
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = memory.direction(gradient)
            previous_loss = loss
            rate = group["lr"]
            if state["n_iter"] == 1:
                memory.length = min(1.0, 1.0 / gradient.abs().sum()) * rate
            else:
                memory.length = rate
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            calls = 0
            if search_name is not None:
                if search_name != "strong_wolfe":
                    raise RuntimeError(
                        "only 'strong_wolfe' is supported. Leave line_search_fn out otherwise."
                    )
                start = Point(0, loss, gradient, slope)
                found, calls = search(
                    self._probe(evaluate, direction),
                    start,
                    memory.length,
                    direction.abs().max(),
                    Conditions(tolerance=group["tolerance_change"]),
                )
                loss, gradient, memory.length = found.loss, found.gradient, found.length
                self._move(memory.length, direction)
                is_flat = gradient.abs().max() <= group["tolerance_grad"]
            else:
                self._move(memory.length, direction)
                if iteration != group["max_iter"]:
                    loss = float(evaluate())
                    gradient = self._flat_gradient()
                    is_flat = gradient.abs().max() <= group["tolerance_grad"]
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= group["max_eval"]
                or is_flat
                or direction.mul(memory.length).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        memory.save(state, previous_loss)
        return first_loss

    @no_grad()
    def _try_parameters(self) -> None:
        """Raise for a parameter that a step cannot be added to, before any is changed."""
        for parameter, gradient in may_be_refused(self._params, self):
            parameter.detach().clone().add_(gradient.to_dense().reshape(parameter.shape))
            parameter.copy_(parameter)

    def _flat_gradient(self) -> Tensor:
        given: list[Any] = self._params
        pieces = [
            aten.zeros(each.numel(), dtype=each.dtype, device=each.device)
            if each.grad is None
            else each.grad.to_dense()
            for each in given
        ]
        return aten.cat([_real(each).reshape(-1) for each in pieces])

    def _move(self, length: Any, direction: Tensor) -> None:
        """Add a multiple of the direction to the parameters."""
        at = 0
        for parameter in map(_real, self._params):
            end = at + parameter.numel()
            parameter.add_(direction[at:end].view_as(parameter), alpha=number(length))
            at = end

    def _probe(self, evaluate: Callable[[], Any], direction: Tensor) -> Callable[[Any], Point]:
        """Return a function that evaluates the loss some way along the direction."""
        places = [each.clone(memory_format=contiguous_format) for each in self._params]

        def probe(length: Any) -> Point:
            self._move(length, direction)
            loss = float(evaluate())
            gradient = self._flat_gradient()
            for parameter, place in zip(self._params, places, strict=True):
                parameter.copy_(place)
            return Point(length, loss, gradient, gradient.dot(direction))

        return probe


def _strong_wolfe(
    obj_func: Callable[[Tensor, Any, Tensor], tuple[float, Tensor]],
    x: Tensor,
    t: Any,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """Search along `d` from `x`: the line search by its name in PyTorch, for programs of their own
    steps. Return loss, gradient, length and number of evaluations.
    """

    def probe(length: Any) -> Point:
        loss, gradient = obj_func(x, length, d)
        return Point(length, loss, gradient, gradient.dot(d))

    conditions = Conditions(c1, c2, tolerance_change, max_ls)
    found, calls = search(probe, Point(0, f, g, gtd), t, d.abs().max(), conditions)
    return found.loss, found.gradient, found.length, calls


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Return the minimum of the cubic with these places, values and slopes, within `bounds`;
    default: between the places.
    """
    bounds = bounds or (min(x1, x2), max(x1, x2))
    return minimum_of_cubic(Point(x1, f1, g1, g1), Point(x2, f2, g2, g2), bounds)


def _real(tensor: Tensor) -> Tensor:
    return aten.view_as_real(tensor) if tensor.is_complex() else tensor


class _Memory:
    """The latest steps, and what they say about the curvature of the loss."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self._state = state
        self._size = size
        self._direction: Any = state.get("d")
        self.length = state.get("t")
        # Copies: an interrupted step leaves those of the state as they are.
        self._changes: list[Tensor] = [*state.get("old_dirs", ())]
        self._steps: list[Tensor] = [*state.get("old_stps", ())]
        self._inverses: list[Tensor] = [*state.get("ro", ())]
        self._scale = state.get("H_diag", 1)
        self._gradient: Any = state.get("prev_flat_grad")

    @property
    def is_begun(self) -> bool:
        """Whether a step was remembered."""
        return self._gradient is not None

    def direction(self, gradient: Tensor) -> Any:
        """Return the direction of the next step."""
        if self._state["n_iter"] == 1:
            self._changes, self._steps, self._inverses, self._scale = [], [], [], 1
            self._direction = gradient.neg()
        else:
            self._learn(gradient)
            self._direction = self._newton(gradient)
        self._gradient = gradient.clone(memory_format=contiguous_format)
        return self._direction

    def _learn(self, gradient: Tensor) -> None:
        change = gradient.sub(self._gradient)
        step = self._direction.mul(self.length)
        curvature = change.dot(step)
        if not curvature > LEAST_CURVATURE:
            return
        if len(self._changes) == self._size:
            for history in (self._changes, self._steps, self._inverses):
                history.pop(0)
        self._changes.append(change)
        self._steps.append(step)
        self._inverses.append(1.0 / curvature)
        self._scale = curvature / change.dot(change)

    def _newton(self, gradient: Tensor) -> Tensor:
        """Multiply the gradient by the estimated inverse Hessian: the two loops of L-BFGS."""
        shares = self._state.setdefault("al", [None] * self._size)
        result = gradient.neg()
        history = [*zip(self._changes, self._steps, self._inverses, strict=True)]
        for place, (change, step, inverse) in reversed([*enumerate(history)]):
            shares[place] = step.dot(result) * inverse
            result.add_(change, alpha=-shares[place].item())
        result = result.mul(self._scale)
        for place, (change, step, inverse) in enumerate(history):
            result.add_(step, alpha=(shares[place] - change.dot(result) * inverse).item())
        return result

    def save(self, state: dict[str, Any], previous_loss: float) -> None:
        """Put what is remembered into the state."""
        state.update(
            d=self._direction,
            t=self.length,
            old_dirs=self._changes,
            old_stps=self._steps,
            ro=self._inverses,
            H_diag=self._scale,
            prev_flat_grad=self._gradient,
            prev_loss=previous_loss,
        )

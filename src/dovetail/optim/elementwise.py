"""Optimizers that apply one rule to every element of a parameter.

The rule is written once, for a parameter and its state. It is recorded if steps are differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .fused_steps import take_fused
from .optimizer import Optimizer, ParamGroup
from .options import check_implementation, count, number


class ElementwiseOptimizer(Optimizer):
    """Base class of optimizers that define `_update`, the rule, and `_means` or `_start`, the
    initial state of a parameter.
    """

    _numbers: tuple[str, ...] = ("step",)
    _splits_complex: ClassVar[bool] = True
    """Whether the rule takes real and imaginary parts for independent parameters."""
    _fused_rule: ClassVar[str] = ""
    """The name of the rule for backends that have a kernel for it."""
    _means: ClassVar[tuple[str, ...]] = ()
    """Values of the state that are zero before the first step, of the shape of the parameter."""
    _captured: ClassVar[tuple[str, ...]] = ("params", "state_steps")
    """What lies on the device where steps are captured."""
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: ParamGroup) -> None:
        if group["foreach"] or group.get("capturable") or group.get("fused"):
            check_implementation(group, self._captured)
        pairs = [(each, each.grad) for each in group["params"] if each.grad is not None]
        for parameter, gradient in take_fused(self, group, pairs):
            self._take_step(parameter, gradient, self._begun(parameter, group), group)

    def _take_step(
        self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: ParamGroup
    ) -> None:
        """Apply the rule to a parameter with its state, which is brought up to date."""
        values = dict(state)
        for name in self._numbers:
            value = values[name]
            values[name] = value if value.requires_grad else value.item()
        self._apply(parameter, gradient, values, group)
        for name in self._numbers:
            if isinstance(values[name], Tensor):
                state[name] = values[name]
            else:
                state[name].fill_(values[name])
        if len(values) > len(state):
            state.update({name: values[name] for name in values.keys() - state.keys()})

    def _begun(self, parameter: Tensor, group: ParamGroup) -> dict[str, Any]:
        """Return the state of a parameter, which exists from its first step on."""
        state = self._state_of(parameter, group)
        if not state:  # at once: an interrupt, or no memory, leaves all of it or none
            started: dict[str, Any] = {}
            self._start(started, parameter, group)
            state.update(started)
        return state

    def _apply(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: ParamGroup
    ) -> None:
        """Apply the rule to a parameter, with values of the state."""
        if self._splits_complex and gradient.is_complex():
            values.update(
                {
                    name: aten.view_as_real(value)
                    for name, value in values.items()
                    if isinstance(value, Tensor) and value.is_complex()
                }
            )
            parameter, gradient = aten.view_as_real(parameter), aten.view_as_real(gradient)
        if group["maximize"]:
            gradient = gradient.neg()
        self._update(parameter, gradient, values, group)

    def _start(self, state: dict[str, Any], parameter: Tensor, group: ParamGroup) -> None:
        """Put into `state` what the rule needs before the first step of a parameter."""
        first_step(state)
        state.update({name: aten.zeros_like(parameter) for name in self._means})

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: ParamGroup
    ) -> None:
        """Change the parameter and the values of its state, going against `gradient`.

        Tensors are changed in place and real, numbers are set anew.
        """
        raise NotImplementedError


def decayed(gradient: Tensor, parameter: Tensor, group: ParamGroup) -> Tensor:
    """Return the gradient with weight decay: plus a share of the parameter."""
    decay = group["weight_decay"]
    if isinstance(decay, Tensor):
        return gradient.addcmul(parameter, decay)
    return gradient.add(parameter, alpha=decay) if decay != 0 else gradient


def shrink(parameter: Tensor, rate: Any, group: ParamGroup) -> None:
    """Let the parameter itself decay, in place."""
    decay = group["weight_decay"] if group["differentiable"] else number(group["weight_decay"])
    if isinstance(decay, Tensor) or decay != 0:
        parameter.mul_(1 - rate * decay)


def first_step(state: dict[str, Any]) -> None:
    """Begin to count steps."""
    state["step"] = count(0.0)

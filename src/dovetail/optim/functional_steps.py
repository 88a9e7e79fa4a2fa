"""Steps of optimizers with states that the caller keeps: what `adam` and its kin are made of.

The rule of the optimizer is applied to each parameter; parameters and states change in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer
from .options import check_implementation

__all__ = ["check_states", "refuse_scaling", "take_steps"]


def take_steps(
    kind: type[ElementwiseOptimizer],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: dict[str, Any],
    **options: Any,
) -> None:
    """Take a step for each parameter.

    Parameters
    ----------
    kind
        The optimizer whose rule is applied.
    params, grads
        Parameters and their gradients, dense.
    states
        A list for each entry of the state, with a value for each parameter. A value None that the
        rule replaces is set in the list.
    **options
        Options of a parameter group; missing ones have their defaults.

    Raises
    ------
    RuntimeError
        If steps are not counted by tensors.
    IndexError
        If a list is shorter than that of the parameters; nothing has changed then.
    AssertionError
        For flags that contradict each other, as in the step of the optimizer.
    """
    check_states(params, {"grad": grads, **states}, states.get("step", ()))
    group = {"maximize": False, **kind._later_options, "params": params, **options}
    check_implementation(group, kind._captured)
    rule = kind.__new__(kind)  # without parameters of its own
    for place, parameter in enumerate(params):
        state = {name: values[place] for name, values in states.items()}
        present = {name: value for name, value in state.items() if value is not None}
        rule._take_step(parameter, grads[place], present, group)
        for name, value in present.items():
            if value is not state[name]:
                states[name][place] = value


def refuse_scaling(grad_scale: Tensor | None, found_inf: Tensor | None) -> None:
    """Raise AssertionError if gradients are still scaled: `GradScaler.unscale_` is to be called."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError(
            "Expected grad_scale and found_inf to be None. Call GradScaler.unscale_ before."
        )


def check_states(
    params: Sequence[Tensor], lists: dict[str, Any], state_steps: Sequence[Any] = ()
) -> None:
    """Raise RuntimeError if steps are not counted by tensors, IndexError if a list is shorter than
    that of the parameters.
    """
    if not all([isinstance(each, Tensor) for each in state_steps]):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors. "
            "Pass a tensor(0.0) for each parameter."
        )
    for name, values in lists.items():
        if len(values) < len(params):
            raise IndexError(
                f"list index out of range: there are {len(params)} parameters, but {len(values)} "
                f"values of {name!r}. Pass one for each parameter."
            )

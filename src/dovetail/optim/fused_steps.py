"""Steps of all parameters of a group in one launch, on devices whose backend has a kernel for the
rule: see `ArrayBackend.fused_step`. ``foreach=False`` takes them operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import increment_version
from dovetail_kernel import dispatch_state

from ..nn.parameter import Parameter
from .options import number, root

__all__ = ["take_fused"]

_PLAIN = dispatch_state(0)
_Pair = tuple[Tensor, Tensor]
_Numbers = Callable[[dict[str, Any], dict[str, Any]], tuple[float, ...]]


def take_fused(optimizer: Any, group: dict[str, Any], pairs: list[_Pair]) -> list[_Pair]:
    """Take the steps that the backend of the parameters has a kernel for; return the others."""
    rule = _RULES.get(optimizer._fused_rule)
    if rule is None or not _is_plain(group) or _overlap(pairs):
        return pairs
    first = pairs[0][0]
    take = first._backend.arrays.fused_step(optimizer._fused_rule)
    if take is None:
        return pairs
    names, numbers_of = rule
    others: list[_Pair] = []
    taken: list[tuple[Tensor, ...]] = []
    numbers = []
    for parameter, gradient in pairs:
        state = optimizer._begun(parameter, group)
        tensors = (parameter, gradient, *[state.get(name) for name in names])
        if _fit(first, tensors):
            taken.append(tensors)
            numbers.append(numbers_of(group, state))
        else:
            others.append((parameter, gradient))
    if taken:
        take([[each.array for each in tensors] for tensors in taken], numbers)
        for parameter, _, *states in taken:
            increment_version((parameter, *states))
    return others


def _is_plain(group: dict[str, Any]) -> bool:
    """Return whether the options are those that the kernels know."""
    is_on_device = any(
        [
            isinstance(value, Tensor)
            for value in (group["lr"], group["weight_decay"], *group.get("betas", ()))
        ]
    )
    special = group["differentiable"] or group.get("amsgrad") or group["foreach"] is False
    return not special and not is_on_device and dispatch_state() is _PLAIN


def _overlap(pairs: Sequence[_Pair]) -> bool:
    """Return whether parameters share memory: one launch would write there twice at once."""
    ends = 0
    for start, size in sorted((each.data_ptr(), each.nbytes) for each, _ in pairs):
        if start < ends:
            return True
        ends = start + size
    return False


def _fit(first: Tensor, tensors: Sequence[Tensor | None]) -> bool:
    """Return whether tensors lie alike, without gaps, on the device of the first parameter."""
    own = tensors[0]
    return (
        own is not None
        and own.dtype.is_floating_point
        and all(
            [
                each is not None
                and type(each) in (Parameter, Tensor)
                and each.dtype is first.dtype
                and each.device == first.device
                and each.shape == own.shape
                and each.is_contiguous()
                for each in tensors
            ]
        )
    )


def _of_adam(group: dict[str, Any], state: dict[str, Any]) -> tuple[float, ...]:
    """Return the numbers of a step of Adam, and count it."""
    state["step"] += 1
    step, rate, decay = state["step"].item(), number(group["lr"]), number(group["weight_decay"])
    beta1, beta2 = [number(each) for each in group["betas"]]
    correction = root(1 - beta2**step)
    decoupled = group["decoupled_weight_decay"]
    return (
        rate * correction / (1 - beta1**step),
        group["eps"] * correction,
        beta1,
        beta2,
        0.0 if decoupled else decay,
        1 - rate * decay if decoupled else 1.0,
        -1.0 if group["maximize"] else 1.0,
    )


def _of_sgd(group: dict[str, Any], state: dict[str, Any]) -> tuple[float, ...]:
    """Return the numbers of a step of stochastic gradient descent with momentum."""
    return (
        number(group["lr"]),
        group["momentum"],
        1 - group["dampening"],
        number(group["weight_decay"]),
        float(group["nesterov"]),
        -1.0 if group["maximize"] else 1.0,
    )


_RULES: dict[str, tuple[tuple[str, ...], _Numbers]] = {
    "adam": (("exp_avg", "exp_avg_sq"), _of_adam),
    "sgd": (("momentum_buffer",), _of_sgd),
}

"""Steps of all parameters of a group at once, where the backend has a kernel for the rule: see
`ArrayBackend.fused_step`. ``foreach=False`` takes them operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail_aten import Tensor
from dovetail_kernel import bump_version, dispatch_state

from ..nn.parameter import Parameter
from .options import number, root

__all__ = ["take_fused"]

_PLAIN = dispatch_state(0)
_KNOWN = frozenset((Parameter, Tensor))
_NO_STATE: dict[str, Any] = {}
_Pair = tuple[Tensor, Tensor]


class _Rule(NamedTuple):
    """Describes the kernel of a rule.

    Attributes
    ----------
    name
        That of the kernel.
    names
        Entries of the state that it writes.
    numbers
        Returns the numbers of a step, which has the number given, by the options of a group.
    counts
        Whether steps are counted in the state.
    """

    name: str
    names: tuple[str, ...]
    numbers: Callable[[dict[str, Any], float], tuple[float, ...]]
    counts: bool


def take_fused(optimizer: Any, group: dict[str, Any], pairs: list[_Pair]) -> list[_Pair]:
    """Take the steps that the backend of the parameters has a kernel for; return the others."""
    rule = _rule(optimizer._fused_rule, group)
    if rule is None or not pairs or not _is_plain(group):
        return pairs
    first = pairs[0][0]
    take = first._backend.arrays.fused_step(rule.name)
    if take is None:
        return pairs
    on_host = not first.is_cuda  # there the kernel checks the arrays, and counts
    if not on_host and _overlap(pairs):
        return pairs
    names = (*rule.names, "step") if rule.counts and on_host else rule.names
    others: list[_Pair] = []
    taken: list[tuple[Any, ...]] = []
    counts: list[Tensor] = []
    numbers: list[tuple[float, ...]] = []
    of_step: dict[float, tuple[float, ...]] = {}
    step = 0.0
    for parameter, gradient in pairs:
        state = optimizer._begun(parameter, group) if names else _NO_STATE
        tensors = (parameter, gradient, *[state.get(name) for name in names])
        if not (_are_plain(tensors) if on_host else _fit(first, tensors)):
            others.append((parameter, gradient))
            continue
        if rule.counts:
            counts.append(state["step"])
            step = state["step"].item() + 1
        if step not in of_step:
            of_step[step] = rule.numbers(group, step)
        taken.append(tensors)
        numbers.append(of_step[step])
    if taken:
        if take([[each.array for each in tensors] for tensors in taken], numbers) is False:
            return pairs
        for parameter, _, *states in taken:
            bump_version(parameter)
            for state in states:
                bump_version(state)
        if not on_host:
            for count in counts:
                count.add_(1)
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


def _are_plain(tensors: Sequence[Tensor | None]) -> bool:
    """Return whether all are tensors of the library's own classes that count their writes."""
    return _KNOWN.issuperset(map(type, tensors)) and not any(
        [each is None or each.is_inference() for each in tensors]
    )


def _fit(first: Tensor, tensors: Sequence[Tensor | None]) -> bool:
    """Return whether tensors lie alike, without gaps, on the device of the first parameter."""
    own = tensors[0]
    return (
        own is not None
        and _are_plain(tensors)
        and own.dtype.is_floating_point
        and all(
            [
                each is not None
                and each.dtype is first.dtype
                and each.device == first.device
                and each.shape == own.shape
                and each.is_contiguous()
                for each in tensors
            ]
        )
    )


def _of_adam(group: dict[str, Any], step: float) -> tuple[float, ...]:
    """Return the numbers of a step of Adam."""
    rate, decay = number(group["lr"]), number(group["weight_decay"])
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
        step,
    )


def _of_sgd(group: dict[str, Any], step: float) -> tuple[float, ...]:
    """Return the numbers of a step of stochastic gradient descent."""
    return (
        number(group["lr"]),
        group["momentum"],
        1 - group["dampening"],
        number(group["weight_decay"]),
        float(group["nesterov"]),
        -1.0 if group["maximize"] else 1.0,
    )


_ADAM = _Rule("adam", ("exp_avg", "exp_avg_sq"), _of_adam, counts=True)
_SGD = _Rule("sgd", (), _of_sgd, counts=False)
_SGD_WITH_MOMENTUM = _Rule("sgd_with_momentum", ("momentum_buffer",), _of_sgd, counts=False)


def _rule(name: str, group: dict[str, Any]) -> _Rule | None:
    if name == "sgd":
        return _SGD if group["momentum"] == 0 else _SGD_WITH_MOMENTUM
    return _ADAM if name == "adam" else None

"""Steps of all parameters of a group at once, where the backend has a kernel for the rule: see
`ArrayBackend.fused_step`. ``foreach=False`` runs them operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from dovetail_aten import Tensor
from dovetail_autograd import increment_version
from dovetail_kernel import bump_version, dispatch_state

from ..nn.parameter import Parameter
from .options import number, root

_PLAIN = dispatch_state(0)
_KNOWN = frozenset((Parameter, Tensor))
_array = attrgetter("array")
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
    """Run the steps for which the backend of the parameters has a kernel; return the other
    parameters.
    """
    rule = _rule(optimizer._fused_rule, group)
    if rule is None or not pairs or not _is_plain(group):
        return pairs
    first = pairs[0][0]
    take = first._backend.arrays.fused_step(rule.name)
    if take is None:
        return pairs
    if not first.is_cuda:
        return [] if _take_on_host(optimizer, group, pairs, rule, take) else pairs
    return pairs if _overlap(pairs) else _take_in_one_launch(optimizer, group, pairs, rule, take)


def _take_on_host(
    optimizer: Any, group: dict[str, Any], pairs: list[_Pair], rule: _Rule, take: Any
) -> bool:
    """Take all steps by a kernel that checks the arrays and counts the steps; return False, with
    nothing written, if it does not take some.
    """
    parameters, gradients = zip(*pairs, strict=True)
    written: list[Sequence[Tensor]] = [parameters]
    names = (*rule.names, "step") if rule.counts else rule.names
    if names:
        states = [optimizer._begun(parameter, group) for parameter in parameters]
        written += [[state.get(name) for state in states] for name in names]
    if not _KNOWN.issuperset(map(type, chain(gradients, *written))) or any(
        [each.is_inference() for each in chain(*written)]
    ):
        return False
    steps = [step.item() + 1 for step in written[-1]] if rule.counts else [0.0] * len(pairs)
    numbers = {step: rule.numbers(group, step) for step in {*steps}}
    columns = [map(_array, column) for column in (parameters, gradients, *written[1:])]
    if not take([*zip(*columns, strict=True)], [numbers[step] for step in steps]):
        return False
    for each in chain(*written):
        bump_version(each)
    return True


def _take_in_one_launch(
    optimizer: Any, group: dict[str, Any], pairs: list[_Pair], rule: _Rule, take: Any
) -> list[_Pair]:
    """Take the steps of parameters that lie alike by one launch; return the others."""
    first = pairs[0][0]
    others: list[_Pair] = []
    taken: list[tuple[Any, ...]] = []
    numbers = []
    for parameter, gradient in pairs:
        state = optimizer._begun(parameter, group)
        tensors = (parameter, gradient, *[state.get(name) for name in rule.names])
        if not _fit(first, tensors):
            others.append((parameter, gradient))
            continue
        step = 0.0
        if rule.counts:
            state["step"] += 1
            step = state["step"].item()
        taken.append(tensors)
        numbers.append(rule.numbers(group, step))
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
                and type(each) in _KNOWN
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

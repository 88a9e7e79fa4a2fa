"""Checks of the options that optimizers share, and options as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import disabled_torch_dispatch_impl, float32, float64, get_default_dtype

CAPTURABLE_DEVICES = ["cuda"]


def check_rate(lr: object) -> None:
    """Raise ValueError for a learning rate below zero, or of several elements."""
    check_one_rate(lr)
    if not number(lr) >= 0.0:
        raise ValueError(f"Invalid learning rate: {number(lr)}. It must not be negative.")


def check_one_rate(lr: object) -> None:
    """Raise ValueError for a tensor of several learning rates."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element. Pass a float.")


def check_non_negative(**options: Any) -> None:
    """Raise ValueError for the first option below zero."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}. It must not be negative.")


def check_betas(betas: Sequence[Any]) -> None:
    """Raise an error for decays of running means that are not two, or not within [0, 1).

    Raises
    ------
    IndexError
        For less than two decays.
    ValueError
        For a decay that is not within [0, 1).
    """
    if len(betas) < 2:
        raise IndexError(f"betas must have two items, but got {betas}. Pass two floats.")
    for position, beta in enumerate(betas):
        if not 0.0 <= number(beta) < 1.0:
            raise ValueError(
                f"Invalid beta parameter at index {position}: {beta}. It must be within [0, 1)."
            )


def check_tensor_options(
    lr: object, betas: Sequence[Any], foreach: bool | None, capturable: bool
) -> None:
    """Raise an error for decays and learning rates that are tensors, if PyTorch does.

    Raises
    ------
    ValueError
        If one decay is a tensor and the other is not, if one has several elements, or for any with
        `foreach`.
    """
    check_one_rate(lr)
    are_tensors = [isinstance(beta, Tensor) for beta in betas]
    if any(are_tensors) and not all(are_tensors):
        raise ValueError("betas must be either both floats or both Tensors. Pass two floats.")
    named = [("lr", lr), *[(f"betas[{place}]", beta) for place, beta in enumerate(betas)]]
    for name, value in named:
        if not isinstance(value, Tensor):
            continue
        if foreach and not capturable:
            raise ValueError(
                f"{name} as a Tensor is not supported for capturable=False and foreach=True. "
                "Leave foreach out, or pass a float."
            )
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element. Pass a float.")


def check_fused(differentiable: bool, foreach: bool | None, fused: bool | None) -> None:
    """Raise an error for flags that contradict each other; none of them changes the result."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`. Leave `fused` out.")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together. Leave both out.")


_CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "lr": check_rate,
    "eps": lambda eps: check_non_negative(epsilon=eps),
    "betas": check_betas,
    "weight_decay": lambda weight_decay: check_non_negative(weight_decay=weight_decay),
    "momentum": lambda momentum: check_non_negative(momentum=momentum),
    "momentum_decay": lambda decay: check_non_negative(momentum_decay=decay),
    "lr_decay": lambda decay: check_non_negative(lr_decay=decay),
    "initial_accumulator_value": lambda value: check_non_negative(initial_accumulator_value=value),
}
"""What every optimizer asks of an option."""


def options_of(arguments: dict[str, Any], names: str) -> dict[str, Any]:
    """Return the options of an optimizer, after checking those that several optimizers share.

    Parameters
    ----------
    arguments
        The ``locals()`` of its constructor.
    names
        The options, separated by spaces, in the order of PyTorch's groups.

    Raises
    ------
    ValueError
        For an option out of range.
    RuntimeError
        For flags that contradict each other.
    """
    options = {name: arguments[name] for name in names.split()}
    for name, check in _CHECKS.items():
        if name in options:
            check(options[name])
    if "fused" in options:
        check_fused(options["differentiable"], options["foreach"], options["fused"])
    return options


def check_implementation(group: dict[str, Any], names: Sequence[str]) -> None:
    """Raise an error for flags of a group that a step does not support.

    Parameters
    ----------
    group
        Parameter group whose flags are checked.
    names
        What the optimizer keeps on the device, for the error.

    Raises
    ------
    AssertionError
        For `capturable` with parameters where no steps can be captured, and for `foreach` together
        with `differentiable`.
    RuntimeError
        For `fused` with complex parameters.
    """
    if group.get("foreach") and group.get("differentiable"):
        raise AssertionError("_foreach ops don't support autograd. Leave foreach out.")
    if group.get("fused"):
        for each in group["params"]:
            if each.is_complex():
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors of "
                    f"supported devices, but one is of {each.dtype}. Leave fused out."
                )
    if group.get("capturable"):
        devices = {each.device.type for each in group["params"]}
        if not devices <= set(CAPTURABLE_DEVICES):
            raise AssertionError(
                f"If capturable=True, {_listed(names)} must be on supported devices: "
                f"{CAPTURABLE_DEVICES}. Leave capturable out."
            )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def number(value: object) -> Any:
    """Return an option that may be a number or a one-element tensor as a number."""
    return value.item() if isinstance(value, Tensor) else value


def option(group: dict[str, Any], name: str) -> Any:
    """Return an option of a group as a number; as it is where steps are recorded."""
    value = group[name]
    return value if group.get("differentiable") else number(value)


def count(value: float) -> Tensor:
    """Return a number of the state, as steps are counted: float64 if that is the default dtype,
    else float32.
    """
    wide = get_default_dtype() == float64
    return aten.tensor(value, dtype=float64 if wide else float32)


def root(value: Any) -> Any:
    """Return the square root of a number or a tensor."""
    return value.sqrt() if isinstance(value, Tensor) else math.sqrt(value)


def add_scaled(parameter: Tensor, update: Tensor, factor: Any) -> Tensor:
    """Add `update` times a number, or a one-element tensor, to `parameter` in place."""
    if isinstance(factor, Tensor):
        return parameter.addcmul_(update, factor)
    return parameter.add_(update, alpha=factor)


def add_quotient(parameter: Tensor, numerator: Tensor, denominator: Tensor, factor: Any) -> Tensor:
    """Add a quotient times a number, or a one-element tensor, to `parameter` in place."""
    if isinstance(factor, Tensor):
        return parameter.addcdiv_(numerator * factor, denominator)
    return parameter.addcdiv_(numerator, denominator, value=factor)


def add_number(tensor: Tensor, value: Any, recorded: bool) -> Tensor:
    """Return `tensor` plus a number: `tensor` itself, unless its present value is recorded."""
    return tensor.add(value) if recorded else tensor.add_(value)


def mix(mean: Tensor, value: Tensor, share: Any) -> None:
    """Move a running mean by a share of the way towards a value, in place."""
    mean.lerp_(value, share)


def mix_square(mean: Tensor, value: Tensor, decay: Any) -> None:
    """Let a running mean of squares decay, and add the rest of the square of a value, in place."""
    if isinstance(decay, Tensor):
        mean.mul_(decay).add_(value * value * (1 - decay))
    else:
        mean.mul_(decay).addcmul_(value, value, value=1 - decay)


def may_be_refused(parameters: Sequence[Tensor], optimizer: Any) -> list[tuple[Tensor, Tensor]]:
    """Return the parameters whose gradients a rule may refuse, with these: a gradient is sparse or
    of another kind than its parameter, or the parameter cannot be written.

    Raises
    ------
    RuntimeError
        For a sparse gradient that the rule has no step for.
    """
    pairs: list[tuple[Tensor, Tensor]] = []
    for parameter in parameters:
        gradient: Any = parameter.grad
        if (
            gradient is None
            or type(parameter).__torch_dispatch__ is not disabled_torch_dispatch_impl
        ):
            continue  # a class that has __torch_dispatch__ says itself what it cannot do
        try:
            own, other = parameter.array, gradient.array
            alike = own.dtype is other.dtype and own.shape == other.shape and own.flags.writeable
        except AttributeError:  # not NumPy's
            alike = _are_alike(parameter, gradient)
        if gradient.is_sparse and not optimizer._takes_sparse:
            raise RuntimeError(
                f"{type(optimizer).__name__.removesuffix('W')} does not support sparse gradients, "
                "please consider SparseAdam instead"
            )
        if alike and not gradient.is_sparse:
            continue
        pairs.append((parameter, gradient))
    return pairs


def _are_alike(parameter: Tensor, gradient: Tensor) -> bool:
    kinds = [(each.dtype, each.shape, each.device) for each in (parameter, gradient)]
    return kinds[0] == kinds[1]

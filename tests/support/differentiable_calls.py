"""Calls of every operator that has a derivative formula, as functions of the tensors that it is
differentiated by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from operator_samples import operators, samples

import dovetail
from dovetail_dispatcher.table import registry

_RANDOM = ("bernoulli", "rand", "normal", "uniform", "dropout", "native_dropout", "multinomial")
_FACTORS = {"asin": 0.3, "acos": 0.3, "atanh": 0.3, "acosh": 4.0}
"""Factors that bring the samples into the domain of an operator."""

STEPS = {
    **dict.fromkeys(
        ["div.Tensor_mode", "remainder.Tensor", "fmod.Tensor"],
        "the samples divide a number by itself: a step",
    ),
    **dict.fromkeys(
        ["clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor"],
        "the samples clamp numbers to themselves: a kink",
    ),
    **dict.fromkeys(
        ["_softmax_backward_data", "_log_softmax_backward_data"],
        "the samples ask for single precision",
    ),
    "native_layer_norm_backward": "right only for the mean and deviation of the "
    "input, which the samples do not give",
    "nll_loss_backward": "right only for the total weight of the targets, "
    "which shifted samples do not give",
}
"""Operators whose derivative at the samples is not that of differences, and why."""


def formula_of(name: str) -> Any:
    """Return the formula of the operator `name`, or None."""
    return _named(name).formula


def differentiable_operators() -> list[str]:
    """Return the operators with a formula for some input, but for random ones and those that
    write.
    """
    return [
        name
        for name in operators()
        if (formula := formula_of(name)) is not None
        and formula.inputs
        and formula.name != "NotImplemented"
        and not name.startswith(_RANDOM)
        and not name.split(".")[0].endswith("_")
    ]


def differentiable_calls(name: str) -> list[tuple[Callable[..., list[Any]], list[Any]]]:
    """Return functions of the differentiable arguments only, with these: what can have a derivative
    in the samples.

    The functions return the differentiable results in a list; with ``device=`` they move the other
    arguments there.
    """
    op = _named(name)
    names = [a.name for a in op.schema.arguments]
    made = []
    for arguments in samples(name):
        keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
        if "dtype" in keywords:
            continue
        positional = [
            _in_double(a, _FACTORS.get(name, 1.0))
            for a in (arguments[:-1] if keywords else arguments)
        ]
        chosen = [
            i for i, v in enumerate(positional) if names[i] in op.formula.inputs and _leaves_of(v)
        ]
        if chosen:
            inputs = [leaf for i in chosen for leaf in _leaves_of(positional[i])]
            made.append((_function(op, positional, chosen, keywords), inputs))
    return made


def _function(op: Any, positional: list[Any], chosen: list[int], keywords: dict[str, Any]) -> Any:
    def function(*inputs: Any, device: Any = None) -> list[Any]:
        values, given = (
            list(positional) if device is None else _moved(positional, device),
            iter(inputs),
        )
        for i in chosen:
            value = values[i]
            several = isinstance(value, list)
            values[i] = (
                [next(given) if _leaves_of(item) else item for item in value]
                if several
                else next(given)
            )
        result = op.handle(*values, **keywords)
        results = result if isinstance(result, tuple | list) else (result,)
        flags = op.formula.output_differentiability or (True,) * len(results)
        return [r for r, flag in zip(results, flags, strict=False) if flag and _leaves_of(r)]

    return function


def _named(name: str) -> Any:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload)


def _leaves_of(value: Any) -> list[Any]:
    """Return the tensors that can have a derivative in an argument."""
    items = value if isinstance(value, list) else [value]
    return [
        i
        for i in items
        if isinstance(i, dovetail.Tensor) and (i.is_floating_point() or i.is_complex())
    ]


def _moved(value: Any, device: Any) -> Any:
    if isinstance(value, list):
        return [_moved(item, device) for item in value]
    return value.to(device) if isinstance(value, dovetail.Tensor) else value


def _in_double(value: Any, factor: float) -> Any:
    """Return an argument in double precision, so that differences are precise, shifted off the
    kinks at integers.
    """
    if isinstance(value, list):
        return [_in_double(item, factor) for item in value]
    if not _leaves_of(value):
        return value
    return (
        value.detach().to(dovetail.complex128 if value.is_complex() else dovetail.float64) * factor
        + 0.0137
    )

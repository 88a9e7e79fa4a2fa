"""Calls of every operator that has a derivative formula, as functions of the tensors that it is differentiated by."""

from __future__ import annotations

from typing import Any

from operator_samples import operators, samples

import dovetail
from dovetail_dispatcher import registry

_RANDOM = ("bernoulli", "rand", "normal", "uniform", "dropout", "native_dropout", "multinomial")
_FACTORS = {"asin": 0.3, "acos": 0.3, "atanh": 0.3, "acosh": 4.0}
"""Factors that bring the samples into the domain of an operator."""


def differentiable_operators() -> list[str]:
    """Return the operators with a formula for some input, but for random ones and those that write."""
    return [
        name
        for name in operators()
        if (formula := _named(name).formula) is not None
        and formula.inputs
        and formula.name != "NotImplemented"
        and not name.startswith(_RANDOM)
        and not name.split(".")[0].endswith("_")
    ]


def differentiable_calls(name: str) -> list[tuple[Any, list[Any]]]:
    """Return functions of the differentiable float arguments only, which return a list, with these arguments."""
    op = _named(name)
    names = [a.name for a in op.schema.arguments]
    made = []
    for arguments in samples(name):
        keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
        positional = [_in_double(a, _FACTORS.get(name, 1.0)) for a in (arguments[:-1] if keywords else arguments)]
        chosen = [
            i
            for i, value in enumerate(positional)
            if names[i] in op.formula.inputs and isinstance(value, dovetail.Tensor) and value.is_floating_point()
        ]
        if chosen and "dtype" not in keywords:
            made.append((_function(op.handle, positional, chosen, keywords), [positional[i] for i in chosen]))
    return made


def _function(call: Any, positional: list[Any], chosen: list[int], keywords: dict[str, Any]) -> Any:
    def function(*inputs: Any) -> list[Any]:
        values = list(positional)
        for i, value in zip(chosen, inputs, strict=True):
            values[i] = value
        result = call(*values, **keywords)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    return function


def _named(name: str) -> Any:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload)


def _in_double(value: Any, factor: float) -> Any:
    if isinstance(value, dovetail.Tensor) and value.is_floating_point():
        return value.detach().double() * factor + 0.0137
    if isinstance(value, list):
        return [_in_double(item, factor) for item in value]
    return value

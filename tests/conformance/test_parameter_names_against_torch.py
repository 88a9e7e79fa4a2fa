"""Parameters of methods that programs name have PyTorch's names."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def mixture(lib: Any) -> Any:
    of = lib.distributions
    parts = of.Normal(lib.tensor([0.0, 1.0]), lib.ones(2))
    return of.MixtureSameFamily(of.Categorical(lib.tensor([0.3, 0.7])), parts)


CALLS: dict[str, Any] = {
    "icdf of half-normal numbers": lambda lib: lib.distributions.HalfNormal(1.0).icdf(
        prob=lib.tensor(0.3)
    ),
    "icdf of half-Cauchy numbers": lambda lib: lib.distributions.HalfCauchy(1.0).icdf(
        prob=lib.tensor(0.3)
    ),
    "log_prob of a mixture": lambda lib: mixture(lib).log_prob(x=lib.tensor(0.4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_parameter_is_called_as_in_pytorch(name: str) -> None:
    assert CALLS[name](dovetail).item() == pytest.approx(CALLS[name](torch).item(), rel=1e-5)


def test_hooks_of_nodes_are_called_fn() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = x * 2
    seen: list[str] = []
    assert y.grad_fn is not None
    y.grad_fn.register_hook(fn=lambda inputs, outputs: seen.append("hook"))
    y.grad_fn.register_prehook(fn=lambda outputs: seen.append("prehook"))
    y.sum().backward()
    assert seen == ["prehook", "hook"]

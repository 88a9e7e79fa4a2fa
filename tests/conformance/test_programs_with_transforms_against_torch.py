"""Programs as practitioners write them around transforms of functions train to PyTorch's losses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]

Losses = list[float]


class Numbers:
    """Tensors of double precision whose numbers are the same for both libraries."""

    def __init__(self, lib: Any, seed: int) -> None:
        self.lib = lib
        self.generator = np.random.default_rng(seed)

    def normal(self, *shape: int) -> Any:
        return self.lib.tensor(self.generator.standard_normal(shape))

    def uniform(self, *shape: int) -> Any:
        return self.lib.tensor(self.generator.random(shape))

    def layers(self, *widths: int) -> dict[str, Any]:
        found = {}
        for index, (inner, outer) in enumerate(itertools.pairwise(widths)):
            found[f"w{index}"] = self.normal(outer, inner) / inner**0.5
            found[f"b{index}"] = self.normal(outer) * 0.1
        return found


def network(parameters: dict[str, Any], x: Any) -> Any:
    count = len(parameters) // 2
    for index in range(count):
        x = parameters[f"w{index}"] @ x + parameters[f"b{index}"]
        x = x.tanh() if index + 1 < count else x
    return x


def moved(parameters: dict[str, Any], gradients: dict[str, Any], rate: float) -> dict[str, Any]:
    return {name: each - rate * gradients[name] for name, each in parameters.items()}


def descend(lib: Any, loss: Any, parameters: Any, steps: int, rate: float) -> Losses:
    losses = []
    for _ in range(steps):
        gradients, value = lib.func.grad_and_value(loss)(parameters)
        parameters = moved(parameters, gradients, rate)
        losses.append(float(value))
    return losses


def gaussian_processes(lib: Any, draw: Numbers) -> Losses:
    """Fit the hyperparameters of four processes at once."""
    x, y = draw.uniform(12) * 3, draw.normal(4, 12)

    def loss(parameters: Any) -> Any:
        def of_one(length: Any, noise: Any, targets: Any) -> Any:
            covariance = (-((x[:, None] - x) ** 2) / length.exp()).exp()
            covariance = covariance + (noise.exp() + 0.1) * lib.eye(12, dtype=lib.float64)
            normal = lib.distributions.MultivariateNormal(
                lib.zeros(12, dtype=lib.float64), covariance, validate_args=False
            )
            return -normal.log_prob(targets)

        return lib.func.vmap(of_one)(parameters["length"], parameters["noise"], y).sum()

    start = {"length": draw.normal(4), "noise": draw.normal(4)}
    return descend(lib, loss, start, 5, 0.01)


def meta_learning(lib: Any, draw: Numbers) -> Losses:
    """Learn where to begin from, over tasks that vmap runs together (MAML)."""
    start = draw.layers(1, 8, 1)
    phase, x, other = draw.uniform(5) * 3, draw.normal(5, 6, 1), draw.normal(5, 6, 1)

    def error(parameters: Any, points: Any, shift: Any) -> Any:
        found = lib.func.vmap(lambda p: network(parameters, p))(points)
        return lib.nn.functional.smooth_l1_loss(found, (points + shift).sin())

    def of_task(parameters: Any, shift: Any, points: Any, others: Any) -> Any:
        adapted = moved(parameters, lib.func.grad(error)(parameters, points, shift), 0.1)
        return error(adapted, others, shift)

    def loss(parameters: Any) -> Any:
        return lib.func.vmap(of_task, (None, 0, 0, 0))(parameters, phase, x, other).mean()

    return descend(lib, loss, start, 5, 0.1)


def physics_informed(lib: Any, draw: Numbers) -> Losses:
    """Solve u''' = cos(x) with u(0) = 0 by the third derivative of a network."""
    points = draw.uniform(10) * 2

    def loss(parameters: Any) -> Any:
        def u(x: Any) -> Any:
            return network(parameters, x.reshape(1))[0]

        third = lib.func.grad(lib.func.grad(lib.func.grad(u)))
        residual = lib.func.vmap(third)(points) - points.cos()
        return (residual**2).mean() + u(lib.zeros((), dtype=lib.float64)) ** 2

    return descend(lib, loss, draw.layers(1, 10, 1), 5, 0.01)


def heat_equation(lib: Any, draw: Numbers) -> Losses:
    """Residuals of u_t = u_xx with forward mode inside of backward mode."""
    points = draw.uniform(8, 2)

    def loss(parameters: Any) -> Any:
        def u(p: Any) -> Any:
            return network(parameters, p)[0]

        def residual(p: Any) -> Any:
            second = lib.func.hessian(u)(p)
            return lib.func.jacfwd(u)(p)[0] - second[1, 1]

        return (lib.func.vmap(residual)(points) ** 2).mean()

    return descend(lib, loss, draw.layers(2, 8, 1), 4, 0.02)


def hamiltonian_monte_carlo(lib: Any, draw: Numbers) -> Losses:
    """Walk several chains through the leapfrog steps of a curved density."""

    def energy(q: Any) -> Any:
        return (q[0] ** 2) / 2 + (q[1] - q[0] ** 2) ** 2

    force = lib.func.vmap(lib.func.grad(energy))
    q, p = draw.normal(6, 2), draw.normal(6, 2)
    found = []
    for _ in range(6):
        p = p - 0.05 * force(q)
        q = q + 0.1 * p
        p = p - 0.05 * force(q)
        total = lib.func.vmap(energy)(q) + (p * p).sum(1) / 2
        found.append(float(total.mean()))
    return found


def deep_equilibrium(lib: Any, draw: Numbers) -> Losses:
    """Differentiate a fixed point by the implicit function theorem, in a Function."""

    class FixedPoint(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, w: Any, x: Any) -> Any:
            z = lib.zeros_like(x)
            for _ in range(40):
                z = (w @ z + x).tanh()
            ctx.save_for_backward(w, x, z)
            return z

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            w, x, z = ctx.saved_tensors
            _, pull = lib.func.vjp(lambda w, x, z: (w @ z + x).tanh(), w, x, z)
            adjoint = grad
            for _ in range(40):
                adjoint = grad + pull(adjoint)[2]
            return pull(adjoint)[:2]

    w = (draw.normal(4, 4) / 6).requires_grad_()
    x, y = draw.normal(4), draw.uniform(4) / 2
    losses = []
    for _ in range(6):
        loss = ((FixedPoint.apply(w, x) - y) ** 2).sum()
        (gradient,) = lib.autograd.grad(loss, w)
        w = (w - 0.1 * gradient).detach().requires_grad_()
        losses.append(float(loss.detach()))
    return losses


def private_gradients(lib: Any, draw: Numbers) -> Losses:
    """Clip the gradients of each sample before they are averaged."""
    parameters, x, y = draw.layers(3, 6, 1), draw.normal(8, 3), draw.normal(8, 1)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return ((network(parameters, x) - y) ** 2).sum()

    losses = []
    for _ in range(5):
        each, values = lib.func.vmap(lib.func.grad_and_value(loss), (None, 0, 0))(parameters, x, y)
        norms = sum([g.flatten(1).pow(2).sum(1) for g in each.values()]).sqrt()
        factor = (1 / norms).clamp(max=1.0)
        mean = {n: (g * factor.reshape(-1, *[1] * (g.dim() - 1))).mean(0) for n, g in each.items()}
        parameters = moved(parameters, mean, 0.2)
        losses.append(float(values.mean()))
    return losses


def normalizing_flow(lib: Any, draw: Numbers) -> Losses:
    """Maximize a likelihood with the log determinant of each sample's Jacobian."""
    data = draw.normal(10, 2) * 0.5 + 1

    def loss(parameters: Any) -> Any:
        def flow(x: Any) -> Any:
            return x + 0.3 * network(parameters, x).tanh()

        def log_density(x: Any) -> Any:
            z = flow(x)
            base = lib.distributions.Normal(lib.zeros_like(z), lib.ones_like(z)).log_prob(z).sum()
            return base + lib.linalg.slogdet(lib.func.jacrev(flow)(x))[1]

        return -lib.func.vmap(log_density)(data).mean()

    return descend(lib, loss, draw.layers(2, 6, 2), 4, 0.1)


def mixture(lib: Any, draw: Numbers) -> Losses:
    """Fit a mixture of Gaussians by its likelihood under vmap."""
    data = draw.normal(20)

    def loss(parameters: Any) -> Any:
        def log_density(x: Any) -> Any:
            weights = parameters["logits"].log_softmax(0)
            parts = lib.distributions.Normal(parameters["mean"], parameters["scale"].exp())
            return (weights + parts.log_prob(x)).logsumexp(0)

        return -lib.func.vmap(log_density)(data).mean()

    start = {"logits": draw.normal(3), "mean": draw.normal(3), "scale": draw.normal(3) * 0.1}
    return descend(lib, loss, start, 5, 0.2)


def ensemble(lib: Any, draw: Numbers) -> Losses:
    """Train an ensemble in one vmap, with stacked parameters."""
    members = [draw.layers(2, 5, 1) for _ in range(3)]
    stacked = {name: lib.stack([m[name] for m in members]) for name in members[0]}
    x, y = draw.normal(9, 2), draw.normal(9, 1)

    def of_one(parameters: Any) -> Any:
        return ((lib.func.vmap(lambda p: network(parameters, p))(x) - y) ** 2).mean()

    return descend(lib, lambda p: lib.func.vmap(of_one)(p).sum(), stacked, 5, 0.1)


def natural_gradient(lib: Any, draw: Numbers) -> Losses:
    """Precondition with the Fisher matrix of per-sample gradients."""
    w, x, y = draw.normal(3), draw.normal(15, 3), (draw.uniform(15) > 0.5)

    def log_likelihood(w: Any, x: Any, y: Any) -> Any:
        return lib.distributions.Bernoulli(logits=x @ w).log_prob(y)

    target = lib.where(y, lib.ones(15, dtype=lib.float64), lib.zeros(15, dtype=lib.float64))
    losses = []
    for _ in range(5):
        each, value = lib.func.vmap(lib.func.grad_and_value(log_likelihood), (None, 0, 0))(
            w, x, target
        )
        fisher = each.T @ each / 15 + 0.1 * lib.eye(3, dtype=lib.float64)
        w = w + 0.5 * lib.linalg.solve(fisher, each.mean(0))
        losses.append(-float(value.mean()))
    return losses


def newton(lib: Any, draw: Numbers) -> Losses:
    """Newton steps with hessians of several problems at once."""
    a, x = draw.normal(4, 3), draw.normal(4, 3) / 4

    def energy(x: Any, a: Any) -> Any:
        return (x**4).sum() / 4 + (x * x).sum() / 2 + a @ x

    losses = []
    for _ in range(4):
        hessian = lib.func.vmap(lib.func.hessian(energy))(x, a)
        gradient = lib.func.vmap(lib.func.grad(energy))(x, a)
        x = x - lib.linalg.solve(hessian, gradient)
        losses.append(float(lib.func.vmap(energy)(x, a).sum()))
    return losses


def score_matching(lib: Any, draw: Numbers) -> Losses:
    """Match scores with the trace of the Jacobian of the score, by jvp."""
    data, probes = draw.normal(8, 2), draw.normal(8, 2)

    def loss(parameters: Any) -> Any:
        def of_one(x: Any, probe: Any) -> Any:
            score, along = lib.func.jvp(lambda p: network(parameters, p), (x,), (probe,))
            return (score * score).sum() / 2 + probe @ along

        return lib.func.vmap(of_one)(data, probes).mean()

    return descend(lib, loss, draw.layers(2, 6, 2), 5, 0.1)


def neural_ode(lib: Any, draw: Numbers) -> Losses:
    """Integrate a field by Runge and Kutta."""
    x, y = draw.normal(6, 2), draw.normal(6, 2)

    def loss(parameters: Any) -> Any:
        def step(z: Any) -> Any:
            k1 = network(parameters, z)
            k2 = network(parameters, z + 0.1 * k1)
            return z + 0.2 * k2

        def of_one(z: Any) -> Any:
            for _ in range(4):
                z = step(z)
            return z

        return ((lib.func.vmap(of_one)(x) - y) ** 2).mean()

    return descend(lib, loss, draw.layers(2, 6, 2), 5, 0.2)


def hypergradient(lib: Any, draw: Numbers) -> Losses:
    """Tune a regularization by the gradient through the steps of training."""
    x, y, other, target = draw.normal(8, 3), draw.normal(8), draw.normal(8, 3), draw.normal(8)

    def trained(strength: Any) -> Any:
        w = lib.zeros(3, dtype=lib.float64)

        def loss(w: Any) -> Any:
            return ((x @ w - y) ** 2).mean() + strength.exp() * (w * w).sum()

        for _ in range(5):
            w = w - 0.1 * lib.func.grad(loss)(w)
        return w

    def validation(parameters: Any) -> Any:
        return ((other @ trained(parameters["strength"]) - target) ** 2).mean()

    return descend(lib, validation, {"strength": draw.normal()}, 5, 0.5)


PROGRAMS: list[Callable[[Any, Numbers], Losses]] = [
    gaussian_processes, meta_learning, physics_informed, heat_equation, hamiltonian_monte_carlo,
    deep_equilibrium, private_gradients, normalizing_flow, mixture, ensemble, natural_gradient,
    newton, score_matching, neural_ode, hypergradient,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_losses_are_those_of_pytorch(program: Callable[[Any, Numbers], Losses]) -> None:
    ours, theirs = (program(lib, Numbers(lib, 5)) for lib in (dovetail, torch))
    assert all(np.isfinite(theirs))
    assert len(set(theirs)) > 1
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)

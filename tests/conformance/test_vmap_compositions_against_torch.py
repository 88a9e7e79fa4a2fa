"""`vmap` with the other transforms, in either order, gives what PyTorch's gives."""

# ruff: noqa: E501, PLW0108 - a table with a row per case reads better unbroken

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
import dovetail.func

RNG = np.random.default_rng(3)
X, Y = (RNG.standard_normal((3, 4)) for _ in range(2))
W = RNG.standard_normal((2, 4))
CUBE = RNG.standard_normal((3, 2, 4))
CLASSES = np.array([1, 0, 1])


pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)


def loss(lib: Any, w: Any, x: Any) -> Any:
    hidden = lib.nn.functional.layer_norm((w @ x).tanh(), (2,))
    return (hidden * lib.nn.functional.softmax(x[:2], 0)).sum() + x.prod() * w.exp().mean()


def energy(lib: Any, x: Any) -> Any:
    return (
        (x.sin() * x.flip(0)).sum() + x.logsumexp(0) + (x[1:] * x[:-1]).cumsum(0).max() + x.norm()
    )


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "gradients per sample": lambda lib, f: f.vmap(f.grad(lambda w, x: loss(lib, w, x)), in_dims=(None, 0))(of(lib, W), of(lib, X)),
    "gradients per sample of both": lambda lib, f: f.vmap(f.grad(lambda w, x: loss(lib, w, x), argnums=(0, 1)), in_dims=(0, 0))(of(lib, CUBE), of(lib, X)),
    "gradient and value": lambda lib, f: f.vmap(f.grad_and_value(lambda x: energy(lib, x)))(of(lib, X)),
    "gradient of the sum": lambda lib, f: f.grad(lambda w: f.vmap(lambda x: loss(lib, w, x))(of(lib, X)).sum())(of(lib, W)),
    "gradient of gradients": lambda lib, f: f.grad(lambda w: f.vmap(f.grad(lambda v, x: loss(lib, v, x)), in_dims=(None, 0))(w, of(lib, X)).square().sum())(of(lib, W)),
    "second derivative": lambda lib, f: f.vmap(f.vmap(f.grad(f.grad(lambda x: x.sin() * x.exp()))))(of(lib, X)),
    "hessian": lambda lib, f: f.vmap(f.hessian(lambda x: energy(lib, x)))(of(lib, X)),
    "jacobians, reverse": lambda lib, f: f.vmap(f.jacrev(lambda x: x.cumprod(0) * x.sum()))(of(lib, X)),
    "jacobians, forward": lambda lib, f: f.vmap(f.jacfwd(lambda x: x.cumprod(0) * x.sum()))(of(lib, X)),
    "jacobian of a map": lambda lib, f: f.jacrev(lambda w: f.vmap(lambda x: (w @ x).tanh())(of(lib, X)))(of(lib, W)),
    "forward jacobian of a map": lambda lib, f: f.jacfwd(lambda w: f.vmap(lambda x: (w @ x).tanh())(of(lib, X)))(of(lib, W)),
    "jvp per sample": lambda lib, f: f.vmap(lambda x, t: f.jvp(lambda x: energy(lib, x), (x,), (t,)))(of(lib, X), of(lib, Y)),
    "one tangent for all": lambda lib, f: f.vmap(lambda t: f.jvp(lambda x: energy(lib, x), (of(lib, X)[0],), (t,))[1])(of(lib, Y)),
    "jvp of a map": lambda lib, f: f.jvp(f.vmap(lambda x: energy(lib, x)), (of(lib, X),), (of(lib, Y),)),
    "jvp of gradients": lambda lib, f: f.vmap(lambda x, t: f.jvp(f.grad(lambda x: energy(lib, x)), (x,), (t,))[1])(of(lib, X), of(lib, Y)),
    "vjp per sample": lambda lib, f: f.vmap(lambda x, v: f.vjp(lambda x: x.softmax(0), x)[1](v)[0])(of(lib, X), of(lib, Y)),
    "one pullback, many vectors": lambda lib, f: f.vmap(f.vjp(lambda x: x.softmax(0), of(lib, X)[0])[1])(of(lib, Y))[0],
    "gradients of a loss of classes": lambda lib, f: f.vmap(f.grad(lambda x, c: lib.nn.functional.cross_entropy(x, c)))(of(lib, X), of(lib, CLASSES)),
    "gradients of views and writes": lambda lib, f: f.vmap(f.grad(lambda x: written(lib, x)))(of(lib, X)),
    "hessians of views and writes": lambda lib, f: f.vmap(f.hessian(lambda x: written(lib, x)))(of(lib, X)),
    "jacobians of jacobians of views and writes": lambda lib, f: f.vmap(f.jacrev(f.jacrev(lambda x: written(lib, x))))(of(lib, X)),
    "jvp of views and writes": lambda lib, f: f.vmap(lambda x, t: f.jvp(lambda x: written(lib, x), (x,), (t,)))(of(lib, X), of(lib, Y)),
    "gradients of picked elements": lambda lib, f: f.vmap(f.grad(lambda x, i: x.gather(0, i) * x.sum()))(of(lib, X), of(lib, CLASSES)),
    "gradients in chunks": lambda lib, f: f.vmap(f.grad(lambda x: energy(lib, x)), chunk_size=2)(of(lib, X)),
}  # fmt: skip


def of(lib: Any, array: np.ndarray[Any, Any]) -> Any:
    return lib.tensor(array)


def written(lib: Any, x: Any) -> Any:
    made = x * 1
    made[1:3] *= 2
    made[0] = x[3] ** 2
    return (made * x).sum() + made.view(2, 2).t()[1].prod()


def arrays(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in arrays(item)]
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in arrays(value[key])]
    return [value.detach().cpu().numpy()]


def assert_same(found: Any, wanted: Any) -> None:
    mine, theirs = arrays(found), arrays(wanted)
    assert len(mine) == len(theirs)
    for left, right in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_transforms_compose_as_those_of_pytorch(name: str) -> None:
    assert_same(CASES[name](dovetail, dovetail.func), CASES[name](torch, torch.func))


def model_of(lib: Any, seed: int) -> Any:
    nn = lib.nn
    model = nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 2))
    rng = np.random.default_rng(seed)
    model.load_state_dict(
        {
            key: lib.tensor(rng.standard_normal(tuple(value.shape)).astype("float32"))
            for key, value in model.state_dict().items()
        }
    )
    return model


def test_an_ensemble_of_models_is_one_map() -> None:
    found = []
    for lib in (dovetail, torch):
        models = [model_of(lib, seed) for seed in range(3)]
        parameters, buffers = lib.func.stack_module_state(models)
        base = models[0]
        x = of(lib, X.astype("float32"))

        def call(p: Any, b: Any, x: Any, base: Any = base, lib: Any = lib) -> Any:
            return lib.func.functional_call(base, (p, b), (x,))

        together = lib.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
        assert_same(together, lib.stack([model(x) for model in models]))
        found.append((together, lib.func.vmap(call)(parameters, buffers, x)))
    assert_same(*found)


def test_gradients_of_a_model_per_sample() -> None:
    found = []
    for lib in (dovetail, torch):
        model = model_of(lib, 0)
        parameters = {name: p.detach() for name, p in model.named_parameters()}

        def cost(p: Any, x: Any, c: Any, model: Any = model, lib: Any = lib) -> Any:
            scores = lib.func.functional_call(model, p, (x,))
            return lib.nn.functional.cross_entropy(scores, c)

        per_sample = lib.func.vmap(lib.func.grad(cost), in_dims=(None, 0, 0))
        found.append(per_sample(parameters, of(lib, X.astype("float32")), of(lib, CLASSES)))
    mine, theirs = found
    assert sorted(mine) == sorted(theirs)
    for name in theirs:
        np.testing.assert_allclose(
            mine[name].cpu().numpy(), theirs[name].cpu().numpy(), rtol=1e-4, atol=1e-5
        )

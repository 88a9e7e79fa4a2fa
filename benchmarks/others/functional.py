"""The steps as functions of parameters, on NumPy's names: for JAX and HIPS autograd."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy

from .numbers import GIVEN, HEADS, RATE


def _cross_entropy(np: Any, logits: Any, labels: Any) -> Any:
    away = logits - np.max(logits, axis=1, keepdims=True)
    logs = away - np.log(np.sum(np.exp(away), axis=1, keepdims=True))
    return -np.mean(logs[numpy.arange(len(labels)), labels])


def _convolved(np: Any, x: Any, kernel: Any) -> Any:
    """Return the convolution by patches: neither NumPy nor autograd has one."""
    height, width = x.shape[2] - 2, x.shape[3] - 2
    rows = [x[:, 0, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.einsum("kbij,ck->bcij", np.stack(rows), kernel.reshape(8, 9))


def _normal(np: Any, x: Any, scale: Any, shift: Any) -> Any:
    away = x - np.mean(x, axis=-1, keepdims=True)
    return away / np.sqrt(np.mean(away * away, axis=-1, keepdims=True) + 1e-5) * scale + shift


def losses(np: Any, convolve: Callable[..., Any] | None = None) -> dict[str, Any]:
    """Return the losses as functions of the parameters and of what is given."""
    convolved = convolve or (lambda x, kernel: _convolved(np, x, kernel))

    def mlp(p: Any, given: Any) -> Any:
        hidden = np.maximum(np.dot(given["x"], p["w1"]) + p["b1"], 0)
        return _cross_entropy(np, np.dot(hidden, p["w2"]) + p["b2"], given["labels"])

    def cnn(p: Any, given: Any) -> Any:
        maps = np.maximum(convolved(given["x"], p["kernel"]) + p["bias"].reshape(8, 1, 1), 0)
        maps = np.max(maps.reshape(32, 8, 13, 2, 13, 2), axis=(3, 5))
        return _cross_entropy(np, np.dot(maps.reshape(32, -1), p["w"]) + p["b"], given["labels"])

    def block(p: Any, given: Any) -> Any:
        x = given["x"]
        split = np.matmul(_normal(np, x, p["g1"], p["c1"]), p["qkv"])
        q, k, v = np.transpose(split.reshape(8, 32, 3, HEADS, 16), (2, 0, 3, 1, 4))
        scores = np.matmul(q, np.swapaxes(k, -2, -1)) / sqrt(16) + given["mask"]
        powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        weights = powers / np.sum(powers, axis=-1, keepdims=True)
        heads = np.swapaxes(np.matmul(weights, v), 1, 2).reshape(8, 32, 64)
        x = x + np.matmul(heads, p["out"])
        up = np.matmul(_normal(np, x, p["g2"], p["c2"]), p["up"])
        up = up * 0.5 * (1 + np.tanh(sqrt(2 / pi) * (up + 0.044715 * up * up * up)))
        x = x + np.matmul(up, p["down"])
        return np.mean(x * x)

    return {"MLP": mlp, "CNN": cnn, "block": block}


def jax_step(name: str, numbers: dict[str, Any], *, jit: bool) -> Callable[[], float]:
    """Return a step in JAX, compiled or not."""
    import jax
    import jax.numpy as jnp

    def convolve(x: Any, kernel: Any) -> Any:
        return jax.lax.conv(x, kernel, (1, 1), "VALID")

    loss_of = losses(jnp, convolve)[name]
    held = {key: jnp.asarray(value) for key, value in numbers.items() if key not in GIVEN}
    given = {key: jnp.asarray(value) for key, value in numbers.items() if key in GIVEN}

    def update(p: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(p, given)
        return loss, {key: p[key] - RATE * grads[key] for key in p}

    chosen = jax.jit(update) if jit else update

    def step() -> float:
        nonlocal held
        loss, held = chosen(held)
        jax.block_until_ready(held)
        return float(loss)

    return step


def autograd_step(name: str, numbers: dict[str, Any]) -> Callable[[], float]:
    """Return a step in HIPS autograd."""
    import autograd
    import autograd.numpy as anp

    value_and_grad = autograd.value_and_grad(losses(anp)[name])
    held = {key: value.copy() for key, value in numbers.items() if key not in GIVEN}
    given = {key: value for key, value in numbers.items() if key in GIVEN}

    def step() -> float:
        loss, grads = value_and_grad(held, given)
        for key, grad in grads.items():
            held[key] = held[key] - RATE * grad
        return float(loss)

    return step

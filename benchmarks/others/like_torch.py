"""The steps in PyTorch and in Dovetail: one text."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from .numbers import GIVEN, HEADS, RATE


def step_of(lib: Any, name: str, numbers: dict[str, Any]) -> Callable[[], float]:
    """Return a function that makes a step and returns the loss before it."""
    F = lib.nn.functional
    p = {key: lib.tensor(value) for key, value in numbers.items()}
    learned = [value.requires_grad_() for key, value in p.items() if key not in GIVEN]
    optimizer = lib.optim.SGD(learned, RATE)

    def mlp() -> Any:
        logits = lib.addmm(p["b2"], F.relu(lib.addmm(p["b1"], p["x"], p["w1"])), p["w2"])
        return F.cross_entropy(logits, p["labels"])

    def cnn() -> Any:
        maps = F.max_pool2d(F.relu(F.conv2d(p["x"], p["kernel"], p["bias"])), 2)
        return F.cross_entropy(lib.addmm(p["b"], maps.flatten(1), p["w"]), p["labels"])

    def block() -> Any:
        x = p["x"]
        normal = F.layer_norm(x, (64,), p["g1"], p["c1"])
        split = (normal @ p["qkv"]).view(8, 32, 3, HEADS, 16).permute(2, 0, 3, 1, 4)
        q, k, v = split.unbind(0)
        weights = F.softmax(q @ k.transpose(-2, -1) / sqrt(16) + p["mask"], -1)
        x = x + (weights @ v).transpose(1, 2).reshape(8, 32, 64) @ p["out"]
        normal = F.layer_norm(x, (64,), p["g2"], p["c2"])
        x = x + F.gelu(normal @ p["up"], approximate="tanh") @ p["down"]
        return (x * x).mean()

    loss_of = {"MLP": mlp, "CNN": cnn, "block": block}[name]

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step

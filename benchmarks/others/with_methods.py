"""The steps in mygrad and in tinygrad."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from .numbers import GIVEN, HEADS, RATE


def mygrad_step(name: str, numbers: dict[str, Any]) -> Callable[[], float]:
    """Return a step in mygrad."""
    import mygrad as mg
    from mygrad.nnet import conv_nd, max_pool, relu, softmax, softmax_crossentropy

    p = {key: value if key in GIVEN else mg.tensor(value.copy()) for key, value in numbers.items()}
    learned = [value for key, value in p.items() if key not in GIVEN]

    def normal(x: Any, scale: Any, shift: Any) -> Any:
        away = x - mg.mean(x, axis=-1, keepdims=True)
        return away / mg.sqrt(mg.mean(away * away, axis=-1, keepdims=True) + 1e-5) * scale + shift

    def mlp() -> Any:
        logits = relu(mg.matmul(p["x"], p["w1"]) + p["b1"]) @ p["w2"] + p["b2"]
        return softmax_crossentropy(logits, p["labels"])

    def cnn() -> Any:
        maps = relu(conv_nd(p["x"], p["kernel"], stride=1) + p["bias"].reshape(8, 1, 1))
        maps = max_pool(maps, (2, 2), 2).reshape(32, -1)
        return softmax_crossentropy(maps @ p["w"] + p["b"], p["labels"])

    def block() -> Any:
        x = p["x"]
        split = mg.matmul(normal(x, p["g1"], p["c1"]), p["qkv"]).reshape(8, 32, 3, HEADS, 16)
        q, k, v = mg.transpose(split, (2, 0, 3, 1, 4))
        weights = softmax(mg.matmul(q, mg.swapaxes(k, -2, -1)) / sqrt(16) + p["mask"], axis=-1)
        heads = mg.swapaxes(mg.matmul(weights, v), 1, 2).reshape(8, 32, 64)
        x = x + mg.matmul(heads, p["out"])
        up = mg.matmul(normal(x, p["g2"], p["c2"]), p["up"])
        up = up * 0.5 * (1 + mg.tanh(sqrt(2 / pi) * (up + 0.044715 * up * up * up)))
        x = x + mg.matmul(up, p["down"])
        return mg.mean(x * x)

    loss_of = {"MLP": mlp, "CNN": cnn, "block": block}[name]

    def step() -> float:
        loss = loss_of()
        loss.backward()
        for value in learned:
            value.data -= RATE * value.grad
            value.null_grad()
        return float(loss.data)

    return step


def tinygrad_step(name: str, numbers: dict[str, Any], *, jit: bool) -> Callable[[], float]:
    """Return a step in tinygrad, under its TinyJit or not."""
    from tinygrad import Context, Tensor, TinyJit
    from tinygrad.nn.optim import SGD

    p = {key: Tensor(value).is_param_(key not in GIVEN) for key, value in numbers.items()}
    optimizer = SGD([value for key, value in p.items() if key not in GIVEN], lr=RATE)

    def normal(x: Any, scale: Any, shift: Any) -> Any:
        return x.layernorm() * scale + shift

    def mlp() -> Any:
        logits = (p["x"] @ p["w1"] + p["b1"]).relu() @ p["w2"] + p["b2"]
        return logits.sparse_categorical_crossentropy(p["labels"])

    def cnn() -> Any:
        maps = p["x"].conv2d(p["kernel"], p["bias"]).relu().max_pool2d(2)
        logits = maps.flatten(1) @ p["w"] + p["b"]
        return logits.sparse_categorical_crossentropy(p["labels"])

    def block() -> Any:
        x = p["x"]
        split = normal(x, p["g1"], p["c1"]) @ p["qkv"]
        q, k, v = split.reshape(8, 32, 3, HEADS, 16).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / sqrt(16) + p["mask"]).softmax(-1)
        x = x + (weights @ v).transpose(1, 2).reshape(8, 32, 64) @ p["out"]
        x = x + (normal(x, p["g2"], p["c2"]) @ p["up"]).gelu() @ p["down"]
        return (x * x).mean()

    loss_of = {"MLP": mlp, "CNN": cnn, "block": block}[name]

    def update() -> Any:
        with Context(TRAINING=1):
            optimizer.zero_grad()
            loss = loss_of().backward()
            return loss.realize(*optimizer.schedule_step())

    chosen = TinyJit(update) if jit else update
    return lambda: float(chosen().item())

"""The numbers that every library starts from: parameters, inputs and labels, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

RATE = 0.01
"""Learning rate of the plain SGD of all three steps: so low that no round gets where numbers are
subnormal, which processors compute slowly.
"""
HEADS = 4


def mlp() -> dict[str, Any]:
    """Return 64-64-10 with a batch of 32."""
    draw = np.random.default_rng(0).standard_normal
    return {
        "w1": (draw((64, 64)) / 8).astype("f4"),
        "b1": np.zeros(64, "f4"),
        "w2": (draw((64, 10)) / 8).astype("f4"),
        "b2": np.zeros(10, "f4"),
        "x": draw((32, 64)).astype("f4"),
        "labels": np.arange(32) % 10,
    }


def cnn() -> dict[str, Any]:
    """Return a convolution of 8 channels, 3×3, over 32 pictures of 28×28, and a layer of 10."""
    draw = np.random.default_rng(1).standard_normal
    return {
        "kernel": (draw((8, 1, 3, 3)) / 3).astype("f4"),
        "bias": np.zeros(8, "f4"),
        "w": (draw((8 * 13 * 13, 10)) / 37).astype("f4"),
        "b": np.zeros(10, "f4"),
        "x": draw((32, 1, 28, 28)).astype("f4"),
        "labels": np.arange(32) % 10,
    }


def block() -> dict[str, Any]:
    """Return a transformer block of width 64 with 4 heads, over 8 sequences of 32."""
    draw = np.random.default_rng(2).standard_normal
    return {
        "g1": np.ones(64, "f4"),
        "c1": np.zeros(64, "f4"),
        "qkv": (draw((64, 192)) / 8).astype("f4"),
        "out": (draw((64, 64)) / 8).astype("f4"),
        "g2": np.ones(64, "f4"),
        "c2": np.zeros(64, "f4"),
        "up": (draw((64, 256)) / 8).astype("f4"),
        "down": (draw((256, 64)) / 16).astype("f4"),
        "x": draw((8, 32, 64)).astype("f4"),
        "mask": np.triu(np.full((32, 32), -1e9, "f4"), 1),
    }


STEPS = {
    "MLP": ("MLP 64-64-10, batch 32", mlp),
    "CNN": ("CNN 8×3×3, batch 32", cnn),
    "block": ("block 64, 8×32", block),
}
"""What is measured, by its short name: what it is, and its numbers."""
GIVEN = ("x", "labels", "mask")
"""What is not learned."""

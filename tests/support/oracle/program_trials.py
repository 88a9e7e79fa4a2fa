"""Trials of random programs: operators, writes, and pieces that a program defines for itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .levels import NESTINGS, Leaves, Level
from .op_info_trials import batched, drawn_level, nesting_of
from .program_pieces import pieces
from .trials import Trial

__all__ = ["program_trial", "subjects"]

Operation = Callable[[Any, Any, Any], Any]
"""``operation(lib, a, b)`` returns a tensor; `b` has the shape of `a`."""


def _written(view: Callable[[Any], Any], write: Callable[[Any, Any], Any]) -> Operation:
    """Return an operation that writes to a view of a copy."""

    def run(lib: Any, a: Any, b: Any) -> Any:
        base = a * 1
        part = view(base)
        write(part, b.sum())
        return base

    return run


OPERATIONS: dict[str, Operation] = {
    "add": lambda lib, a, b: a + 0.5 * b,
    "mul": lambda lib, a, b: a * b,
    "div": lambda lib, a, b: a / (b * b + 2.0),
    "sin": lambda lib, a, b: a.sin(),
    "tanh": lambda lib, a, b: a.tanh(),
    "exp": lambda lib, a, b: (a.tanh()).exp(),
    "captured constant": lambda lib, a, b: a * lib.tensor(0.7, dtype=lib.float64) + b,
    "softmax": lambda lib, a, b: a.softmax(-1),
    "logsumexp": lambda lib, a, b: a.logsumexp(-1, keepdim=True) + b,
    "mean": lambda lib, a, b: a.mean() * b,
    "norm": lambda lib, a, b: (a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True) + 1.0),
    "layer_norm": lambda lib, a, b: lib.nn.functional.layer_norm(
        a, [a.shape[-1]], b.reshape(-1, b.shape[-1])[0]
    ),
    "cumsum": lambda lib, a, b: a.cumsum(-1),
    "cumprod": lambda lib, a, b: a.cumprod(-1),
    "flip": lambda lib, a, b: a.flip([-1]) * b,
    "stack": lambda lib, a, b: lib.stack([a, b]).prod(0),
    "cat": lambda lib, a, b: lib.cat([a[..., 1:], b[..., :1]], -1),
    "expand": lambda lib, a, b: a[..., :1].expand(tuple(a.shape)) * b,
    "reshape": lambda lib, a, b: (a.reshape(-1) * b.reshape(-1)).reshape(tuple(a.shape)),
    "matmul": lambda lib, a, b: (a.unsqueeze(-1) @ b.unsqueeze(-2)).sum(-1),
    "einsum": lambda lib, a, b: lib.einsum("...i,...j->...i", a, b),
    "mse_loss": lambda lib, a, b: lib.nn.functional.mse_loss(a, b) + a,
    "smooth_l1_loss": lambda lib, a, b: lib.nn.functional.smooth_l1_loss(a, b + 5.0) * b,
    "cross_entropy": lambda lib, a, b: (
        lib.nn.functional.binary_cross_entropy_with_logits(a, b.sigmoid()) * b
    ),
    "gather": lambda lib, a, b: a.gather(-1, lib.zeros(tuple(a.shape), dtype=lib.int64)) * b,
    "index_select": lambda lib, a, b: a.index_select(-1, lib.tensor([0] * a.shape[-1])),
    "write": _written(lambda base: base, lambda part, s: part.mul_(s)),
    "write to a part": _written(lambda base: base[..., :1], lambda part, s: part.mul_(s)),
    "write to a flat view": _written(lambda base: base.view(-1), lambda part, s: part.add_(s)),
    "write of sin": _written(lambda base: base[..., 1:], lambda part, s: part.sin_()),
    "copy": _written(lambda base: base[..., 0], lambda part, s: part.copy_(s)),
    "fill": _written(lambda base: base[..., 0], lambda part, s: part.fill_(s)),
}
PIECES = (
    *("custom sine", "custom product", "custom product with a rule", "custom pair"),
    *("library cube", "library composite"),
    *("function", "function of two results", "function of a number"),
    *("function that returns a view", "function that saves its result", "function with a rule"),
    *("function that returns a tensor twice", "function that writes", "captured wrapper"),
)
SHAPES = ((3,), (2, 3), (1, 2))


@dataclass(frozen=True)
class Step:
    """One operation on two tensors of the pool, by their places from its end."""

    name: str
    operands: tuple[int, int]


def program_trial(subject: str, turn: int) -> Trial:
    """Return a random program under a nesting; each subject is the piece that it has at least."""
    r = random.Random(f"program {subject} {turn}")
    shape = r.choice(SHAPES)
    count = r.choice((2, 2, 3))
    values: list[Any] = [
        np.round(np.random.default_rng(r.randrange(10**6)).uniform(-1.5, 1.5, shape), 2)
        for _ in range(count)
    ]
    names = [r.choice([*OPERATIONS, *PIECES]) for _ in range(r.randrange(4))]
    names.insert(r.randrange(len(names) + 1), subject)
    steps = tuple([Step(name, (r.randrange(3), r.randrange(4))) for name in names])
    kinds = nesting_of(subject, turn, NESTINGS)
    levels = tuple([drawn_level(kind, list(range(count)), count, r) for kind in kinds])
    batched(values, levels)
    return _of_steps(steps, tuple(values), levels)


def _of_steps(steps: Sequence[Step], leaves: tuple[Any, ...], levels: tuple[Level, ...]) -> Trial:
    def body(lib: Any, given: Leaves) -> list[Any]:
        pool = list(given)
        for step in steps:
            a, b = [pool[-1 - place % len(pool)] for place in step.operands]
            operation = OPERATIONS.get(step.name)
            pool += pieces(lib)[step.name](a, b) if operation is None else [operation(lib, a, b)]
        return pool[len(given) :][-2:]

    return Trial(
        ", ".join(sorted({step.name for step in steps})),
        body,
        leaves,
        levels,
        text=str([(step.name, *step.operands) for step in steps]),
        parts=tuple(steps),
        of_parts=lambda fewer: _of_steps(fewer, leaves, levels),
    )


def subjects() -> list[str]:
    """Return the names of all operations and pieces."""
    return [*OPERATIONS, *PIECES]

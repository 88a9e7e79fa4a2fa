"""The list of rows: every group in the order of the report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from . import kernels, machinery, training
from .arguments import LARGE, MEDIUM, SMALL, scope
from .calls import FREQUENT, NOT_LARGE, PLAIN, RECORDED
from .row import MODES, Row, expression

SIZES = {"medium arrays": MEDIUM, "large arrays": LARGE}


def rows() -> Iterator[Row]:
    """Yield all rows."""
    yield from small_calls()
    yield from machinery.rows()
    yield from training.rows()
    yield from arrays("medium arrays")
    yield from arrays("large arrays")
    yield from long_arrays()
    yield from kernels.rows()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what chooses rows, and how they are measured."""
    parser.add_argument("--group", default="", help="groups whose name contains this")
    parser.add_argument("--family", default="", help="families whose name contains this")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--mode", default="", help="rows of this mode")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)


def chosen(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows that are asked for."""
    for row in rows():
        if (
            options.group in row.group
            and options.family in row.family
            and options.only in row.name
            and options.mode in row.mode
        ):
            yield row


def small_calls() -> Iterator[Row]:
    """Yield calls on 8×8 matrices in every mode."""
    for modes, table in ((MODES, RECORDED), (("plain",), PLAIN)):
        for family, texts in table.items():
            group = "small calls" if family in FREQUENT else "small calls of the rest"
            for text in texts:
                for mode in modes:
                    make = expression(text, scope(SMALL), mode=mode)
                    yield Row(group, family, text, make, mode)


def arrays(group: str) -> Iterator[Row]:
    """Yield plain calls on larger matrices, and the backward of a few."""
    names = scope(SIZES[group])
    for family in dict.fromkeys((*RECORDED, *PLAIN)):
        if family in NOT_LARGE:
            continue
        for text in (*RECORDED.get(family, ()), *PLAIN.get(family, ())):
            yield Row(group, family, text, expression(text, names))
    for text in BACKWARD:
        yield Row(group, "backward", f"{text}, backward", backward(text, names))


def long_arrays() -> Iterator[Row]:
    """Yield calls on lines of ten million elements."""

    def names(lib: Any, grad: bool) -> dict[str, Any]:
        made = {name: lib.full((10_000_000,), 0.5) for name in "xy"}
        return {"lib": lib, "F": lib.nn.functional, **made, "m": made["x"] > 0.2}

    for text in LONG:
        yield Row("large arrays", "ten million", text, expression(text, names))


LONG = ("x + y", "x * 2.5", "x.exp()", "x.sum()", "lib.where(m, x, y)", "F.relu(x)", "x.clone()")

BACKWARD = (
    "x * y",
    "F.relu(x)",
    "x.sigmoid()",
    "F.gelu(x)",
    "F.softmax(x, -1)",
    "F.log_softmax(x, -1)",
    "F.layer_norm(x, (x.size(-1),), b, b)",
    "F.batch_norm(image, mean, mean + 1)",
    "F.conv2d(image, filters, padding=1)",
    "F.max_pool2d(image, 2)",
    "F.embedding(words, table)",
    "F.cross_entropy(x, labels)",
    "F.scaled_dot_product_attention(q, q, q)",
    "x.gather(1, p)",
    "x[i]",
    "lib.cat([x, y])",
    "x.mean(-1)",
    "x.cumsum(0)",
)
"""Expressions whose backward alone is measured."""


def backward(text: str, names: Any) -> Any:
    """Return a row of the backward of an expression to all its leaves."""

    def make(lib: Any) -> Any:
        scope = names(lib, True)
        result = eval(text, scope)
        used = [
            each
            for name, each in scope.items()
            if name in USED and getattr(each, "requires_grad", False) and name in text
        ]
        leaves = [each for each in used if each.is_leaf]
        seed = lib.ones_like(result)
        return lambda: lib.autograd.grad(result, leaves, seed, retain_graph=True, allow_unused=True)

    return make


USED = frozenset(("x", "b", "image", "filters", "q", "table"))

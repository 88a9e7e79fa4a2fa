"""What the functions of `register_autograd` are given and may return, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
import torch

import dovetail

NUMBERS = count()


class Side:
    """One library, and what its functions were called with."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.seen: list[Any] = []
        self.x = lib.ones(3, requires_grad=True)
        self.y = lib.ones(3)

    def setup(self, ctx: Any, inputs: Any, output: Any) -> None:
        self.seen.append(("setup", [plain(each) for each in inputs], plain(output)))

    def setup_with_keywords(
        self, ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any
    ) -> None:
        self.seen.append(
            ("setup", [plain(each) for each in inputs], keyword_only_inputs, plain(output))
        )

    def returning(self, result: Callable[..., Any]) -> Callable[..., Any]:
        def backward(ctx: Any, *grads: Any) -> Any:
            self.seen.append(("backward", [plain(grad) for grad in grads]))
            return result(*grads)

        return backward

    def run(
        self, schema: str, kernel: Any, backward: Any, setup: Any, *args: Any, **kwargs: Any
    ) -> Any:
        op = self.lib.library.custom_op(
            f"rag{next(NUMBERS)}::f", kernel, mutates_args=(), schema=schema
        )
        op.register_autograd(self.returning(backward), setup_context=setup)
        result = op(*args, **kwargs)
        tensors = [
            each
            for each in (result if isinstance(result, tuple | list) else [result])
            if hasattr(each, "sum")
        ]
        tensors[0].sum().backward()
        name = tensors[0].grad_fn.name()
        return self.seen, plain(self.x.grad), name[:20], [each.requires_grad for each in tensors]


def plain(value: Any) -> Any:
    """Return a value in a form that both sides share."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    return value.tolist() if hasattr(value, "tolist") else value


def twice(*args: Any, **kwargs: Any) -> Any:
    return args[0] * 2


def both(x: Any, y: Any) -> Any:
    return x * 2, y * 3


def quiet(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.set_materialize_grads(False)


def second_constant(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.mark_non_differentiable(output[1])


WITH_INT = "(Tensor x, int n=3) -> Tensor"
PROGRAMS: dict[str, Callable[[Side], Any]] = {
    "defaults are filled in": lambda s: s.run(WITH_INT, twice, lambda g: (g, None), s.setup, s.x),
    "values by keyword": lambda s: s.run(WITH_INT, twice, lambda g: (g, None), s.setup, s.x, n=5),
    "no gradient for a default": lambda s: s.run(WITH_INT, twice, lambda g: g * 2, s.setup, s.x),
    "surplus None": lambda s: s.run(WITH_INT, twice, lambda g: (g, None, None), s.setup, s.x, 3),
    "no gradient": lambda s: s.run(WITH_INT, twice, lambda g: (None, None), s.setup, s.x, 3),
    "no setup_context": lambda s: s.run("(Tensor x) -> Tensor", twice, lambda g: g, None, s.x),
    "two results": lambda s: s.run(
        "(Tensor x, Tensor y) -> (Tensor, Tensor)", both, lambda g, h: (g, h), s.setup, s.x, s.y
    ),
    "undefined gradients on request": lambda s: s.run(
        "(Tensor x, Tensor y) -> (Tensor, Tensor)", both, lambda g, h: (g, h), quiet, s.x, s.y
    ),
    "a constant result": lambda s: s.run(
        "(Tensor x, Tensor y) -> (Tensor, Tensor)",
        both,
        lambda g, h: (g, h),
        second_constant,
        s.x,
        s.y,
    ),
    "a list of inputs": lambda s: s.run(
        "(Tensor[] xs) -> Tensor", lambda xs: xs[0] * 2, lambda g: ([g, None],), s.setup, [s.x, s.y]
    ),
    "a list of results": lambda s: s.run(
        "(Tensor x) -> Tensor[]", lambda x: [x * 2, x * 3], lambda g: g[0] + g[1], s.setup, s.x
    ),
    "keyword-only inputs": lambda s: s.run(
        "(Tensor x, *, int n=3, float a) -> Tensor",
        twice,
        lambda g: g,
        s.setup_with_keywords,
        s.x,
        a=2.0,
    ),
    "defaults before keyword-only inputs": lambda s: s.run(
        "(Tensor w, int x=2, *, int y=3, int z) -> Tensor",
        twice,
        lambda g: (g, None),
        s.setup_with_keywords,
        s.x,
        z=42,
    ),
    "an optional tensor": lambda s: s.run(
        "(Tensor x, Tensor? y=None) -> Tensor", twice, lambda g: (g, None), s.setup, s.x
    ),
    "a result that is no tensor": lambda s: s.run(
        "(Tensor x) -> (Tensor, int)", lambda x: (x * 2, 3), lambda g, n: g, s.setup, s.x
    ),
    "too few": lambda s: s.run(
        "(Tensor x, Tensor y) -> Tensor", twice, lambda g: g, s.setup, s.x, s.y
    ),
    "too few for given values": lambda s: s.run(
        "(Tensor x, int n) -> Tensor", twice, lambda g: g, s.setup, s.x, 3
    ),
    "too many": lambda s: s.run("(Tensor x) -> Tensor", twice, lambda g: (g, g, g), s.setup, s.x),
    "one for an int": lambda s: s.run(WITH_INT, twice, lambda g: (g, g), s.setup, s.x, 3),
    "a number": lambda s: s.run("(Tensor x) -> Tensor", twice, lambda g: 1.0, s.setup, s.x),
    "no list for a list": lambda s: s.run(
        "(Tensor[] xs) -> Tensor", lambda xs: xs[0] * 2, lambda g: (g,), s.setup, [s.x, s.y]
    ),
    "a short list": lambda s: s.run(
        "(Tensor[] xs) -> Tensor", lambda xs: xs[0] * 2, lambda g: ([g],), s.setup, [s.x, s.y]
    ),
}
WORDS = {
    "too few": "returned an incorrect number of gradients",
    "too few for given values": "returned an incorrect number of gradients",
    "too many": "returned an incorrect number of gradients",
    "one for an int": "returned a gradient different than None at position 2",
    "a number": "expected Variable or None (got float)",
    "no list for a list": "Expected the return from backward to be of "
    "the same structure as the inputs",
    "a short list": "Expected the return from backward to be of the same structure as the inputs",
}


def outcome(lib: Any, name: str) -> Any:
    try:
        return PROGRAMS[name](Side(lib))
    except RuntimeError as error:
        assert WORDS[name] in str(error), error
        return WORDS[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_derivative_is_called_and_checked_alike(name: str) -> None:
    expected = outcome(torch, name)
    assert (expected == WORDS.get(name)) == (name in WORDS)
    assert outcome(dovetail, name) == expected

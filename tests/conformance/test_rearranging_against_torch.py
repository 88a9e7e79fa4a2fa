"""`func.rearrange`: patterns give the same elements and errors as in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import dovetail

PATTERNS: tuple[tuple[str, dict[str, int]], ...] = (
    ("a b c -> b a c", {}),
    ("a b c -> (a b) c", {}),
    ("a b c -> (c b a)", {}),
    ("a b (c d) -> a d b c", {"c": 2}),
    ("a b (c d) -> a d b c", {"d": 2}),
    ("(a x) b (c d) -> x (d b) (c a)", {"d": 2, "a": 1}),
    ("a ... -> ... a", {}),
    ("... c -> c ...", {}),
    ("a ... -> a (...)", {}),
    ("a ... b c -> a (b ... c)", {}),
    ("... -> (...)", {}),
    ("a b c -> a b c 1", {}),
    ("a b c -> () a b 1 c ()", {}),
    ("a b c -> a (b 1) c", {}),
    ("a b c -> a b c", {"a": 2}),
    ("A b  c->c b A ", {}),
)
WRONG: tuple[tuple[str, dict[str, int]], ...] = (
    *[(pattern, {}) for pattern in ("", "a b c", "a b c -> b a c -> a", "a b c -> ")],
    *[(pattern, {}) for pattern in ("a b c -> a b", "a b c -> a b c d", "a b -> b a")],
    *[(pattern, {}) for pattern in ("a a c -> a c", "a b c -> a a b c", "a b c -> a (b c")],
    *[(pattern, {}) for pattern in ("() a b c -> a b c", "a b ... -> a b", "a 2 c -> a c")],
    *[(pattern, {}) for pattern in ("a (...) -> a ...", "a b c -> (...)", "_a b c -> b c _a")],
    *[(pattern, {}) for pattern in ("a-b b c -> b", "a b c -> .. a b c", "a ((b)) c -> a b c")],
    *[(pattern, {}) for pattern in ("a b (c d) -> a b c d", "a b c) -> a b c")],
    ("a b c -> a b c", {"z": 2}),
    ("a b c -> a b c", {"a": 5}),
    ("a b (c d) -> a d b c", {"c": 3}),
)


@pytest.mark.parametrize(("pattern", "sizes"), PATTERNS)
def test_patterns_give_what_they_give_in_pytorch(pattern: str, sizes: dict[str, int]) -> None:
    ours, theirs = (
        lib.func.rearrange(lib.arange(24.0).reshape(2, 3, 4), pattern, **sizes)
        for lib in (dovetail, torch)
    )
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert np.array_equal(ours.cpu().numpy(), theirs.numpy())


@pytest.mark.parametrize(("pattern", "sizes"), WRONG)
def test_wrong_patterns_are_refused_as_in_pytorch(pattern: str, sizes: dict[str, int]) -> None:
    with pytest.raises(Exception) as theirs:
        torch.func.rearrange(torch.zeros(2, 3, 4), pattern, **sizes)
    with pytest.raises(ValueError) as ours:
        dovetail.func.rearrange(dovetail.zeros(2, 3, 4), pattern, **sizes)
    if theirs.type is ValueError:  # else it is of a class of its own
        first = str(theirs.value)[:20]
        assert str(ours.value).startswith(first)


def test_tensors_are_stacked_and_gradients_flow() -> None:
    found = []
    for lib in (dovetail, torch):
        parts = [lib.arange(12.0).reshape(3, 4).requires_grad_() for _ in range(2)]
        made = lib.func.rearrange(parts, "b h w -> h (b w)")
        (made * lib.arange(24.0).reshape(3, 8)).sum().backward()
        found.append((made.tolist(), [each.grad.tolist() for each in parts]))
    assert found[0] == found[1]


def test_a_pattern_that_only_permutes_gives_a_view() -> None:
    x = dovetail.zeros(2, 3, 4)
    dovetail.func.rearrange(x, "a b c -> c a b").fill_(1)
    assert x.sum().item() == 24


def test_an_axis_of_size_one_is_removed_and_no_other() -> None:
    for lib in (dovetail, torch):
        assert tuple(lib.func.rearrange(lib.zeros(2, 1, 4), "a 1 b -> b a").shape) == (4, 2)
    with pytest.raises(ValueError, match="do not fit"):
        dovetail.func.rearrange(dovetail.zeros(2, 3, 4), "a 1 b -> a b")

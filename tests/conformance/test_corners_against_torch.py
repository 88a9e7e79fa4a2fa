"""Corners in which the two libraries once differed: the same program gives the same result, or the same error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")

import dovetail  # noqa: E402


def gradient_of_atan2_at_the_origin(lib: Any) -> Any:
    x = lib.zeros(2, requires_grad=True)
    lib.atan2(x, lib.zeros(2)).sum().backward()
    return x.grad


def masked_write_of_another_dtype(lib: Any) -> Any:
    a = lib.arange(4.0).reshape(2, 2)
    a[lib.tensor([[True, False], [False, True]])] = lib.tensor(5, dtype=lib.int64)
    return a


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "the gradient of atan2 is 0 at the origin": gradient_of_atan2_at_the_origin,
    "a masked write casts a 0-dim value": masked_write_of_another_dtype,
    "a 0-dim bound does not promote": lambda lib: lib.clamp(lib.ones(3), lib.tensor(2.0, dtype=lib.float64)),
    "bounds that do not broadcast are refused": lambda lib: lib.clamp(lib.ones(3), lib.tensor([0.0, 2.0]), None),
    "einsum takes its operands one by one": lambda lib: lib.einsum("ij,jk->ik", lib.ones(2, 3), lib.ones(3, 2)),
    "norm has defaults": lambda lib: lib.norm(lib.ones(2, 3), dim=1),
    "view takes sizes one by one": lambda lib: lib.arange(6).view(2, 3),
    "an in-place sum keeps its shape": lambda lib: lib.ones(3).sub_(lib.ones(1, 3), alpha=2),
}


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    try:
        result = program(lib)
    except Exception as error:
        return type(error).__name__
    return str(result.dtype).partition(".")[2], result.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_corner(name: str) -> None:
    assert outcome(PROGRAMS[name], dovetail) == outcome(PROGRAMS[name], torch)

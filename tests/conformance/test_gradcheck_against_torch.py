"""gradcheck of functions whose outputs change in shape or dtype from call to call."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail


def error_of(lib: Any, kind: str, period: int, fast_mode: bool) -> str:
    """Return the text of the AssertionError of gradcheck for a function that changes its output."""
    calls = 0

    def changing(x: Any) -> Any:
        nonlocal calls
        calls += 1
        is_first = calls % period == 0
        if kind == "shape":
            return x[: 2 + is_first] * 2
        return x.sum().to(lib.float64 if is_first else lib.float32)

    x = lib.ones(4, dtype=lib.float64, requires_grad=True)
    with pytest.raises(AssertionError) as caught:
        lib.autograd.gradcheck(changing, (x,), fast_mode=fast_mode)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["shape", "dtype"])
def test_outputs_that_are_not_alike_are_named_as_pytorch_names_them(kind: str) -> None:
    wanted = error_of(torch, kind, 2, fast_mode=False)
    found = error_of(dovetail, kind, 2, fast_mode=False)
    assert found.startswith(wanted[: wanted.index("by 1e-06")])


@pytest.mark.parametrize("period", [2, 3])
@pytest.mark.parametrize("kind", ["shape", "dtype"])
def test_the_fast_mode_names_them_too(kind: str, period: int) -> None:
    assert f"with the same {kind}" in error_of(dovetail, kind, period, fast_mode=True)


MODES = (
    {},
    {"fast_mode": True},
    {"check_forward_ad": True},
    {"check_forward_ad": True, "check_batched_forward_grad": True},
)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # PyTorch uses it itself
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("calls_alike", range(1, 16))
def test_a_function_that_changes_for_good_is_refused_as_in_pytorch(
    mode: dict[str, bool], calls_alike: int
) -> None:
    def found(lib: Any) -> str:
        calls = 0

        def changing(x: Any) -> Any:
            nonlocal calls
            calls += 1
            return x * 1 if calls <= calls_alike else x[:2] * 1

        x = lib.ones(3, dtype=lib.float64, requires_grad=True)
        try:
            return str(lib.autograd.gradcheck(changing, (x,), **mode))
        except (AssertionError, RuntimeError):
            return "refused"

    assert found(dovetail) == found(torch)

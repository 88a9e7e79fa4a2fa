"""Numbers and arguments that PyTorch refuses instead of computing with them: NaN and infinities of
distributions, integers beyond a dtype, a size given twice, switches that are no bool.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

REFUSED = (
    "L.ones(2, 2, dtype=L.int64).addr_(L.ones(2), L.ones(2))",
    "L.ones(2, 2, dtype=L.bool).addr_(L.ones(2), L.ones(2))",
    "L.ones(2, dtype=L.int64).polygamma_(1)",
    "L.linalg.cholesky(L.full((2, 2), float('nan')))",
    "L.linalg.cholesky(L.eye(3).repeat(2, 1, 1).index_fill_(0, L.tensor([1]), float('nan')))",
    *[f"L.randperm({n}, dtype=L.{dtype})" for n, dtype in ((257, "uint8"), (129, "int8"))],
    *["L.randperm(2**15 + 1, dtype=L.int16)", "L.randperm(2050, dtype=L.float16)"],
    "L.randint(0, 2**70, (3,), dtype=L.float32)",
    "L.randint(-2**70, 3, (3,), dtype=L.float32)",
    "L.ones(2).random_(2**70)",
    *[f"L.{name}(5, size=(2, 2))" for name in ("zeros", "ones", "empty", "rand", "randn")],
    *[f"L.ones(2).new_{name}(5, size=(2, 2))" for name in ("zeros", "ones", "empty")],
    *[f"L.set_grad_enabled({value})" for value in ("None", "1", "'x'", "L.tensor(True)")],
    *[f"L.autograd.set_detect_anomaly({value})" for value in ("None", "1", "'x'")],
    *[f"L.ones(2).uniform_({text})" for text in ("float('nan'), 1.", "0., float('inf')")],
    *["L.ones(2).uniform_(0, float('nan'))", "L.ones(2).uniform_(-1e39, 0.)"],
    *[f"L.ones(2).{name}_(float('nan'))" for name in ("exponential", "geometric")],
    *[f"L.ones(2).{name}_(0., float('nan'))" for name in ("cauchy", "log_normal", "normal")],
    "L.nn.functional.cosine_similarity(L.ones(2, 2), L.ones(2, 2), eps=float('nan'))",
    "L.nn.functional.cosine_similarity(L.ones(2, 2), L.ones(2, 2), eps=-1.)",
    *[
        f"L.nn.functional.batch_norm(L.ones(2, 2), {statistics}, training=True)"
        for statistics in ("L.ones(2), None", "None, L.ones(2)")
    ],
)
ACCEPTED = (
    *["L.randperm(256, dtype=L.uint8)", "L.randperm(128, dtype=L.int8)"],
    *["L.randperm(2049, dtype=L.float16)", "L.randperm(2**15, dtype=L.int16)", "L.randperm(0)"],
    "L.randint(-2**63, 2**63 - 1, (3,))",
    "L.ones(2).uniform_(0.0, 3e38)",
    "L.ones(2, 2, dtype=L.float32).addr_(L.ones(2, dtype=L.float64), L.ones(2, dtype=L.float64))",
)


def error_of(lib: Any, text: str) -> type[Exception] | None:
    try:
        eval(text, {"L": lib})
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("text", REFUSED)
def test_the_same_numbers_are_refused(text: str) -> None:
    wanted, found = error_of(torch, text), error_of(dovetail, text)
    assert wanted is not None
    assert found is not None
    assert issubclass(found, RuntimeError if issubclass(wanted, RuntimeError) else wanted)
    assert dovetail.is_grad_enabled()


@pytest.mark.parametrize("text", ACCEPTED)
def test_the_same_numbers_are_taken(text: str) -> None:
    assert error_of(torch, text) is None
    assert error_of(dovetail, text) is None


@pytest.mark.parametrize("upper", [False, True])
def test_the_step_at_which_nan_ends_a_factorization_is_pytorchs(upper: bool) -> None:
    nan = float("nan")
    matrices = [
        [[1.0, 0.0], [0.0, nan]],
        [[nan, 0.0], [0.0, 1.0]],
        [[2.0, 1.0], [1.0, 2.0]],
        [[1.0, nan], [nan, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
    ]
    wanted = torch.linalg.cholesky_ex(torch.tensor(matrices), upper=upper).info
    found = dovetail.linalg.cholesky_ex(dovetail.tensor(matrices), upper=upper).info
    assert found.tolist() == wanted.tolist()

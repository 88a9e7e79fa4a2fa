"""The programs of ``examples/programs``: from one seed, one loss curve in both libraries."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import dovetail

FOLDER = Path(__file__).parents[2] / "examples" / "programs"


@pytest.mark.cpu_only(reason="other devices draw numbers of their own")
@pytest.mark.parametrize(
    ("program", "arguments", "steps"),
    [
        ("digits_cnn.py", ["--epochs", "1"], 20),
        ("names_gpt.py", ["--steps", "20"], 20),
        ("sine_lstm.py", ["--steps", "20"], 20),
    ],
)
def test_a_seeded_program_has_the_losses_of_pytorch(
    program: str, arguments: list[str], steps: int
) -> None:
    def losses() -> list[float]:
        result = runpy.run_path(str(FOLDER / program))["main"](arguments)
        found: list[float] = result[0] if isinstance(result, tuple) else result
        return found[:steps]

    theirs = losses()
    with dovetail.as_torch():
        ours = losses()
    assert len(ours) == steps
    # Sums in another order, which depend on the processor, grow from step to step.
    assert ours == pytest.approx(theirs, rel=5e-3)

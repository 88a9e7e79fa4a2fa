"""The programs of ``examples/programs``: they import torch, run as they stand, and learn."""

import runpy
from pathlib import Path
from typing import Any

import pytest

import dovetail

pytestmark = pytest.mark.cpu_only(reason="programs that choose no device run on the cpu")

FOLDER = Path(__file__).parents[1] / "examples" / "programs"


def run(name: str, *arguments: str) -> Any:
    """Return what the ``main`` of a program does."""
    with dovetail.as_torch():
        return runpy.run_path(str(FOLDER / name))["main"](arguments)


def test_the_network_recognizes_digits(tmp_path: Path) -> None:
    file = tmp_path / "digits.pt"
    losses, tested = run("digits_cnn.py", "--epochs", "7", "--save", str(file))
    assert tested >= 0.98
    assert losses[-1] < 0.1 * losses[0]
    assert "conv1.weight" in dovetail.load(file)


def test_the_gpt_learns_to_spell() -> None:
    losses = run("names_gpt.py", "--steps", "60")
    assert sum(losses[-10:]) < 0.95 * sum(losses[:10])


def test_the_lstm_continues_waves() -> None:
    losses = run("sine_lstm.py", "--steps", "40")
    assert losses[-1] < 0.1 * losses[0]

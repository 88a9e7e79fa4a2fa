"""Classify digits with two processes; then again, killed in the middle and resumed by three.

Run by ``make demo-distributed``. The three runs with one, two, and two and then three processes see
the same samples in the same steps, so that they end with the same parameters, but for rounding.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import dovetail

PROGRAM = Path(__file__).with_name("distributed_training.py")


def run(size: int, folder: Path, name: str, *arguments: str) -> bool:
    """Train with `size` processes; return whether they came to the end."""
    starter = Path(sys.executable).with_name("mpiexec")
    command = [str(starter) if starter.exists() else "mpiexec", "-n", str(size), sys.executable]
    command += [str(PROGRAM), "--checkpoint", str(folder / f"{name}.state"), *arguments]
    return subprocess.run(command, check=False, timeout=300).returncode == 0


def difference(first: Path, second: Path) -> float:
    """Return how much the parameters of two runs differ at most."""
    one, two = dovetail.load(first)["model"], dovetail.load(second)["model"]
    return max((one[name] - two[name]).abs().max().item() for name in one)


def main() -> None:
    """Run the three trainings, and compare what they learnt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", default="8")
    chosen = ["--epochs", parser.parse_args().epochs]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone, pair, killed = folder / "alone", folder / "pair", folder / "killed"
        for size, path in ((1, alone), (2, pair)):
            print(f"-- {size} process{'es' if size > 1 else ''}", flush=True)
            if not run(size, folder, path.name, *chosen, "--save", str(path)):
                raise SystemExit(f"the run with {size} processes failed")
        print("-- 2 processes, one of which is killed", flush=True)
        if run(2, folder, killed.name, *chosen, "--kill-after", "45"):
            raise SystemExit("the run was not killed")
        print("-- 3 processes resume", flush=True)
        if not run(3, folder, killed.name, *chosen, "--save", str(killed)):
            raise SystemExit("the run did not resume")
        print(f"2 processes against 1:               {difference(alone, pair):.1e}")
        print(f"killed and resumed by 3 against 1:   {difference(alone, killed):.1e}")
        print(f"test accuracy: {dovetail.load(killed)['accuracy']:.2%}")


if __name__ == "__main__":
    main()

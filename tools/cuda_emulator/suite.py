"""Runs the test suites on the emulator: those of the cuda plugin whole, others sampled.

    python tools/cuda_emulator/suite.py [OPTION...] [PYTEST ARGUMENT...]

--sample N   one of N tests that any backend can run, chosen by the seed (default: 100; 1: all)
--each       instead, of every function of tests one, with parameters that the seed draws
--seed SEED  the seed, which is printed
--strict     in strict mode, see run.py

With paths among the arguments of pytest, these are run (default: all of them, whole).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from run import ROOT, environment

OWN = ("plugins/cuda/tests",)
OTHERS = (
    "plugins/aten/tests",
    "plugins/autograd/tests",
    "plugins/cpu/tests",
    "tests/front",
    "tests/conformance",
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/test_*.py"))),
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("examples/*/tests"))),
)
EXCEPTIONS = "tests/exceptions/cuda.txt"
PLUGIN = "cuda_emulator_pytest"


def main(arguments: Sequence[str]) -> int:
    """Run the suites, and return whether one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1000)
    parser.add_argument("--strict", action="store_true")
    own, rest = parser.parse_known_args(arguments)
    settings = environment(["--strict"] if own.strict else [])
    paths = [each for each in rest if (ROOT / each.partition("::")[0]).exists()]
    own.sample = own.sample or (1 if paths or own.each else 100)
    part = f"{own.seed % own.sample + 1}/{own.sample}"
    sampled = ["--backend", "cuda", "--tests", part, "--exceptions", EXCEPTIONS]
    sampled += ["--one-of-each", str(own.seed)] * own.each
    # Tests of any backend expect errors of indices at once.
    blocking = {**settings, "CUDA_LAUNCH_BLOCKING": "1"}
    if paths:
        options = [each for each in rest if each not in paths]
        of_plugin = [each for each in paths if each.startswith(OWN)]
        others = [each for each in paths if each not in of_plugin]
        failed = bool(of_plugin) and pytest([*of_plugin, *options], settings)
        return failed | (bool(others) and pytest([*sampled, *others, *options], blocking))
    failed = pytest([*OWN, *rest], settings)
    print(f"one of {own.sample} tests of all packages: --sample {own.sample} --seed {own.seed}")
    return failed | pytest([*sampled, *filter(exists, OTHERS), *rest], blocking)


def pytest(arguments: Sequence[str], settings: dict[str, str]) -> int:
    """Run pytest on two processes; no tests at all is no failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-n", "2", *arguments]
    return subprocess.run(command, env=settings, cwd=ROOT, check=False).returncode not in (0, 5)


def exists(path: str) -> bool:
    """Return whether a path of the repository is there."""
    return Path(ROOT, path).exists()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs the test suites on the emulator: those of the cuda plugin whole, others sampled.

    python tools/cuda_emulator/suite.py [--sample N] [--seed SEED] [--strict] [--everything]
                                        [PYTEST ARGUMENT...]

One of N tests that any backend can run (default: 100; 1: all) is chosen by the seed, which is
printed. ``--everything`` adds the comparisons with PyTorch and what is about every operator, which
have not run whole without a failure (docs/cuda.md). With paths among the arguments of pytest, these
are run instead (default: all of them).
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
EVERY_OPERATOR = ("tests/test_op_infos.py", "tests/test_results_of_the_base_library.py")
OTHERS = (
    "plugins/aten/tests",
    "plugins/autograd/tests",
    "plugins/cpu/tests",
    "tests/front",
    *sorted(
        {str(path.relative_to(ROOT)) for path in ROOT.glob("tests/test_*.py")} - {*EVERY_OPERATOR}
    ),
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("examples/*/tests"))),
)
MORE = ("tests/conformance", *EVERY_OPERATOR)
EXCEPTIONS = "tests/exceptions/cuda.txt"
PLUGIN = "cuda_emulator_pytest"


def main(arguments: Sequence[str]) -> int:
    """Run the suites, and return whether one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1000)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--everything", action="store_true")
    own, rest = parser.parse_known_args(arguments)
    settings = environment(["--strict"] if own.strict else [])
    paths = [each for each in rest if (ROOT / each.partition("::")[0]).exists()]
    own.sample = own.sample or (1 if paths else 100)
    part = f"{own.seed % own.sample + 1}/{own.sample}"
    sampled = ["--backend", "cuda", "--tests", part, "--exceptions", EXCEPTIONS]
    # Tests of any backend expect errors of indices at once.
    blocking = {**settings, "CUDA_LAUNCH_BLOCKING": "1"}
    if paths:
        of_plugin = all(each.startswith(OWN) for each in paths)
        return pytest(rest, settings) if of_plugin else pytest([*sampled, *rest], blocking)
    failed = pytest([*OWN, *rest], settings)
    print(f"one of {own.sample} tests of all packages: --sample {own.sample} --seed {own.seed}")
    others = OTHERS + MORE if own.everything else OTHERS
    return failed | pytest([*sampled, *filter(exists, others), *rest], blocking)


def pytest(arguments: Sequence[str], settings: dict[str, str]) -> int:
    """Run pytest on two processes; no tests at all is no failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-n", "2", *arguments]
    return subprocess.run(command, env=settings, cwd=ROOT, check=False).returncode not in (0, 5)


def exists(path: str) -> bool:
    """Return whether a path of the repository is there."""
    return Path(ROOT, path).exists()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

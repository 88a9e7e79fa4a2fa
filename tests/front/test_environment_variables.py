"""Whatever the variables that Dovetail reads contain, there is an error or a warning that names the
variable, or what the documentation says.

`DOVETAIL_HUNT=1000` tries more values, others each time. Those that one process reads are tried
without pytest by `python tests/support/environment_values.py FIRST COUNT`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import environment_values
import pytest
from environment_values import part_of, value
from oracle.sharing import seeds

from dovetail.inspection.installation_checks import VARIABLES

PROGRAM = """
import traceback, dovetail
from dovetail_dispatcher import compiled_code
assert dovetail.ones(2).sum().item() == 2
try:
    dovetail.ones(2).reshape(3)
except RuntimeError as error:
    print(compiled_code.is_in_force(), len(traceback.extract_tb(error.__traceback__)))
"""


def run(*words: str, **variables: str) -> Any:
    """Run a command with these of the variables alone."""
    others = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, *words], env={**others, **variables}, capture_output=True, check=False
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    printed = (done.stdout + done.stderr).replace("\n", "")
    assert all([each.isprintable() for each in printed])
    assert len(done.stderr) < 3000
    return done


@pytest.mark.parametrize("seed", seeds("values of environment variables", 3))
@pytest.mark.parametrize("name", [each for each in VARIABLES if each != "DOVETAIL_OPERATORS"])
def test_any_value_of_a_variable_is_obeyed_or_reported_by_its_name(name: str, seed: int) -> None:
    given = value(Random(f"{name}{seed}"))
    done = run("-c", PROGRAM, **{name: given})
    if done.returncode != 0:
        assert f"{name}=" in done.stderr.splitlines()[-1]
        assert name in ("DOVETAIL_NATIVE", "DOVETAIL_BLOCK")
        return
    compiled, frames = done.stdout.split()
    if name == "DOVETAIL_NATIVE":
        assert given in ("0", "1")
        assert compiled == str(given == "1")
    elif name == "DOVETAIL_NATIVE_ISA":
        assert ("DOVETAIL_NATIVE_ISA=" in done.stderr) == (compiled == "False")
        assert compiled == str(given in ("x86-64-v2", "x86-64-v3"))
    elif name == "DOVETAIL_FULL_TRACEBACKS":
        assert (int(frames) > 1) == (given != "0")
    else:
        report = run("-m", "dovetail", "doctor", "--json", DOVETAIL_BLOCK=given).stdout
        found = [each for each in json.loads(report) if "DOVETAIL_BLOCK" in str(each)]
        assert found or not given.strip(", \n")


@pytest.mark.parametrize("seed", seeds("values of environment variables", 4))
def test_a_part_of_the_operators_is_understood_or_refused(seed: int, tmp_path: Any) -> None:
    given = value(Random(f"operators{seed}"))
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
    done = run(*words, DOVETAIL_OPERATORS=given)
    is_refused = "DOVETAIL_OPERATORS" in done.stderr
    assert done.returncode == (4 if is_refused else 0)
    assert is_refused != (given == "all" or part_of(given) is not None)


def test_any_value_is_understood_or_refused_by_what_reads_it_in_one_process() -> None:
    assert set(environment_values.READERS) == set(VARIABLES)
    tried = seeds("values of environment variables in one process", 2000)
    words = [str(Path(environment_values.__file__)), str(tried.start), str(len(tried))]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

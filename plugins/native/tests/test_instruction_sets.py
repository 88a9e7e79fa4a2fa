"""Kernels for several instruction sets: the choice, and what they may need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

ROOT = Path(__file__).resolve().parents[1]
CHOICE = """
import numpy, dovetail
from dovetail_native import _core
x = dovetail.from_numpy(numpy.random.default_rng(0).normal(size=(50, 70)).astype("f4"))
print(_core.INSTRUCTION_SET, x.softmax(1).numpy().astype("f8").sum())
"""


def run(chosen: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DOVETAIL_NATIVE_ISA": chosen, "DOVETAIL_NATIVE": "1"}
    return subprocess.run(
        [sys.executable, "-c", CHOICE], env=environment, capture_output=True, text=True, check=False
    )


def test_the_highest_set_is_taken_unless_a_variable_names_a_lower_one():
    if not os.environ.get("DOVETAIL_NATIVE_ISA"):
        assert core.INSTRUCTION_SETS[-1] == core.INSTRUCTION_SET
    for chosen in core.INSTRUCTION_SETS:
        done = run(chosen)
        assert done.returncode == 0, done.stderr
        name, total = done.stdout.split()
        assert name == chosen
        assert float(total) == pytest.approx(50, rel=1e-6)


def test_a_set_that_the_processor_lacks_is_refused():
    done = run("x86-64-v9")
    assert done.returncode != 0
    assert "x86-64-v9" in done.stderr
    assert repr(core.INSTRUCTION_SETS) in done.stderr


def test_kernels_need_no_symbol_of_python(tmp_path):
    compiler, nm = shutil.which("cc"), shutil.which("nm")
    if compiler is None or nm is None:
        pytest.skip("needs cc and nm")
    for source in sorted((ROOT / "kernels").glob("*.c")):
        made = tmp_path / f"{source.stem}.o"
        words = [compiler, "-std=c11", "-O1", "-DISA=v2", "-c", str(source), "-o", str(made)]
        subprocess.run(words, check=True)
        listed = subprocess.run([nm, "-u", str(made)], capture_output=True, text=True, check=True)
        needed = {line.split()[-1] for line in listed.stdout.splitlines()}
        allowed = {"memcpy", "memset", "memmove", "fma", "fmaf", "sqrt", "sqrtf"}
        allowed |= {"log", "log1p", "exp", "expm1", "erf", "erfc", "fmod", "fmodf"}
        allowed |= {"cos", "lgamma", "sin"}
        assert needed <= allowed | {"__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}, source.name


def test_polynomials_are_those_that_are_derived():
    pytest.importorskip("mpmath")
    script = ROOT / "tools" / "derive_coefficients.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

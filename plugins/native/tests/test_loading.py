"""Compiled code in force, switched off, missing, stale and broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from dovetail_native.sources import FOLDERS

ROOT = Path(__file__).resolve().parents[1]
MODULE = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"

needs_core = pytest.mark.skipif(
    not (ROOT / "src" / "dovetail_native" / MODULE).exists(), reason="built without a C compiler"
)

CALL = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import dovetail
    from dovetail_dispatcher.compiled_code import is_in_force
    result = (dovetail.ones(2) + 1).tolist()
print(result, is_in_force(), [str(each.message) for each in said])
"""


def run(
    native: str | None, path: Path | None = None, program: str = CALL
) -> subprocess.CompletedProcess[str]:
    """Run a program with a value of DOVETAIL_NATIVE, and the packages of a folder before all."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DOVETAIL_")}
    if native is not None:
        environment["DOVETAIL_NATIVE"] = native
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    words = [sys.executable, "-c", program]
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The distribution's folder, copied; the package is in ``src``."""
    for name in ("src", *FOLDERS):
        shutil.copytree(ROOT / name, tmp_path / "native" / name)
    return tmp_path / "native"


def warned(done: subprocess.CompletedProcess[str]) -> str:
    """Return the warning of a call that was computed without compiled code."""
    assert done.returncode == 0, done.stderr
    head, _, said = done.stdout.partition("[2.0, 2.0] False ")
    assert not head
    return said.strip()


@needs_core
@pytest.mark.parametrize("native", [None, "1"])
def test_core_is_in_force(native: str | None) -> None:
    assert run(native).stdout == "[2.0, 2.0] True []\n"


def test_zero_switches_it_off() -> None:
    assert warned(run("0")) == "[]"


def test_other_values_are_refused() -> None:
    done = run("yes")
    assert done.returncode != 0
    assert "ValueError: DOVETAIL_NATIVE='yes'" in done.stderr


def test_installation_without_a_core_says_nothing(copied: Path) -> None:
    for module in copied.glob("src/dovetail_native/_core.*.*"):
        module.unlink()
    assert warned(run(None, copied / "src")) == "[]"


def test_missing_core_is_an_error_where_it_is_required(copied: Path) -> None:
    for module in copied.glob("src/dovetail_native/_core.*.*"):
        module.unlink()
    done = run("1", copied / "src")
    assert done.returncode != 0
    assert "without a C compiler" in done.stderr


def test_core_kept_out_is_an_error_where_it_is_required() -> None:
    done = run("1", program="import os; os.environ['DOVETAIL_BLOCK'] = 'native'; import dovetail")
    assert done.returncode != 0
    assert "DOVETAIL_BLOCK" in done.stderr


@needs_core
def test_stale_core_is_refused_with_one_warning(copied: Path) -> None:
    with (copied / "core" / "module.c").open("a") as file:
        file.write("/* changed */\n")
    said = warned(run(None, copied / "src"))
    assert said.count("is stale") == 1
    assert "make install" in said
    assert run("1", copied / "src").returncode != 0


@needs_core
def test_core_of_another_version_is_refused(copied: Path) -> None:
    loading = copied / "src" / "dovetail_native" / "loading.py"
    loading.write_text(loading.read_text().replace('"0.1.0"', '"0.2.0"'))
    assert "is version 0.1.0, and dovetail-native is 0.2.0" in warned(run(None, copied / "src"))


def test_core_that_cannot_be_loaded_is_one_warning(copied: Path) -> None:
    module = copied / "src" / "dovetail_native" / MODULE
    module.unlink(missing_ok=True)
    module.write_bytes(b"no shared object")
    said = warned(run(None, copied / "src"))
    assert said.count("runs without compiled code") == 1
    assert run("1", copied / "src").returncode != 0
    doctor = (
        "from dovetail.command import main; import sys; sys.argv = ['dovetail', 'doctor']; main()"
    )
    shown = run(None, copied / "src", doctor)
    assert "plugin native of dovetail-native: failed" in " ".join(shown.stdout.split())


def test_doctor_says_whether_it_is_in_force() -> None:
    program = (
        "from dovetail.inspection.installation_checks import examine\n"
        "print(*[each.text for each in examine() if each.subject == 'compiled code'])"
    )
    assert run("0", program=program).stdout == "is switched off by DOVETAIL_NATIVE=0.\n"


@needs_core
def test_subinterpreters_are_refused() -> None:
    program = (
        "import sys\n"
        "if sys.version_info < (3, 13):\n"
        "    import _xxsubinterpreters as interpreters\n"
        "else:\n"
        "    import _interpreters as interpreters\n"
        "made = interpreters.create()\n"
        "try:  # since Python 3.13 it returns the error\n"
        "    error = interpreters.run_string(made, 'import dovetail_native._core')\n"
        "except getattr(interpreters, 'RunFailedError', ()) as raised:\n"
        "    error = raised\n"
        "print('ImportError' in str(error))\n"
    )
    if sys.version_info < (3, 12):
        pytest.skip("Python 3.11 has no slot for it")
    assert run(None, program=program).stdout == "True\n"

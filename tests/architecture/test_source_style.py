"""Modules are small, and their prose is plain."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_MODULE = 400
PHRASES = re.compile(r"whoever|nobody|somebody|ha(s|ve) a say|what is refused when", re.IGNORECASE)


def sources() -> list[str]:
    """Return the modules of all distributions and examples, but not what is generated."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("the files of a checkout are listed by git, which cannot be asked here")
    return [
        name for name in listed.stdout.split() if "/src/" in f"/{name}" and "_generated" not in name
    ]


def test_no_module_is_longer_than_a_reader_bears() -> None:
    lengths = {
        name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in sources()
    }
    assert lengths
    assert {name: n for name, n in lengths.items() if n > LONGEST_MODULE} == {}


def test_prose_names_who_does_what() -> None:
    found = {
        f"{name}:{number}: {line.strip()}"
        for name in sources()
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if PHRASES.search(line)
    }
    assert found == set()


def test_no_error_of_a_program_is_an_assertion() -> None:
    """``python -O`` removes assertions: those here tell type checkers what is known, without a
    message. The checks of dovetail-testing are assertions, and refuse to run without.
    """
    asserted = {
        name: node.lineno
        for name in sources()
        if "dovetail_testing/checks/" not in name
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert) and node.msg is not None
    }
    assert asserted == {}


def test_array_kernels_reshape_by_the_function_of_the_namespace() -> None:
    """The method of an array is the library's own, which a namespace cannot mend: Dask's refuses
    sizes that do not divide each other, and several empty chunks.
    """
    folder = ROOT / "plugins" / "aten" / "src" / "dovetail_aten"
    calls = [
        (file.name, node.lineno, ast.unparse(node.value))
        for pattern in ("kernel_support/*.py", "families/*/kernels.py", "families/*/kernels/*.py")
        for file in sorted(folder.glob(pattern))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("reshape", "ravel", "flatten")
    ]
    assert len(calls) > 100
    assert [call for call in calls if call[2] not in ("xp", "self.xp")] == []


def test_warnings_are_issued_for_the_line_of_the_user() -> None:
    """A fixed number of frames points into the library where a function can be overridden, or is
    called by a module.
    """
    calls = [
        f"{name}:{node.lineno}"
        for name in sources()
        if not name.startswith("examples/")
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "warn")
    ]
    assert calls == []

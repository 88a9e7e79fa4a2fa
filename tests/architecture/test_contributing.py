"""CONTRIBUTING says what there is."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r'(?:environ(?:\.get\(|\[)|variable=)"(DOVETAIL_\w+)"')


def test_every_variable_that_tests_read_is_listed_and_no_other() -> None:
    folders = [ROOT / name for name in ("tests", "kernel", "dispatcher", "plugins", "examples")]
    tests = [file for folder in folders for file in folder.rglob("test_*.py")]
    tests += (ROOT / "plugins" / "pytest" / "src").rglob("*.py")
    read = {name for file in tests for name in VARIABLE.findall(file.read_text(encoding="utf-8"))}
    assert len(read) > 10
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"DOVETAIL_\w+", page)) == read

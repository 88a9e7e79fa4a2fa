"""The workflows, which run elsewhere: commands exist, Pythons are those of the distributions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(path: Path) -> dict[str, Any]:
    """Return the jobs of a workflow."""
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


def commands() -> list[str]:
    """Return the commands of all workflows."""
    steps = [s for path in WORKFLOWS for job in jobs(path).values() for s in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


def test_commands_exist() -> None:
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert commands()
    for command in commands():
        program, *targets = command.split()
        if program == "make":
            assert all([re.search(rf"^{each}:", made, re.MULTILINE) for each in targets]), command
        else:
            assert (ROOT / program).is_file(), command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_alone_and_keeps_no_token(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    writing = [name for name, job in jobs(path).items() if "permissions" in job]
    assert writing in ([], ["publish"])


def test_wheels_are_built_for_the_pythons_that_the_core_supports() -> None:
    pyproject = tomllib.loads(
        (ROOT / "plugins" / "native" / "pyproject.toml").read_text(encoding="utf-8")
    )
    built = {
        each.removeprefix("cp3").removesuffix("-*")
        for each in pyproject["tool"]["cibuildwheel"]["build"]
    }
    said = {
        each.rpartition(".")[2]
        for each in pyproject["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", each)
    }
    assert said <= built

"""Nothing assumes POSIX without a fallback, and the policies say what the code does."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest
from fresh_interpreter import printed_by

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    file
    for folder in ("kernel", "dispatcher", ".", *map(str, ROOT.glob("plugins/*")))
    for file in (ROOT / folder / "src").rglob("*.py")
)
ONLY_POSIX = {"fcntl", "grp", "posix", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NOT_ON_ALL = {
    "O_TMPFILE", "fchmod", "fork", "geteuid", "getgid", "getloadavg", "getuid", "memfd_create",
    "mkfifo", "posix_fallocate", "register_at_fork", "sched_getaffinity", "setsid", "sysconf",
    "uname",
}  # fmt: skip


def unguarded(file: Path) -> list[str]:
    """Return what a module takes for granted that some systems do not have."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = []
    for node in tree.body:  # imports in functions and branches are those of the rare case
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name in ONLY_POSIX]
        elif isinstance(node, ast.ImportFrom) and node.module in ONLY_POSIX:
            found.append(node.module)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "os"
            and node.attr in NOT_ON_ALL
            and f'hasattr(os, "{node.attr}")' not in text
        ):
            found.append(f"os.{node.attr}")
    return found


def test_what_only_some_systems_have_is_asked_for() -> None:
    assert len(SOURCES) > 500
    found = {str(file.relative_to(ROOT)): unguarded(file) for file in SOURCES}
    assert {file: names for file, names in found.items() if names} == {}


def test_the_check_sees_what_is_taken_for_granted(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("import fcntl, os\nos.fork()\n")
    assert unguarded(file) == ["fcntl", "os.fork"]
    file.write_text('import os\nif hasattr(os, "fork"):\n    os.fork()\n')
    assert unguarded(file) == []


def test_it_imports_trains_and_saves_where_there_is_no_posix(tmp_path: Path) -> None:
    printed = printed_by(
        dedent("""
        import logging, multiprocessing, os, random, sys, tempfile, warnings
        import numpy
        for name in ("register_at_fork", "memfd_create", "posix_fallocate", "sched_getaffinity"):
            vars(os).pop(name, None)
        import dovetail
        from dovetail._files import replacement
        replacement.fcntl = None  # as where it cannot be imported
        x = dovetail.ones(3, requires_grad=True)
        (x * x).sum().backward()
        x.detach().share_memory_()
        file = sys.stdin.read()
        dovetail.save({"g": x.grad}, file)
        print(dovetail.load(file)["g"].tolist())
        data = dovetail.utils.data.TensorDataset(dovetail.arange(4))
        loader = dovetail.utils.data.DataLoader(data, batch_size=2, num_workers=2)
        os.name = "nt"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            batches = list(loader)
        print(len(batches), caught[0].message)
        """),
        given=str(tmp_path / "gradients.safetensors"),
    )
    first, second = printed.splitlines()
    assert first == "[2.0, 2.0, 2.0]"
    assert second.startswith("2 Worker processes need descriptors to be sent to them")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_the_supported_pythons_are_the_same_everywhere(version: str) -> None:
    page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert version in page.partition("## Platforms")[0]
    assert f'"{version}"' in (ROOT / "tools" / "try_pythons.py").read_text(encoding="utf-8")
    manifests = [ROOT / "pyproject.toml", *sorted(ROOT.glob("*/pyproject.toml"))]
    manifests += sorted(ROOT.glob("plugins/*/pyproject.toml"))
    for manifest in manifests:
        project = tomllib.loads(manifest.read_text(encoding="utf-8")).get("project", {})
        if project.get("classifiers"):
            said = f"Programming Language :: Python :: {version}"
            assert said in project["classifiers"], manifest
    wheels = (ROOT / "plugins" / "native" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"cp{version.replace(".", "")}-*"' in wheels


def test_all_distributions_carry_one_version_and_wheels_are_for_all_systems() -> None:
    manifests = [ROOT / "pyproject.toml", *ROOT.glob("kernel/pyproject.toml")]
    manifests += [*ROOT.glob("dispatcher/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]
    projects = [tomllib.loads(each.read_text(encoding="utf-8")) for each in manifests]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = citation.partition("\nversion: ")[2].partition("\n")[0]
    assert {each["project"]["version"] for each in projects} == {cited}
    assert all([each["project"]["keywords"] for each in projects])
    assert {each["build-system"]["build-backend"] for each in projects} == {"hatchling.build"}

"""Installing as a user does, without make: from wheels and from a clone, without an index."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"^    (pip install .*)$", re.MULTILINE)

NEEDED = ("ml-dtypes", "numpy", "pluggy", "rich", "scipy", "threadpoolctl", "typer")
BUILDING = ("hatchling", "pluggy", "PyYAML")

PROGRAM = """
import dovetail
x = dovetail.ones(3, requires_grad=True)
(x * x).sum().backward()
print(x.grad.tolist(), dovetail.__file__)
"""


class FreshEnvironment:
    """An environment with others' packages and nothing of Dovetail."""

    def __init__(self, folder: Path, others: Iterable[str]) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False)
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        borrowed = folder / "others"
        borrowed.mkdir()
        for name in _closure(others):
            _link(name, borrowed)
        found = self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        (Path(found.strip()) / "others.pth").write_text(f"{borrowed}\n")

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """Run Python, which has to succeed, and return what it prints."""
        result = subprocess.run(
            [self.python, *words], cwd=cwd or self.folder, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert result.returncode == 0, f"{words}:\n{result.stdout}\n{result.stderr}"
        return result.stdout

    def fail(self, *words: str) -> str:
        """Run Python, which has to fail, and return its error."""
        result = subprocess.run(
            [self.python, *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert result.returncode == 1, f"{words}:\n{result.stdout}\n{result.stderr}"
        return result.stderr

    def pip(self, *words: str, cwd: Path | None = None) -> None:
        """Run this environment's pip on that one."""
        command = [sys.executable, "-m", "pip", "--python", str(self.python), *words]
        result = subprocess.run(
            [*command, "--quiet", "--disable-pip-version-check"],
            cwd=cwd, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr


def _closure(names: Iterable[str]) -> set[str]:
    """Return installed distributions with all that they need."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = canonicalize_name(pending.pop())
        if name in found:
            continue
        found.add(name)
        needs = [Requirement(each) for each in distribution(name).requires or []]
        pending += [
            each.name
            for each in needs
            if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
    return found


def _is_wanted(need: Requirement) -> bool:
    return need.marker is None or need.marker.evaluate({"extra": ""})


def _link(name: str, folder: Path) -> None:
    """Link the files of an installed distribution into a folder."""
    found = distribution(name)
    for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
        source = Path(str(found.locate_file(top)))
        if source.exists() and not (folder / top).exists():
            (folder / top).symlink_to(source)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, ROOT / "tools" / "dist.py", folder], check=True)
    return folder


def documented(page: str = "README.md") -> list[str]:
    """Return the lines of a page that install without make, without comments."""
    found = LINE.findall((ROOT / page).read_text(encoding="utf-8"))
    return [line.partition(" #")[0].rstrip() for line in found]


PAGES = ["README.md", *[f"docs/{each.name}" for each in sorted((ROOT / "docs").glob("*.md"))]]
PAGES += [str(each.relative_to(ROOT)) for each in sorted(ROOT.glob("plugins/*/README.md"))]
LINES = list(dict.fromkeys([line for page in PAGES for line in documented(page)]))
LINES.remove("pip install -e 'dovetail-signal[dev]' && pytest dovetail-signal")
LINES = [line for line in LINES if "./kernel" not in line]
"""Every command of a page that installs, but for two that have tests of their own."""


def test_the_folder_has_a_wheel_and_a_source_distribution_of_each(dist: Path) -> None:
    wheels = {file.name.partition("-")[0] for file in dist.glob("*.whl")}
    sources = {file.name.partition("-")[0] for file in dist.glob("*.tar.gz")}
    assert wheels == sources
    assert {"dovetail", "dovetail_kernel", "dovetail_cuda", "dovetail_pytest"} <= wheels


def test_wheels_install_and_pass_conformance_in_a_fresh_environment(
    dist: Path, tmp_path: Path
) -> None:
    (line,) = [each for each in documented() if "--find-links" in each]
    environment = FreshEnvironment(tmp_path / "fresh", NEEDED)
    environment.pip(*line.replace("--find-links dist", f"--find-links {dist}").split()[1:])
    gradient, place = environment.run("-c", PROGRAM).rsplit(" ", 1)
    assert gradient == "[2.0, 2.0, 2.0]"
    assert place.startswith(str(tmp_path))  # and not this repository's
    words = ["-m", "dovetail", "conformance", "--only", "aten::m[mv]", "--markdown"]
    for command in (words, ["-m", "dovetail", "check", "aten"]):
        assert "Install dovetail-testing" in environment.fail(*command)
    environment.pip("install", "--no-index", "--find-links", str(dist), "dovetail-testing")
    report = environment.run(*words)
    assert "| matmul | 2 | " in report
    assert " on cpu: 0 of " in report


@pytest.mark.parametrize("line", LINES)
def test_every_line_that_a_page_has_resolves(line: str, dist: Path, tmp_path: Path) -> None:
    others = {"cuda12": "cupy-cuda12x", "cuda13": "cupy-cuda13x", "dask": "dask", "mpi": "mpi4py"}
    others |= {"distributed": "distributed", "zarr": "zarr", "mpich": "mpich", "pytest": "pytest"}
    wanted = [name for word, name in others.items() if re.search(rf"\b{word}\b", line)]
    for name in wanted:
        try:
            distribution(name)
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed here, and there is no index")
    environment = FreshEnvironment(tmp_path / "fresh", [*NEEDED, *BUILDING, *wanted])
    words = shlex.split(line.replace("--find-links dist", ""))[1:]
    words += ["--find-links", str(dist), "--no-index", "--no-build-isolation", "--dry-run"]
    environment.pip(*words, cwd=ROOT)


def test_a_clone_installs_by_the_line_of_the_readme(tmp_path: Path) -> None:
    (line,) = [each for each in documented() if "./kernel" in each]
    environment = FreshEnvironment(tmp_path / "fresh", [*NEEDED, *BUILDING])
    # The distributions find each other; what they hold, the test of the wheels has installed.
    environment.pip(*line.split()[1:], "--dry-run", "--no-index", "--no-build-isolation", cwd=ROOT)

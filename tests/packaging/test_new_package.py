"""A package made by ``dovetail new``: installed, found, tested, checked and uninstalled, without
network.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from dovetail.command.scaffold import write_package


class Environment:
    """A virtual environment that sees what this one has installed."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        self.packages = Path(
            sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
        )
        borrowed = [path for path in sys.path if path.endswith("site-packages")]
        # Through `site`, so that editable installs are seen as well.
        lines = [f"import site; site.addsitedir({path!r})\n" for path in borrowed]
        (self.packages / "borrowed.pth").write_text("".join(lines))

    def run(self, *words: str, cwd: Path) -> str:
        """Run Python, which has to succeed, and return what it prints."""
        result = subprocess.run(
            [self.python, *words], cwd=cwd, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, f"{words}:\n{result.stdout}\n{result.stderr}"
        return result.stdout


def test_a_new_package_is_installed_found_green_checked_and_uninstalled_clean(
    tmp_path: Path,
) -> None:
    environment = Environment(tmp_path / "venv")
    before = {path.name for path in environment.packages.iterdir()}
    environment.run("-m", "dovetail", "new", "acme-signal", cwd=tmp_path)
    package = tmp_path / "acme-signal"

    pip = ("-m", "pip", "--disable-pip-version-check", "--no-input")
    environment.run(
        *pip,
        "install",
        "--quiet",
        "--no-index",
        "--no-build-isolation",
        "--no-deps",
        "-e",
        ".",
        cwd=package,
    )
    found = json.loads(environment.run("-m", "dovetail", "plugins", "--json", cwd=tmp_path))
    assert ("acme-signal", "acme_signal", "not loaded") in [
        (p["distribution"], p["name"], p["state"]) for p in found
    ]

    assert "23 passed" in environment.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--operators", "all", cwd=package
    )

    results = json.loads(
        environment.run(
            "-m", "dovetail", "check", "acme-signal", "--strict", "--json", cwd=tmp_path
        )
    )
    states = {result["check"]: result["state"] for result in results}
    assert set(states.values()) == {"passed"}
    assert {"test_schema", "test_faketensor", "gradcheck"} <= set(states)

    environment.run(*pip, "uninstall", "--quiet", "--yes", "acme-signal", cwd=tmp_path)
    assert {path.name for path in environment.packages.iterdir()} - {"__pycache__"} == before
    left = json.loads(environment.run("-m", "dovetail", "plugins", "--json", cwd=tmp_path))
    assert "acme-signal" not in [plugin["distribution"] for plugin in left]


def test_the_namespace_may_differ_from_the_name(tmp_path: Path) -> None:
    written = write_package("dovetail-signal", tmp_path)
    assert tmp_path / "dovetail-signal/tests/test_signal.py" in written
    assert (
        'signal = "dovetail_signal.plugin"'
        in (tmp_path / "dovetail-signal/pyproject.toml").read_text()
    )
    write_package("other", tmp_path, "mine")
    assert 'Library("mine", "DEF")' in (tmp_path / "other/src/other/operators.py").read_text()


def test_no_placeholder_is_left(tmp_path: Path) -> None:
    assert not [path for path in write_package("acme", tmp_path) if "$" in path.read_text()]


@pytest.mark.parametrize(
    ("name", "namespace", "complaint"),
    [
        ("9lives", None, "cannot name a distribution"),
        ("-x", None, "cannot name a distribution"),
        ("acme", "no good", "is no name of a namespace"),
        ("class", None, "is no name of a package"),
        ("acme", "aten", "is Dovetail's own"),
    ],
)
def test_a_bad_name_is_refused_before_anything_is_written(
    tmp_path: Path, name: str, namespace: str | None, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        write_package(name, tmp_path, namespace)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    with pytest.raises(FileExistsError, match="exists already"):
        write_package("acme", tmp_path)
    assert list((tmp_path / "acme").iterdir()) == []
